"""Iceberg's rules of sizes: which files and file groups are rewritten, and into how many files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyiceberg.table import Table

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.pyiceberg.display import display_name
from iceberg_zorder.pyiceberg.plan.selection.target_size import TargetSize, checkable_target, given_target
from iceberg_zorder.pyiceberg.scan.delete_index import rows_deleted_by_position
from iceberg_zorder.request.rewrite_options import RewriteOptions, domain_faults

if TYPE_CHECKING:
    from iceberg_zorder.pyiceberg.file_groups import DataFileTask


@dataclass(frozen=True)
class SizeRules:
    """Rules of one rewrite, checked.

    Parameters
    ----------
    target_file_size, min_file_size, max_file_size : int
        Sizes of data files in bytes.
    options : RewriteOptions
        The other options.
    spec_id : int, optional
        The partition spec of new files, if files of others are to be rewritten for that.

    Examples
    --------
    >>> rules = SizeRules(100, 75, 180, RewriteOptions())
    >>> [rules.expected_output_files(size) for size in (1, 99, 109, 111, 175, 176, 1009)]
    [1, 1, 1, 2, 2, 2, 10]
    >>> [rules.finer_output_files(size) for size in (1, 109, 132, 198, 1009)]
    [1, 1, 2, 3, 15]
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
        size = task.data_file.file_size_in_bytes
        return not self.min_file_size <= size <= self.max_file_size or self.is_due(task)

    def is_only_small(self, task: DataFileTask) -> bool:
        """Tell whether a data file is to be rewritten because it is small, and for nothing else."""
        return task.data_file.file_size_in_bytes < self.min_file_size and not self.is_due(task)

    def wants_group(self, tasks: Sequence[DataFileTask]) -> bool:
        """Tell whether the chosen files of a partition are worth rewriting."""
        size = sum(task.data_file.file_size_in_bytes for task in tasks)
        return (
            (len(tasks) > 1 and len(tasks) >= self.options.min_input_files)
            or (len(tasks) > 1 and size > self.target_file_size)
            or size > self.max_file_size
            or any(self.is_due(task) for task in tasks)
        )

    def expected_output_files(self, input_size: int) -> int:
        """Tell how many files to write for so many bytes; a small remainder is shared out among the others."""
        size, target = int(input_size * self.options.compression_factor), self.target_file_size
        if size < target:
            return 1
        whole, remainder = divmod(size, target)
        shared_out = size // whole < min(1.1 * target, float(self.write_max_file_size))
        return whole if remainder <= self.min_file_size and shared_out else whole + (remainder > 0)

    def finer_output_files(self, input_size: int) -> int:
        """Tell the same for a small part of a partition that is rewritten for what it gains.

        New files have two thirds of the target, or the smallest size that a user has set, where that is more.
        """
        least = max(2 * self.target_file_size // 3, self.options.min_file_size or 1, 1)
        size = int(input_size * self.options.compression_factor)
        return max(self.expected_output_files(input_size), size // least)

    def is_due(self, task: DataFileTask) -> bool:
        """Tell whether a data file is to be rewritten for its deletes or its partition spec, whatever its size."""
        return self.is_of_other_spec(task) or self.has_too_many_deletes(task)

    def is_of_other_spec(self, task: DataFileTask) -> bool:
        """Tell whether a data file is to be rewritten for its partition spec."""
        return self.spec_id is not None and task.data_file.spec_id != self.spec_id

    def has_too_many_deletes(self, task: DataFileTask) -> bool:
        """Tell whether a data file is to be rewritten for its deletes, whatever its size."""
        deletes = len(task.position_deletes) + len(task.equality_deletes)
        if deletes >= self.options.delete_file_threshold:
            return True
        if not deletes:
            return False
        rows = task.data_file.record_count
        deleted = min(rows_deleted_by_position(task.position_deletes), rows)
        return rows > 0 and deleted / rows >= self.options.delete_ratio_threshold


def size_rules(table: Table, options: RewriteOptions, found: TargetSize | None = None) -> SizeRules:
    """Check the options of sizes, with defaults from a table's properties."""
    target = (given_target(table, options) or found or checkable_target(options)).size
    least = int(target * 0.75) if options.min_file_size is None else options.min_file_size
    most = int(target * 1.8) if options.max_file_size is None else options.max_file_size
    for why in domain_faults(options, target, least, most, table.specs()):
        raise InvalidInputError(f"Cannot rewrite data files of {display_name(table)}, because {why}")
    written = table.spec().spec_id if options.output_spec_id is None else options.output_spec_id
    return SizeRules(target, least, most, options, written if options.rewrite_old_specs else None)
