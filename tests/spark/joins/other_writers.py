"""What other engines add to a random table, by name: data files with statistics of their own, and delete files."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from tests.fuzz import types as ty
from tests.fuzz.model import EQUALITY_DELETES
from tests.fuzz.types import Leaf, identity, java_deletes_by
from tests.fuzz.writing import Style, lower_bound, position_deletes, upper_bound
from tests.spark.joins import values
from tests.spark.joins.random_table import RandomTable, Row
from tests.spark.joins.values import BAD_TEXT

BOUNDS = ("lower_bounds", "upper_bounds")
COUNTS = ("value_counts", "null_value_counts", "nan_value_counts")


def write(made: RandomTable, writer: str, branch: str) -> None:
    """Have another engine write."""
    WRITERS[writer](made, branch)
    made.log.append(f"{writer} on {branch}")


def _with_statistics(
    change: Callable[[RandomTable, dict[str, Any], Leaf], object],
) -> Callable[[RandomTable, str], None]:
    """Files whose statistics are changed in the key's column."""

    def add(made: RandomTable, branch: str) -> None:
        files = made.files(made.some_rows(), 1)
        for each in files:
            change(made, each.record, made.key())
        made.table.add(files, branch)

    return add


def _without(*names: str) -> Callable[[RandomTable, dict[str, Any], Leaf], None]:
    def change(made: RandomTable, record: dict[str, Any], leaf: Leaf) -> None:
        for name in names:
            record[name].pop(leaf.id, None)

    return change


def _cut(made: RandomTable, record: dict[str, Any], leaf: Leaf) -> None:
    """As some writers do, to one character or byte; of the last one there is no upper bound."""
    if leaf.type not in ("string", "binary"):
        return
    lower, upper = (record[name] for name in BOUNDS)
    if low := lower.get(leaf.id):
        lower[leaf.id] = ty.to_bytes(lower_bound(ty.from_bytes(low, leaf.type), 1, leaf.type), leaf.type)
    if high := upper.pop(leaf.id, None):
        end = upper_bound(ty.from_bytes(high, leaf.type), 1, leaf.type)
        upper |= {} if end is None else {leaf.id: ty.to_bytes(end, leaf.type)}


def _inverted(made: RandomTable, record: dict[str, Any], leaf: Leaf) -> None:
    lower, upper = (record[name] for name in BOUNDS)
    if leaf.id in lower and leaf.id in upper:
        lower[leaf.id], upper[leaf.id] = upper[leaf.id], lower[leaf.id]
        if ty.is_floating(leaf.type) and made.rng.random() < 0.5:
            lower[leaf.id] = upper[leaf.id] = ty.to_bytes(float("nan"), leaf.type)


def _undecodable(made: RandomTable, record: dict[str, Any], leaf: Leaf) -> None:
    """Bytes that are no value of the type; any bytes are one of binary."""
    wrong = b"\xc0\xff" if leaf.type == "string" else b"" if leaf.type.startswith("decimal") else b"\x01"
    if leaf.type != "binary":
        record["lower_bounds"][leaf.id] = record["upper_bounds"][leaf.id] = wrong


def _bad_text(made: RandomTable, branch: str) -> None:
    """The bounds are those of Iceberg's Java writers, which decode what Parquet has as least and greatest."""
    leaf = made.key()
    texts = (BAD_TEXT, "Mé", *made.rng.choice([(), ("é", "é"), ("MC", "z")]))
    numbered = [(place, made.row("k", text, 1)) for place, text in enumerate(texts)]
    files = made.files(numbered, 1)
    for each in files:
        known = [
            text.encode("utf-8", "surrogateescape") for row in made.rows_of(each) if (text := leaf.of(row)) is not None
        ]
        if known and "lower_bounds" in each.record:
            low, high = (end.decode("utf-8", "replace") for end in (min(known), max(known)))
            each.record["lower_bounds"][leaf.id] = lower_bound(low, 16, "string").encode()
            if (upper := upper_bound(high, 16, "string")) is not None:
                each.record["upper_bounds"][leaf.id] = upper.encode()
    made.table.add(files, branch)


def _empty(made: RandomTable, branch: str) -> None:
    ((_, row),) = made.some_rows(1)
    made.table.add([made.file([], made.table.partition_of(row))], branch)


def _left_out(made: RandomTable, branch: str) -> None:
    """Imported files have no columns of their partitions."""
    key = made.key()
    told = {each.source_id for each in made.table.fields() if each.transform == "identity"}
    omitted = frozenset(told & {key.id} if len(key.path) == 1 else ())
    made.table.add(made.files(made.some_rows(), 1, omitted=omitted), branch)


def _milliseconds(made: RandomTable, branch: str) -> None:
    """As ``add_files`` imports them: the bounds are milliseconds, taken for microseconds."""
    key = made.key()
    style = Style(parquet={"coerce_timestamps": "ms", "allow_truncated_timestamps": True})
    files = made.files(made.some_rows(), 1, style=style)
    for each in files:
        for name in BOUNDS:
            if raw := each.record[name].get(key.id):
                each.record[name][key.id] = struct.pack("<q", struct.unpack("<q", raw)[0] // 1000)
    made.table.add(files, branch)


def _equality(made: RandomTable, branch: str) -> None:
    key, id_ = made.key(), made.table.leaf("id")
    _delete_equal(
        made, branch, made.rng.choice([[id_], [id_, key]]) if java_deletes_by(key) else [id_], lambda row: row
    )


def _wrong_equality(made: RandomTable, branch: str) -> None:
    """Rows are deleted by their id, and the file has another key beside it."""
    key, case = made.key(), made.case
    other = values.value(case.type, case.scale.high + 300, case.scale)
    wrong = made.rng.choice([None, other])
    _delete_equal(made, branch, [made.table.leaf("id")], lambda row: _with(row, key.path, wrong))


def _delete_equal(made: RandomTable, branch: str, keys: list[Leaf], told: Callable[[Row], Row]) -> None:
    parts: dict[Any, tuple[Row, list[Row]]] = {}
    for row in made.current_rows():
        if made.rng.random() < 0.15:
            partition = made.table.partition_of(row)
            parts.setdefault(identity(partition), (partition, []))[1].append(told(row))
    how: dict[str, Any] = {"content": EQUALITY_DELETES, "equality_ids": [each.id for each in keys]}
    files = [made.file(rows, partition, **how) for partition, rows in parts.values()]
    if files:
        made.table.add(files, branch)


def _positions(made: RandomTable, branch: str) -> None:
    rng, table = made.rng, made.table
    if made.case.version == 3:
        # Its deletion vectors are in files of another kind.
        for mode in ("merge-on-read", made.case.mode):
            table.commit(table.java().updateProperties().set("write.delete.mode", mode))
            if mode == "merge-on-read":
                made.table.spark.sql(f"DELETE FROM {table.on(branch)} WHERE id % 5 = {rng.randrange(5)}")
        return
    deletes = []
    with_rows = [(file, rows) for file, _, rows in made.written if rows]
    for file, rows in rng.sample(with_rows, min(3, len(with_rows))):
        places = rng.sample(range(len(rows)), rng.randint(1, len(rows)))
        deleted, named = [(file.path, place) for place in places], rng.choice(["bounds", "nothing"])
        where = {"spec_id": file.spec_id, "partition": file.partition}
        deletes.append(position_deletes(table.location(), deleted, Style(), named=named, **where))
    table.add(deletes, branch)


def _by_spark(format_: str) -> Callable[[RandomTable, str], None]:
    """Copies of some rows, with Iceberg's own statistics."""

    def add(made: RandomTable, branch: str) -> None:
        name, modulus = made.table.on(branch), made.rng.randint(3, 9)
        columns = [
            f"id + 100000 AS {each.name}" if each.name == "id" else each.name for each in made.table.schema().fields
        ]
        rows = made.table.spark.table(name).where(f"id % {modulus} = 1").selectExpr(*columns)
        rows.coalesce(1).writeTo(name).option("write-format", format_).append()

    return add


def _with(row: Row, path: tuple[int, ...], value: Any) -> Row:
    """A row with another value in a place."""
    first, *others = path
    return (*row[:first], _with(row[first], tuple(others), value) if others else value, *row[first + 1 :])


WRITERS: dict[str, Callable[[RandomTable, str], None]] = {
    "text that is not UTF-8": _bad_text,
    "no bounds": _with_statistics(_without(*BOUNDS)),
    "lower bounds only": _with_statistics(_without("upper_bounds")),
    "upper bounds only": _with_statistics(_without("lower_bounds")),
    "cut bounds": _with_statistics(_cut),
    "inverted bounds": _with_statistics(_inverted),
    "bounds that do not decode": _with_statistics(_undecodable),
    "no counts": _with_statistics(_without(*COUNTS)),
    "an empty file": _empty,
    "partition columns left out": _left_out,
    "milliseconds": _milliseconds,
    "equality deletes": _equality,
    "equality deletes with wrong values": _wrong_equality,
    "position deletes": _positions,
    "ORC": _by_spark("orc"),
    "Avro": _by_spark("avro"),
    "Spark": _by_spark("parquet"),
}
