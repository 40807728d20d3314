"""Advise on a table's layout for its workload."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH

from iceberg_zorder.advice.advice import Advice
from iceberg_zorder.advice.advise import LEAST_SAVING
from iceberg_zorder.advice.advise import advise as advise_by
from iceberg_zorder.advice.candidates import MOST_COLUMNS
from iceberg_zorder.advice.facts import Facts, JoinedColumn, QueriesToday, TableFacts, WorkloadFiles
from iceberg_zorder.advice.judged_queries import JudgedQuery
from iceberg_zorder.advice.statements import options_of, with_size
from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.layout.columns import ClusteringColumn
from iceberg_zorder.layout.keys import domain
from iceberg_zorder.metrics.file_sizes import FileSizes
from iceberg_zorder.metrics.history import SnapshotFacts
from iceberg_zorder.metrics.scan_cost import open_cost
from iceberg_zorder.metrics.scan_fraction import read_of_rows
from iceberg_zorder.metrics.spread_rows import spread_rows
from iceberg_zorder.pyiceberg.bounds import KeptBounds, named_fields
from iceberg_zorder.pyiceberg.catalog import refresh, renewed
from iceberg_zorder.pyiceberg.files import PLAN, DataFileTask, Progress, display_name, silent, sql_name
from iceberg_zorder.pyiceberg.listing.dimensions import with_dimensions
from iceberg_zorder.pyiceberg.listing.listing import (
    file_arrays,
    scanned_table,
    snapshots_to,
    without_garbage_collection,
)
from iceberg_zorder.pyiceberg.listing.requested_workload import RequestedWorkload
from iceberg_zorder.pyiceberg.partitions import identity_sources, partition_fields
from iceberg_zorder.pyiceberg.plan.planner import select
from iceberg_zorder.pyiceberg.plan.rewrite_plan import RewritePlan
from iceberg_zorder.pyiceberg.plan.rewrite_spec import (
    RewriteSpec,
    branch_snapshot,
    completed,
    resolve_spec,
    unordered_spec,
)
from iceberg_zorder.pyiceberg.plan.selection import automatic_target, explicit_target
from iceberg_zorder.pyiceberg.plan.sort_order import known_sort_order
from iceberg_zorder.pyiceberg.reporting.sampled_rows import compression_of, sampled_table
from iceberg_zorder.rewrite.metrics_check import least_mode, set_mode
from iceberg_zorder.rewrite.options import RewriteOptions, option_text, rewrite_options
from iceberg_zorder.rewrite.predicate import Name, Predicate
from iceberg_zorder.rewrite.sort_order import parse_sort_order
from iceberg_zorder.rewrite.table_defaults import WORKLOAD_PROPERTY, completed_options
from iceberg_zorder.workload.dimension_keys import DEFAULT_READERS
from iceberg_zorder.workload.filtered_columns import filtered_columns
from iceberg_zorder.workload.joined_columns import joined_columns
from iceberg_zorder.workload.normal_form import normal_form
from iceberg_zorder.workload.read import read_workload
from iceberg_zorder.workload.workload import Workload

_JOINED_ROWS = 20_000
"""Approximate number of rows whose values measure join columns."""
_MOST_QUERIES = 1_000
"""Most distinct filters that are tested against today's data files."""
_MOST_BOXES = 256


def advise(
    table: Table,
    workload: Workload | str | Path | Sequence[str | Path],
    *,
    options: Mapping[str, object] | None = None,
    branch: str | None = None,
    days: float | None = None,
    least_saving: float = LEAST_SAVING,
    progress: Progress = silent,
    files: WorkloadFiles | None = None,
    readers: Sequence[str] = DEFAULT_READERS,
) -> Advice:
    """Advise on a table's layout for its workload.

    The call reads a sample of the columns that queries filter by, and writes nothing.

    Parameters
    ----------
    table : pyiceberg.table.Table
        The table. The call refreshes its metadata.
    workload : Workload, or one or several paths
        The table's workload, or files of queries.
    options : mapping of str to object, optional
        Options of a rewrite, such as ``target-file-size-bytes`` and ``sample-rows``.
    branch : str, optional
        The branch, by default main.
    days : float, optional
        The number of days that the workload covers, above 0; the advice then has bytes read per day.
    least_saving : float, optional
        Share of the queries' cost that a recommended rewrite must save, in [0, 1]. A query's cost is the bytes that it
        reads, plus the open cost of each file.
    progress : Progress, optional
        A callback that receives every file that was read, and every layout that was simulated.
    files : WorkloadFiles, optional
        The files of the workload; the advice's statement names them. The default is the given paths.
    readers : sequence of str, optional
        Names of the engines that read the table: ``spark``, ``trino``, ``duckdb``, or ``other``. If the queries come
        from files, this decides which keys of joins count as filters.

    Returns
    -------
    Advice
        The figures of all simulated layouts, the recommended one, warnings, and a SQL statement to run.

    Raises
    ------
    InvalidInputError
        When an argument or a filter is invalid, or the table has no data file.

    Examples
    --------
    >>> import numpy as np
    >>> import pyarrow as pa
    >>> from iceberg_zorder.workload.workload import Query
    >>> table, random = lake.load_table("db.events"), np.random.default_rng(1)
    >>> table.overwrite(pa.table({name: random.integers(0, 1000, 10_000) for name in ("user_id", "ts")}))
    >>> with table.transaction() as change:
    ...     _ = change.set_properties({"read.split.open-file-cost": "1"})
    >>> queries = [Query(f"{name} = {number}", 1.0) for name in ("user_id", "ts") for number in range(100, 900, 50)]
    >>> found = advise(table, Workload.of(queries), options={"target-file-size-bytes": 4096})
    >>> found.pick.columns, found.pick.bytes_per_query < found.today.bytes_per_query / 2
    (('user_id', 'ts'), True)
    """
    if days is not None and not days > 0:
        raise InvalidInputError(f"Cannot advise with days = {days}, because it must be more than 0")
    if not 0 <= least_saving <= 1:
        raise InvalidInputError(f"Cannot advise with least_saving = {least_saving}, because it must be in [0, 1]")
    written = {name: option_text(name, value) for name, value in (options or {}).items()}
    with renewed(table), without_garbage_collection():
        refresh(table)
        known = completed_options(display_name(table), table.properties, {**written, "workload": ""})
        spec = RewriteSpec(None, options={**known, "rewrite-all": "true"}, branch=branch or MAIN_BRANCH)
        asked = rewrite_options(spec.options)
        snapshot = branch_snapshot(table, spec.branch, "advise on data files")
        plan = None if snapshot is None else select(table, unordered_spec(table, spec))
        if snapshot is None or plan is None or not plan.groups:
            raise InvalidInputError(f"Cannot advise on {display_name(table)}, because it has no data file")
        scanned, dimensions = with_dimensions(table, table.name())
        paths: list[Path] = []
        if not isinstance(workload, Workload):
            paths = [Path(each) for each in ([workload] if isinstance(workload, str | Path) else workload)]
            workload = read_workload(paths, scanned, dimensions=dimensions, readers=readers)
        filtered = sum(query.weight for query in workload.queries if query.filter != "TRUE")
        tasks = [task for group in plan.groups for task in group.tasks]
        today = queries_today(table, workload, tasks, per_day=None if days is None else filtered / days)
        names = {name for query in today.queries for box in query.boxes for name, _ in box.ranges}
        names |= {name for query in today.queries for name, _ in query.kinds}
        columns = _with_keys(scanned.columns, names)
        joined = _joined(table, tasks, joined_columns(workload, scanned), scanned.columns)
        snapshots = snapshots_to(table, snapshot)
        facts = replace(
            _table_facts(table, plan, written, columns, snapshots, snapshot.snapshot_id),
            workload=files or WorkloadFiles.of(paths),
            remembers_workload=bool(table.properties.get(WORKLOAD_PROPERTY)),
            branch=None if branch == MAIN_BRANCH else branch,
            targets=_targets(table, plan, asked, snapshots),
            open_cost=open_cost(table.properties),
            cuts=asked.layout.cuts,
        )
        count = sum(task.data_file.record_count for task in tasks)
        progress(PLAN, count, facts.bytes)
        rows = sampled_table(table, columns, plan.groups, asked.layout, progress)

        sizes = FileSizes.around(facts.target_file_size, asked.compression_factor)
        files_to_write = max(1, sizes.expected_files(facts.bytes))
        compression = compression_of(table, plan.groups, rows, count // files_to_write)
        inputs = Facts(facts, rows, replace(today, joined=joined), asked.compression_factor)
        advice = advise_by(inputs, compression, least_saving=least_saving, progress=progress)
        return _confirmed(table, advice, facts, workload)


def _targets(
    table: Table, plan: RewritePlan, options: RewriteOptions, snapshots: Sequence[SnapshotFacts]
) -> dict[int, int]:
    """Return the automatic target file sizes by number of clustering columns; empty with an option or property."""
    if explicit_target(table, options):
        return {}
    sizes, cost = [group.input_size for group in plan.groups], open_cost(table.properties)
    return {
        count: automatic_target(options, snapshots, sizes, count, cost).size for count in range(1, MOST_COLUMNS + 1)
    }


def _confirmed(table: Table, advice: Advice, facts: TableFacts, workload: Workload) -> Advice:
    """Plan the advised rewrite; advise to do nothing if it is refused or chooses no file."""
    pick = advice.pick
    if pick is None or pick.kind == "partition":
        return advice
    # The workload's file may not exist yet.
    text, queries = ("of the advice", workload.queries) if pick.kind == "workload" else (None, None)
    by, on = f"zorder({', '.join(pick.columns)})", facts.branch or MAIN_BRANCH
    spec = RewriteSpec(by, None, options_of(with_size(facts, pick), text), on, any_format=True, queries=queries)
    try:
        plan = select(table, resolve_spec(table, completed(table, spec)))
        if plan.groups:
            return advice
        why = plan.message
    except InvalidInputError as error:
        why = str(error)
    reason = f"the rewrite to {pick.layout} would do nothing: {why}"
    return replace(advice, pick=None, cost=None, reason=reason, statement=None, command=None, preparation=None)


def _joined(
    table: Table, tasks: Sequence[DataFileTask], weights: Mapping[Name, float], types: Mapping[Name, str]
) -> tuple[JoinedColumn, ...]:
    """Return the scan fraction of an equality filter on each join column with bounds."""
    # Partitions of a single value stay in any layout.
    kept = identity_sources(table.spec())
    fields = {name: field for name, field in named_fields(table.schema().as_struct()) if field.field_id not in kept}
    columns = _with_keys(types, weights.keys() & fields.keys())
    if not columns:
        return ()
    files = file_arrays([task.data_file for task in tasks], [fields[each.parts] for each in columns], columns)
    rows, _ = spread_rows(files, _JOINED_ROWS)
    joined: list[JoinedColumn] = []
    for bounds, values in zip(files.columns, rows.columns, strict=True):
        read = read_of_rows(bounds, files.sizes, values) if bounds.bounded.any() else None
        if read is not None:
            name = bounds.column.parts
            joined.append(JoinedColumn(".".join(name), weights[name], read.fraction))
    return tuple(sorted(joined, key=lambda each: -each.weight))


def _with_keys(types: Mapping[Name, str], names: Set[Name]) -> list[ClusteringColumn]:
    """Return the columns of types with keys, in the table's order."""
    columns = []
    for name in (name for name in types if name in names):
        with suppress(InvalidInputError):
            domain(types[name])
            columns.append(ClusteringColumn(name, types[name]))
    return columns


def _table_facts(
    table: Table,
    plan: RewritePlan,
    options: Mapping[str, str],
    columns: Sequence[ClusteringColumn],
    snapshots: Sequence[SnapshotFacts],
    snapshot_id: int,
) -> TableFacts:
    schema = table.schema()
    fields = [schema.find_column_name(each.source_id) for each in partition_fields(schema, table.spec())]
    kept = KeptBounds.of(table, columns)
    unkept = [each for each in columns if each.name in kept.missing]
    return TableFacts(
        table.catalog.name,
        table.name(),
        snapshot_id,
        sum(len(group.tasks) for group in plan.groups),
        sum(group.input_size for group in plan.groups),
        plan.target.size if plan.target else 0,
        options,
        tuple(laid_out_by(table, snapshots)),
        tuple(dict.fromkeys(name for name in fields if name is not None)),
        {each.name: set_mode(sql_name(table), each.path, least_mode(each.type)) for each in unkept},
    )


def laid_out_by(table: Table, snapshots: Sequence[SnapshotFacts]) -> list[str]:
    """Return the columns that a table is clustered by, or those of its sort order."""
    try:
        text = known_sort_order(table, snapshots, case_sensitive=False)
        if text is not None:
            return [".".join(parts) for parts in parse_sort_order(text).names]
    except InvalidInputError:
        # The rewrite itself reports dropped or unknown columns.
        return []
    names = (table.schema().find_column_name(field.source_id) for field in table.sort_order().fields)
    return [name for name in names if name is not None]


def queries_today(
    table: Table, workload: Workload, tasks: Sequence[DataFileTask], *, per_day: float | None = None
) -> QueriesToday:
    """Return a workload's queries with their boxes, and the data files that they read, by manifests.

    More than 1,000 queries are reduced to 1,000 representative ones. Raises InvalidInputError for invalid filters.
    """
    queries = workload.sampled(_MOST_QUERIES).queries
    asked = RequestedWorkload.of_queries(table, queries, most_boxes=_MOST_BOXES)
    types = scanned_table(table, table.name()).columns
    files = [task.data_file for task in tasks]
    left = asked.may_match(files)
    return QueriesToday(
        tuple(
            JudgedQuery(query.filter, query.weight, boxes, _kinds(condition, types), query.weaker)
            for query, boxes, condition in zip(queries, asked.boxes, asked.conditions, strict=True)
        ),
        np.asarray(left @ np.array([file.file_size_in_bytes for file in files], np.float64), np.float64),
        left.sum(axis=1),
        sum(each.weight for each in workload.columns_only),
        tuple(each for each in workload.not_understood if each.weight > 0),
        per_day,
    )


def _kinds(condition: Predicate, types: Mapping[Name, str]) -> tuple[tuple[Name, str], ...]:
    """Return the kinds of a condition's filters by column, with names as in the schema."""
    names = {tuple(part.lower() for part in name): name for name in types}
    kinds = {
        name if name in types else names[tuple(part.lower() for part in name)]: kind
        for name, kind in filtered_columns(normal_form(condition)).items()
    }
    return tuple(sorted(kinds.items()))
