"""Random calls of an engine: the columns, the options, the filter."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass, field

from pyiceberg.expressions import BooleanExpression, EqualTo, GreaterThanOrEqual, IsNull, LessThan, NotNaN

from tests.fuzz import filters
from tests.fuzz.histories import History
from tests.fuzz.model import DATA
from tests.fuzz.types import Struct, leaves

_TRANSLATION = "iceberg_zorder.pyiceberg.translation"


@dataclass
class Request:
    """A random call of the engine."""

    columns: str
    options: dict[str, str]
    where: BooleanExpression | None = None
    small: dict[str, int] = field(default_factory=dict)

    @classmethod
    def draw(cls, rng: random.Random, history: History) -> Request:
        schema = history.metadata.schema
        names = [quoted(leaf.path, schema) for leaf in leaves(schema)]
        chosen = rng.sample(names, min(len(names), rng.choice([1, 1, 2, 2, 3, 4])))
        constant = [quoted(leaf.path, schema) for leaf in leaves(schema) if history.values.is_constant(leaf)]
        if constant and rng.random() < 0.15:
            # Rows that no key tells apart are written in another way.
            return cls(constant[0], _options(rng, history), None, {"memory": 4_000})
        text = rng.choice(["{}", "zorder({})", "hilbert({})"]).format(", ".join(chosen))
        rest = [name for name in names if name not in chosen]
        if rest and "(" in text and rng.random() < 0.2:
            text = f"{rng.choice(rest)} {rng.choice(['ASC', 'DESC NULLS LAST', 'DESC', 'ASC NULLS LAST'])}, {text}"
        return cls(text, _options(rng, history), _where(rng, history) if rng.random() < 0.2 else None, _small(rng))


def quoted(path: tuple[int, ...], schema: Struct) -> str:
    names, fields = [], schema.fields
    for place in path:
        names.append("`" + fields[place].name.replace("`", "``") + "`")
        fields = getattr(fields[place].type, "fields", ())
    return ".".join(names)


def _where(rng: random.Random, history: History) -> BooleanExpression | None:
    """Draw a filter that leaves some files; PyIceberg's own classes, as callers pass them."""
    schema = history.metadata.schema
    drawn = filters.draw(rng, schema, history.read(), 20)
    made = {"=": EqualTo, "<": LessThan, ">=": GreaterThanOrEqual, "null": IsNull, "notnan": NotNaN}
    for each in drawn:
        if each.operator in made and each.leaf.type in ("int", "long", "string", "double"):
            name = history.column_name(each.leaf.id)
            value = [] if each.value is None else [each.value]
            found: BooleanExpression = made[each.operator](name, *value)
            return found
    return None


def _options(rng: random.Random, history: History) -> dict[str, str]:
    size = sum(entry.file["file_size_in_bytes"] for entry in history.entries() if entry.content == DATA)
    return draw_options(rng, size, history.metadata.specs)


def draw_options(rng: random.Random, size: int, specs: Iterable[int]) -> dict[str, str]:
    """Draw options for a table of so many bytes, and of these partition specs."""
    optional = {
        "cuts": ["adaptive", "even"],
        "size-tolerance": ["0.1", "0.5"],
        "boundaries": ["1", "3", "4096"],
        "sample-rows": ["5", "100"],
        "sample-seed": ["5"],
        "partial-progress.enabled": ["true"],
        "partial-progress.max-commits": ["1", "2", "3"],
        "rewrite-job-order": ["bytes-asc", "files-desc"],
        "use-starting-sequence-number": ["false"],
        "remove-dangling-deletes": ["true"],
        "compression-factor": ["0.7", "1.6"],
        "max-files-to-rewrite": ["1", "3"],
        "delete-file-threshold": ["1"],
        "max-concurrent-file-group-rewrites": ["1", "3"],
        "max-file-group-size-bytes": ["10000"],
        "output-spec-id": [str(each) for each in specs],
    }
    options = {"target-file-size-bytes": str(max(200, size // rng.choice([1, 2, 4, 8])))}
    if rng.random() < 0.85:
        options["rewrite-all"] = "true"
    else:
        options["min-input-files"] = "1"
        if rng.random() < 0.5:
            # Then the size of files is that of the last layout, or by the data.
            del options["target-file-size-bytes"]
    for name in rng.sample(sorted(optional), rng.randint(0, 4)):
        options[name] = rng.choice(optional[name])
    return options


def _small(rng: random.Random) -> dict[str, int]:
    """Draw limits that make a small table one of many batches, which does not fit into memory."""
    small = {}
    if rng.random() < 0.5:
        small["iceberg_zorder.pyiceberg.read.reader.BATCH_ROWS"] = rng.choice([1, 3, 10])
    if rng.random() < 0.4:
        small["memory"] = rng.choice([4_000, 20_000, 100_000])
    if rng.random() < 0.8:
        small[f"{_TRANSLATION}._MOST_DEAD"] = 1
    if rng.random() < 0.5:
        # Rows are looked up by columns whose values repeat.
        small |= {f"{_TRANSLATION}._SMALL": 0, f"{_TRANSLATION}._MOST_READ": 1, f"{_TRANSLATION}._KEY_BYTES": 0}
    return small
