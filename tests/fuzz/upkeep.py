"""Tables that are kept up between the operations of others: what filters read of them is told by bounds and rows alone."""

import random
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.fuzz.checks import Check
from tests.fuzz.differential import WrongAnswerError, account
from tests.fuzz.disturbances import Disturbances
from tests.fuzz.engines import Engine, PyIceberg
from tests.fuzz.histories import History, Lake, Shape, lake
from tests.fuzz.model import DATA, Entry, FileRows
from tests.fuzz.readers import Duck
from tests.fuzz.requests import Request, quoted
from tests.fuzz.types import Leaf, from_bytes, is_nan, leaves, total_order

OF_GROUPS = 1.02
"""So many times what filters read of a file group before: of long texts and binaries, rewrites go by a beginning."""
OF_TABLES = 1.1
"""The same of a table: new files are judged by rows that stay where they are as bounds show these, not as they are."""

Weighted = Sequence[tuple[FileRows, float]]
"""Data files, and what reading each of them costs."""


def scan_fraction(
    by: Sequence[Leaf], weights: Sequence[float], rows: Sequence[FileRows], files: Weighted
) -> float | None:
    """Tell which share of files ``column = value`` reads by their bounds, on average over the values of rows.

    The values of a column are those of all rows, but for NULL and NaN, and columns are averaged by their weights. A
    column without a value does not count; None if there is no other.
    """
    sizes = [(each.entry, cost) for each, cost in files]
    total = sum(cost for _, cost in sizes)
    fractions = []
    for leaf, weight in zip(by, weights, strict=True):
        found = (leaf.of(row) for file in rows for row in file.rows)
        values = Counter(total_order(value) for value in found if value is not None and not is_nan(value))
        if values:
            bounds = [(_bounds(leaf, entry), size) for entry, size in sizes]
            read = sum(count * sum(size for ends, size in bounds if _has(ends, each)) for each, count in values.items())
            fractions.append((weight, read / total / values.total()))
    return (
        sum(weight * each for weight, each in fractions) / sum(weight for weight, _ in fractions) if fractions else None
    )


def _by_bytes(files: Sequence[FileRows]) -> Weighted:
    return [(each, float(each.entry.file["file_size_in_bytes"])) for each in files]


def _by_rows(files: Sequence[FileRows], size: float) -> Weighted:
    rows = sum(each.entry.file["record_count"] for each in files)
    return [(each, size * each.entry.file["record_count"] / rows) for each in files]


def _bounds(leaf: Leaf, entry: Entry) -> tuple[Any, Any] | None:
    """What a file says of the values of a column, None of a bound that it does not tell; None if there is no value."""
    values, nulls, nans = (
        entry.numbers(f"{each}_counts").get(leaf.id) for each in ("value", "null_value", "nan_value")
    )
    if values is not None and values == (nulls or 0) + (nans or 0):
        return None
    raw = (entry.numbers(each).get(leaf.id) for each in ("lower_bounds", "upper_bounds"))
    lower, upper = (None if each is None else total_order(from_bytes(each, leaf.type)) for each in raw)
    return lower, upper


def _has(ends: tuple[Any, Any] | None, value: Any) -> bool:
    return ends is not None and (ends[0] is None or ends[0] <= value) and (ends[1] is None or value <= ends[1])


@dataclass
class Upkeep:
    """One table, and the calls that keep it up, which are alike as those of a schedule are."""

    lake: Lake
    rng: random.Random
    engine: Engine
    readers: Sequence[Duck]
    ids: list[int] = field(default_factory=list)
    options: dict[str, str] = field(default_factory=dict)
    weights: list[float] = field(default_factory=list)
    judged: int = 0

    @property
    def history(self) -> History:
        return self.lake.history

    def run(self) -> list[str]:
        """Keep the table up once, and list what is wrong."""
        schema = self.history.metadata.schema
        leaf_of = {leaf.id: leaf for leaf in leaves(schema)}
        if not self.ids or not set(self.ids) <= set(leaf_of):
            self._draw(sorted(leaf_of))
        names = [quoted(leaf_of[each].path, schema) for each in self.ids]
        weights = ", ".join(f"{name}={weight:g}" for name, weight in zip(names, self.weights, strict=True))
        request = Request(", ".join(names), {**self.options, "column-weights": weights})
        self.history.log.append(f"upkeep by {request.columns} with {request.options}")
        before = self.history.read()
        complaints = Check(self.lake, request, Disturbances(self.history), self.engine, self.readers).run(self.rng)
        after = self.history.read()
        return [*complaints, *self._worse([leaf_of[each] for each in self.ids], before, after)]

    def _draw(self, ids: Sequence[int]) -> None:
        """Draw columns, and options by which some files are of the right size."""
        rng = self.rng
        self.ids = rng.sample(ids, min(len(ids), rng.choice([1, 2, 2, 3])))
        self.weights = [rng.choice([1.0, 1.0, 3.0]) for _ in self.ids]
        sizes = [entry.file["file_size_in_bytes"] for entry in self.history.entries() if entry.content == DATA]
        some = {
            "max-files-to-rewrite": "3",
            "min-age-seconds": "1",
            "min-file-size-bytes": "1",
            "min-input-files": "2",
            "partial-progress.enabled": "true",
            "rewrite-old-specs": "true",
        }
        self.options = {
            "max-scan-ratio": rng.choice(["1", "1.2", "1.2", "1.5"]),
            **rng.choice([{}, *({"target-file-size-bytes": str(max(sizes) * times)} for times in (1, 1, 2, 3, 100))]),
            **{name: some[name] for name in rng.sample(sorted(some), rng.choice([0, 1, 1, 2]))},
        }

    def _worse(self, by: Sequence[Leaf], before: Sequence[FileRows], after: Sequence[FileRows]) -> Iterator[str]:
        """Say where filters read more of the rows that were rewritten than before.

        That is promised of a file group and the values of its partition; so of the whole table only where it is one
        partition, and about. By its own values alone a group may be read more, because a file without bounds is also
        read by all others. New files count as many bytes as those whose place they take, for what they save by their
        encodings is no gain of filters, and each as many of them as it has rows, as it was predicted: footers are most
        of files as small as these. Deletes and other partition specs are reasons of their own to rewrite files.
        """
        old, new = ({each.entry.path for each in files} for files in (before, after))
        gone = [each for each in before if each.entry.path not in new]
        made = [each for each in after if each.entry.path not in old]
        spec = self.history.table.spec().spec_id
        if any(each.entry.spec_id != spec or len(each.rows) < each.entry.file["record_count"] for each in gone):
            return
        for place in {each.entry.place for each in gone}:
            out, into = ([each for each in files if each.entry.place == place] for files in (gone, made))
            was = _by_bytes(out)
            files = _by_rows(into, sum(size for _, size in was))
            values = [each for each in before if each.entry.place == place]
            yield from self._compared(f"partition {place}", by, values, (was, files), OF_GROUPS)
        if gone and len({each.entry.place for each in before}) == 1:
            rest = [each for each in before if each.entry.path in new]
            files = [*_by_bytes(rest), *_by_rows(made, sum(size for _, size in _by_bytes(gone)))]
            yield from self._compared("the table", by, before, (_by_bytes(before), files), OF_TABLES)

    def _compared(
        self,
        what: str,
        by: Sequence[Leaf],
        rows: Sequence[FileRows],
        before_and_after: tuple[Weighted, Weighted],
        tolerance: float,
    ) -> Iterator[str]:
        was, is_ = (scan_fraction(by, self.weights, rows, files) for files in before_and_after)
        if was is None or is_ is None:
            return
        self.judged += 1
        self.history.log.append(f"  scan fraction of {what}: {was:.4f}, then {is_:.4f}")
        if is_ > tolerance * was:
            yield f"filters read {is_:.4f} of {what}, and before {was:.4f}"


def run(seed: int, directory: Path, *, readers: Sequence[Duck] = (), engine: Engine | None = None) -> str:
    """Make a table, keep it up at several points of its history, and check all that can be told; return what was done."""
    rng = random.Random(seed)
    made = lake(rng, directory, Shape(rows=150))
    engine = engine or PyIceberg()
    history = made.history
    history.for_spark = not isinstance(engine, PyIceberg)
    history.begin(made.location)
    upkeep = Upkeep(made, rng, engine, readers)
    for _ in range(rng.randint(2, 4)):
        for _ in range(rng.randint(1, 4)):
            if rng.random() < 0.7:
                history.append()
            else:
                history.step()
        try:
            complaints = upkeep.run()
        except Exception as error:
            complaints = ["".join(traceback.format_exception(error))]
        if complaints:
            raise WrongAnswerError(account(seed, history.log, complaints))
    history.log.append(f"{upkeep.judged} times judged")
    return "\n".join(history.log)
