"""Draw the joint row samples of all file groups: the same as Spark draws.

Only the clustering columns are read, and of large file groups only some row groups. A row is drawn when
``xxhash64(file_path, position, seed)`` falls below a threshold: the same rows for the same files.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyiceberg.schema import prune_columns
from pyiceberg.table import Table

from iceberg_zorder.layout.columns import ClusteringColumn
from iceberg_zorder.layout.keys import encode
from iceberg_zorder.layout.sample import Sample, cut, is_cut, sampled_bytes
from iceberg_zorder.pyiceberg.file_groups import DataFileTask, FileGroup
from iceberg_zorder.pyiceberg.metrics_config import metrics_config
from iceberg_zorder.pyiceberg.partitions import Partitions, partition_fields
from iceberg_zorder.pyiceberg.plan.row_order import RowOrder
from iceberg_zorder.pyiceberg.progress import SAMPLE, Progress, silent
from iceberg_zorder.pyiceberg.read.file_fields import field_paths, file_fields
from iceberg_zorder.pyiceberg.read.reader import Reader
from iceberg_zorder.request.layout_options import ZOrderOptions
from iceberg_zorder.rows.memory_budget import MemoryBudget
from iceberg_zorder.rows.nested import leaf, type_at
from iceberg_zorder.sample.row_hash import row_hashes
from iceberg_zorder.sample.sampled_row_groups import ManifestFile, SampledRowGroup, sampled_row_groups

_MOST_FILES = 2**31 - 1
_LARGEST_HASH = 2**63 - 1


Failed = Callable[[FileGroup, Exception], None]
"""Is told of a file group that failed, and why."""


def reraised(group: FileGroup, error: Exception) -> None:  # noqa: ARG001
    """Raise the error of a file group that failed."""
    raise error


def threshold(share: int, rows: int) -> int:
    """Find the signed hash below which so many of so many rows fall, on average.

    Examples
    --------
    >>> threshold(1, 2), threshold(1, 4) == -(2**62)
    (0, True)
    """
    return (share << 64) // rows - (1 << 63)


@dataclass(frozen=True, eq=False)
class GroupScan:
    """What is read of a file group for its sample.

    Parameters
    ----------
    group : FileGroup
        The file group.
    wanted : int
        How many of its rows are sampled.
    most : int
        How many are sampled at most, of all file groups.
    row_groups : sequence of tuple of SampledRowGroup, or None
        By data file, what is read of it; None if that is all.
    """

    group: FileGroup
    wanted: int
    most: int
    row_groups: Sequence[tuple[SampledRowGroup, ...]] | None

    def of_clusters(self, seed: int) -> GroupScan:
        """Choose more row groups for the same sample: they are known to be clusters."""
        return replace(self, row_groups=_row_groups(self.group, self.wanted, seed, are_clusters=True))

    def ranges(self) -> list[tuple[DataFileTask, list[tuple[int, int]] | None]]:
        """List what is read of each data file: begins and ends, in bytes, none or more; None for all of it."""
        if self.row_groups is None:
            return [(task, None) for task in self.group.tasks]
        ranges = [[(each.start, each.end) for each in of_file] for of_file in self.row_groups]
        return list(zip(self.group.tasks, ranges, strict=True))


def group_scans(groups: Sequence[FileGroup], options: ZOrderOptions) -> list[GroupScan]:
    """Choose what is read of each file group: each is sampled as densely as its share of the output files asks.

    Parameters
    ----------
    groups : sequence of FileGroup
        The plan's file groups.
    options : ZOrderOptions
        How many rows in all, and the seed.

    Returns
    -------
    list of GroupScan
        In the same order.
    """
    files = sum(group.expected_output_files for group in groups)
    rows = options.sample_rows_for(min(_MOST_FILES, files))
    most = max(1, min(rows, sum(group.rows for group in groups)))
    scans = []
    for group in groups:
        wanted = -(-rows * group.expected_output_files // files)
        row_groups = _row_groups(group, wanted, options.sample_seed, are_clusters=False)
        scans.append(GroupScan(group, wanted, most, row_groups))
    return scans


def _row_groups(
    group: FileGroup, wanted: int, seed: int, *, are_clusters: bool
) -> list[tuple[SampledRowGroup, ...]] | None:
    files = [_manifest_file(task) for task in group.tasks]
    return sampled_row_groups(files, wanted, group.expected_output_files, seed, are_clusters=are_clusters)


def _manifest_file(task: DataFileTask) -> ManifestFile:
    file = task.data_file
    offsets = tuple(file.split_offsets or ())
    return ManifestFile(file.file_path, task.data_sequence_number, file.record_count, file.file_size_in_bytes, offsets)


@dataclass(frozen=True, eq=False)
class DrawnSample:
    """What is sampled of a file group.

    Parameters
    ----------
    scan : GroupScan
        What was read.
    fitted : Sample
        The sample.
    held_out : Sample
        Other rows.
    row_groups : ndarray of int64
        Of the rows of the sample, the numbers of the row groups that they were read from; all 0 if everything was read.
    """

    scan: GroupScan
    fitted: Sample
    held_out: Sample
    row_groups: npt.NDArray[np.int64]


def draw_samples(
    table: Table,
    scans: Sequence[GroupScan],
    order: RowOrder,
    seed: int,
    samples: int = 1,
    progress: Progress = silent,
    failed: Failed = reraised,
    budget: MemoryBudget | None = None,
) -> list[DrawnSample]:
    """Draw a sample of every file group.

    Parameters
    ----------
    table : pyiceberg.table.Table
        The table.
    scans : sequence of GroupScan
        What to read of its file groups.
    order : RowOrder
        The columns.
    seed : int
        On what it depends besides.
    samples : int, optional
        2 if as many rows more are to be held out, or all others if there are fewer; by default none.
    progress : Progress, optional
        Told of every file that was read.
    failed : callable, optional
        Told of a file group that cannot be read, and of its error; by default it raises that.
    budget : MemoryBudget, optional
        Where deleted rows are counted while they are held; by default they are not bounded.

    Returns
    -------
    list of DrawnSample
        Of the file groups that could be read, in the same order.
    """
    drawn = []
    for scan in scans:
        drawing = _Drawing(scan, seed, samples)
        try:
            drawn.append(_sample(table, scan, order, drawing, progress, budget))
        except Exception as error:
            failed(scan.group, error)
    return drawn


class _Drawing:
    """Which rows of a file group are drawn, by their hashes.

    Those of the sample lie below the threshold of their row group, those held out of it between that and another.

    Parameters
    ----------
    scan : GroupScan
        What is read.
    seed : int
        What it depends on besides the row's file and place.
    samples : int
        How many samples of the same size, of which all but the first are held out.
    """

    def __init__(self, scan: GroupScan, seed: int, samples: int) -> None:
        self._seed = seed
        self._samples = samples
        rows = scan.group.rows
        self._all = (SampledRowGroup(0, 0, 0, 0, scan.wanted, rows),)
        read = scan.row_groups or [self._all] * len(scan.group.tasks)
        paths = (task.data_file.file_path for task in scan.group.tasks)
        self._row_groups = dict(zip(paths, read, strict=True))

    def is_drawn(self, path: str, positions: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_] | None:
        return self._are_below(self._samples, path, positions)

    def is_fitted(self, path: str, positions: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        # With nothing held out, what was drawn is the sample.
        below = None if self._samples == 1 else self._are_below(1, path, positions)
        return np.ones(len(positions), np.bool_) if below is None else below

    def row_groups(self, path: str, positions: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Find the numbers of the row groups of rows."""
        return self._row_groups[path][0].number + self._places(path, positions)

    def _places(self, path: str, positions: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        first = np.array([each.first_position for each in self._row_groups[path]], np.int64)
        return np.searchsorted(first, positions, side="right").astype(np.int64) - 1

    def _are_below(self, samples: int, path: str, positions: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_] | None:
        last = [_last_hash(samples * each.sampled_rows, each.rows) for each in self._row_groups[path]]
        if all(each == _LARGEST_HASH for each in last):
            return None
        limits = np.array(last, np.int64)
        return row_hashes(path, positions, self._seed) <= limits[self._places(path, positions)]


def _last_hash(share: int, rows: int) -> int:
    return _LARGEST_HASH if share >= rows else threshold(share, rows) - 1


def _sample(
    table: Table,
    scan: GroupScan,
    order: RowOrder,
    drawing: _Drawing,
    progress: Progress,
    budget: MemoryBudget | None,
) -> DrawnSample:
    group = scan.group
    spec = table.specs()[group.spec_id]
    sources = {field.source_id for field in partition_fields(table.schema(), spec)} if order.partition else set()
    wanted = prune_columns(table.schema(), {*order.field_ids, *sources}, select_full_types=True)
    parts = scan.ranges()
    reader = Reader(table, [task for task, ranges in parts if ranges != []], wanted, budget=budget)
    paths = field_paths(file_fields(reader.schema, None))
    lengths = [
        sampled_bytes(kept_length(table, column), scan.most) if is_cut(column.type) else None for column in order.named
    ]
    partitions = Partitions(spec, table.schema(), reader.schema) if order.partition else None
    found: list[list[pa.Array]] = [[] for _ in order.all]
    is_fitted = [np.ones(0, np.bool_)]
    row_groups = [np.ones(0, np.int64)]
    with closing(reader):
        for task, ranges in parts:
            path = task.data_file.file_path
            for rows in reader.rows(task, drawing.is_drawn, ranges) if ranges != [] else ():
                values = [leaf(rows.batch, paths[each]) for each in order.field_ids]
                columns = [
                    *(partitions.keys(partitions.transformed(rows.batch)) if partitions else []),
                    *(each if at is None else cut(each, at) for each, at in zip(values, lengths, strict=True)),
                ]
                for column, values in zip(found, columns, strict=True):
                    column.append(values)
                is_fitted.append(drawing.is_fitted(path, rows.positions))
                row_groups.append(drawing.row_groups(path, rows.positions))
            progress(SAMPLE, task.data_file.record_count, task.data_file.file_size_in_bytes)
    types = [
        *(partitions.key_types if partitions else []),
        *(
            type_at(reader.schema, paths[each]) if length is None else pa.large_binary()
            for each, length in zip(order.field_ids, lengths, strict=True)
        ),
    ]
    encoded = [
        encode(pa.chunked_array(arrays, kind), column.type)
        for arrays, kind, column in zip(found, types, order.all, strict=True)
    ]
    sample, fitted = Sample(tuple(encoded)), np.concatenate(is_fitted)
    numbers = np.concatenate(row_groups)[fitted]
    return DrawnSample(scan, sample if fitted.all() else sample.where(fitted), sample.where(~fitted), numbers)


def kept_length(table: Table, column: ClusteringColumn) -> int | None:
    """Tell the characters of a string, or bytes of a binary, that the table keeps of bounds; None if it keeps all."""
    if column.type not in ("string", "binary"):
        return None
    return metrics_config(table).mode(".".join(column.parts)).length
