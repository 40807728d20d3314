"""What is to be rewritten, and how."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from pyiceberg.expressions import BooleanExpression
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH, SnapshotRefType
from pyiceberg.table.snapshots import Snapshot

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.pyiceberg.catalog.renewal import refresh
from iceberg_zorder.pyiceberg.commit.replacement import check_committable
from iceberg_zorder.pyiceberg.commit.table_properties import change_properties
from iceberg_zorder.pyiceberg.display import display_name
from iceberg_zorder.pyiceberg.kept_bounds import KeptBounds
from iceberg_zorder.pyiceberg.plan.planner import Planner
from iceberg_zorder.pyiceberg.plan.row_order import RowOrder, remembered_sort_order, resolve
from iceberg_zorder.pyiceberg.plan.selection.sizes import size_rules
from iceberg_zorder.pyiceberg.plan.selection.target_size import TargetSize
from iceberg_zorder.pyiceberg.scan.history import snapshots_to
from iceberg_zorder.pyiceberg.scan.requested_workload import RequestedWorkload
from iceberg_zorder.pyiceberg.write.file_writer import check_honoured, check_writable
from iceberg_zorder.request.arguments import option_text
from iceberg_zorder.request.metrics_check import FAIL, FIX
from iceberg_zorder.request.rewrite_options import RewriteOptions, rewrite_options
from iceberg_zorder.request.sort_order import parse_sort_order
from iceberg_zorder.request.table_defaults import (
    COLUMNS_PROPERTY,
    OPTIONS_PROPERTY,
    check_remembered_workload,
    completed_options,
    options_property,
)
from iceberg_zorder.rows.spill import check_directory
from iceberg_zorder.upkeep.settled import Settled, request_key


@dataclass(frozen=True)
class PlanRequest:
    """What is to be rewritten, and how."""

    table: Table
    sort_order: str | None  # as written; None for what the table remembers
    where: str | BooleanExpression | None
    written_options: Mapping[str, str]
    branch: str | None
    case_sensitive: bool  # whether names of columns differ by case
    # The moment by which data files must be old enough: what is planned again after a conflict goes by the same.
    at_ms: int = field(default_factory=lambda: time.time_ns() // 1_000_000)
    summary: Mapping[str, str] = field(default_factory=dict)  # what the summaries of its snapshots say besides
    any_format: bool = False  # whether files are planned that this engine cannot read, for another one to rewrite
    workload: RequestedWorkload | None = None  # the queries that files are laid out for, once it is completed

    def completed(self) -> PlanRequest:
        """Complete it by what the table remembers; what is written wins. Raises InvalidInputError."""
        name, properties = display_name(self.table), self.table.properties
        sort_order = self.sort_order
        if sort_order is None:
            sort_order = remembered_sort_order(self.table, case_sensitive=self.case_sensitive)
        options = completed_options(
            name, properties, self.written_options, self.sort_order, case_sensitive=self.case_sensitive
        )
        if "workload" in options and "workload" not in self.written_options:
            check_remembered_workload(name, self.table.location(), options["workload"])
        if sort_order is None:
            raise InvalidInputError(
                f"Cannot rewrite data files of {name}, because no columns are named, for example 'zorder(a, b)', and "
                f"it has no property {COLUMNS_PROPERTY}: iceberg-zorder advise tells which to name"
            )
        found = replace(self, sort_order=sort_order, written_options=options)
        text = found.options.layout.workload
        if text is None:
            return replace(found, workload=None)
        if self.workload is not None and text == self.options.layout.workload:
            # Its file may say something else by the time that what conflicts took is planned again.
            read, names = self.workload.queries, self.case_sensitive
            return replace(found, workload=RequestedWorkload.of_queries(self.table, read, case_sensitive=names))
        workload = RequestedWorkload.of(self.table, text, case_sensitive=self.case_sensitive)
        return replace(found, workload=workload)

    def with_summary(self, told: Mapping[str, str]) -> PlanRequest:
        """Have the summaries of its snapshots say something more."""
        return replace(self, summary={**self.summary, **told})

    @cached_property
    def options(self) -> RewriteOptions:
        """The options; raises InvalidInputError for what is none."""
        return rewrite_options(self.written_options)

    @property
    def output_spec(self) -> PartitionSpec:
        """The partition spec of the files to be written."""
        spec_id = self.options.output_spec_id
        return self.table.spec() if spec_id is None else self.table.specs()[spec_id]

    @property
    def branch_name(self) -> str:
        """The branch to rewrite."""
        return self.branch or MAIN_BRANCH

    def planner(self) -> Planner:
        """Prepare planning on the table as it is; raises InvalidInputError."""
        return Planner(
            self.table,
            self.options,
            self.where,
            case_sensitive=self.case_sensitive,
            at_ms=self.at_ms,
            any_format=self.any_format,
            workload=self.workload,
        )

    def row_order(self) -> RowOrder:
        """Resolve the sort order against the table as it is; raises InvalidInputError."""
        assert self.sort_order is not None  # noqa: S101
        return resolve(
            self.table,
            parse_sort_order(self.sort_order),
            self.options.layout.column_weights,
            output_spec=self.output_spec,
            case_sensitive=self.case_sensitive,
            needs_bounds=self.options.layout.metrics_check == FAIL,
        )

    def check_may_write(self) -> None:
        """Refuse what the table's properties, or the machine, do not allow; raises InvalidInputError."""
        if not self.any_format:
            check_honoured(self.table)
        check_writable(self.table)
        if self.options.spill_directory is not None:
            check_directory(self.options.spill_directory)
        check_committable(self.table)

    def key(self, order: RowOrder, target: TargetSize) -> str:
        """Make the key of what is asked for, on the table as it is; see :func:`.request_key`."""
        # A file with a workload may say something else by the next time.
        options = {**self.written_options, **({"workload": self.workload.key} if self.workload else {})}
        key = request_key(
            order.sort_order,
            "" if self.where is None else str(self.where),
            (self.table.schema().schema_id, self.output_spec.spec_id),
            target.size,
            options,
            self.table.properties,
        )
        return key if self.workload is None else f"{key} {self.workload.key}"

    def settled(self, order: RowOrder, snapshot: Snapshot, target: TargetSize) -> Settled | None:
        """Find what earlier rewrites by the same request have settled; see :meth:`.Settled.by`."""
        if self.options.layout.metrics_check == FIX and KeptBounds.of(self.table, order.named).missing:
            # New files are to have bounds that those have not.
            return None
        return Settled.by(self.key(order, target), snapshots_to(self.table, snapshot))


def branch_snapshot(table: Table, name: str, act: str) -> Snapshot | None:
    """Find a branch's newest snapshot; none if main has none yet. Raises InvalidInputError without the branch."""
    ref = table.refs().get(name)
    if ref is None and name == MAIN_BRANCH:
        # Branch main is there from its first snapshot on.
        return None
    if ref is None or ref.snapshot_ref_type != SnapshotRefType.BRANCH:
        raise InvalidInputError(
            f"Cannot {act} for branch {name}, because {display_name(table)} has no such branch: branch does not exist"
        )
    return table.snapshot_by_id(ref.snapshot_id)


def remember(table: Table, sort_order: str, options: Mapping[str, str]) -> dict[str, str]:
    """Have a table remember by what it is rewritten, if a rewrite would take that."""
    refresh(table)
    options = {name: option_text(name, value) for name, value in options.items()}
    request = PlanRequest(table, sort_order, None, options, None, False)
    size_rules(table, request.options)
    request.row_order()
    properties = {COLUMNS_PROPERTY: sort_order}
    if "workload" in options:
        check_remembered_workload(display_name(table), table.location(), options["workload"])
    if options:
        properties[OPTIONS_PROPERTY] = options_property(options)
    change_properties(table, properties, removed=[] if options else [OPTIONS_PROPERTY])
    return properties
