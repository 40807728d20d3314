"""DuckDB, a reader that shares no code with the engines: the rows of a table, and how many rows a filter leaves."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tests.fuzz.filters import Filter
from tests.fuzz.model import DATA, Entry, FileRows, rows_of
from tests.fuzz.types import (
    Struct,
    from_arrow,
    identity,
    is_floating,
)

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


def disagreements(
    reader: Duck, location: str, schema: Struct, files: Sequence[FileRows], chosen: Sequence[Filter]
) -> Iterator[str]:
    """Find in what a reader sees another table than the model has read."""
    if any(isinstance(value, Fraction) for file in files for row in file.rows for value in row):
        return  # What nanoseconds in a column of microseconds are to a reader is its own affair.
    rows, wanted = reader.rows(location, schema), rows_of(files)
    if rows != wanted:
        lost, new = wanted - rows, rows - wanted
        yield f"rows changed to DuckDB: {sum(lost.values())} lost, {sum(new.values())} new; {list(lost)[:1]} {list(new)[:1]}"
    for each in chosen:
        count, right = reader.count(location, each), sum(each.holds(row) for file in files for row in file.rows)
        if count is not None and count != right:
            yield f"DuckDB finds {count} of {right} such rows: {each}"


def rows_of_arrow(table: pa.Table, schema: Struct) -> Counter[Any]:
    """Take rows whose columns come in the schema's order."""
    table = table.combine_chunks()
    columns = []
    for column, field in zip(table.columns, schema.fields, strict=True):
        array = column.combine_chunks()
        values = from_arrow(array if isinstance(array, pa.Array) else pa.concat_arrays(array.chunks), field.type)
        # UUIDs come as text.
        is_text = field.type == "uuid"
        columns.append([uuid.UUID(each).bytes if is_text and isinstance(each, str) else each for each in values])
    return Counter(identity(tuple(column[row] for column in columns)) for row in range(table.num_rows))


class Duck:
    """DuckDB and its extension iceberg."""

    def __init__(self) -> None:
        self._connection = duckdb_with_iceberg()

    def can_read(self, schema: Struct, files: Sequence[Entry]) -> bool:
        """Tell whether it knows all that there is in a table with such data and delete files."""
        # Version 1.5.5 fails, or ends the process, with deletes in partitions of NULL.
        plain = all(isinstance(field.type, str) for field in schema.fields)
        return plain and all(file.content == DATA and None not in file.partition for file in files)

    def rows(self, location: str, schema: Struct) -> Counter[Any]:
        """Read all rows of the table whose metadata is at a location."""
        names = ", ".join(_double_quoted([field.name]) for field in schema.fields)
        found = self._connection.execute(f"SELECT {names} FROM iceberg_scan('{location}')")
        return rows_of_arrow(found.to_arrow_table(), schema)

    def count(self, location: str, one: Filter) -> int | None:
        """Count the rows that a filter leaves; None if it cannot say the filter."""
        literal = _duck_literal(one)
        if literal is None:
            return None
        name = _double_quoted(one.leaf.names)
        condition = _condition(name, one, literal[0]).replace("startswith(", "starts_with(", 1)
        text = f"SELECT count(*) FROM iceberg_scan('{location}') WHERE {condition}"
        return int(self._connection.execute(text, literal[1]).fetchall()[0][0])


def duckdb_with_iceberg() -> DuckDBPyConnection:
    duckdb = import_module("duckdb")  # is not there beside older versions of Spark
    connection: DuckDBPyConnection = duckdb.connect(config={"threads": 1})
    connection.execute("SET TimeZone = 'UTC'")
    for name in ("avro", "iceberg"):
        package = import_module(f"duckdb_extension_{name}")
        extension = next(Path(str(package.__file__)).parent.rglob(f"{name}.duckdb_extension"))
        connection.execute(f"LOAD '{extension}'")
    return connection


def _duck_literal(one: Filter) -> tuple[str, list[Any]] | None:
    of, value = one.leaf.type, one.value
    if value is None:
        return "", []
    casts = {"boolean": "BOOLEAN", "int": "INTEGER", "long": "BIGINT", "double": "DOUBLE", "string": "VARCHAR"}
    if of in casts:
        return f"CAST(? AS {casts[of]})", [value]
    if of.startswith("decimal"):
        return f"CAST(? AS {of})", [str(value)]
    return ("(DATE '1970-01-01' + CAST(? AS INTEGER))", [value]) if of == "date" else None


def _condition(name: str, one: Filter, literal: str) -> str:
    if one.operator in ("null", "notnull"):
        return f"{name} IS {'NOT ' if one.operator == 'notnull' else ''}NULL"
    if one.operator in ("nan", "notnan"):
        return f"{name} IS NOT NULL AND {'NOT ' if one.operator == 'notnan' else ''}isnan({name})"
    if one.operator == "starts":
        return f"startswith({name}, {literal})"
    # To SQL, NaN is above all numbers.
    more = f" AND NOT isnan({name})" if is_floating(one.leaf.type) else ""
    return f"{name} {one.operator} {literal}{more}"


def _double_quoted(parts: Sequence[str]) -> str:
    return ".".join('"' + part.replace('"', '""') + '"' for part in parts)
