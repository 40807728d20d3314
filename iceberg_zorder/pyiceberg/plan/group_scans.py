"""Choose what is read of file groups for their samples, and which of its rows are drawn: the same as Spark.

All row groups are read, or of many an even part. A row is drawn when ``xxhash64(file_path, position, seed)`` falls
below a threshold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from iceberg_zorder.pyiceberg.file_groups import DataFileTask, FileGroup
from iceberg_zorder.request.layout_options import ZOrderOptions
from iceberg_zorder.sample.row_hash import row_hashes
from iceberg_zorder.sample.sampled_row_groups import ManifestFile, SampledRowGroup, sampled_row_groups

_MOST_FILES = 2**31 - 1
_LARGEST_HASH = 2**63 - 1


@dataclass(frozen=True, eq=False)
class GroupScan:
    """What is read of a file group for its sample: by data file, some row groups, or all of it."""

    group: FileGroup
    wanted: int  # so many of its rows are sampled
    most: int  # so many at most, of all file groups
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
    """Choose what is read of each file group: each is sampled as densely as its share of the output files asks."""
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


def threshold(share: int, rows: int) -> int:
    """Find the signed hash below which so many of so many rows fall, on average."""
    return (share << 64) // rows - (1 << 63)


class Drawing:
    """Which rows of a file group are drawn, by their hashes.

    Those of the sample lie below the threshold of their row group, those held out of it between that and another: as
    many for each of ``samples`` but the first.
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
        """Tell of rows at some positions of a file whether they are drawn; None if all are."""
        return self._are_below(self._samples, path, positions)

    def is_fitted(self, path: str, positions: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Tell of rows that are drawn whether they are of the sample, or held out of it."""
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
