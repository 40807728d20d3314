"""Warnings of ``advise``: facts that the candidates' figures do not show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from iceberg_zorder.advice.advice import Caution, JudgedLayout
from iceberg_zorder.advice.facts import Facts, QueriesToday
from iceberg_zorder.advice.sampled_table import SampledTable
from iceberg_zorder.advice.statements import bloom_filter_statement

_MANY_FULL_SCANS = 0.2
_MANY_JOINS = 0.2
_NARROW = 0.5
_FEW_ROWS = 10
"""Most rows of a value for which an equality filter counts as a point lookup."""
_MANY_LOOKUPS = 0.05
_FEW_FILES = 8
_AS_GOOD = 1.05


def cautions(facts: Facts, today: JudgedLayout, candidates: Sequence[JudgedLayout]) -> tuple[Caution, ...]:
    """Return the warnings."""
    found = [
        *_of_workload(facts),
        *_joined(facts.today, candidates),
        *_never_filtered(facts),
        *_no_bounds(facts),
        *_small_table(facts),
    ]
    if facts.rows is not None:
        found += _lookups(facts, facts.rows)
    return (*found, *_partitions(facts, today, candidates))


def rewrite_due(columns: tuple[str, ...], saved: str, statement: str | None) -> Caution:
    """Return the warning that a rewrite by the table's own columns pays."""
    return Caution(
        "rewrite-due",
        columns,
        f"the table is laid out by {', '.join(columns)}, but many files do not follow it. A rewrite by these columns "
        f"is due: queries then cost {saved} less",
        statement,
    )


def _of_workload(facts: Facts) -> Iterator[Caution]:
    today = facts.today
    # Conditions that were not understood may filter, such as joins whose keys are not known.
    full = sum(query.weight - query.weaker for query in today.queries if query.is_full_scan)
    scans = sum(query.weight for query in today.queries)
    if scans and full >= _MANY_FULL_SCANS * scans:
        yield Caution(
            "full-scans",
            (),
            f"{full / scans:.0%} of the scans have no filter by which engines can skip files. They read everything "
            "with any layout, so a rewrite saves only on the other scans",
        )
    if today.columns_only:
        what = f"for {today.columns_only:,.0f} scans only the filtered columns are known"
        yield Caution("not-judged", (), f"{what}: the figures leave them out")
    if today.not_understood:
        missed, most = sum(each.weight for each in today.not_understood), today.not_understood[0]
        yield Caution(
            "not-judged",
            (),
            f"{missed:,.0f} statements or parts of filters were not understood, so the figures leave them out. The "
            f"most frequent is '{most.text}', because {most.reason}; `iceberg-zorder workload` lists them",
        )


def _joined(today: QueriesToday, candidates: Sequence[JudgedLayout]) -> Iterator[Caution]:
    """Warn of join columns that today's order serves well; candidates ignore joins."""
    scans = sum(query.weight for query in today.queries) + today.columns_only
    for column in today.joined:
        if candidates and column.weight >= _MANY_JOINS * scans and column.scan_fraction <= _NARROW:
            yield Caution(
                "joined",
                (column.name,),
                f"{min(1.0, column.weight / scans):.0%} of the scans join by {column.name}, with keys that the queries "
                "do not tell. Files have narrow bounds of this column today: a filter on one value reads "
                f"{column.scan_fraction:.1%} of the bytes. The figures leave these joins out. Engines that skip files "
                "by join keys (DuckDB, Trino, Spark with the jar) may read more in another order",
            )


def _never_filtered(facts: Facts) -> Iterator[Caution]:
    used = {".".join(name) for query in facts.today.queries for name, _ in query.kinds}
    for names, what in ((facts.table.laid_out_by, "clustered or sorted"), (facts.table.partitioned_by, "partitioned")):
        for name in names:
            if used and name not in used:
                yield Caution(
                    "never-filtered",
                    (name,),
                    f"the table is {what} by {name}, but no query of the workload filters by it",
                )


def _no_bounds(facts: Facts) -> Iterator[Caution]:
    for name, statement in facts.table.unbounded.items():
        yield Caution(
            "no-bounds",
            (name,),
            f"queries filter by {name}, but the table keeps no lower/upper bounds of this column, so these filters "
            "skip no file: set the column's metrics mode, then rewrite",
            statement,
        )


def _small_table(facts: Facts) -> Iterator[Caution]:
    files = facts.sizes(facts.table.target_file_size).expected_files(facts.table.bytes)
    if files < _FEW_FILES:
        yield Caution(
            "small-table",
            (),
            f"at {facts.table.target_file_size:,} bytes a file the table has only {files} files, so queries can skip "
            "little",
        )


def _lookups(facts: Facts, rows: SampledTable) -> Iterator[Caution]:
    """Warn of columns by which queries look up single rows."""
    queries = [query for query in facts.today.queries if not query.is_full_scan]
    scans = sum(query.weight for query in queries)
    whole = int(rows.group_rows.sum())
    for place, column in enumerate(rows.columns):
        asked = sum(
            each.weight for each in queries if (column.parts, "=") in each.kinds or (column.parts, "in") in each.kinds
        )
        ranked = rows.ranked[place]
        # The sample rarely holds two rows of a rare value.
        valued = int((ranked.ranks >= 0).sum())
        alike = valued / max(1, len(ranked.distinct)) - 1
        rows_of_value = 1 + alike * whole / max(1, rows.sample.rows)
        if scans and asked >= _MANY_LOOKUPS * scans and rows_of_value <= _FEW_ROWS:
            yield Caution(
                "point-lookups",
                (column.name,),
                f"{asked / scans:.0%} of the filters look up single values of {column.name}, which few rows have "
                "(estimated from the sample). A Parquet bloom filter skips row groups without the value in any layout",
                bloom_filter_statement(facts.table, column.path),
            )


def _partitions(facts: Facts, today: JudgedLayout, candidates: Sequence[JudgedLayout]) -> Iterator[Caution]:
    sets = [each.chosen_by_cost for each in candidates if each.is_set]
    is_as_good = today.chosen_by_cost <= _AS_GOOD * min(sets, default=today.full_scan_cost(facts.table.open_cost) / 2)
    if facts.table.partitioned_by and facts.today.queries and is_as_good:
        names = facts.table.partitioned_by
        yield Caution(
            "partitions-do-it", names, f"the partitions by {', '.join(names)} already skip what a layout would skip"
        )
    best = next((each for each in candidates if each.kind == "partition"), None)
    if best is not None and sets and best.chosen_by_cost <= _AS_GOOD * min(sets):
        yield Caution(
            "partitions-do-it",
            best.columns,
            f"with partitions by {best.layout}, queries cost no more than with the best set of columns, and new files "
            "need no rewrite",
        )
