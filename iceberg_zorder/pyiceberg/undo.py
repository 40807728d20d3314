"""Undo rewrites: move a branch back to the snapshot before them, unless other writers have changed the branch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH

from iceberg_zorder.errors import InvalidInputError, RewriteConflictError, UnknownOutcomeError
from iceberg_zorder.figures import count
from iceberg_zorder.layout.columns import quoted_name, quoted_text
from iceberg_zorder.maintain.past_rewrites import PastRewrite, is_ours, rewrites_of
from iceberg_zorder.metrics.history import REPLACE, SnapshotFacts
from iceberg_zorder.pyiceberg.catalog import commit_retries, refresh
from iceberg_zorder.pyiceberg.commit.replacement import CommitOutcome
from iceberg_zorder.pyiceberg.compat import dropped_metadata, move_branch
from iceberg_zorder.pyiceberg.files import display_name, sql_name
from iceberg_zorder.pyiceberg.listing.listing import snapshots_to
from iceberg_zorder.pyiceberg.plan.rewrite_spec import branch_snapshot
from iceberg_zorder.pyiceberg.plan.sort_order import last_sort_order
from iceberg_zorder.pyiceberg.reporting.report import report


@dataclass(frozen=True)
class UndoResult:
    """What an undo did, or would do.

    Parameters
    ----------
    table, branch : str
        The table and the branch.
    dry_run : bool
        Whether nothing was done.
    snapshot_id : int
        The snapshot that the branch is at after the undo.
    undone : tuple of int
        The snapshots that were undone, oldest first.
    files, undone_files : int
        The number of data files of the whole table after the undo, and before it; 0 if the rewrite's columns are gone.
    scan_fractions, undone_scan_fractions : mapping of str to float
        By column, the share of the whole table's bytes that ``column = value`` reads after the undo, and before it, in
        [0, 1].
    """

    table: str
    branch: str
    dry_run: bool
    snapshot_id: int
    undone: tuple[int, ...]
    files: int
    scan_fractions: Mapping[str, float]
    undone_files: int
    undone_scan_fractions: Mapping[str, float]

    @property
    def message(self) -> str:
        """What the undo did, what filters read after it, and how to keep the rewrite from being repeated."""
        reads = ", ".join(
            f"{name} {of:.1%} (was {self.undone_scan_fractions[name]:.1%})"
            for name, of in self.scan_fractions.items()
            if name in self.undone_scan_fractions
        )
        of_files = f"{count(self.files, 'data file')} (was {self.undone_files:,})"
        return (
            f"{'Would undo' if self.dry_run else 'Undid'} {count(len(self.undone), 'snapshot')} of {self.table}: "
            f"branch {self.branch} {'would be' if self.dry_run else 'is'} at snapshot {self.snapshot_id}"
            f"{f', with {of_files}' if self.files else ''}.\n"
            + (f"The share of the table that column = value reads: {reads}.\n" if reads else "")
            + "The next rewrite by the same columns and options, or the next maintenance pass, repeats it: change the "
            "columns or options, or set the table's property maintenance.disabled = 'true'."
        )


def undo(
    table: Table, *, snapshot_id: int | None = None, branch: str | None = None, dry_run: bool = False
) -> UndoResult:
    """Undo a rewrite and all rewrites after it: move the branch back to the snapshot before that rewrite.

    The call undoes all commits of a rewrite with partial progress. It reads only metadata, and deletes no file.

    Parameters
    ----------
    table : pyiceberg.table.Table
        The table. The call refreshes its metadata.
    snapshot_id : int, optional
        A snapshot of the rewrite. The default is the branch's newest rewrite by iceberg-zorder.
    branch : str, optional
        The branch, by default main.
    dry_run : bool, optional
        Whether to change nothing, and only return what an undo would do.

    Returns
    -------
    UndoResult
        What was undone, and what filters read after the undo.

    Raises
    ------
    InvalidInputError
        When there is no such rewrite, or the snapshot before it has expired or is not named by the metadata. Also when
        others have written since the rewrite; the message then lists what a rollback would lose, and has the SQL to
        roll back anyway.
    RewriteConflictError
        When another operation commits at the same time; nothing was undone then.
    UnknownOutcomeError
        When the catalog does not tell whether the branch was moved.

    Examples
    --------
    >>> from iceberg_zorder.pyiceberg import rewrite_data_files
    >>> table = lake.load_table("db.events")  # of five files
    >>> before = table.current_snapshot().snapshot_id
    >>> rewrite_data_files(table, ["user_id", "ts"], options={"rewrite-all": True}).added_data_files_count
    1
    >>> undone = undo(table)
    >>> undone.snapshot_id == before == table.current_snapshot().snapshot_id, undone.files
    (True, 5)
    """
    name = branch or MAIN_BRANCH
    refresh(table)
    snapshots = snapshots_to(table, branch_snapshot(table, name, "undo a rewrite"))
    rewrite = _rewrite_to_undo(table, name, snapshots, snapshot_id)
    target, head = _snapshot_before(table, name, snapshots, rewrite), snapshots[-1].snapshot_id
    undone = tuple(each.snapshot_id for each in snapshots[snapshots.index(rewrite.first) :])
    after, before = (_figures(table, rewrite, each) for each in (target, head))
    if not dry_run:
        if dropped := dropped_metadata(table):
            raise InvalidInputError(
                f"Cannot undo the rewrite of {display_name(table)}, because PyIceberg would drop {dropped} from its "
                "metadata. Nothing but rewrites has come since, so run in Spark SQL: "
                f"{rollback_sql(table, name, target)}"
            )
        _move_branch(table, name, head, target)
    return UndoResult(display_name(table), name, dry_run, target, undone, *after, *before)


def rollback_sql(table: Table, branch: str, snapshot_id: int) -> str:
    """Return the Spark SQL statement that moves a branch to a snapshot, whatever snapshots came since."""
    if branch == MAIN_BRANCH:
        name = quoted_text(quoted_name(table.name()))
        return f"CALL {quoted_name((table.catalog.name,))}.system.rollback_to_snapshot({name}, {snapshot_id})"
    return (
        f"ALTER TABLE {sql_name(table)} CREATE OR REPLACE BRANCH {quoted_name((branch,))} AS OF VERSION {snapshot_id}"
    )


def _rewrite_to_undo(
    table: Table, branch: str, snapshots: Sequence[SnapshotFacts], snapshot_id: int | None
) -> PastRewrite:
    """Return the rewrite that a snapshot is of, or without a snapshot the newest rewrite of the branch."""
    rewrites, name = rewrites_of(snapshots), display_name(table)
    if snapshot_id is None:
        if not rewrites:
            raise InvalidInputError(
                f"Cannot undo a rewrite of {name}, because branch {branch} has no snapshot of a rewrite by "
                "iceberg-zorder"
            )
        return rewrites[-1]
    matching = [each for each in rewrites if snapshot_id in (commit.snapshot_id for commit in each.commits)]
    if matching:
        return matching[0]
    operation = next((each.operation for each in snapshots if each.snapshot_id == snapshot_id), None)
    why = (
        f"the history of branch {branch} has no such snapshot"
        if operation is None
        else f"it is not a rewrite by iceberg-zorder (its operation is {operation})"
    )
    raise InvalidInputError(f"Cannot undo snapshot {snapshot_id} of {name}, because {why}: see iceberg-zorder history")


def _snapshot_before(table: Table, branch: str, snapshots: Sequence[SnapshotFacts], rewrite: PastRewrite) -> int:
    """Return the id of the snapshot before a rewrite; raises InvalidInputError if the branch cannot go back to it."""
    what, target = f"Cannot undo snapshot {rewrite.last.snapshot_id} of {display_name(table)}", rewrite.first.parent_id
    if target is None:
        # PyIceberg removes the name when it expires a parent, and so may other programs for other reasons.
        raise InvalidInputError(f"{what}, because the table's metadata do not name the snapshot before it")
    if table.snapshot_by_id(target) is None:
        raise InvalidInputError(f"{what}, because the snapshot before it has expired")
    since = snapshots[snapshots.index(rewrite.first) :]
    if others := [each for each in since if not is_ours(each)]:
        raise InvalidInputError(
            f"{what}, because {_lost_changes(others)}. To roll back anyway, and lose these snapshots, run: "
            f"{rollback_sql(table, branch, target)}"
        )
    return target


def _lost_changes(others: Sequence[SnapshotFacts]) -> str:
    """Return in words which changes by others a rollback would lose."""
    # A replace snapshot moves rows to other files, and changes none.
    changes = [each for each in others if each.operation != REPLACE]

    def total(*keys: str) -> int:
        return sum(each.count(key) for each in changes for key in keys)

    kinds = ", ".join(f"{number} {kind}" for kind, number in Counter(each.operation for each in others).items())
    added, files = total("added-records"), total("added-data-files")
    deleted = total("deleted-records", "added-position-deletes", "added-equality-deletes")
    parts = [f"{count(added, 'row')} added in {count(files, 'data file')}"] if files else []
    parts += [f"{count(deleted, 'row or key', 'rows or keys')} deleted"] if deleted else []
    came = "has come since" if len(others) == 1 else "have come since"
    return f"{count(len(others), 'snapshot')} by others {came} ({kinds}) with {' and '.join(parts) or 'no row changed'}"


def _figures(table: Table, rewrite: PastRewrite, snapshot_id: int) -> tuple[int, Mapping[str, float]]:
    """Return the number of data files, and by the rewrite's columns what filters read; 0 and none if these are gone."""
    try:
        measured = report(table, last_sort_order(table, rewrite.layout), snapshot_id=snapshot_id)
    except InvalidInputError:
        return 0, {}
    known = {each.name: each.scan_fraction for each in measured.columns if each.scan_fraction is not None}
    return measured.total_file_count, known


def _move_branch(table: Table, branch: str, head: int, target: int) -> None:
    """Move a branch from one snapshot to another, unless another operation commits first."""
    name, outcome = display_name(table), CommitOutcome()

    def attempt() -> None:
        refresh(table)
        ref = table.metadata.refs.get(branch)
        # An earlier attempt may have moved the branch, although the catalog did not confirm it.
        if ref is not None and ref.snapshot_id == target:
            return
        if ref is None or ref.snapshot_id != head:
            raise RewriteConflictError(
                f"Cannot undo the rewrite of {name}, because another operation changed branch {branch} meanwhile. "
                "Nothing was undone: run it again to see what would be lost."
            )
        with outcome.noted():
            move_branch(table, branch, head, target)

    try:
        commit_retries(table.metadata.properties)(attempt)
    except InvalidInputError:
        raise
    except Exception as error:
        if outcome.is_unclear:
            raise UnknownOutcomeError(
                f"Cannot tell whether the rewrite of {name} was undone, because the catalog gave no clear answer: if "
                f"branch {branch} is at snapshot {target}, it was."
            ) from error
        if isinstance(error, CommitFailedException):
            raise RewriteConflictError(
                f"Cannot undo the rewrite of {name}, because other operations committed first at every attempt. "
                "Nothing was undone."
            ) from error
        raise
