"""Commit rewritten file groups in batches, and keep the books of what was done, was lost to conflicts, and failed."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from iceberg_zorder.errors import RewriteConflictError, TakenOverError, UnknownOutcomeError
from iceberg_zorder.pyiceberg.commit.replacement import Replacement, commit_replacement
from iceberg_zorder.pyiceberg.display import display_name
from iceberg_zorder.pyiceberg.file_groups import FileGroup, GroupResult
from iceberg_zorder.request.rewrite_options import RewriteOptions

logger = logging.getLogger("iceberg_zorder")


class CommitManager:
    """Commits batches of file groups to a branch, and counts, so that what stands is known however the rewrite ends.

    The table has the new metadata after every commit.
    """

    def __init__(self, table: Table, branch: str, options: RewriteOptions) -> None:
        self._table = table
        self._branch = branch
        self._options = options
        self._ours: list[int] = []
        self.rewritten_files = self.added_files = self.rewritten_bytes = 0
        self.failed_files = self.removed_delete_files = 0
        self.failure: Exception | None = None
        """Why a file group failed, the last one that did."""
        self.failed_commits: list[Exception] = []
        """Why commits failed that no other operation was in the way of."""
        self.conflicts: list[RewriteConflictError] = []
        """Of the last attempt: what took the file groups in ``lost``."""
        self.lost: list[FileGroup] = []
        self.lost_in_all = 0
        """File groups that conflicts took at any attempt, whatever became of them then."""
        self.waiting = 0
        """File groups that were not begun, because the caller wanted no more."""

    @property
    def count(self) -> int:
        """How many commits were made."""
        return len(self._ours)

    def commit(self, snapshot: Snapshot, results: Sequence[GroupResult], properties: Mapping[str, str]) -> bool:
        """Commit a batch of file groups that were planned on a snapshot; tells whether that was done."""
        # They come as they are done, and are committed in one order whichever was first.
        results = sorted(results, key=lambda each: each.sampled.group.index)
        groups = [each.sampled.group for each in results]
        removed = tuple(task.data_file for group in groups for task in group.tasks)
        added = tuple(file for each in results for file in each.files)
        try:
            committed = commit_replacement(
                self._table,
                Replacement(removed, added),
                start=snapshot,
                ours=self._ours,
                branch=self._branch,
                use_starting_sequence_number=self._options.use_starting_sequence_number,
                snapshot_properties=properties,
            )
        except RewriteConflictError as error:
            self.conflicts.append(error)
            self.lost += groups
            self.lost_in_all += len(groups)
            return False
        except (TakenOverError, UnknownOutcomeError):
            raise
        except Exception as error:
            if not self._options.partial_progress:
                raise
            name = display_name(self._table)
            logger.error("A commit of %s failed, and its new files were deleted: %s", name, error, exc_info=error)
            self.failed_commits.append(error)
            self.failed_files += len(removed)
            return False
        self._ours.append(committed)
        self.rewritten_files += len(removed)
        self.added_files += len(added)
        self.rewritten_bytes += sum(file.file_size_in_bytes for file in removed)
        new = self._table.snapshot_by_id(committed)
        if new and new.summary:
            self.removed_delete_files += int(new.summary.get("removed-delete-files", "0") or 0)
        return True
