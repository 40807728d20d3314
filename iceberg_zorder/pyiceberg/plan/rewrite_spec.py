"""The spec of a rewrite: ``RewriteSpec`` as the user gave it, ``ResolvedSpec`` as resolved on a table."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from pyiceberg.expressions import BooleanExpression
from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH, SnapshotRefType
from pyiceberg.table.snapshots import Snapshot

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.pyiceberg.catalog import refresh
from iceberg_zorder.pyiceberg.commit.replacement import change_properties, check_committable
from iceberg_zorder.pyiceberg.compat import check_kept, sanitize_column_names, schema_to_pyarrow
from iceberg_zorder.pyiceberg.files import FileGroup, display_name
from iceberg_zorder.pyiceberg.listing.listing import FileFilter
from iceberg_zorder.pyiceberg.listing.requested_workload import RequestedWorkload, read_queries
from iceberg_zorder.pyiceberg.partitions import Partitions, partition_columns
from iceberg_zorder.pyiceberg.plan.selection import TargetSize, size_rules
from iceberg_zorder.pyiceberg.plan.sort_order import ResolvedSortOrder, remembered_sort_order, resolve
from iceberg_zorder.pyiceberg.write.file_writer import check_honoured, check_writable
from iceberg_zorder.rewrite.metrics_check import FAIL
from iceberg_zorder.rewrite.options import SPILL_DIRECTORY, OptionValue, RewriteOptions, option_text, rewrite_options
from iceberg_zorder.rewrite.sort_order import parse_sort_order
from iceberg_zorder.rewrite.table_defaults import (
    COLUMNS_PROPERTY,
    OPTIONS_PROPERTY,
    check_remembered_workload,
    completed_options,
    options_property,
)
from iceberg_zorder.select.branch_history import request_key
from iceberg_zorder.sort.spill import check_directory
from iceberg_zorder.workload.workload import Query
from iceberg_zorder.workload.workload_json import VERSION
from iceberg_zorder.workload.workload_option import is_inline


@dataclass(frozen=True)
class RewriteSpec:
    """What the user asked for, validated."""

    sort_order: str | None  # as written; None for the table's default
    where: str | BooleanExpression | None = None
    options: Mapping[str, str] = field(default_factory=dict)  # as written
    branch: str = MAIN_BRANCH
    case_sensitive: bool = False  # whether column names are case-sensitive
    # The time for min-age-seconds.
    at_ms: int = field(default_factory=lambda: time.time_ns() // 1_000_000)
    any_format: bool = False  # whether to plan files that only the other engine can read
    # The queries of option ``workload``, once read, because the file may change before the next plan.
    queries: tuple[Query, ...] | None = None

    @property
    def stored_options(self) -> dict[str, str]:
        """The options without ``spill-directory``, with the queries of ``workload`` in place of their file's name."""
        options = {name: value for name, value in self.options.items() if name != SPILL_DIRECTORY}
        if self.queries is None or is_inline(options["workload"]):
            return options
        queries = [{"filter": each.filter, "weight": each.weight} for each in self.queries]
        text = json.dumps({"version": VERSION, "queries": queries}, ensure_ascii=False, separators=(",", ":"))
        return {**options, "workload": text}


@dataclass(frozen=True)
class ResolvedSpec:
    """A spec resolved on a table's current state; its columns, filter and options are valid for the table."""

    spec: RewriteSpec
    options: RewriteOptions
    filter: FileFilter  # the data files that may be rewritten
    output_spec_id: int  # partition spec of the new files
    order: ResolvedSortOrder | None = None  # None for a plan by sizes and deletes only
    workload: RequestedWorkload | None = None  # the queries that files are chosen and cut for

    def request_key(self, table: Table, target: TargetSize) -> str:
        """Return the request's key on the table's current state; see :func:`.request_key`."""
        assert self.order is not None  # noqa: S101
        # Changing a workload's content changes the key, even at the same path.
        options = {**self.spec.options, **({"workload": self.workload.key} if self.workload else {})}
        where = "" if self.spec.where is None else str(self.spec.where)
        ids = table.schema().schema_id, self.output_spec_id
        key = request_key(self.order.sort_order, where, ids, target.size, options, table.properties)
        return key if self.workload is None else f"{key} {self.workload.key}"


def completed(table: Table, spec: RewriteSpec) -> RewriteSpec:
    """Complete a spec with the table's defaults; raises InvalidInputError."""
    name, by_case = display_name(table), spec.case_sensitive
    by = remembered_sort_order(table, case_sensitive=by_case) if spec.sort_order is None else spec.sort_order
    options = completed_options(name, table.properties, spec.options, spec.sort_order, case_sensitive=by_case)
    if "workload" in options and "workload" not in spec.options:
        check_remembered_workload(name, table.location(), options["workload"])
    if by is None:
        raise InvalidInputError(
            f"Cannot rewrite data files of {name}, because no columns are named and it has no property "
            f"{COLUMNS_PROPERTY}: name columns, for example 'zorder(a, b)'; iceberg-zorder advise recommends some"
        )
    text = rewrite_options(options).layout.workload
    queries = None if text is None else spec.queries
    if text is not None and (queries is None or text != rewrite_options(spec.options).layout.workload):
        queries = read_queries(table, text)
    return replace(spec, sort_order=by, options=options, queries=queries)


def resolve_spec(table: Table, spec: RewriteSpec) -> ResolvedSpec:
    """Resolve a complete spec on a table; raises InvalidInputError."""
    options, workload = rewrite_options(spec.options), None
    if options.layout.workload is not None:
        queries = read_queries(table, options.layout.workload) if spec.queries is None else spec.queries
        workload = RequestedWorkload.of_queries(table, queries, case_sensitive=spec.case_sensitive)
    branch_snapshot(table, spec.branch, "rewrite data files")
    by = FileFilter.from_where(table, spec.where, case_sensitive=spec.case_sensitive)
    size_rules(table, options)
    order = row_order(table, spec, options)
    resolved = ResolvedSpec(spec, options, by, output_spec_id(table, options), order, workload)
    if not spec.any_format:
        check_honoured(table)
        check_kept(table)
    check_writable(table)
    if options.spill_directory is not None:
        check_directory(options.spill_directory)
    check_committable(table)
    return resolved


def unordered_spec(table: Table, spec: RewriteSpec) -> ResolvedSpec:
    """Resolve a spec without clustering columns, for a plan by sizes and deletes alone."""
    options, by = rewrite_options(spec.options), FileFilter.from_where(table, spec.where)
    return ResolvedSpec(spec, options, by, output_spec_id(table, options))


def output_spec_id(table: Table, options: RewriteOptions) -> int:
    """Return the partition spec of a rewrite's new files."""
    return table.spec().spec_id if options.output_spec_id is None else options.output_spec_id


def row_order(table: Table, spec: RewriteSpec, options: RewriteOptions) -> ResolvedSortOrder:
    """Resolve the sort order of a complete spec; raises InvalidInputError."""
    assert spec.sort_order is not None  # noqa: S101
    return resolve(
        table,
        parse_sort_order(spec.sort_order),
        options.layout.column_weights,
        output_spec=None if options.output_spec_id is None else table.specs()[options.output_spec_id],
        case_sensitive=spec.case_sensitive,
        needs_bounds=options.layout.metrics_check == FAIL,
    )


def order_of_groups(table: Table, resolved: ResolvedSpec, groups: Sequence[FileGroup]) -> ResolvedSortOrder:
    """Return the sort order, with new partition fields first; raises InvalidInputError for unknown transforms."""
    assert resolved.order is not None  # noqa: S101
    if all(group.partition is not None for group in groups):
        return resolved.order
    spec, schema = table.specs()[resolved.output_spec_id], table.schema()
    Partitions(spec, schema, schema_to_pyarrow(sanitize_column_names(schema)))
    return replace(resolved.order, partition=partition_columns(schema, spec))


def branch_snapshot(table: Table, name: str, act: str) -> Snapshot | None:
    """Return a branch's newest snapshot; None if main has none. Raises InvalidInputError for unknown branches."""
    ref = table.refs().get(name)
    if ref is None and name == MAIN_BRANCH:
        # Branch main appears with its first snapshot.
        return None
    if ref is None or ref.snapshot_ref_type != SnapshotRefType.BRANCH:
        raise InvalidInputError(
            f"Cannot {act} for branch {name}, because {display_name(table)} has no such branch: branch does not exist"
        )
    return table.snapshot_by_id(ref.snapshot_id)


def remember(table: Table, sort_order: str, options: Mapping[str, OptionValue]) -> dict[str, str]:
    """Store a table's default sort order and options, after validating them."""
    refresh(table)
    written = {name: option_text(name, value) for name, value in options.items()}
    read = rewrite_options(written)
    size_rules(table, read)
    row_order(table, RewriteSpec(sort_order), read)
    properties = {COLUMNS_PROPERTY: sort_order}
    if "workload" in written:
        check_remembered_workload(display_name(table), table.location(), written["workload"])
    if written:
        properties[OPTIONS_PROPERTY] = options_property(written)
    change_properties(table, properties, removed=[] if written else [OPTIONS_PROPERTY])
    return properties
