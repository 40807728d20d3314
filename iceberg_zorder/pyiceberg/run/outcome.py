"""What came of a rewrite: scan fractions of the files that were written, and the result of one that writes none."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from iceberg_zorder.pyiceberg.commit.batches import Batch
from iceberg_zorder.pyiceberg.file_groups import size_of
from iceberg_zorder.pyiceberg.plan.rewrite_plan import RewritePlan
from iceberg_zorder.pyiceberg.plan.scan_fractions import MeasuredGroup, ScanFractions
from iceberg_zorder.report.data_files import DataFiles
from iceberg_zorder.request.result import ColumnScan, RewriteResult, WorkloadScan
from iceberg_zorder.request.rewrite_messages import DRY_RUN, gains_nothing, reads_no_more, why_left_after_all

Written = Sequence[tuple[MeasuredGroup, DataFiles]]
"""File groups, and their new files."""


class WrittenFiles:
    """Measures the files that a rewrite has written, of one plan after the other."""

    def __init__(self) -> None:
        self._measure: ScanFractions | None = None
        self._measured: dict[int, MeasuredGroup] = {}
        self._committed: list[tuple[MeasuredGroup, DataFiles]] = []
        self._left: list[tuple[MeasuredGroup, DataFiles]] = []

    def begin(self, plan: RewritePlan) -> None:
        """Take note of a sampled plan, whose file groups come next."""
        self._measure = plan.measure
        self._measured = {group.index: each.measured for group, each in zip(plan.groups, plan.layouts, strict=True)}

    def files(self, batch: Batch) -> Written:
        """Describe the new files of file groups."""
        assert self._measure is not None  # noqa: S101
        return [self._measure.written(self._measured[group.index], files) for group, files in batch]

    def actual(self, written: Written) -> dict[str, float]:
        """Measure, by column, the scan fractions among new files."""
        return self._measure.measured(written) if self._measure else {}

    def predicted(self, written: Written) -> dict[str, float]:
        """Tell, by column, the scan fractions that were predicted of new files."""
        return self._measure.predicted([group for group, _ in written]) if self._measure else {}

    def gain_nothing(self, written: Written, *, are_few: bool = False) -> bool:
        """Tell whether new files are read no less than those of today, on average over the columns or the queries.

        If they are few beside those of today, it is enough that they are read no more.
        """
        assert self._measure is not None  # noqa: S101
        before, actual = self._measure.means_written(written)
        if before is None or actual is None or (are_few and reads_no_more(before, actual)):
            return False
        return gains_nothing(before, actual)

    def left(self, written: Written) -> None:
        """Take note of what is not committed, because it gains nothing."""
        self._left += written

    def why_left(self, table: str) -> str | None:
        """Say what was not committed, and why; None if all was."""
        if not self._left or self._measure is None:
            return None
        before, actual = self._measure.means_written(self._left)
        return why_left_after_all(table, len(self._left), before or 0.0, actual or 0.0, over=self._measure.over)

    def committed(self, written: Written) -> None:
        """Take note of what was committed."""
        self._committed += written

    def scan_fractions(self) -> tuple[ColumnScan, ...]:
        """Compare what was committed with what was there before, and with what was predicted; empty if nothing was."""
        if self._measure is None or not self._committed:
            return ()
        return column_scans(self._measure, [group for group, _ in self._committed], self._committed)

    def workload_scan(self) -> WorkloadScan | None:
        """Compare what the queries of the workload read in the same way; None without one."""
        if self._measure is None or not self._committed:
            return None
        return self._measure.workload_scan([group for group, _ in self._committed], self._committed)


def column_scans(
    measure: ScanFractions, groups: Sequence[MeasuredGroup], written: Written = ()
) -> tuple[ColumnScan, ...]:
    """Give the scan fractions of file groups by column: before, predicted, and actual if files are written."""
    before, predicted = measure.before(groups), measure.predicted(groups)
    actual = measure.measured(written)
    return tuple(
        ColumnScan(name, before[name], predicted.get(name), actual.get(name))
        for name in measure.columns
        if name in before
    )


def dry_run_result(plan: RewritePlan) -> RewriteResult:
    """Tell what a sampled plan would do; nothing is written."""
    measured = [each.measured for each in plan.layouts]
    measure = plan.measure if plan.groups else None
    return RewriteResult(
        sum(len(group.tasks) for group in plan.groups),
        sum(each.layout.files for each in plan.layouts),
        sum(size_of(group.tasks) for group in plan.groups),
        0,
        0,
        joined([DRY_RUN, plan.message, *plan.warnings]),
        column_scans(measure, measured) if measure else (),
        dry_run=True,
        expected_seconds=plan.expected_seconds,
        predicates=plan.predicates,
        workload=measure.workload_scan(measured) if measure else None,
    )


def joined(sentences: Iterable[str | None]) -> str | None:
    """Join sentences, of which some may be missing; None if all are.

    Examples
    --------
    >>> joined(["One.", None, "Two."]), joined([None])
    ('One. Two.', None)
    """
    return " ".join(each for each in sentences if each) or None


def scan_fractions_text(scans: Sequence[ColumnScan]) -> str:
    """Write scan fractions in a line.

    Examples
    --------
    >>> scan_fractions_text([ColumnScan("a", 0.5, 0.125, 0.13), ColumnScan("b", 1.0, 0.2, None)])
    'a 50.0% before, 12.5% predicted, 13.0% actual; b 100.0% before, 20.0% predicted'
    """
    return "; ".join(
        f"{scan.column} "
        + ", ".join(
            f"{100 * value:.1f}% {name}"
            for name, value in (("before", scan.before), ("predicted", scan.predicted), ("actual", scan.actual))
            if value is not None
        )
        for scan in scans
    )
