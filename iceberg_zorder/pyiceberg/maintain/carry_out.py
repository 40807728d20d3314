"""Execute plans for maintenance: whatever is in the way, what was committed before is told."""

from __future__ import annotations

from collections.abc import Callable

from iceberg_zorder.errors import RewriteConflictError, RewriteFailedError, StalePlanError, TakenOverError
from iceberg_zorder.maintain.maintenance_pass import LeftForNowError, PartlyDoneError
from iceberg_zorder.maintain.pass_report import Done
from iceberg_zorder.pyiceberg.commit.batches import Tally
from iceberg_zorder.pyiceberg.plan.rewrite_plan import RewritePlan
from iceberg_zorder.pyiceberg.progress import Progress
from iceberg_zorder.pyiceberg.rewrite import execute_counting


def carried_out(plan: RewritePlan, work: Progress, goes_on: Callable[[], bool]) -> Done:
    """Execute a plan."""
    tally, message = Tally(), None
    try:
        message = execute_counting(plan, tally, work, goes_on).message
        if tally.lost or (tally.lost_in_all and not tally.rewritten_files):
            raise RewriteConflictError(str(tally.conflicts[-1]) if tally.conflicts else message)
    except StalePlanError as error:
        # A writer came in this moment: it has won.
        raise RewriteConflictError(str(error)) from error
    except TakenOverError as error:
        # The other one does it.
        if not tally.commits:
            raise LeftForNowError(str(error)) from error
        message = str(error)
    except RewriteFailedError as error:
        if tally.commits:
            raise PartlyDoneError(_done(tally, message), error) from error
        raise
    return _done(tally, message)


def _done(tally: Tally, message: str | None) -> Done:
    failed = tally.failed_files - sum(len(group.tasks) for group in tally.lost)
    causes = [*tally.failed_commits, *([tally.failure] if tally.failure else [])]
    why = f"{failed:,} data files could not be rewritten, the last of them because {causes[-1]}" if failed else None
    counts = (tally.rewritten_files, tally.added_files, tally.rewritten_bytes, tally.failed_files)
    return Done(*counts, message, why)
