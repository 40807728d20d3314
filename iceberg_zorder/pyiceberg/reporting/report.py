"""Report how well a table is clustered, from its metadata alone."""

from __future__ import annotations

import logging
import shlex
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from pyiceberg.expressions import BooleanExpression
from pyiceberg.manifest import DataFile, DataFileContent
from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.layout.columns import quoted_name
from iceberg_zorder.metrics.clustering_report import ClusteringReport, Recommendation, WorkloadRead
from iceberg_zorder.metrics.history import SnapshotFacts, layout_history
from iceberg_zorder.metrics.measure import PredicateFacts, ReadOfNew, TableFacts, clustering_report
from iceberg_zorder.metrics.scan_cost import open_cost
from iceberg_zorder.metrics.scan_fraction import workload_read
from iceberg_zorder.pyiceberg.bounds import metrics_config
from iceberg_zorder.pyiceberg.catalog import refresh, renewed
from iceberg_zorder.pyiceberg.files import DataFileTask, by_partition, display_name, sql_name
from iceberg_zorder.pyiceberg.listing.listing import (
    FileFilter,
    file_arrays,
    list_files,
    new_files_read,
    snapshots_to,
    without_garbage_collection,
)
from iceberg_zorder.pyiceberg.listing.requested_workload import RequestedWorkload, read_queries
from iceberg_zorder.pyiceberg.plan.planner import select
from iceberg_zorder.pyiceberg.plan.rewrite_plan import RewritePlan
from iceberg_zorder.pyiceberg.plan.rewrite_spec import RewriteSpec, branch_snapshot, completed, resolve_spec
from iceberg_zorder.pyiceberg.plan.selection import automatic_target, size_rules
from iceberg_zorder.pyiceberg.plan.sort_order import ResolvedSortOrder, known_sort_order, resolve
from iceberg_zorder.rewrite.messages import COLUMNS
from iceberg_zorder.rewrite.options import RewriteOptions, option_text, rewrite_options, sort_order_text
from iceberg_zorder.rewrite.sort_order import parse_sort_order
from iceberg_zorder.rewrite.table_defaults import WORKLOAD_PROPERTY, check_remembered_workload, completed_options
from iceberg_zorder.select.branch_history import rewrites_to

_LOG = logging.getLogger("iceberg_zorder")
_APART = ("young", "already-written")
"""Reasons of files that the costs of their partition leave out."""


class CommandArguments(NamedTuple):
    """The arguments of a rewrite command besides its options; None for omitted ones."""

    sort_order: str
    where: str | None
    branch: str | None


def report(
    table: Table,
    columns: Sequence[str] | str | None = None,
    *,
    where: str | BooleanExpression | None = None,
    branch: str | None = None,
    snapshot_id: int | None = None,
    predicates: Sequence[str | BooleanExpression] = (),
    workload: str | Mapping[str, object] | None = None,
    case_sensitive: bool = False,
) -> ClusteringReport:
    """Report how well a table is clustered by some columns, from its metadata alone.

    Parameters
    ----------
    table : pyiceberg.table.Table
        The table. The call refreshes its metadata.
    columns : sequence of str, or str, optional
        The clustering columns, or a sort order, as for :func:`iceberg_zorder.pyiceberg.rewrite_data_files`. The default
        is the table's property ``zorder.columns``, else the columns of the branch's newest rewrite. Columns that have
        been renamed since are found.
    where : str or pyiceberg.expressions.BooleanExpression, optional
        Report only on data files that may hold rows for which this is true.
    branch : str, optional
        The branch, by default main.
    snapshot_id : int, optional
        One of the table's snapshots, by default the branch's newest.
    predicates : sequence of str or pyiceberg.expressions.BooleanExpression, optional
        Conditions; the report has the share of the bytes that each reads.
    workload : str or mapping, optional
        Queries, in the form of the option ``workload``; the report says what they read on average. The default is the
        table's property ``zorder.workload``; an empty text means no queries.
    case_sensitive : bool, optional
        Whether names of columns are case-sensitive.

    Returns
    -------
    ClusteringReport
        The figures and findings: ``str(report)`` for people, ``report.to_json()`` for programs.

    Raises
    ------
    InvalidInputError
        When an argument is invalid. Also when no columns are given, and neither the property nor a snapshot names
        columns that still exist.

    Examples
    --------
    >>> table = lake.load_table("db.events")  # of five files
    >>> found = report(table, ["user_id", "ts"], predicates=["ts >= 4000"])
    >>> {column.name: round(column.scan_fraction, 2) for column in found.columns}
    {'user_id': 0.2, 'ts': 0.2}
    >>> found.average_depth, found.predicates[0].total_file_count
    (1.0, 1)
    >>> queries = {"version": 1, "queries": [{"filter": "ts < 1000", "weight": 3}, {"filter": "TRUE", "weight": 1}]}
    >>> report(table, ["user_id", "ts"], workload=queries).workload.average_file_count
    2.0
    """
    with renewed(table):
        refresh(table)
        return report_of(
            table,
            columns,
            where=where,
            branch=branch,
            snapshot_id=snapshot_id,
            predicates=predicates,
            workload=workload,
            case_sensitive=case_sensitive,
            write_command=partial(_command, table),
        )


def report_of(
    table: Table,
    columns: Sequence[str] | str | None,
    *,
    where: str | BooleanExpression | None,
    branch: str | None,
    snapshot_id: int | None,
    predicates: Sequence[str | BooleanExpression],
    workload: str | Mapping[str, object] | None,
    case_sensitive: bool,
    write_command: Callable[[CommandArguments, Mapping[str, str]], str],
) -> ClusteringReport:
    """Report on a table without refreshing it."""
    name = branch or MAIN_BRANCH
    snapshot = head = branch_snapshot(table, name, "report on data files")
    if snapshot_id is not None:
        snapshot = table.snapshot_by_id(snapshot_id)
        if snapshot is None:
            raise InvalidInputError(
                f"Cannot report on snapshot {snapshot_id}, because {display_name(table)} has no such snapshot"
            )
    snapshots = snapshots_to(table, snapshot)
    # Attainable figures use today's options, so that reports on two snapshots are comparable.
    newest = snapshots_to(table, head)
    of_table = partial(known_sort_order, table, snapshots, case_sensitive=case_sensitive)
    by = of_table() if columns is None else sort_order_text(display_name(table), columns)
    if by is None:
        raise InvalidInputError(
            f"Cannot report on {display_name(table)}, because no columns are named and its snapshots have no rewrite: "
            "name the columns that queries filter on"
        )
    options = rewrite_options(
        completed_options(display_name(table), table.properties, {}, by, case_sensitive=case_sensitive)
    )
    weights = options.layout.column_weights
    order = resolve(table, parse_sort_order(by), weights, case_sensitive=case_sensitive)
    conditions = [(str(each), FileFilter.from_where(table, each, case_sensitive=case_sensitive)) for each in predicates]
    command_where = where if isinstance(where, str) else None
    with without_garbage_collection():
        listed: list[DataFileTask] = []
        recommendation = costs = None
        if snapshot_id is None:
            # rewrite-all says nothing about the gain, so it gives no recommendation.
            asked = {"rewrite-all": "false"} if options.rewrite_all else {}
            spec = RewriteSpec(by, where, asked, name, case_sensitive, any_format=True)
            command = partial(write_command, CommandArguments(by, command_where, branch), asked)
            listed, recommendation, costs = _recommended(table, spec, command)
        if snapshot and not listed:
            listed = list_files(table, snapshot, FileFilter.from_where(table, where, case_sensitive=case_sensitive))
        # Rows are spread over files in an order that is equal in both engines.
        tasks = sorted(listed, key=lambda task: task.data_file.file_path)
        of_files, read_of_new = _of_files(
            table, order, options, snapshots, newest, conditions, tasks, is_filtered=where is not None
        )
        facts = TableFacts(
            table=display_name(table),
            sql_name=sql_name(table),
            branch=name,
            snapshot_id=snapshot.snapshot_id if snapshot else None,
            where=None if where is None else str(where),
            sort_order=by,
            open_cost=open_cost(table.properties),
            recommendation=recommendation,
            costs=costs,
            **of_files,
        )
        result = replace(
            clustering_report(facts, read_of_new), snapshot_timestamp_ms=snapshot.timestamp_ms if snapshot else None
        )
        queries = _queries(table, workload, options.layout.workload, case_sensitive=case_sensitive)
        return result if queries is None else replace(result, workload=_read(queries, tasks))


def _recommended(
    table: Table, spec: RewriteSpec, command: Callable[[], str]
) -> tuple[list[DataFileTask], Recommendation, tuple[int, int] | None]:
    """Plan a rewrite; returns the listed data files, the recommendation and the plan's costs."""
    try:
        plan = select(table, resolve_spec(table, completed(table, spec)))
    except InvalidInputError as error:
        return [], Recommendation(0, 0, 0, 0.0, str(error), None), None
    groups, tasks = plan.groups, [task for each in (*plan.groups, *plan.left) for task in each.tasks]
    if not groups:
        return tasks, Recommendation(0, 0, 0, 0.0, plan.message or "", None), _costs(plan)
    reasons = Counter(each.reason for each in groups)
    more = f", and {len(reasons) - 1:,} other reasons" if len(reasons) > 1 else ""
    recommendation = Recommendation(
        sum(each.data_files_count for each in groups),
        sum(each.input_size for each in groups),
        sum(each.expected_output_files for each in groups),
        sum(each.saved_bytes_per_byte * each.input_size for each in groups),
        reasons.most_common(1)[0][0] + more,
        command(),
    )
    return tasks, recommendation, _costs(plan)


def _costs(plan: RewritePlan) -> tuple[int, int] | None:
    """Return a filter's costs today and after a full rewrite, which a plan gives if it judges all files by them."""
    costs_of: dict[str, tuple[int, int] | None] = {}
    for files in (*plan.groups, *plan.left):
        costs_of.setdefault(files.partition_path, None)
        for why in files.reasons:
            if why.code in _APART:
                return None
            if why.parameters.get("over") == COLUMNS:
                costs_of[files.partition_path] = (why.parameters["before"], why.parameters["attainable"])
    known = [costs for costs in costs_of.values() if costs is not None]
    whole = sum(today for today, _ in known), sum(attainable for _, attainable in known)
    return whole if known and len(known) == len(costs_of) else None


def _of_files(
    table: Table,
    order: ResolvedSortOrder,
    options: RewriteOptions,
    snapshots: Sequence[SnapshotFacts],
    newest: Sequence[SnapshotFacts],
    conditions: Sequence[tuple[str, FileFilter]],
    tasks: Sequence[DataFileTask],
    *,
    is_filtered: bool,
) -> tuple[dict[str, Any], list[ReadOfNew]]:
    """Return the facts about data files, by field of :class:`TableFacts`, and each condition's test of new files."""
    schema, spec_id, config = table.schema(), table.spec().spec_id, metrics_config(table)
    fields = [schema.find_field(each) for each in order.field_ids]
    data_files = [task.data_file for task in tasks]
    partitions = np.empty(len(tasks), np.int64)
    first: list[DataFile] = []
    for number, places in enumerate(by_partition(data_files).values()):
        partitions[places] = number
        first.append(data_files[places[0]])
    files = file_arrays(data_files, fields, order.named, partitions=partitions)
    of_partitions = np.bincount(files.partitions, files.sizes).astype(np.int64)
    target = automatic_target(
        options, newest, of_partitions, len(order.named), open_cost(table.properties), is_filtered=is_filtered
    )
    sizes = size_rules(table, options, target).sizes
    added_by = np.array([-1 if task.added_by is None else task.added_by for task in tasks], np.int64)
    deletes = {file.file_path: file for task in tasks for file in (*task.position_deletes, *task.equality_deletes)}
    by_equality = sum(file.content == DataFileContent.EQUALITY_DELETES for file in deletes.values())
    rewritten = np.isin(added_by, [*rewrites_to(newest, sizes.target)])
    read_of_new: list[ReadOfNew] = [
        partial(new_files_read, by, fields=fields, partitions=first) for _, by in conditions
    ]
    return {
        "files": files,
        "partition_names": [_partition_name(table, file) for file in first],
        "metrics": [str(config.mode(schema.find_column_name(each) or "")) for each in order.field_ids],
        "sizes": sizes,
        "layout": order.layout_request(options.layout),
        "of_old_specs": np.array([file.spec_id != spec_id for file in data_files], np.bool_),
        "with_deletes": np.array([bool(task.position_deletes or task.equality_deletes) for task in tasks], np.bool_),
        "files_below_min": int(((files.sizes < sizes.least) & ~rewritten).sum()),
        "files_above_max": int(((files.sizes > sizes.most) & ~rewritten).sum()),
        "files_without_rows": sum(file.record_count < 1 for file in data_files),
        "position_delete_files": len(deletes) - by_equality,
        "equality_delete_files": by_equality,
        "history": layout_history(snapshots, added_by, files),
        "predicates": [
            PredicateFacts(text, np.array([by.may_match(file) for file in data_files], np.bool_))
            for text, by in conditions
        ],
    }, read_of_new


def _partition_name(table: Table, file: DataFile) -> str:
    """Return the path of a file's partition, with the spec if it is not the current one."""
    path = table.specs()[file.spec_id].partition_to_path(file.partition, table.schema())
    return path if file.spec_id == table.spec().spec_id else f"spec {file.spec_id}: {path}".rstrip(": ")


def _command(table: Table, arguments: CommandArguments, options: Mapping[str, str]) -> str:
    given = [word for name, value in options.items() for word in ("--option", f"{name}={value}")]
    branch = [] if arguments.branch in (None, MAIN_BRANCH) else ["--branch", arguments.branch]
    where = [] if arguments.where is None else ["--where", arguments.where]
    asked = ["--by", arguments.sort_order, *where, *given, *branch, "--catalog", table.catalog.name]
    return shlex.join(["iceberg-zorder", "rewrite", quoted_name(table.name()), *asked])


def _queries(
    table: Table, asked: str | Mapping[str, object] | None, remembered: str | None, *, case_sensitive: bool
) -> RequestedWorkload | None:
    """Read the given queries, else the table's; errors in the table's are only logged."""
    if asked is not None:
        text = option_text("workload", asked)
        if not text.strip():
            return None
        return RequestedWorkload.of_queries(table, read_queries(table, text), case_sensitive=case_sensitive)
    if remembered is None:
        return None
    try:
        check_remembered_workload(display_name(table), table.location(), remembered)
        return RequestedWorkload.of_queries(table, read_queries(table, remembered), case_sensitive=case_sensitive)
    except InvalidInputError as error:
        _LOG.warning("Reported without the workload of property %s: %s", WORKLOAD_PROPERTY, error)
        return None


def _read(queries: RequestedWorkload, tasks: Sequence[DataFileTask]) -> WorkloadRead:
    files = [task.data_file for task in tasks]
    sizes = np.array([file.file_size_in_bytes for file in files], np.int64)
    return workload_read([(each.filter, each.weight) for each in queries.queries], queries.may_match(files), sizes)
