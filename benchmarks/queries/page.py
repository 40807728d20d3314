"""The page of the figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import geometric_mean
from typing import Any

from benchmarks.pages import bullets, head, how, paragraph
from benchmarks.queries.sets import SETS
from benchmarks.queries.tables import INGESTED, TIMED_SEED, TITLES, TRAINING_SEEDS, WORKLOAD

Run = Mapping[str, Any]
"""A set on an engine: ``set``, ``engine``, ``scale``, ``rounds``, ``machine``, ``queries`` and so on."""

_ENGINES = {"duckdb": "DuckDB", "spark": "Spark"}
_NOTABLE = 0.05
_ABOUT = """\
This page measures all queries of TPC-H and TPC-DS on the same tables in several layouts. It is for readers who ask
whether a layout makes queries faster, and when it makes them slower."""
_RESULT = """\
With our layouts, TPC-H's queries read fewer bytes, because its rows arrive by order number. DuckDB then gets faster. In
Spark, two queries that join the lines of an order lose more than the others gain. Layouts do not help TPC-DS. Its sales
arrive sorted by day, and `advise` leaves these tables alone."""
_SUMMARY = """\
Changes and ratios are relative to the tables as ingested; less is better. *Fewer*, *more*, *faster* and *slower*
count queries that differ by more than 5%."""
_WHY = (
    "**Joins.** All other queries filter dimensions, so keys of the large table are known only after a join. Iceberg "
    "on Spark uses such keys for partition columns only. These tables have no partitions, so such queries read all "
    "files of every layout.",
    "**DuckDB** hands the least and the greatest key of a join's smaller side to the other scan, which skips files. A "
    "range of days is a small range of date keys. Filters on other dimensions leave keys everywhere, so a second "
    "column skips little. Only DS37 and DS82 leave few items.",
    "**Iceberg's z-order** interleaves the bits of raw values, so the column with larger numbers dominates: l_partkey "
    "outweighs l_shipdate. Ours interleaves ranks.",
    "**Order of arrival.** TPC-DS's sales arrive by day, and a basket's rows lie together, which compresses well. A "
    "z-order by date and item loses much compression, and few filters reach the item.",
    "**Hidden filters.** Filters that joins find are not in the text of queries. `advise` once picked columns by the "
    "text alone; DuckDB then read 255% more. Today `advise` warns of such filters.",
    "**Local joins.** H18 and H21 join lines of one order, so they are fastest as ingested. With ours from the "
    "workload, Spark takes 40 s more for all queries: 358 s instead of 318. The twenty others take 235 s instead of "
    "258. `advise` warns of such joins.",
)
_LAYOUTS = (
    "Spark has written all layouts, in about as many files.",
    "*Iceberg's z-order* and *ours, usual columns* use the date and the key that most joins use.",
)
_MEASURES = (
    "*MB* are the data files left after pruning. In Spark they come from the scans in the plan, without adaptive "
    "execution. In DuckDB, with its Iceberg extension, they are the opened files, so filters from joins count.",
    "*s* is the sum of the queries' medians over the rounds. A query runs on all layouts in turn; each round begins "
    "with another layout. Adaptive execution is on.",
    "All files are in the page cache, so no time is spent on a disk or on S3, where bytes and files weigh more.",
    "Seconds depend on other work on the machine; queries.json has its load.",
    "For TPC-DS in Spark, every third query is timed, once. There, *ours, from the workload* has the tables as "
    "ingested, so its difference in seconds shows the noise.",
)


def page(figures: Mapping[str, Any]) -> str:
    """Return the page."""
    runs = sorted(figures["runs"], key=lambda run: (run["set"] != "tpch", run["engine"], run["scale"]))
    lines = [
        *head("Queries", _ABOUT, figures.get("note", "")),
        "",
        "## Result",
        "",
        *paragraph(_RESULT),
        "",
        *_summary(runs),
        "",
        *paragraph(_SUMMARY),
        "",
        *_why(runs),
    ]
    about = "[queries.json](queries.json) has every query, the tables and their columns."
    lines += how("make bench-queries", _machines(runs), f"{about} {_alike(runs)}")
    lines += ["", *bullets(*(f"{of.title}: {of.about}" for of in SETS), *_LAYOUTS, _of_workload(runs), *_MEASURES)]
    return "\n".join(lines) + "\n"


def _machines(runs: Sequence[Run]) -> str:
    """Return the machines and versions of the runs, without their loads."""
    return "; ".join(dict.fromkeys(run["machine"].partition("; load average")[0] for run in runs))


def _alike(runs: Sequence[Run]) -> str:
    differ = [f"{run['set']} {query['query']}" for run in runs for query in run["queries"] if not query["alike"]]
    if differ:
        return f"**Results differ between layouts** in {', '.join(differ)}."
    return "Results are alike on all layouts, except for the order of rows and the last digits of doubles."


def _of_workload(runs: Sequence[Run]) -> str:
    if any(WORKLOAD in run["layouts"] for run in runs):
        return (
            "*Ours, from the workload* uses option `workload` and the columns that `advise` picks. Its queries are "
            f"{len(TRAINING_SEEDS)} other random draws of values; draw {TIMED_SEED} is timed. A table that no query "
            "filters, or that `advise` leaves alone, stays as ingested."
        )
    return f"*Ours, from the workload* is missing, because no run has it. Draw {TIMED_SEED} of the values is timed."


def total(run: Run, what: str, layout: str) -> float:
    """Sum something over the queries.

    Examples
    --------
    >>> total({"queries": [{"bytes": {"ours": 3}}, {"bytes": {"ours": 4}}]}, "bytes", "ours")
    7.0
    """
    return float(sum(query[what][layout] for query in run["queries"] if query[what]))


def _summary(runs: Sequence[Run]) -> Iterator[str]:
    yield "| tables | layout | MB | change | fewer, more | s | change | mean ratio of times | faster, slower |"
    yield "|---|---|--:|--:|--:|--:|--:|--:|--:|"
    for run in runs:
        title = next(of.title for of in SETS if of.name == run["set"])
        for layout in run["layouts"]:
            own = [f"{title} SF {run['scale']:g}, {_ENGINES[run['engine']]}", TITLES[layout]]
            own += [*_sum(run, "bytes", layout, 1e6), _fewer_and_more(run, "bytes", layout)]
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
    reached = []
    for of in SETS:
        run = next((run for run in runs if run["set"] == of.name), None)
        if run is not None:
            filtered = run["filtered"].values()
            reached.append(f"{sum(map(bool, filtered))} of {len(filtered)} queries of {of.title}")
    yield from ("## Why", "")
    yield from paragraph(
        "A layout helps a query only if a filter reaches the scan of a large table, by a column that the layout knows. "
        f"{' and '.join(reached)} have such filters in their text."
    )
    yield from ("", *bullets(*_WHY))
