"""What a rewrite reports: its result, or an error that says what was committed."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from iceberg_zorder.errors import RewriteConflictError, RewriteFailedError, UnknownOutcomeError
from iceberg_zorder.pyiceberg.catalog import why
from iceberg_zorder.pyiceberg.commit.replacement import CommitManager
from iceberg_zorder.pyiceberg.files import GroupResult
from iceberg_zorder.pyiceberg.plan.scan_measure import ScanMeasure, column_scans, table_files, workload_scan
from iceberg_zorder.rewrite.result import ColumnScan, RewriteResult

logger = logging.getLogger("iceberg_zorder")


@contextmanager
def naming_commits(commits: CommitManager) -> Iterator[None]:
    """Make the errors of a block say what the rewrite has committed."""
    try:
        yield
    except BaseException as error:
        if commits.properties_set:
            names = ", ".join(commits.properties_set)
            logger.warning("The failed rewrite of %s has set properties: %s", commits.name, names)
        if isinstance(error, UnknownOutcomeError) and commits.count:
            raise UnknownOutcomeError(
                f"{error} Earlier commits remain: {commits.count}, with {commits.rewritten_files} rewritten data files."
            ) from error
        if isinstance(error, RewriteFailedError) or not isinstance(error, Exception):
            raise
        raise failure(commits, why(error)) from error


def failure(
    commits: CommitManager, reason: str, kind: type[RewriteFailedError] = RewriteFailedError
) -> RewriteFailedError:
    """Return the error that ends a rewrite, with the reason and what was committed."""
    remains = (
        f"{commits.count} commits remain, and the other new files were deleted."
        if commits.count
        else f"Nothing was committed{', and the new files were deleted' if commits.has_begun else ''}."
    )
    return kind(f"Cannot complete the rewrite of {commits.name}, because {reason.rstrip('.')}. {remains}")


def check_failures(commits: CommitManager) -> None:
    """Count the conflicting file groups as failed; raises if more commits failed than the options allow."""
    commits.failed_files += sum(group.data_files_count for group in commits.conflicting)
    failed = [*commits.failed_commits, *commits.conflicts]
    kind = RewriteConflictError if commits.conflicts else RewriteFailedError
    if failed and not commits.options.partial_progress:
        raise failed[-1]
    if commits.failed_files and not commits.count:
        cause = failed[-1] if failed else commits.failure
        raise failure(commits, f"no file group could be rewritten: {cause}", kind)
    if len(failed) > commits.options.max_failed_commits:
        raise kind(
            f"Cannot complete the rewrite of {commits.name}, because partial-progress.enabled is true but "
            f"{len(failed)} rewrite commits failed. This is more than the maximum allowed failures of "
            f"{commits.options.max_failed_commits}. The log has the causes; the other commits remain."
        )


def result_of(
    commits: CommitManager, message: str | None, measure: ScanMeasure | None, results: Sequence[GroupResult]
) -> RewriteResult:
    """Return the counts and scan fractions of a rewrite that has committed ``results``."""
    sampled = [each.sampled for each in results]
    scans: tuple[ColumnScan, ...] = ()
    workload = before = after = None
    if measure is not None and results:
        scans, workload = column_scans(measure, sampled, results), workload_scan(measure, sampled, results)
        before = table_files(measure, [each.today for each in sampled])
        after = table_files(measure, [each.written for each in results])
    if scans:
        logger.info("Scan fractions of the rewrite of %s: %s", commits.name, _scan_fractions_text(scans))
    return RewriteResult(
        commits.rewritten_files,
        commits.added_files,
        commits.rewritten_bytes,
        commits.failed_files,
        commits.removed_delete_files,
        message,
        scans,
        workload=workload,
        before=before,
        after=after,
        translated_deletes=commits.translated_deletes,
    )


def _scan_fractions_text(scans: Sequence[ColumnScan]) -> str:
    """Return scan fractions as one line of text."""
    return "; ".join(
        f"{scan.column} "
        + ", ".join(
            f"{100 * value:.1f}% {name}"
            for name, value in (("before", scan.before), ("predicted", scan.predicted), ("actual", scan.actual))
            if value is not None
        )
        for scan in scans
    )
