"""The page of the figures."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from statistics import geometric_mean
from typing import Any

from benchmarks.queries.sets import SETS, QuerySet
from benchmarks.queries.tables import INGESTED, TIMED_SEED, TITLES, TRAINING_SEEDS, WORKLOAD

Run = Mapping[str, Any]
"""A set on an engine: ``set``, ``engine``, ``scale``, ``rounds``, ``machine``, ``queries`` and so on."""

_ENGINES = {"duckdb": "DuckDB", "spark": "Spark"}
_NOTABLE = 0.05
_INTRODUCTION = """\
Written by `make bench-queries`. The same Iceberg tables lie there in several layouts, in about as many files, all
written by Spark: as ingested; rewritten by Iceberg's own z-order, and by ours, by the columns that one usually takes,
the date and the key that most joins go by"""
_MEASURES = """\
*Bytes* are the sizes of the data files that are left to be read once files were pruned. In Spark they are what
Iceberg's scans in the plan tell, each scan for itself, without adaptive execution, which is on where time is
taken. In DuckDB, which reads through its Iceberg extension, they are of the files that it opens, each once a query; so
what joins tell scans while they run counts. *Read* is what DuckDB read of these files. *Time* is the sum of the medians
of the rounds. In each, every query runs on one layout after the other, and begins with the next one each time, since
the first one pays for what an engine compiles. All files are in the page cache: no time is spent waiting for a disk or
for S3, where bytes and files weigh more. Bytes are the same whatever else a machine does; seconds are not, and a load
average above its cores tells that others worked beside. Changes and ratios are to the tables as ingested; less is
better.

Of TPC-DS in Spark every third query is timed, once, and the tables of ours from the workload are those as ingested by
another name: what these two differ by, all in all and of how many queries, is how far the clock can be trusted."""
_JOINS = """\
All others filter dimensions, and what is wanted of a large table is known only once these are joined. Spark hands what
it finds so to Iceberg for partition columns alone, and these tables have none: such queries read all files of every
layout. DuckDB hands the least and the greatest key of a join's smaller side to the other side's scan, which skips files
by them. A range of days is small in the date's key, so that files that are small in it are skipped; what a filter
leaves of other dimensions mostly lies all over their keys, so that the second column skips little, unless few rows are
left, as of items in DS37 and DS82."""
_BITS = """\
Iceberg's z-order takes the bits of values as they are, so that of two columns the one of larger numbers comes first:
beside l_partkey, l_shipdate is hardly looked at. Ours takes ranks."""
_ORDER = """\
That is why the order in which rows arrive decides. TPC-H's lineitem arrives by order, which says nothing of days: a
layout by days is new to it. TPC-DS's sales arrive day by day, which is the best sort by the date that there is, and the
rows of a basket lie beside each other, which compresses well. A z-order by date and item gives up much of that for a
column that no filter reaches, and its files are larger: who clusters such a table by these columns because they are
the usual ones loses. So does who clusters it for the values that stand in queries: what joins with date_dim find is
not among them, and in DuckDB that is what skips most files. Laid out so at scale factor 5, as `advise` picked before it
counted full scans, these tables made DuckDB read 255% more. Sorted by their day, they are best left as they are.
`advise` warns of that, and leaves a table where full scans would read more of larger files than filters save. Where it
leaves a table, ours from the workload is the table as ingested. So are all of TPC-DS's."""
_LOCALITY = """\
An order is worth something to who groups and joins by it, too: TPC-H's lineitem and orders arrive by the order's key.
Queries that bring lines of an order together, H18 and H21 above all, take longer on every other layout, ours included,
though they read as many bytes. In Spark they cost more than the twenty others gain: these take 235 s instead of 258 on
ours from the workload, and all of them 358 s instead of 318. `advise` warns of such joins."""
_PTO = """\
The authors of PTO report 11% less average latency on TPC-H and 36% less on TPC-DS, at scale factor 10,000. These are
other tables, other engines and storage that is far away; the figures above are of one machine whose tables lie in
memory, where a file that is skipped saves little time."""


def page(figures: Mapping[str, Any]) -> str:
    """Write the page."""
    runs = sorted(figures["runs"], key=lambda run: (run["set"] != "tpch", run["engine"], run["scale"]))
    lines = [
        "# The queries themselves",
        "",
        textwrap.fill(_INTRODUCTION + _of_workload(runs), 120),
        "",
        _MEASURES,
        "",
        *_summary(runs),
        "",
        *_why(runs),
    ]
    for of in SETS:
        own = [run for run in runs if run["set"] == of.name]
        if own:
            lines += ["", f"## {of.title}", "", of.about]
        # Engines read the same tables.
        for scale, run in sorted({run["scale"]: run for run in own}.items()):
            lines += ["", f"### {of.title}, the tables at scale factor {scale:g}", "", *_tables(of, run)]
        for run in own:
            title = f"{of.title}, {_ENGINES[run['engine']]}, scale factor {run['scale']:g}"
            lines += ["", f"### {title}", "", *_of_run(run)]
    return "\n".join(lines) + "\n"


def _of_workload(runs: Sequence[Run]) -> str:
    if any(WORKLOAD in run["layouts"] for run in runs):
        return (
            f"; and by ours with option `workload`, from the queries of {len(TRAINING_SEEDS)} other draws, by the "
            "columns that `advise` picks (a table that no query filters, or that it advises to leave, stays as it "
            f"was). What is timed is draw {TIMED_SEED}, which no layout has seen."
        )
    return (
        ". A fourth layout, ours from the workload, is left out: this version has no option `workload` of rewrites. "
        f"What is timed is draw {TIMED_SEED} of the values that queries ask for."
    )


def total(run: Run, what: str, layout: str) -> float:
    """Sum something over the queries.

    Examples
    --------
    >>> total({"queries": [{"bytes": {"ours": 3}}, {"bytes": {"ours": 4}}]}, "bytes", "ours")
    7.0
    """
    return float(sum(query[what][layout] for query in run["queries"] if query[what]))


def _summary(runs: Sequence[Run]) -> Iterator[str]:
    yield (
        "| | scale factor | layout | MB | | queries with fewer, more bytes | MB read | | s | | mean ratio of times "
        "| queries faster, slower |"
    )
    yield "|---|--:|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
    for run in runs:
        title = next(of.title for of in SETS if of.name == run["set"])
        for layout in run["layouts"]:
            own = [f"{title}, {_ENGINES[run['engine']]}", f"{run['scale']:g}", TITLES[layout]]
            own += [*_sum(run, "bytes", layout, 1e6), _fewer_and_more(run, "bytes", layout)]
            own += _sum(run, "read", layout, 1e6) if all(query["read"] for query in run["queries"]) else ["", ""]
            timed = [query["seconds"] for query in run["queries"] if query["seconds"]]
            ratios = (seconds[layout] / seconds[INGESTED] for seconds in timed)
            own += [*_sum(run, "seconds", layout, 1), f"{geometric_mean(ratios):.2f}"]
            own += [_fewer_and_more(run, "seconds", layout)]
            yield f"| {' | '.join(own)} |"


def _sum(run: Run, what: str, layout: str, unit: float) -> list[str]:
    found, before = total(run, what, layout), total(run, what, INGESTED)
    change = "" if layout == INGESTED else f"{found / before - 1:+.0%}"
    return [f"{found / unit:,.1f}", change]


def _fewer_and_more(run: Run, what: str, layout: str) -> str:
    """Count the queries that are better and worse by more than a twentieth."""
    pairs = [(query[what][layout], query[what][INGESTED]) for query in run["queries"] if query[what]]
    better = sum(own < (1 - _NOTABLE) * before for own, before in pairs)
    worse = sum(own > (1 + _NOTABLE) * before for own, before in pairs)
    return "" if layout == INGESTED else f"{better}, {worse}"


def _why(runs: Sequence[Run]) -> Iterator[str]:
    yield from ("Counted as fewer, more, faster or slower is what differs by more than 5%.", "", "## Why", "")
    yield "A layout helps a query only where a filter reaches the scan of a large table, by a column that the layout"
    yield from ("knows. Values that stand in the text do:", "")
    for of in SETS:
        run = next((run for run in runs if run["set"] == of.name), None)
        if run is not None:
            reached = [f"{query} ({', '.join(tables)})" for query, tables in run["filtered"].items() if tables]
            yield f"- {of.title}, {len(reached)} of {len(run['filtered'])} queries: {'; '.join(reached)}."
    yield from ("", _JOINS, "", _BITS, "", _ORDER, "", _LOCALITY, "", _PTO)


def _tables(of: QuerySet, run: Run) -> Iterator[str]:
    chosen = WORKLOAD in run["layouts"]
    layouts = list(run["layouts"])
    header = ["table", "files", *(f"MB {TITLES[layout]}" for layout in layouts), "usual columns"]
    yield f"| {' | '.join([*header, *(['from the workload'] if chosen else [])])} |"
    yield f"|---|{'--:|' * (1 + len(layouts))}---|{'---|' if chosen else ''}"
    for table, usual in of.usual.items():
        cells = [table, str(run["tables"][INGESTED][table][0])]
        cells += [f"{run['tables'][layout][table][1] / 1e6:,.1f}" for layout in layouts]
        cells += [", ".join(usual), *([run["by"][WORKLOAD][table] or "as it was"] if chosen else [])]
        yield f"| {' | '.join(cells)} |"


def _of_run(run: Run) -> Iterator[str]:
    yield f"Scale factor {run['scale']:g}; rounds: {run['rounds']}; threads: {run['threads']}; on {run['machine']}."
    timed = [query["query"] for query in run["queries"] if query["seconds"]]
    if len(timed) < len(run["queries"]):
        yield f"Timed, and held against each other, are {len(timed)} of {len(run['queries'])} queries."
    if differ := [query["query"] for query in run["queries"] if not query["alike"]]:
        yield f"**Results differ between layouts** of {', '.join(differ)}."
    else:
        yield "Results are alike on all layouts, up to the order of rows and the last digits of doubles."
    others = [layout for layout in run["layouts"] if layout != INGESTED]
    titles = [TITLES[layout] for layout in others]
    yield from ("", f"| {' | '.join(['query', 'MB as ingested', *titles, 's as ingested', *titles])} |")
    yield f"|---|{'--:|' * (2 * len(others) + 2)}"
    for query in run["queries"]:
        cells = [query["query"], f"{query['bytes'][INGESTED] / 1e6:,.1f}"]
        cells += [_ratio(query["bytes"], layout) for layout in others]
        if query["seconds"]:
            cells += [f"{query['seconds'][INGESTED]:.3f}", *(_ratio(query["seconds"], layout) for layout in others)]
        else:
            cells += [""] * len(run["layouts"])
        yield f"| {' | '.join(cells)} |"


def _ratio(of: Mapping[str, float], layout: str) -> str:
    return f"{of[layout] / of[INGESTED]:.2f}" if of[INGESTED] else ""
