"""Draw the joint row samples of all file groups, and fit their layouts: the same as Spark draws and fits.

A row is drawn when ``xxhash64(file_path, position, seed)`` falls below its file group's threshold: the same rows for
the same files. Each file group is drawn as densely as its share of the output files asks.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyiceberg.schema import prune_columns
from pyiceberg.table import Table

from iceberg_zorder.layout.columns import ClusteringColumn
from iceberg_zorder.layout.fit import LayoutRequest, fit
from iceberg_zorder.layout.keys import VALUE, KeyColumn, encode
from iceberg_zorder.layout.layout import Layout
from iceberg_zorder.layout.sample import Sample, cut, is_cut, sampled_bytes
from iceberg_zorder.pyiceberg.display import display_name
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

_LOG = logging.getLogger(__name__)
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
    files = sum(group.expected_output_files for group in groups)
    wanted = options.sample_rows_for(min(_MOST_FILES, files))
    most = max(1, min(wanted, sum(group.rows for group in groups)))
    drawn = []
    for group in groups:
        share = -(-wanted * group.expected_output_files // files)
        limit = None if share >= group.rows else np.int64(threshold(share, group.rows))
        drawing = _Drawing(limit, options.sample_seed, most)
        try:
            drawn.append((group, _sample(table, group, order, drawing, progress, budget)))
        except Exception as error:
            failed(group, error)
    return drawn


@dataclass(frozen=True)
class _Drawing:
    """Which rows of a file group are drawn: all without a limit, else those whose hash lies below it.

    Parameters
    ----------
    limit : numpy.int64 or None
        The hash.
    seed : int
        What it depends on besides the row's file and place.
    most : int
        Rows that are sampled at most, of all file groups.
    """

    limit: np.int64 | None
    seed: int
    most: int

    def is_drawn(self, path: str, positions: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_] | None:
        return None if self.limit is None else row_hashes(path, positions, self.seed) < self.limit


def _sample(
    table: Table,
    group: FileGroup,
    order: RowOrder,
    drawing: _Drawing,
    progress: Progress,
    budget: MemoryBudget | None,
) -> Sample:
    spec = table.specs()[group.spec_id]
    sources = {field.source_id for field in partition_fields(table.schema(), spec)} if order.partition else set()
    wanted = prune_columns(table.schema(), {*order.field_ids, *sources}, select_full_types=True)
    reader = Reader(table, list(group.tasks), wanted, budget=budget)
    paths = field_paths(file_fields(reader.schema, None))
    lengths = [
        sampled_bytes(_kept(table, column), drawing.most) if is_cut(column.type) else None for column in order.named
    ]
    partitions = Partitions(spec, table.schema(), reader.schema) if order.partition else None
    found: list[list[pa.Array]] = [[] for _ in order.all]
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
    return Sample(tuple(encoded))


def fit_layouts(
    table: Table,
    groups: Sequence[FileGroup],
    order: RowOrder,
    options: ZOrderOptions,
    progress: Progress = silent,
    failed: Failed = reraised,
    budget: MemoryBudget | None = None,
) -> list[tuple[FileGroup, Layout]]:
    """Sample every file group, fit its layout, and warn of columns by which no file can be skipped.

    Parameters
    ----------
    table : pyiceberg.table.Table
        The table.
    groups : sequence of FileGroup
        The plan's file groups.
    order : RowOrder
        The columns, their weights, and the curve.
    options : ZOrderOptions
        What the sample and the layouts are to be like.
    progress : Progress, optional
        Told of every file that was read.
    failed : callable, optional
        Told of a file group that cannot be read, and of its error; by default it raises that.
    budget : MemoryBudget, optional
        Where deleted rows are counted while they are held; by default they are not bounded.

    Returns
    -------
    list of (FileGroup, Layout)
        The file groups that could be read, in the same order, and the layouts that the Spark engine fits to the same
        snapshot.
    """
    drawn = draw_samples(table, groups, order, options, progress, failed, budget)
    _warn_of_truncated_bounds(table, order, [sample for _, sample in drawn])
    fitted = []
    for group, sample in drawn:
        wanted = LayoutRequest(
            group.expected_output_files,
            options.cuts,
            order.curve,
            order.leading_orders,
            options.boundaries,
            options.size_tolerance,
            order.weights,
        )
        fitted.append((group, fit(order.all, sample, wanted)))
    _log_left_out(table, order.named, [layout for _, layout in fitted])
    return fitted


def _warn_of_truncated_bounds(table: Table, order: RowOrder, samples: Sequence[Sample]) -> None:
    for place, column in enumerate(order.named, len(order.partition)):
        length = _kept(table, column)
        if length is None:
            continue
        if _begin_alike([sample.columns[place] for sample in samples], length, column.type == "string"):
            _LOG.warning(
                "All sampled values of clustering column %s of %s begin with the same %s characters, and the table "
                "keeps only so many of its lower/upper bounds: no file can be skipped by it. ALTER TABLE ... SET "
                "TBLPROPERTIES ('write.metadata.metrics.column.%s' = 'full') and rewrite again.",
                column.name,
                display_name(table),
                length,
                ".".join(column.parts),
            )


def _kept(table: Table, column: ClusteringColumn) -> int | None:
    """Tell the characters of a string, or bytes of a binary, that the table keeps of bounds; None if it keeps all."""
    if column.type not in ("string", "binary"):
        return None
    return metrics_config(table).mode(".".join(column.parts)).length


def _begin_alike(columns: Sequence[KeyColumn], length: int, text: bool) -> bool:
    beginnings: set[str] = set()
    longer = False
    for column in columns:
        for key, state in zip(column.keys, column.states.tolist(), strict=True):
            if state == VALUE:
                # One byte is one character in Latin-1, which serves for binary columns as UTF-8 does for text. A key
                # that was cut in a character has more characters before it than are compared.
                value = key.as_py().decode("utf-8" if text else "latin-1", errors="replace")
                longer |= len(value) > length
                beginnings.add(value[:length])
                if len(beginnings) > 1:
                    return False
    return longer


def _log_left_out(table: Table, columns: Sequence[ClusteringColumn], layouts: Sequence[Layout]) -> None:
    for column in columns:
        groups = sum(column.name in layout.left_out for layout in layouts)
        if groups and groups == len(layouts):
            _LOG.warning(
                "Left clustering column %s of %s out: it has one value only, only NULLs, or long values that begin "
                "alike",
                column.name,
                display_name(table),
            )
        elif groups:
            _LOG.info(
                "Left clustering column %s of %s out in %s of %s file groups: it has one value only there",
                column.name,
                display_name(table),
                groups,
                len(layouts),
            )
