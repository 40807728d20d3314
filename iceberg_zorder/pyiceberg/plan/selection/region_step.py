"""Cut what was chosen into file groups that are rewritten one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from pyiceberg.table import Table

from iceberg_zorder.pyiceberg.file_groups import DataFileTask, size_of
from iceberg_zorder.pyiceberg.plan.row_order import RowOrder
from iceberg_zorder.pyiceberg.plan.selection.gain_selection import asking, upkeep_request
from iceberg_zorder.pyiceberg.plan.selection.selection import Selected, SelectedFiles
from iceberg_zorder.pyiceberg.plan.selection.sizes import SizeRules
from iceberg_zorder.pyiceberg.scan.file_arrays import file_arrays
from iceberg_zorder.pyiceberg.scan.requested_workload import RequestedWorkload
from iceberg_zorder.request.rewrite_options import RewriteOptions
from iceberg_zorder.upkeep.gain import rows_to_spread
from iceberg_zorder.upkeep.region_messages import in_one, part
from iceberg_zorder.upkeep.regions import Region, Regions, RegionSizes, cut_regions

LARGEST_GROUP = 100 * 1024**3
"""Bytes of a file group, by default: Iceberg's."""
_FILES = 16
_MOST_COST = 1.05


class RegionStep:
    """Cuts file groups into regions.

    Parameters
    ----------
    table : pyiceberg.table.Table
        The table.
    rules : SizeRules
        How large new files are.
    order : RowOrder
        The columns to cut in.
    spec_id : int
        The partition spec of new files.
    workload : RequestedWorkload, optional
        The queries by which it is judged what cuts cost.
    """

    def __init__(
        self, table: Table, rules: SizeRules, order: RowOrder, spec_id: int, workload: RequestedWorkload | None = None
    ) -> None:
        self._table, self._rules, self._order, self._spec_id = table, rules, order, spec_id
        self._workload = workload
        self._sizes = region_sizes(rules.target_file_size, rules.options)
        self._bound = rules.options.max_file_group_size or LARGEST_GROUP

    def cut(self, selected: Selected) -> Selected:
        """Cut what was chosen; it stays as it is where it is small enough."""
        large = [files for files in selected.chosen if self._is_to_cut(files)]
        if not large:
            return selected
        rows = rows_to_spread([self._rules.expected_output_files(size_of(files.tasks)) for files in large])
        regions = {id(files): self._regions(files, count) for files, count in zip(large, rows, strict=True)}
        chosen = [region for files in selected.chosen for region in regions.get(id(files), [files])]
        return replace(selected, chosen=tuple(chosen))

    def _is_to_cut(self, files: SelectedFiles) -> bool:
        """Tell whether files are so large; those that change their partition are cut by that before all else."""
        size = size_of(files.tasks)
        changes = any(task.data_file.spec_id != self._spec_id for task in files.tasks)
        is_large = size > self._sizes.bound and len(files.tasks) > 1
        return is_large and (self._sizes.is_across or (size >= 2 * self._sizes.least and not changes))

    def _regions(self, files: SelectedFiles, rows: int) -> list[SelectedFiles]:
        # In an order that every engine finds.
        tasks = sorted(files.tasks, key=lambda task: task.data_file.file_path)
        fields = [self._table.schema().find_field(each) for each in self._order.field_ids]
        arrays = file_arrays([task.data_file for task in tasks], fields, self._order.named)
        request = upkeep_request(self._table, self._rules, self._order, _MOST_COST)
        request = asking(request, tasks, self._rules, self._workload)
        if files.is_finer:
            request = replace(request, expected_files=request.finer_files)
        found = cut_regions(arrays, rows, self._sizes, request)
        if len(found.regions) == 1:
            return [replace(files, reason=files.reason + self._why_in_one(files, found, max(request.weights) > 0))]
        return [*self._parts(files, tasks, found)]

    def _parts(self, files: SelectedFiles, tasks: Sequence[DataFileTask], found: Regions) -> Iterator[SelectedFiles]:
        for number, region in enumerate(found.regions, 1):
            mine = tuple(tasks[place] for place in region.files.tolist())
            why = files.reason + self._why_part(number, region, found)
            yield replace(files, tasks=mine, reason=why, spans=region.spans)

    def _why_part(self, number: int, region: Region, found: Regions) -> str:
        fractions = found.expected or 0.0, found.in_one or 0.0
        return part(number, len(found.regions), fractions, None if region.is_clean else self._bound)

    def _why_in_one(self, files: SelectedFiles, found: Regions, has_bounds: bool) -> str:
        size = size_of(files.tasks)
        if found.expected is not None and found.in_one is not None:
            return in_one(size, self._bound, (found.expected, found.in_one))
        return in_one(size, self._bound, None, has_bounds=has_bounds) if size > self._bound else ""


def region_sizes(target: int, options: RewriteOptions) -> RegionSizes:
    """Find how large regions are: so large that a layout has enough files to cut.

    Examples
    --------
    >>> region_sizes(100, RewriteOptions(max_file_group_size=10_000))
    RegionSizes(bound=10000, least=1600, is_across=True)
    >>> region_sizes(100, RewriteOptions(partial_progress=True))
    RegionSizes(bound=1600, least=1600, is_across=False)
    >>> region_sizes(100, RewriteOptions())
    RegionSizes(bound=107374182400, least=1600, is_across=False)
    """
    bound = options.max_file_group_size
    least = min(_FILES * target, max(1, (bound or LARGEST_GROUP) // 4))
    if bound is None and options.partial_progress:
        return RegionSizes(least, least, False)
    return RegionSizes(bound or LARGEST_GROUP, least, bound is not None)
