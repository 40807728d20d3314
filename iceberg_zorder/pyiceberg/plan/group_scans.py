"""Choose what is read of file groups for their samples: all row groups, or of many an even part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from iceberg_zorder.pyiceberg.file_groups import DataFileTask, FileGroup
from iceberg_zorder.request.layout_options import ZOrderOptions
from iceberg_zorder.sample.sampled_row_groups import ManifestFile, SampledRowGroup, sampled_row_groups

_MOST_FILES = 2**31 - 1


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
