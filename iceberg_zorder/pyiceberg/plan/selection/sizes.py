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
from iceberg_zorder.request.rewrite_options import RewriteOptions

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
    """Check the options of sizes, with defaults from a table's properties.

    Parameters
    ----------
    table : pyiceberg.table.Table
        The table.
    options : RewriteOptions
        The options.
    found : TargetSize, optional
        The target where neither an option nor the table sets one. Without it the rules check the options only.

    Returns
    -------
    SizeRules
        The rules.

    Raises
    ------
    InvalidInputError
        When an option lies outside its domain.
    """
    target = (given_target(table, options) or found or checkable_target(options)).size
    least = int(target * 0.75) if options.min_file_size is None else options.min_file_size
    most = int(target * 1.8) if options.max_file_size is None else options.max_file_size
    for why in _faults(table, options, target, least, most):
        raise InvalidInputError(f"Cannot rewrite data files of {display_name(table)}, because {why}")
    written = table.spec().spec_id if options.output_spec_id is None else options.output_spec_id
    return SizeRules(target, least, most, options, written if options.rewrite_old_specs else None)


def _faults(table: Table, options: RewriteOptions, target: int, least: int, most: int) -> list[str]:
    """Say what is wrong, in the order and the words of Iceberg's planner."""
    positive = "'%s' is set to %s but must be > 0"
    names = ("target-file-size-bytes", "min-file-size-bytes", "max-file-size-bytes")
    ratio = options.delete_ratio_threshold
    factor = options.compression_factor
    spec_id = options.output_spec_id
    checks = [
        (target > 0, positive % (names[0], target)),
        (least >= 0, f"'{names[1]}' is set to {least} but must be >= 0"),
        (
            target > least,
            f"'{names[0]}' ({target}) must be > '{names[1]}' ({least}), all new files will be smaller than the min "
            "threshold",
        ),
        (
            target < most,
            f"'{names[0]}' ({target}) must be < '{names[2]}' ({most}), all new files will be larger than the max "
            "threshold",
        ),
        (options.min_input_files > 0, positive % ("min-input-files", options.min_input_files)),
        (
            options.max_file_group_size is None or options.max_file_group_size > 0,
            positive % ("max-file-group-size-bytes", options.max_file_group_size),
        ),
        (
            options.max_file_group_input_files > 0,
            positive % ("max-file-group-input-files", options.max_file_group_input_files),
        ),
        (
            spec_id is None or spec_id in table.specs(),
            f"Cannot use output spec id {spec_id} because the table does not contain a reference to this spec-id.",
        ),
        (
            options.delete_file_threshold >= 0,
            f"'delete-file-threshold' is set to {options.delete_file_threshold} but must be >= 0",
        ),
        (ratio > 0, positive % ("delete-ratio-threshold", ratio)),
        (ratio <= 1, f"'delete-ratio-threshold' is set to {ratio} but must be <= 1"),
        (
            options.max_files_to_rewrite is None or options.max_files_to_rewrite > 0,
            f"Cannot set max-files-to-rewrite to {options.max_files_to_rewrite}, the value must be positive integer.",
        ),
        (factor > 0, positive % ("compression-factor", factor)),
        (
            options.max_scan_ratio >= 1,
            f"'max-scan-ratio' is set to {options.max_scan_ratio} but must be >= 1",
        ),
        (
            options.min_age_seconds >= 0,
            f"'min-age-seconds' is set to {options.min_age_seconds} but must be >= 0",
        ),
    ]
    return [why for holds, why in checks if not holds]
