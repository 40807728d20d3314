"""Draw the joint row samples of all file groups: the same as Spark draws.

A row is drawn when ``xxhash64(file_path, position, seed)`` falls below its file group's threshold: the same rows for
the same files. Each file group is drawn as densely as its share of the output files asks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyiceberg.schema import prune_columns
from pyiceberg.table import Table

from iceberg_zorder.layout.columns import ClusteringColumn
from iceberg_zorder.layout.keys import encode
from iceberg_zorder.layout.sample import Sample, cut, is_cut, sampled_bytes
from iceberg_zorder.pyiceberg.file_groups import FileGroup
from iceberg_zorder.pyiceberg.metrics_config import metrics_config
from iceberg_zorder.pyiceberg.partitions import Partitions, partition_fields
from iceberg_zorder.pyiceberg.plan.row_order import RowOrder
from iceberg_zorder.pyiceberg.progress import SAMPLE, Progress, silent
from iceberg_zorder.pyiceberg.read.file_fields import field_paths, file_fields
from iceberg_zorder.pyiceberg.read.reader import Reader
from iceberg_zorder.request.layout_options import ZOrderOptions
from iceberg_zorder.rows.memory_budget import MemoryBudget
from iceberg_zorder.rows.nested import leaf, type_at
from iceberg_zorder.rows.row_hash import row_hashes

_MOST_FILES = 2**31 - 1


Failed = Callable[[FileGroup, Exception], None]
"""Is told of a file group that failed, and why."""


def reraised(group: FileGroup, error: Exception) -> None:  # noqa: ARG001
    """Raise the error of a file group that failed."""
    raise error


def threshold(share: int, rows: int) -> int:
    """Find the signed hash below which so many of a file group's rows fall, on average.

    Examples
    --------
    >>> threshold(1, 2), threshold(1, 4) == -(2**62)
    (0, True)
    """
    return (share << 64) // rows - (1 << 63)


def draw_samples(
    table: Table,
    groups: Sequence[FileGroup],
    order: RowOrder,
    options: ZOrderOptions,
    progress: Progress = silent,
    failed: Failed = reraised,
    budget: MemoryBudget | None = None,
) -> list[tuple[FileGroup, Sample]]:
    """Draw a sample of every file group.

    Parameters
    ----------
    table : pyiceberg.table.Table
        The table.
    groups : sequence of FileGroup
        The plan's file groups.
    order : RowOrder
        The columns.
    options : ZOrderOptions
        How many rows in all, and the seed.
    progress : Progress, optional
        Told of every file that was read.
    failed : callable, optional
        Told of a file group that cannot be read, and of its error; by default it raises that.
    budget : MemoryBudget, optional
        Where deleted rows are counted while they are held; by default they are not bounded.

    Returns
    -------
    list of (FileGroup, Sample)
        The file groups that could be read, in the same order.
    """
    drawn = draw_several(table, groups, order, options, 1, progress, failed, budget)
    return [(group, sample) for group, sample, _ in drawn]


def draw_several(
    table: Table,
    groups: Sequence[FileGroup],
    order: RowOrder,
    options: ZOrderOptions,
    samples: int,
    progress: Progress,
    failed: Failed,
    budget: MemoryBudget | None,
) -> list[tuple[FileGroup, Sample, Sample]]:
    """Draw so many samples of the same size from each file group: the first, and the others in one, held out of it."""
    files = sum(group.expected_output_files for group in groups)
    wanted = options.sample_rows_for(min(_MOST_FILES, files))
    most = max(1, min(wanted, sum(group.rows for group in groups)))
    drawn = []
    for group in groups:
        share = -(-wanted * group.expected_output_files // files)
        drawing = _Drawing(_limit(share, group.rows), _limit(samples * share, group.rows), options.sample_seed, most)
        try:
            drawn.append((group, *_sample(table, group, order, drawing, progress, budget)))
        except Exception as error:
            failed(group, error)
    return drawn


@dataclass(frozen=True)
class _Drawing:
    """Which rows of a file group are drawn.

    Parameters
    ----------
    fitted : numpy.int64 or None
        The hash that those of the rows of the sample lie below; None for all.
    all : numpy.int64 or None
        The same with those of the rows held out of it.
    seed : int
        What it depends on besides the row's file and place.
    most : int
        Rows that are sampled at most, of all file groups.
    """

    fitted: np.int64 | None
    all: np.int64 | None
    seed: int
    most: int

    def is_drawn(self, path: str, positions: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_] | None:
        return None if self.all is None else row_hashes(path, positions, self.seed) < self.all

    def is_fitted(self, path: str, positions: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        if self.fitted is None or self.fitted == self.all:
            return np.ones(len(positions), np.bool_)
        return row_hashes(path, positions, self.seed) < self.fitted


def _limit(share: int, rows: int) -> np.int64 | None:
    return None if share >= rows else np.int64(threshold(share, rows))


def _sample(
    table: Table,
    group: FileGroup,
    order: RowOrder,
    drawing: _Drawing,
    progress: Progress,
    budget: MemoryBudget | None,
) -> tuple[Sample, Sample]:
    spec = table.specs()[group.spec_id]
    sources = {field.source_id for field in partition_fields(table.schema(), spec)} if order.partition else set()
    wanted = prune_columns(table.schema(), {*order.field_ids, *sources}, select_full_types=True)
    reader = Reader(table, list(group.tasks), wanted, budget=budget)
    paths = field_paths(file_fields(reader.schema, None))
    lengths = [
        sampled_bytes(kept_length(table, column), drawing.most) if is_cut(column.type) else None
        for column in order.named
    ]
    partitions = Partitions(spec, table.schema(), reader.schema) if order.partition else None
    found: list[list[pa.Array]] = [[] for _ in order.all]
    is_fitted = [np.ones(0, np.bool_)]
    with closing(reader):
        for task in group.tasks:
            for rows in reader.rows(task, drawing.is_drawn):
                values = [leaf(rows.batch, paths[each]) for each in order.field_ids]
                columns = [
                    *(partitions.keys(partitions.transformed(rows.batch)) if partitions else []),
                    *(part if at is None else cut(part, at) for part, at in zip(values, lengths, strict=True)),
                ]
                for column, part in zip(found, columns, strict=True):
                    column.append(part)
                is_fitted.append(drawing.is_fitted(task.data_file.file_path, rows.positions))
            progress(SAMPLE, task.data_file.record_count, task.data_file.file_size_in_bytes)
    types = [
        *(partitions.key_types if partitions else []),
        *(
            type_at(reader.schema, paths[each]) if length is None else pa.large_binary()
            for each, length in zip(order.field_ids, lengths, strict=True)
        ),
    ]
    encoded = [
        encode(pa.chunked_array(parts, kind), column.type)
        for parts, kind, column in zip(found, types, order.all, strict=True)
    ]
    sample, fitted = Sample(tuple(encoded)), np.concatenate(is_fitted)
    return (sample if fitted.all() else sample.where(fitted)), sample.where(~fitted)


def kept_length(table: Table, column: ClusteringColumn) -> int | None:
    """Tell the characters of a string, or bytes of a binary, that the table keeps of bounds; None if it keeps all."""
    if column.type not in ("string", "binary"):
        return None
    return metrics_config(table).mode(".".join(column.parts)).length
