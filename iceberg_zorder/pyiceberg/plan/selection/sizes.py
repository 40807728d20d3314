"""Iceberg's rules of sizes: which files and file groups are rewritten, and into how many files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress

from pyiceberg.table import Table

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.pyiceberg.display import display_name
from iceberg_zorder.pyiceberg.file_groups import DataFileTask, size_of
from iceberg_zorder.pyiceberg.plan.selection.target_size import TargetSize, found_target, given_target
from iceberg_zorder.pyiceberg.scan.delete_index import rows_deleted_by_position
from iceberg_zorder.request.reasons import Reason
from iceberg_zorder.request.rewrite_options import RewriteOptions, domain_faults
from iceberg_zorder.upkeep.gathering import gathered


@dataclass(frozen=True)
class SizeRules:
    """Rules of one rewrite, checked; a spec is the one of new files, if files of others are to be rewritten for that.

    Examples
    --------
    >>> rules = SizeRules(100, 75, 180, RewriteOptions())
    >>> [rules.expected_output_files(size) for size in (1, 99, 109, 111, 175, 176, 1009)]
    [1, 1, 1, 2, 2, 2, 10]
    """

    target_file_size: int
    min_file_size: int
    max_file_size: int
    options: RewriteOptions
    spec_id: int | None = None

    @property
    def write_max_file_size(self) -> int:
        """The size above which a file is not planned to be: half way from the target to the maximum."""
        return int(self.target_file_size + (self.max_file_size - self.target_file_size) * 0.5)

    def wants(self, task: DataFileTask) -> bool:
        """Tell whether a data file is to be rewritten for its size, its deletes or its partition spec."""
        return not self.min_file_size <= task.data_file.file_size_in_bytes <= self.max_file_size or self.is_due(task)

    def called_for(self, tasks: Sequence[DataFileTask], runs: Mapping[int, str]) -> set[DataFileTask]:
        """Find the data files of a partition that are rewritten, as Iceberg does.

        But small files are not rewritten to as many, and those of earlier rewrites wait, see :func:`.gathered`.
        """
        if self.options.rewrite_all:
            return {*tasks}
        others = {task for task in tasks if self.is_due(task) or task.data_file.file_size_in_bytes > self.max_file_size}
        small = [task for task in tasks if self.wants(task) and task not in others]
        rewrites = [None if task.added_by is None else runs.get(task.added_by) for task in small]
        called = others.union(compress(small, gathered([size_of([task]) for task in small], rewrites)))
        size = size_of(called)
        are_enough = len(called) > 1 and (len(called) >= self.options.min_input_files or size > self.target_file_size)
        return called if others or (are_enough and self.expected_output_files(size) < len(called)) else set()

    def why_chosen(self, tasks: Sequence[DataFileTask]) -> tuple[Reason, ...]:
        """Say why data files are called for."""
        if self.options.rewrite_all:
            return (Reason("rewrite-all"),)
        others = Counter(task.data_file.spec_id for task in tasks if self._is_of_other_spec(task))
        sizes = [task.data_file.file_size_in_bytes for task in tasks if not self._is_of_other_spec(task)]
        small = sum(size < self.min_file_size for size in sizes)
        large = sum(size > self.max_file_size for size in sizes)
        kinds = (
            Reason("small", {"files": small, "min_file_size_bytes": self.min_file_size}),
            Reason("large", {"files": large, "max_file_size_bytes": self.max_file_size}),
            Reason("deletes", {"files": len(sizes) - small - large}),
            *(
                Reason("other-spec", {"files": others[spec], "spec_id": spec, "new_spec_id": self.spec_id})
                for spec in sorted(others)
            ),
        )
        return tuple(each for each in kinds if each.parameters["files"])

    @property
    def why_small(self) -> Reason:
        """Why small files are left."""
        return Reason(
            "small-left",
            {
                "min_file_size_bytes": self.min_file_size,
                "min_input_files": self.options.min_input_files,
                "target_file_size_bytes": self.target_file_size,
            },
        )

    @property
    def why_in_order(self) -> Reason:
        """Why other files are left."""
        return Reason(
            "in-order", {"min_file_size_bytes": self.min_file_size, "max_file_size_bytes": self.max_file_size}
        )

    def expected_output_files(self, input_size: int) -> int:
        """Tell how many files to write for so many bytes; a small remainder is shared out among the others."""
        size, target = int(input_size * self.options.compression_factor), self.target_file_size
        if size < target:
            return 1
        whole, remainder = divmod(size, target)
        shared_out = size // whole < min(1.1 * target, float(self.write_max_file_size))
        return whole if remainder <= self.min_file_size and shared_out else whole + (remainder > 0)

    def is_due(self, task: DataFileTask) -> bool:
        """Tell whether a data file is to be rewritten for its deletes or its partition spec, whatever its size."""
        return self._is_of_other_spec(task) or self._has_too_many_deletes(task)

    def _is_of_other_spec(self, task: DataFileTask) -> bool:
        return self.spec_id is not None and task.data_file.spec_id != self.spec_id

    def _has_too_many_deletes(self, task: DataFileTask) -> bool:
        deletes, rows = len(task.position_deletes) + len(task.equality_deletes), task.data_file.record_count
        deleted = min(rows_deleted_by_position(task.position_deletes), rows)
        is_large_share = deletes > 0 and rows > 0 and deleted / rows >= self.options.delete_ratio_threshold
        return deletes >= self.options.delete_file_threshold or is_large_share


def size_rules(table: Table, options: RewriteOptions, found: TargetSize | None = None) -> SizeRules:
    """Check the options of sizes, with defaults from a table's properties."""
    # Before a target is found, one that fits the other options: what is wrong with them is wrong whatever is found.
    target = (given_target(table, options) or found or found_target(options, (), ())).size
    least = int(target * 0.75) if options.min_file_size is None else options.min_file_size
    most = int(target * 1.8) if options.max_file_size is None else options.max_file_size
    for why in domain_faults(options, target, least, most, table.specs()):
        raise InvalidInputError(f"Cannot rewrite data files of {display_name(table)}, because {why}")
    written = table.spec().spec_id if options.output_spec_id is None else options.output_spec_id
    return SizeRules(target, least, most, options, written if options.rewrite_old_specs else None)
