"""The page of the figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import geometric_mean
from typing import Any

from benchmarks.pages import bullets, head, how, paragraph, table
from benchmarks.queries.engines import JOINS
from benchmarks.queries.sets import SETS
from benchmarks.queries.tables import INGESTED, TIMED_SEED, TITLES, TRAINING_SEEDS, WORKLOAD

Run = Mapping[str, Any]
"""A set on an engine: ``set``, ``engine``, ``scale``, ``rounds``, ``machine``, ``queries`` and so on.

Runs before 2026-11-28 have no ``variants``, and no ``cpu`` of their queries. Their variants are their layouts.
"""

_ENGINES = {"duckdb": "DuckDB", "spark": "Spark"}
_NOTABLE = 0.05
_SLOWER = 1.10
_ABOUT = """\
This page measures all queries of TPC-H and TPC-DS on the same tables in several layouts. It is for readers who ask
when a layout makes queries faster, or slower."""
_RESULT = """\
With our layouts, TPC-H's queries read fewer bytes, because its rows arrive by order number. DuckDB then gets faster. In
Spark, two queries that join the lines of an order lose more than the others gain. Layouts do not help TPC-DS: its sales
arrive sorted by day."""
_SUMMARY = """\
Changes are relative to the tables as ingested; less is better. Counts are of queries that differ by over 5%."""
_WHY = (
    "**Joins.** Other queries filter dimensions, so keys of the large table are known only after a join. Without joins "
    "that skip files, Iceberg on Spark uses keys of partition columns only. These tables have none.",
    "**DuckDB** hands the least and the greatest key of a join's smaller side to the other scan, which skips files. A "
    "range of days is a small range of date keys. Keys of other dimensions lie everywhere, so a second column "
    "skips little. Only DS37 and DS82 select few items.",
    "**Iceberg's z-order** interleaves the bits of raw values, so the column with larger numbers dominates: l_partkey "
    "outweighs l_shipdate. Ours interleaves ranks.",
    "**Order of arrival.** TPC-DS's sales arrive by day, and a basket's rows lie together, which compresses well. A "
    "z-order by date and item compresses worse; few filters reach the item.",
    "**Hidden filters.** Filters of joins are not in the text of queries. `advise` once picked columns by the text "
    "alone; DuckDB then read 255% more. Today it looks up keys of joins.",
    "**Local joins.** H18 and H21 join lines of one order, so they are fastest as ingested. With ours from the "
    "workload, Spark takes 358 s instead of 318; without these two, 235 s instead of 258.",
)
_JOINS = """\
Queries take turns with `spark.iceberg-zorder.join-pruning` off and on, in one session. *Half* counts queries that read
at most half of the bytes with it on. *Worst* is the largest ratio of a query's times, by the medians of its rounds."""
_JOINS_MEASURED = """\
MB are the data files left after joins, as each scan reports them to Spark when it starts, even if adaptive execution
replaces it later. CPU is the JVM's."""
_LAYOUTS = (
    "Spark wrote all layouts, in about as many files.",
    "*Iceberg's z-order* and *ours, usual columns*: by the date and the key of most joins.",
)
_MEASURES = (
    "*s* is the sum of the medians of the rounds, with adaptive execution. Layouts take turns, and each round begins "
    "with another one.",
    "All files are in the page cache; on S3, bytes and files weigh more. Seconds depend on other work; queries.json "
    "has the load.",
    "Of TPC-DS in Spark every third query is timed, once. There, tables from the workload are those as ingested, so "
    "their difference shows how far to trust the clock.",
)


def page(figures: Mapping[str, Any]) -> str:
    """Return the page."""
    runs = sorted(figures["runs"], key=lambda run: (run["set"] != "tpch", run["engine"], run["scale"]))
    whole = [run for run in runs if _is_largest(run, runs)]
    joins = [run for run in runs if _joined(run)]
    lines = [
        *head("Queries", _ABOUT, figures.get("note", "")),
        "",
        "## Result",
        "",
        *paragraph(_RESULT),
        "",
        *_summary(whole),
        "",
        *paragraph(_SUMMARY),
        "",
        *(_of_joins(joins) if joins else ()),
        *_why(whole),
    ]
    about = "[queries.json](queries.json) has every query, the tables and their columns."
    lines += how("make bench-queries", _machines(runs), f"{about} {_alike(runs)}")
    sets = [f"{of.title}: {of.about}" for of in SETS]
    lines += ["", *bullets(*sets, *_LAYOUTS, _of_workload(runs), _of_bytes(whole), *_MEASURES)]
    return "\n".join(lines) + "\n"


def variants(run: Run) -> list[str]:
    """List what was measured."""
    return list(run.get("variants", run["layouts"]))


def replaces(new: Run, old: Run) -> bool:
    """Tell whether a run has all that an earlier one has.

    Examples
    --------
    >>> old = {"set": "tpch", "engine": "spark", "scale": 5.0, "layouts": ["ingested", "ours"]}
    >>> replaces({**old, "variants": ["ingested", "ingested+joins", "ours"]}, old)
    True
    >>> replaces({**old, "layouts": ["ingested"]}, old), replaces({**old, "scale": 1.0}, old)
    (False, False)
    """
    return _place(new) == _place(old) and set(variants(new)) >= set(variants(old))


def _place(run: Run) -> tuple[str, str, float]:
    return run["set"], run["engine"], run["scale"]


def _is_largest(run: Run, runs: Sequence[Run]) -> bool:
    """Whether no other run of the same has more layouts: that one has the comparison of layouts."""
    return run == max((each for each in runs if _place(each) == _place(run)), key=lambda each: len(each["layouts"]))


def _joined(run: Run) -> list[str]:
    """List the layouts that were measured with joins that skip files, too."""
    return [layout for layout in run["layouts"] if layout + JOINS in variants(run)]


def _of_joins(runs: Sequence[Run]) -> Iterator[str]:
    yield from ("## Joins that skip files in Spark", "", *paragraph(_JOINS), "")
    header = ("", "layout", "MB off, on", "CPU s off, on", "s off, on", "half", "worst")
    yield from table(header, [_joins_row(run, layout) for run in runs for layout in _joined(run)], texts=2)
    yield ""
    slower = [
        f"{_title(run)} {TITLES[layout]}: {found}"
        for run in runs
        for layout in _joined(run)
        if (found := _slower(run, layout))
    ]
    yield from paragraph(f"{_JOINS_MEASURED} Queries above {_SLOWER:.2f}: {'; '.join(slower) or 'none'}.")
    yield ""


def _joins_row(run: Run, layout: str) -> list[str]:
    row = [_named(run) if layout == _joined(run)[0] else "", TITLES[layout]]
    for what, unit in (("bytes", 1e6), ("cpu", 1), ("seconds", 1)):
        off, on = total(run, what, layout), total(run, what, layout + JOINS)
        row.append(f"{off / unit:,.1f}, {on / unit:,.1f} ({on / off:.2f}x)")
    half = sum(query["bytes"][layout + JOINS] <= query["bytes"][layout] / 2 for query in run["queries"])
    worst, name = max(_ratios(run, layout))
    return [*row, str(half), f"{worst:.2f} {name}"]


def _ratios(run: Run, layout: str) -> list[tuple[float, str]]:
    """List how many times as long each query takes with joins that skip files."""
    timed = [query for query in run["queries"] if query["seconds"]]
    return [(query["seconds"][layout + JOINS] / query["seconds"][layout], query["query"]) for query in timed]


def _slower(run: Run, layout: str) -> str:
    found = sorted(_ratios(run, layout), reverse=True)
    return ", ".join(f"{name} {ratio:.2f}" for ratio, name in found if ratio > _SLOWER)


def _title(run: Run) -> str:
    return next(of.title for of in SETS if of.name == run["set"])


def _named(run: Run) -> str:
    return f"{_title(run)} SF {run['scale']:g}"


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
            "*Ours, from the workload* uses option `workload` and the columns that `advise` picks. "
            f"Draw {TIMED_SEED} of the values is timed; the workload has {len(TRAINING_SEEDS)} other draws. "
            "A table that no query filters, or that `advise` leaves alone, stays as ingested."
        )
    return f"*Ours, from the workload* is missing, because no run has it. Draw {TIMED_SEED} of the values is timed."


def _of_bytes(runs: Sequence[Run]) -> str:
    spark = "from the scans in the plan, without adaptive execution"
    if all("variants" in run for run in runs if run["engine"] == "spark"):
        spark = "from the scans that started, without joins that skip files"
    return (
        f"*MB* are the data files left after pruning. In Spark they come {spark}. In DuckDB they are the opened files, "
        "so filters from joins count."
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
    yield "| tables | layout | MB | fewer/more | s | mean ratio of times | faster/slower |"
    yield "|---|---|--:|--:|--:|--:|--:|"
    for run in runs:
        for layout in run["layouts"]:
            own = [f"{_named(run)}, {_ENGINES[run['engine']]}" if layout == INGESTED else "", TITLES[layout]]
            own += [_sum(run, "bytes", layout, 1e6), _fewer_and_more(run, "bytes", layout)]
            timed = [query["seconds"] for query in run["queries"] if query["seconds"]]
            ratios = (seconds[layout] / seconds[INGESTED] for seconds in timed)
            own += [_sum(run, "seconds", layout, 1), f"{geometric_mean(ratios):.2f}"]
            own += [_fewer_and_more(run, "seconds", layout)]
            yield f"| {' | '.join(own)} |"


def _sum(run: Run, what: str, layout: str, unit: float) -> str:
    found, before = total(run, what, layout), total(run, what, INGESTED)
    change = "" if layout == INGESTED else f" {found / before - 1:+.0%}"
    return f"{found / unit:,.1f}{change}"


def _fewer_and_more(run: Run, what: str, layout: str) -> str:
    """Count the queries that are better and worse by more than a twentieth."""
    pairs = [(query[what][layout], query[what][INGESTED]) for query in run["queries"] if query[what]]
    better = sum(own < (1 - _NOTABLE) * before for own, before in pairs)
    worse = sum(own > (1 + _NOTABLE) * before for own, before in pairs)
    return "" if layout == INGESTED else f"{better}/{worse}"


def _why(runs: Sequence[Run]) -> Iterator[str]:
    reached = []
    for of in SETS:
        run = next((run for run in runs if run["set"] == of.name), None)
        if run is not None:
            filtered = run["filtered"].values()
            reached.append(f"{sum(map(bool, filtered))} of {len(filtered)} queries of {of.title}")
    yield from ("## Why", "")
    yield from paragraph(
        "A layout helps a query only if a filter on one of its columns reaches the scan of a large table. "
        f"{' and '.join(reached)} have such filters in their text."
    )
    yield from ("", *bullets(*_WHY))
