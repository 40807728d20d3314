"""Check a request against the table as it is now, and plan its file groups; no data is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pyiceberg.expressions import BooleanExpression
from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH, SnapshotRefType
from pyiceberg.table.snapshots import Snapshot

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.pyiceberg.catalog.renewal import refresh
from iceberg_zorder.pyiceberg.commit.replacement import check_committable
from iceberg_zorder.pyiceberg.compat.schemas import sanitize_column_names, schema_to_pyarrow
from iceberg_zorder.pyiceberg.display import display_name
from iceberg_zorder.pyiceberg.file_groups import FileGroup
from iceberg_zorder.pyiceberg.partitions import Partitions, partition_columns
from iceberg_zorder.pyiceberg.plan.planner import Planner, no_snapshot
from iceberg_zorder.pyiceberg.plan.row_order import RowOrder, resolve
from iceberg_zorder.pyiceberg.write.file_writer import check_writable
from iceberg_zorder.request.rewrite_options import RewriteOptions
from iceberg_zorder.request.sort_order import parse_sort_order
from iceberg_zorder.rows.spill import check_directory


@dataclass(frozen=True)
class PlanRequest:
    """What is to be rewritten, and how.

    Parameters
    ----------
    table : pyiceberg.table.Table
        The table.
    sort_order : str
        The sort order, as written.
    where : str or pyiceberg.expressions.BooleanExpression or None
        Which data files may be rewritten.
    options : RewriteOptions
        The options.
    branch : str or None
        The branch, if one is named.
    case_sensitive : bool
        Whether names of columns differ by case.
    """

    table: Table
    sort_order: str
    where: str | BooleanExpression | None
    options: RewriteOptions
    branch: str | None
    case_sensitive: bool

    @property
    def branch_name(self) -> str:
        """The branch to rewrite."""
        return self.branch or MAIN_BRANCH


@dataclass(frozen=True)
class RewritePlan:
    """What there is to do.

    Parameters
    ----------
    snapshot : pyiceberg.table.snapshots.Snapshot or None
        The snapshot that was planned on, if the table has any.
    groups : tuple of FileGroup
        Its file groups that are to be rewritten.
    order : RowOrder
        The columns to cluster by.
    reason : str or None
        Why there is no file group.
    """

    snapshot: Snapshot | None
    groups: tuple[FileGroup, ...]
    order: RowOrder
    reason: str | None


def plan_request(request: PlanRequest, lost: Sequence[FileGroup] = ()) -> RewritePlan:
    """Plan what is asked for, on the newest snapshot.

    Parameters
    ----------
    request : PlanRequest
        What is asked for; its table has the newest metadata afterwards.
    lost : sequence of FileGroup, optional
        File groups of an earlier plan that are to be planned again, and no others.

    Returns
    -------
    RewritePlan
        The file groups, or the reason why there are none.

    Raises
    ------
    InvalidInputError
        When the request cannot be honoured, or a property of the table.
    """
    table, options = request.table, request.options
    refresh(table)
    snapshot = _newest_snapshot(request)
    planner = Planner(table, options, request.where, case_sensitive=request.case_sensitive)
    order = _row_order(request)
    check_writable(table)
    if options.spill_directory is not None:
        check_directory(options.spill_directory)
    check_committable(table)
    if snapshot is None:
        return RewritePlan(None, (), order, no_snapshot(table))
    plan = planner.plan(snapshot, lost)
    if any(group.partition is None for group in plan.groups):
        spec, schema = table.specs()[plan.groups[0].spec_id], table.schema()
        order = replace(order, partition=partition_columns(schema, spec))
        # Refuses what cannot be partitioned by.
        Partitions(spec, schema, schema_to_pyarrow(sanitize_column_names(schema)))
    return RewritePlan(snapshot, plan.groups, order, plan.reason)


def _newest_snapshot(request: PlanRequest) -> Snapshot | None:
    """Find the branch's newest snapshot; none if the table has none yet."""
    table, name = request.table, request.branch_name
    ref = table.refs().get(name)
    if table.current_snapshot() and (ref is None or ref.snapshot_ref_type != SnapshotRefType.BRANCH):
        raise InvalidInputError(
            f"Cannot rewrite data files for branch {name}, because {display_name(table)} has no such branch: "
            "branch does not exist"
        )
    return None if ref is None else table.snapshot_by_id(ref.snapshot_id)


def _row_order(request: PlanRequest) -> RowOrder:
    spec_id = request.options.output_spec_id
    return resolve(
        request.table,
        parse_sort_order(request.sort_order),
        request.options.layout.column_weights,
        output_spec=None if spec_id is None else request.table.specs()[spec_id],
        case_sensitive=request.case_sensitive,
    )
