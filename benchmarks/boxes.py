"""The boxes of a laid-out table: of its files, row groups and pages, from what the files themselves hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.metrics import Boxes
from benchmarks.page_index import pages

UNKNOWN = (-1, 2**62)
EMPTY = (2**62, -1)


@dataclass(frozen=True)
class Ranks:
    """The distinct values of a column in order, so that bounds become numbers.

    Parameters
    ----------
    values : ndarray
        Integers, floats, or texts as bytes; sorted.
    """

    values: npt.NDArray[Any]

    @staticmethod
    def of(column: pa.ChunkedArray) -> Ranks:
        """Collect the values of a column, NULL and NaN aside."""
        return Ranks(np.unique(comparable(column)))

    def places(self, values: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        """Find the ranks of values that the column has."""
        return np.searchsorted(self.values, values).astype(np.int64)

    def interval(self, low: Any, high: Any) -> tuple[int, int]:
        """Find the ranks between two bounds, which need not be values of the column."""
        first = int(np.searchsorted(self.values, low, side="left"))
        return first, int(np.searchsorted(self.values, high, side="right")) - 1


def comparable(column: pa.ChunkedArray | pa.Array) -> npt.NDArray[Any]:
    """Make an array that sorts as the column does, without NULL and NaN."""
    known = column.drop_null()
    if pa.types.is_string(known.type) or pa.types.is_large_string(known.type):
        return np.array([text.encode() for text in known.to_pylist()], np.bytes_)
    if pa.types.is_decimal(known.type):
        return np.array(pc.cast(known, pa.float64()))
    values = np.asarray(pc.cast(known, pa.int64()) if pa.types.is_timestamp(known.type) else known)
    if values.dtype.kind == "M":
        values = values.astype("datetime64[D]").astype(np.int64)
    found: npt.NDArray[Any] = values[~np.isnan(values)] if values.dtype.kind == "f" else values
    return found


@dataclass(frozen=True)
class TableBoxes:
    """The boxes of one laid-out table.

    Parameters
    ----------
    files, row_groups, pages : Boxes
        At each level. The pages of different columns begin at different rows, so that a conjunction over them has no
        meaning; the size of a page counts for its own column.
    rows : tuple of int
        Rows of every file.
    """

    files: Boxes
    row_groups: Boxes
    pages: Boxes
    rows: tuple[int, ...]


def table_boxes(files: Sequence[Path], columns: Sequence[str], ranks: Sequence[Ranks]) -> TableBoxes:
    """Read the boxes of a table.

    Parameters
    ----------
    files : sequence of Path
        Its data files.
    columns : sequence of str
        The clustering columns.
    ranks : sequence of Ranks
        Their ranks.

    Returns
    -------
    TableBoxes
        The boxes.
    """
    of_files, of_groups = [], []
    of_pages: list[list[tuple[int, int, int]]] = [[] for _ in columns]
    rows = []
    for file in files:
        size = file.stat().st_size
        table = pq.read_table(file, columns=list(columns))
        rows.append(table.num_rows)
        of_files.append([(*_exact(table[name], rank), size) for name, rank in zip(columns, ranks, strict=True)])
        metadata = pq.ParquetFile(file).metadata
        of_groups += [_row_group(metadata.row_group(i), columns, ranks) for i in range(metadata.num_row_groups)]
        for place, (name, rank) in enumerate(zip(columns, ranks, strict=True)):
            of_pages[place] += _pages(file, name, rank)
    return TableBoxes(_boxes(of_files), _boxes(of_groups), _page_boxes(of_pages), tuple(rows))


def _boxes(found: list[list[tuple[int, int, int]]]) -> Boxes:
    stacked = np.array(found, np.int64).transpose(2, 1, 0)
    return Boxes(*stacked)


def _page_boxes(found: list[list[tuple[int, int, int]]]) -> Boxes:
    longest = max(len(pages) for pages in found)
    padded = [pages + [(*EMPTY, 0)] * (longest - len(pages)) for pages in found]
    return Boxes(*np.array(padded, np.int64).transpose(2, 0, 1))


def _exact(column: pa.ChunkedArray, ranks: Ranks) -> tuple[int, int]:
    # Sorted, as numpy has no minimum of texts.
    values = np.sort(comparable(column))
    return ranks.interval(values[0], values[-1]) if len(values) else EMPTY


def _row_group(group: Any, columns: Sequence[str], ranks: Sequence[Ranks]) -> list[tuple[int, int, int]]:
    chunks = {group.column(i).path_in_schema: group.column(i) for i in range(group.num_columns)}
    size = sum(chunk.total_compressed_size for chunk in chunks.values())
    return [(*_chunk(chunks[name], rank), size) for name, rank in zip(columns, ranks, strict=True)]


def _chunk(chunk: Any, ranks: Ranks) -> tuple[int, int]:
    statistics = chunk.statistics
    if statistics is None or not statistics.has_min_max:
        all_null = statistics is not None and statistics.has_null_count and statistics.null_count == chunk.num_values
        return EMPTY if all_null else UNKNOWN
    bounds = comparable(pa.array([statistics.min, statistics.max]))
    return ranks.interval(bounds[0], bounds[1]) if len(bounds) == 2 else UNKNOWN


def _pages(file: Path, column: str, ranks: Ranks) -> list[tuple[int, int, int]]:
    found = []
    for page in pages(file, column):
        if page.is_null:
            bounds = EMPTY
        elif page.lower is None or page.upper is None:
            bounds = UNKNOWN
        else:
            bounds = ranks.interval(_decoded(page.lower, ranks), _decoded(page.upper, ranks))
        found.append((*bounds, page.compressed_bytes))
    return found


def _decoded(bound: bytes, ranks: Ranks) -> Any:
    """Decode a bound as the ranks have it."""
    kind = ranks.values.dtype.kind
    if kind == "S":
        return np.bytes_(bound)
    return np.frombuffer(bound, f"<{'f' if kind == 'f' else 'i'}{len(bound)}")[0]
