"""Commit rewritten file groups in batches, and keep the books of what was done, was lost to conflicts, and failed."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pyiceberg.manifest import DataFile
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from iceberg_zorder.errors import RewriteConflictError, TakenOverError, UnknownOutcomeError
from iceberg_zorder.pyiceberg.commit.replacement import Replacement, commit_replacement
from iceberg_zorder.pyiceberg.display import display_name
from iceberg_zorder.pyiceberg.file_groups import FileGroup
from iceberg_zorder.request.rewrite_options import RewriteOptions

logger = logging.getLogger("iceberg_zorder")

Batch = Sequence[tuple[FileGroup, list[DataFile]]]
"""File groups with their new data files."""


@dataclass
class Tally:
    """What was done so far."""

    rewritten_files: int = 0
    added_files: int = 0
    rewritten_bytes: int = 0
    failed_files: int = 0
    removed_delete_files: int = 0
    commits: int = 0
    failure: Exception | None = None
    """Why a file group failed, the last one that did."""
    failed_commits: list[Exception] = field(default_factory=list)
    """Why commits failed that no other operation was in the way of."""
    conflicts: list[RewriteConflictError] = field(default_factory=list)
    """Of the last attempt: what took the file groups in ``lost``."""
    lost: list[FileGroup] = field(default_factory=list)
    lost_in_all: int = 0
    """File groups that conflicts took at any attempt, whatever became of them then."""
    waiting: int = 0
    """File groups that were not begun, because the caller wanted no more."""


class BatchCommits:
    """Commits batches of file groups of a table.

    Parameters
    ----------
    table : pyiceberg.table.Table
        The table; it has the new metadata after every commit.
    branch : str
        The branch to commit to.
    options : RewriteOptions
        The options.
    tally : Tally
        Where it is counted.
    """

    def __init__(self, table: Table, branch: str, options: RewriteOptions, tally: Tally) -> None:
        self._table = table
        self._branch = branch
        self._options = options
        self._tally = tally
        self._ours: list[int] = []

    def commit(self, snapshot: Snapshot, batch: Batch, properties: Mapping[str, str]) -> bool:
        """Commit a batch of file groups."""
        # They come as they are done, and are committed in one order whichever was first.
        batch = sorted(batch, key=lambda each: each[0].index)
        removed = tuple(task.data_file for group, _ in batch for task in group.tasks)
        added = tuple(file for _, files in batch for file in files)
        tally = self._tally
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
            tally.conflicts.append(error)
            tally.lost += [group for group, _ in batch]
            tally.lost_in_all += len(batch)
            return False
        except (TakenOverError, UnknownOutcomeError):
            raise
        except Exception as error:
            if not self._options.partial_progress:
                raise
            name = display_name(self._table)
            logger.error("A commit of %s failed, and its new files were deleted: %s", name, error, exc_info=error)
            tally.failed_commits.append(error)
            tally.failed_files += len(removed)
            return False
        self._ours.append(committed)
        tally.commits += 1
        tally.rewritten_files += len(removed)
        tally.added_files += len(added)
        tally.rewritten_bytes += sum(file.file_size_in_bytes for file in removed)
        new = self._table.snapshot_by_id(committed)
        if new and new.summary:
            tally.removed_delete_files += int(new.summary.get("removed-delete-files", "0") or 0)
        return True
