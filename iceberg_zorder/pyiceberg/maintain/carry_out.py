"""Execute plans for maintenance: whatever is in the way, what was committed before is told."""

from __future__ import annotations

from collections.abc import Callable

from iceberg_zorder.errors import RewriteConflictError, RewriteFailedError, StalePlanError, TakenOverError
from iceberg_zorder.maintain.maintenance_pass import LeftForNowError, PartlyDoneError
from iceberg_zorder.maintain.pass_report import Done
from iceberg_zorder.pyiceberg.commit.batches import CommitManager
from iceberg_zorder.pyiceberg.plan.rewrite_plan import RewritePlan
from iceberg_zorder.pyiceberg.progress import Progress
from iceberg_zorder.pyiceberg.rewrite import execute_by
from iceberg_zorder.pyiceberg.run.runner import RewriteRunner


def carried_out(plan: RewritePlan, work: Progress, goes_on: Callable[[], bool]) -> Done:
    """Execute a plan."""
    runner, message = RewriteRunner(plan.request, work, goes_on), None
    commits = runner.commits
    try:
        message = execute_by(runner, plan).message
        if commits.lost or (commits.lost_in_all and not commits.rewritten_files):
            raise RewriteConflictError(str(commits.conflicts[-1]) if commits.conflicts else message)
    except StalePlanError as error:
        # A writer came in this moment: it has won.
        raise RewriteConflictError(str(error)) from error
    except TakenOverError as error:
        # The other one does it.
        if not commits.count:
            raise LeftForNowError(str(error)) from error
        message = str(error)
    except RewriteFailedError as error:
        if commits.count:
            raise PartlyDoneError(_done(commits, message), error) from error
        raise
    return _done(commits, message)


def _done(commits: CommitManager, message: str | None) -> Done:
    failed = commits.failed_files - sum(len(group.tasks) for group in commits.lost)
    causes = [*commits.failed_commits, *([commits.failure] if commits.failure else [])]
    why = f"{failed:,} data files could not be rewritten, the last of them because {causes[-1]}" if failed else None
    counts = (commits.rewritten_files, commits.added_files, commits.rewritten_bytes, commits.failed_files)
    return Done(*counts, message, why)
