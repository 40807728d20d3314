"""Read the page indexes of Parquet files: the bounds and sizes of every page of a column."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import thriftpy2
from thriftpy2.protocol import TCompactProtocol
from thriftpy2.transport import TMemoryBuffer

_FORMAT: Any = thriftpy2.load(str(Path(__file__).with_name("parquet_index.thrift")), module_name="parquet_index_thrift")
_FOOTER_END = 8


@dataclass(frozen=True)
class Page:
    """One page.

    Parameters
    ----------
    compressed_bytes : int
        Its size, header included.
    lower, upper : bytes or None
        Its bounds as Parquet stores them, possibly cut; None where they are not known.
    is_null : bool
        Whether it has no value.
    """

    compressed_bytes: int
    lower: bytes | None
    upper: bytes | None
    is_null: bool


def pages(file: Path, column: str) -> list[Page]:
    """List a column's pages.

    Parameters
    ----------
    file : Path
        A Parquet file with page indexes.
    column : str
        Name of a top-level column.

    Returns
    -------
    list of Page
        Row group by row group.
    """
    found: list[Page] = []
    with file.open("rb") as stream:
        for group in _footer(stream).row_groups:
            chunk = next(each for each in group.columns if each.meta_data.path_in_schema == [column])
            offsets = _read(stream, chunk.offset_index_offset, chunk.offset_index_length, _FORMAT.OffsetIndex())
            sizes = [location.compressed_page_size for location in offsets.page_locations]
            if chunk.column_index_offset is None:
                found += [Page(size, None, None, is_null=False) for size in sizes]
                continue
            index = _read(stream, chunk.column_index_offset, chunk.column_index_length, _FORMAT.ColumnIndex())
            bounds = zip(sizes, index.min_values, index.max_values, index.null_pages, strict=True)
            found += [Page(size, bytes(low), bytes(high), bool(null)) for size, low, high, null in bounds]
    return found


def _footer(stream: BinaryIO) -> Any:
    stream.seek(-_FOOTER_END, 2)
    (length,) = struct.unpack("<I", stream.read(4))
    stream.seek(-_FOOTER_END - length, 2)
    return _decoded(stream.read(length), _FORMAT.FileMetaData())


def _read(stream: BinaryIO, offset: int, length: int, into: Any) -> Any:
    stream.seek(offset)
    return _decoded(stream.read(length), into)


def _decoded(data: bytes, into: Any) -> Any:
    into.read(TCompactProtocol(TMemoryBuffer(data)))  # type: ignore[no-untyped-call]
    return into
