"""Iceberg's choice of data files: by their sizes, and by their deletes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from iceberg_zorder.pyiceberg.file_groups import DataFileTask, size_of
from iceberg_zorder.pyiceberg.plan.selection.selection import PartitionFiles, Selected, SelectedFiles
from iceberg_zorder.pyiceberg.plan.selection.sizes import SizeRules
from iceberg_zorder.upkeep.gathering import WHY, gathered


class SizeSelection:
    """Iceberg's choice, by sizes of data files and by their deletes; a partition is one file group, whatever its size.

    Parameters
    ----------
    table : str
        The table's name, for messages.
    rules : SizeRules
        The rules.
    rewrites : collection of int, optional
        The snapshots of earlier rewrites to files of this size, whose small files may stay; see :func:`.gathered`.
    """

    def __init__(self, table: str, rules: SizeRules, rewrites: Collection[int] = ()) -> None:
        self._table = table
        self._rewrites = rewrites
        self._rules = rules
        self._options = rules.options

    def select(self, scope: Sequence[PartitionFiles]) -> Selected:
        """Choose by sizes; see :meth:`Selection.select`."""
        everything = self._options.rewrite_all
        chosen: list[SelectedFiles] = []
        left: list[SelectedFiles] = []
        wanted = resting = 0
        for partition in scope:
            tasks = partition.tasks
            files, own = (tasks, ()) if everything else self._wanted(tasks)
            are_enough = everything or (len(files) > 0 and self._rules.wants_group(files))
            wanted += len(files)
            resting += len(own)
            if are_enough:
                chosen.append(SelectedFiles(partition.key, files, self._why_chosen(files)))
            elif files:
                left.append(SelectedFiles(partition.key, files, self._why_too_few(files)))
            if own:
                left.append(SelectedFiles(partition.key, own, WHY))
            others = {id(task) for task in (*files, *own)}
            rest = tuple(task for task in tasks if id(task) not in others)
            if rest:
                left.append(SelectedFiles(partition.key, rest, self._why_in_order()))
        seen = sum(len(partition.tasks) for partition in scope)
        return Selected(tuple(chosen), tuple(left), None if chosen else self._why_nothing(seen, wanted, resting))

    def _wanted(self, tasks: Sequence[DataFileTask]) -> tuple[tuple[DataFileTask, ...], tuple[DataFileTask, ...]]:
        """Find what is to be rewritten, and the small files of earlier rewrites that may stay."""
        wanted = [task for task in tasks if self._rules.wants(task)]
        small = [task for task in wanted if self._rules.is_only_small(task)]
        sizes = [task.data_file.file_size_in_bytes for task in small]
        rewrites = [task.added_by if task.added_by in self._rewrites else None for task in small]
        stay = {id(task) for task, is_taken in zip(small, gathered(sizes, rewrites), strict=True) if not is_taken}
        return tuple(task for task in wanted if id(task) not in stay), tuple(task for task in small if id(task) in stay)

    def _why_chosen(self, files: Sequence[DataFileTask]) -> str:
        rules = self._rules
        if self._options.rewrite_all:
            return "rewrite-all is true"
        others = Counter(task.data_file.spec_id for task in files if rules.is_of_other_spec(task))
        sizes = [task.data_file.file_size_in_bytes for task in files if not rules.is_of_other_spec(task)]
        small = sum(size < rules.min_file_size for size in sizes)
        large = sum(size > rules.max_file_size for size in sizes)
        kinds = (
            (small, f"below min-file-size-bytes {rules.min_file_size:,}"),
            (large, f"above max-file-size-bytes {rules.max_file_size:,}"),
            (len(sizes) - small - large, "with deletes above delete-file-threshold or delete-ratio-threshold"),
            *((others[spec], f"of partition spec {spec}") for spec in sorted(others)),
        )
        why = ", ".join(f"{count:,} files {kind}" for count, kind in kinds if count)
        return f"{why}; new files are of {rules.spec_id}" if others else why + self._why_enough(files)

    def _why_enough(self, files: Sequence[DataFileTask]) -> str:
        if len(files) > 1 and len(files) >= self._options.min_input_files:
            return f"; no fewer than min-input-files {self._options.min_input_files:,}"
        if size_of(files) > (self._rules.target_file_size if len(files) > 1 else self._rules.max_file_size):
            return f"; more data than target-file-size-bytes {self._rules.target_file_size:,}"
        return "; deletes call for a rewrite of any number of files"

    def _why_too_few(self, files: Sequence[DataFileTask]) -> str:
        return (
            f"{len(files):,} files, fewer than min-input-files {self._options.min_input_files:,}, with no more data "
            f"than target-file-size-bytes {self._rules.target_file_size:,}"
        )

    def _why_in_order(self) -> str:
        return (
            f"size between min-file-size-bytes {self._rules.min_file_size:,} and max-file-size-bytes "
            f"{self._rules.max_file_size:,}, and no deletes above delete-file-threshold or delete-ratio-threshold"
        )

    def _why_nothing(self, seen: int, wanted: int, resting: int) -> str:
        rules, nothing = self._rules, f"Nothing to rewrite in {self._table}: "
        if seen == 0:
            return f"{nothing}no data file can hold rows that match the filter."
        if resting and not wanted:
            return (
                f"{nothing}{resting:,} of {seen:,} data files are {WHY}, and all others are in order. To rewrite them "
                "anyway, set option rewrite-all to true."
            )
        if wanted == 0:
            return (
                f"{nothing}its size is in order for each of {seen:,} data files (between min-file-size-bytes "
                f"{rules.min_file_size:,} and max-file-size-bytes {rules.max_file_size:,}, for a target of "
                f"{rules.target_file_size:,} bytes), and none has deletes above delete-file-threshold or "
                "delete-ratio-threshold. To rewrite them anyway, set option rewrite-all to true."
            )
        return (
            f"{nothing}{wanted:,} of {seen:,} data files are outside min-file-size-bytes {rules.min_file_size:,} to "
            f"max-file-size-bytes {rules.max_file_size:,}, but no file group of them has min-input-files "
            f"{self._options.min_input_files:,} files or more than target-file-size-bytes "
            f"{rules.target_file_size:,} of data. To rewrite them anyway, set option rewrite-all to true, or lower "
            "min-input-files or target-file-size-bytes."
        )
