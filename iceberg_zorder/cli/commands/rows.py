"""The command that appends rows of files."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Literal

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from rich.text import Text

from iceberg_zorder.cli.output import Output
from iceberg_zorder.cli.pyiceberg_engine import failures
from iceberg_zorder.cli.table import NamedTable
from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.printable import printable
from iceberg_zorder.pyiceberg.append import append, arrow_schema
from iceberg_zorder.pyiceberg.catalog import load_table

_STDIN = "-"
_BATCH_ROWS = 1 << 16


def append_files(
    table: NamedTable,
    files: Sequence[str],
    file_format: Literal["parquet", "csv"] | None,
    asked: Mapping[str, Any],
    output: Output,
    done: Callable[[], None],
) -> int:
    """Append the rows of files to a table."""
    with (
        failures(f"append to {table.name}", output),
        output.progress() as say,
        output.work() as work,
        ExitStack() as held,
    ):
        loaded = load_table(table.catalog, table.identifier)
        rows = read(files, file_format, arrow_schema(loaded), held)
        say(f"Appending to {table.name}")
        result = append(loaded, rows, **asked, progress=work)
        done()
    text = Text(printable(f"{result.text} to {table.name}"))
    output.show({"table": table.name, **result.to_dict()}, lambda console: console.print(text, soft_wrap=True))
    return 0


def read(
    files: Sequence[str], file_format: Literal["parquet", "csv"] | None, schema: pa.Schema, held: ExitStack
) -> pa.RecordBatchReader:
    """Return the rows of files, which have the same columns; CSV has a table's types, by the names of columns."""
    if files.count(_STDIN) > 1:
        raise InvalidInputError("Cannot append standard input twice, because it can be read once")
    first = held.enter_context(_reader(files[0], file_format, schema))
    plain = first.schema.remove_metadata()

    def batches() -> Iterator[pa.RecordBatch]:
        yield from _batches(files[0], first)
        # One after the other, because each holds memory and a file handle.
        for file in files[1:]:
            with _reader(file, file_format, schema) as other:
                if other.schema.remove_metadata() != plain:
                    raise InvalidInputError(
                        f"Cannot append {files[0]} and {file} at once, because they have different columns: append "
                        "them one after the other"
                    )
                yield from _batches(file, other)

    return pa.RecordBatchReader.from_batches(plain, batches())


def _batches(file: str, reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
    try:
        for batch in reader:
            yield batch.replace_schema_metadata()
    except (OSError, pa.ArrowException) as error:
        raise InvalidInputError(f"Cannot read {file}, because {error}") from error


@contextmanager
def _reader(
    file: str, file_format: Literal["parquet", "csv"] | None, schema: pa.Schema
) -> Iterator[pa.RecordBatchReader]:
    kind = file_format or ("parquet" if file.lower().endswith((".parquet", ".pq")) else "csv")
    with ExitStack() as held:
        yield _opened(file, kind, schema, held)


def _opened(file: str, kind: str, schema: pa.Schema, held: ExitStack) -> pa.RecordBatchReader:
    try:
        if kind == "parquet":
            # Parquet is read from its end.
            source = pa.BufferReader(sys.stdin.buffer.read()) if file == _STDIN else file
            opened = held.enter_context(pq.ParquetFile(source, memory_map=file != _STDIN))
            return pa.RecordBatchReader.from_batches(opened.schema_arrow, opened.iter_batches(_BATCH_ROWS))
        convert = pyarrow.csv.ConvertOptions(
            column_types={field.name: field.type for field in schema},
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        )
        parse = pyarrow.csv.ParseOptions(newlines_in_values=True)
        source = sys.stdin.buffer if file == _STDIN else file
        return held.enter_context(pyarrow.csv.open_csv(source, parse_options=parse, convert_options=convert))
    except (OSError, pa.ArrowException) as error:
        raise InvalidInputError(f"Cannot read {file} as {kind}, because {error}") from error
