"""What is to be rewritten, and how."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from pyiceberg.expressions import BooleanExpression
from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH, SnapshotRefType
from pyiceberg.table.snapshots import Snapshot

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.pyiceberg.display import display_name
from iceberg_zorder.pyiceberg.plan.planner import Planner
from iceberg_zorder.pyiceberg.plan.row_order import RowOrder, resolve
from iceberg_zorder.request.rewrite_options import RewriteOptions, rewrite_options
from iceberg_zorder.request.sort_order import parse_sort_order


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
    written_options : Mapping of str to str
        The options, as written.
    branch : str or None
        The branch, if one is named.
    case_sensitive : bool
        Whether names of columns differ by case.
    """

    table: Table
    sort_order: str
    where: str | BooleanExpression | None
    written_options: Mapping[str, str]
    branch: str | None
    case_sensitive: bool

    @cached_property
    def options(self) -> RewriteOptions:
        """The options; raises InvalidInputError for what is none."""
        return rewrite_options(self.written_options)

    @property
    def branch_name(self) -> str:
        """The branch to rewrite."""
        return self.branch or MAIN_BRANCH

    def planner(self) -> Planner:
        """Prepare planning on the table as it is; raises InvalidInputError."""
        return Planner(self.table, self.options, self.where, case_sensitive=self.case_sensitive)

    def row_order(self) -> RowOrder:
        """Resolve the sort order against the table as it is; raises InvalidInputError."""
        spec_id = self.options.output_spec_id
        return resolve(
            self.table,
            parse_sort_order(self.sort_order),
            self.options.layout.column_weights,
            output_spec=None if spec_id is None else self.table.specs()[spec_id],
            case_sensitive=self.case_sensitive,
        )

    def newest_snapshot(self) -> Snapshot | None:
        """Find the branch's newest snapshot; none if the table has none yet."""
        return branch_snapshot(self.table, self.branch_name, "rewrite data files")


def branch_snapshot(table: Table, name: str, act: str) -> Snapshot | None:
    """Find a branch's newest snapshot; none if the table has none yet. Raises InvalidInputError without the branch."""
    ref = table.refs().get(name)
    if table.current_snapshot() and (ref is None or ref.snapshot_ref_type != SnapshotRefType.BRANCH):
        raise InvalidInputError(
            f"Cannot {act} for branch {name}, because {display_name(table)} has no such branch: branch does not exist"
        )
    return None if ref is None else table.snapshot_by_id(ref.snapshot_id)
