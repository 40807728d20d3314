"""A random table as a case has it, and the small side of its joins."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tests.fuzz import types as ty
from tests.fuzz.model import DATA
from tests.fuzz.types import Field, Leaf, Struct, identity
from tests.fuzz.writing import Style, Written, write_file
from tests.spark.joins import values
from tests.spark.joins.cases import Case
from tests.spark.joins.tables import IcebergTable, PartitionField
from tests.spark.joins.values import BAD_TEXT

Row = tuple[Any, ...]
FILES = 12
ROWS = 160


@dataclass(frozen=True)
class Source:
    """A state of the table that queries can read, with what its key is called there."""

    relation: str
    key: str


@dataclass
class RandomTable:
    """The large side of the joins, and its history."""

    table: IcebergTable
    case: Case
    rng: random.Random
    log: list[str] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)
    written: list[tuple[Written, Struct, list[Row]]] = field(default_factory=list)
    ids: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    def make(self) -> None:
        """Create the table with its files, some before the key's column became what it is, and some after."""
        case, evolution = self.case, self.case.evolution
        name, of, by = self._first_key()
        comes_later = evolution in ("drop and add", "added", "default", "new spec")
        transform = "none" if comes_later else by.transform
        self.table.create(*self._columns(name, of, transform), self._properties())
        self.log.append(f"created with {name} {of} by {transform}")
        self._append(of, by, name, FILES if evolution == "none" else FILES // 2)
        if evolution != "none" or self.rng.random() < 0.3:
            self._remember(name if of == case.type or evolution == "promote" else None)
        if evolution != "none":
            _EVOLUTIONS[evolution](self)
            if comes_later:
                self.table.partition_by(self.dotted("k"), case.transform, "p")
            self.log.append(evolution)
            self._append(case.type, case.scale, "k", FILES // 2)
        self.sources += [Source(f"{self.table.sql_name} f", self._sql("k"))] * 4
        if case.branch:
            # The branch's snapshot has the table's current schema: Iceberg 1.12 fails on keys of an older one's partitions.
            self.table.commit(self.table.refs().createBranch("side", self.table.head()))
            self.sources += [Source(f"{self.table.on('side')} f", self._sql("k"))] * 6

    def _first_key(self) -> tuple[str | None, str, values.Scale]:
        """The first name and type of the key's column, if there is one, and the scale of its values."""
        case, rng = self.case, self.rng
        if case.evolution == "drop and add":
            of = rng.choice([case.type, rng.choice(values.TYPES)])
            return "k", of, values.scale(rng, of, "none")
        name = {"added": None, "default": None, "rename": "old"}.get(case.evolution, "k")
        return name, values.NARROWER[case.type] if case.evolution == "promote" else case.type, case.scale

    def _append(self, of: str, by: values.Scale, key: str | None, files: int) -> None:
        self.table.add(self.files(self.numbered_rows(of, by, key), files))

    def _remember(self, key: str | None) -> None:
        """Have queries of the table as it is now, later on."""
        head = self.table.head()
        self.table.commit(self.table.refs().createTag("start", head))
        if key:
            version = self.rng.choice(["'start'", head])
            self.sources.append(Source(f"{self.table.sql_name} VERSION AS OF {version} f", self._sql(key)))

    def _columns(self, key: str | None, of: str, transform: str) -> tuple[Struct, list[PartitionField]]:
        """The first schema, with ids as Iceberg gives them: those inside a struct come last."""
        keys = [] if key is None else [Field(0, key, of)]
        others = [Field(0, "m", "int"), Field(0, "v", "int")]
        if self.case.nested:
            inner = Struct(
                tuple(replace(each, id=5 + place) for place, each in enumerate([Field(0, "x", "int"), *keys]))
            )
            columns, key_id = [Field(0, "id", "long"), Field(0, "st", inner), *others], 6
        else:
            columns, key_id = [Field(0, "id", "long"), *keys, *others], 2
        schema = Struct(tuple(replace(each, id=place) for place, each in enumerate(columns, 1)))
        return schema, [] if transform == "none" else [PartitionField("p", transform, key_id)]

    def _properties(self) -> dict[str, str]:
        mode = self.case.mode
        return {
            "format-version": str(self.case.version),
            **{f"write.{each}.mode": mode for each in ("delete", "update", "merge")},
            "write.distribution-mode": "none",
            "write.spark.fanout.enabled": "true",
            "read.parquet.vectorization.enabled": str(self.case.vectorized).lower(),
            "commit.retry.min-wait-ms": "1",
        }

    def dotted(self, name: str) -> str:
        """The full name of a key's column."""
        return f"st.{name}" if self.case.nested else name

    def _sql(self, name: str) -> str:
        return f"f.{self.dotted(name)}"

    def key(self) -> Leaf:
        """The key's column."""
        return self.table.leaf(self.dotted("k"))

    def numbered_rows(
        self, of: str, by: values.Scale, key: str | None, count: int = ROWS, numbers: Sequence[int] = ()
    ) -> list[tuple[int, Row]]:
        """Draw rows, each with the number of its key."""
        rng = self.rng
        nulls = rng.choice([0, 0, 0.1, 0.4])
        found = []
        drawn = rng.choices(numbers or range(by.low, by.high + 1), k=count)
        # Ids rise with the keys, as they do where rows come in the order of a date.
        for number in sorted(drawn) if self.case.clustered else drawn:
            value = None if rng.random() < nulls else values.value(of, number, by)
            found.append((number, self.row(key, value, (number - by.low) // 4)))
        return found

    def some_rows(self, count: int = 12) -> list[tuple[int, Row]]:
        """Draw a few rows of neighbouring keys."""
        by = self.case.scale
        start = self.rng.randint(by.low, by.high)
        return self.numbered_rows(self.case.type, by, "k", count, range(start, min(start + 5, by.high) + 1))

    def row(self, key: str | None, value: Any, m: int) -> Row:
        """A row of the current schema."""
        held = {"id": next(self.ids), "m": m, "v": self.rng.randrange(100), key: value, "x": 1}
        return tuple(
            tuple(held[inner.name] for inner in each.type.fields) if isinstance(each.type, Struct) else held[each.name]
            for each in self.table.schema().fields
        )

    def files(self, numbered: list[tuple[int, Row]], count: int, **how: Any) -> list[Written]:
        """Write rows to files, each of one partition and, if the case says so, of neighbouring keys."""
        parts: dict[Any, tuple[Row, list[tuple[int, Row]]]] = {}
        for number, row in numbered:
            partition = self.table.partition_of(row)
            parts.setdefault(identity(partition), (partition, []))[1].append((number, row))
        each_part = max(1, round(count / len(parts)))
        written = []
        for partition, part in parts.values():
            if self.case.clustered:
                part.sort(key=lambda pair: pair[0])
            size = -(-len(part) // each_part)
            cuts = [part[start : start + size] for start in range(0, len(part), size)]
            written += [self.file([row for _, row in cut], partition, **how) for cut in cuts]
        return written

    def file(self, rows: list[Row], partition: Row, style: Style | None = None, **how: Any) -> Written:
        """Write a file by the current schema and spec."""
        style = style or Style.draw(self.rng, len(rows))
        style = replace(style, nanoseconds=None, bounds="truncated" if style.bounds == "none" else style.bounds)
        schema, spec_id = self.table.schema(), self.table.spec_id()
        file = write_file(self.table.location(), schema, rows, style, spec_id=spec_id, partition=partition, **how)
        if file.content == DATA:
            self.written.append((file, schema, rows))
        return file

    def current_rows(self) -> list[Row]:
        """The rows of files that were written by the current schema and spec."""
        schema, spec_id = self.table.schema(), self.table.spec_id()
        return [row for file, then, rows in self.written if then == schema and file.spec_id == spec_id for row in rows]

    def rows_of(self, file: Written) -> list[Row]:
        """The rows of a file."""
        return next(rows for each, _, rows in self.written if each is file)


def _rename(made: RandomTable) -> None:
    made.table.evolve(("renameColumn", made.dotted("old"), "k"))


def _promote(made: RandomTable) -> None:
    made.table.evolve(("updateColumn", made.dotted("k"), made.table.type_of(made.case.type)))


def _drop_and_add(made: RandomTable) -> None:
    made.table.evolve(("deleteColumn", made.dotted("k")))
    _add(made)


def _add(made: RandomTable, *default: Any) -> None:
    parent = ("st",) if made.case.nested else ()
    made.table.evolve(("addColumn", *parent, "k", made.table.type_of(made.case.type), *default))


def _add_with_default(made: RandomTable) -> None:
    case = made.case
    default = values.value(case.type, made.rng.randint(case.scale.low, case.scale.high), case.scale)
    _add(made, *([] if ty.is_nan(default) else [made.table.default_of(default, case.type)]))


def _partition_otherwise(made: RandomTable) -> None:
    made.table.partition_by("m", "bucket[2]", "q")
    made.table.add(made.files(made.numbered_rows(made.case.type, made.case.scale, "k", 20), 2))


_EVOLUTIONS: dict[str, Callable[[RandomTable], None]] = {
    "rename": _rename,
    "drop and add": _drop_and_add,
    "promote": _promote,
    "default": _add_with_default,
    "added": _add,
    "new spec": _partition_otherwise,
}


def small_side(table: IcebergTable, case: Case, rng: random.Random) -> str:
    """Make a table of keys, each once: group 0 has few of them, or many, or neighbours; returns the type of the keys."""
    of = values.WIDER.get(case.type, case.type) if rng.random() < 0.15 else case.type
    by = case.scale
    columns = Struct((Field(1, "k", of), Field(2, "m", "int"), Field(3, "g", "int"), Field(4, "w", "long")))
    table.create(columns, [], {"format-version": "2"})
    known = range(by.low, by.high + 1)
    start = rng.choice(known)
    some = [
        range(start, start + rng.randint(1, 6)),
        rng.sample(known, rng.randint(1, 6)),
        [by.low, by.high, by.high + 50],
        range(by.low - 150, by.high + 150),
        [],
    ]
    (wanted,) = rng.choices(some, [3, 3, 1, 1.5, 0.5])
    groups = [(0, each) for each in wanted] + [(rng.randint(1, 3), each) for each in rng.sample(known, 10)]
    keys: dict[Any, tuple[Any, int, int]] = {}
    for group, number in groups:
        key = values.value(case.type, number, by)
        told = (values.converted(key, case.type, of), (number - by.low) // 4, group)
        keys.setdefault(values.joined(case.type, key), told)
    if case.type == "string":
        keys |= {text: (text, 1, 0) for text in rng.choice([("Mé",), ("Mé",), ("Mé", BAD_TEXT)])}
    rows = [(*told, place * 7) for place, told in enumerate(keys.values(), 1)]
    rows += [(None, 1, group, -1) for group in rng.choice([(), (1,), (0, 1)])]
    table.add([write_file(table.location(), columns, rows, Style())])
    return of
