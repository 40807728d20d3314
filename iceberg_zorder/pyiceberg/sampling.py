"""Draw the joint row samples of all file groups, and fit their layouts: the same as Spark draws and fits.

A row is drawn when ``xxhash64(file_path, position, seed)`` falls below its file group's threshold: the same rows for
the same files. Each file group is drawn as densely as its share of the output files asks.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyiceberg.schema import prune_columns
from pyiceberg.table import Table

from iceberg_zorder.columns import ClusteringColumn
from iceberg_zorder.keys import VALUE, KeyColumn, encode
from iceberg_zorder.layout import Layout, Wish, fit
from iceberg_zorder.options import ZOrderOptions
from iceberg_zorder.pyiceberg.clustering import RowOrder
from iceberg_zorder.pyiceberg.deletes import field_paths
from iceberg_zorder.pyiceberg.file_groups import FileGroup
from iceberg_zorder.pyiceberg.internals import display_name
from iceberg_zorder.pyiceberg.metrics_config import metrics_config
from iceberg_zorder.pyiceberg.partitions import Partitions, partition_fields
from iceberg_zorder.pyiceberg.progress import SAMPLE, Progress, silent
from iceberg_zorder.pyiceberg.projection import file_fields, leaf
from iceberg_zorder.pyiceberg.read import Reader
from iceberg_zorder.pyiceberg.row_hash import row_hashes
from iceberg_zorder.sample import Sample

_LOG = logging.getLogger(__name__)
_MOST_FILES = 2**31 - 1


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
) -> list[Sample]:
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

    Returns
    -------
    list of Sample
        As many samples, in the same order.
    """
    files = sum(group.expected_output_files for group in groups)
    wanted = options.sample_rows_for(min(_MOST_FILES, files))
    return [
        _sample(table, group, order, -(-wanted * group.expected_output_files // files), options.sample_seed, progress)
        for group in groups
    ]


def _sample(table: Table, group: FileGroup, order: RowOrder, share: int, seed: int, progress: Progress) -> Sample:
    limit = None if share >= group.rows else np.int64(threshold(share, group.rows))

    def is_drawn(path: str, positions: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_] | None:
        return None if limit is None else row_hashes(path, positions, seed) < limit

    spec = table.specs()[group.spec_id]
    sources = {field.source_id for field in partition_fields(table.schema(), spec)} if order.partition else set()
    wanted = prune_columns(table.schema(), {*order.field_ids, *sources}, select_full_types=True)
    reader = Reader(table, list(group.tasks), wanted)
    paths = field_paths(file_fields(reader.schema, None))
    partitions = Partitions(spec, table.schema(), reader.schema) if order.partition else None
    found: list[list[pa.Array]] = [[] for _ in order.all]
    for task in group.tasks:
        for rows in reader.rows(task, is_drawn):
            columns = [
                *(partitions.keys(partitions.transformed(rows.batch)) if partitions else []),
                *(leaf(rows.batch, paths[each]) for each in order.field_ids),
            ]
            for column, values in zip(found, columns, strict=True):
                column.append(values)
        progress(SAMPLE, task.data_file.record_count, task.data_file.file_size_in_bytes)
    types = [
        *(partitions.key_types if partitions else []),
        *(_type_at(reader.schema, paths[each]) for each in order.field_ids),
    ]
    encoded = [
        encode(pa.chunked_array(parts, kind), column.type)
        for parts, kind, column in zip(found, types, order.all, strict=True)
    ]
    return Sample(tuple(encoded))


def _type_at(schema: pa.Schema, path: Sequence[int]) -> pa.DataType:
    kind = schema.field(path[0]).type
    for place in path[1:]:
        kind = kind.field(place).type
    return kind


def fit_layouts(
    table: Table,
    groups: Sequence[FileGroup],
    order: RowOrder,
    options: ZOrderOptions,
    progress: Progress = silent,
) -> list[Layout]:
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

    Returns
    -------
    list of Layout
        As many layouts, in the same order: those that the Spark engine fits to the same snapshot.
    """
    samples = draw_samples(table, groups, order, options, progress)
    _warn_of_truncated_bounds(table, order, samples)
    layouts = [
        fit(
            order.all,
            sample,
            Wish(
                group.expected_output_files,
                options.cuts,
                order.curve,
                order.leading_orders,
                options.boundaries,
                options.size_tolerance,
                order.weights,
            ),
        )
        for group, sample in zip(groups, samples, strict=True)
    ]
    _log_left_out(table, order.named, layouts)
    return layouts


def _warn_of_truncated_bounds(table: Table, order: RowOrder, samples: Sequence[Sample]) -> None:
    metrics = metrics_config(table)
    for place, column in enumerate(order.named, len(order.partition)):
        name = ".".join(column.parts)
        length = metrics.mode(name).length
        if length is None or column.type not in ("string", "binary"):
            continue
        if _share_one_prefix([sample.columns[place] for sample in samples], length, column.type == "string"):
            _LOG.warning(
                "All sampled values of clustering column %s of %s begin with the same %s characters, and the table "
                "keeps only so many of its lower/upper bounds: no file can be skipped by it. ALTER TABLE ... SET "
                "TBLPROPERTIES ('write.metadata.metrics.column.%s' = 'full') and rewrite again.",
                column.name,
                display_name(table),
                length,
                name,
            )


def _share_one_prefix(columns: Sequence[KeyColumn], length: int, text: bool) -> bool:
    prefixes: set[str] = set()
    longer = False
    for column in columns:
        for key, state in zip(column.keys, column.states.tolist(), strict=True):
            if state == VALUE:
                # One byte is one character in Latin-1, which serves for binary columns as UTF-8 does for text.
                value = key.as_py().decode("utf-8" if text else "latin-1")
                longer |= len(value) > length
                prefixes.add(value[:length])
                if len(prefixes) > 1:
                    return False
    return longer


def _log_left_out(table: Table, columns: Sequence[ClusteringColumn], layouts: Sequence[Layout]) -> None:
    for column in columns:
        groups = sum(column.name in layout.left_out for layout in layouts)
        if groups == len(layouts):
            _LOG.warning(
                "Left clustering column %s of %s out: it has one value only, or only NULLs",
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
