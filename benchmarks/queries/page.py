"""The page of the figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import geometric_mean
from typing import Any

from benchmarks.pages import bullets, head, how, paragraph, table
from benchmarks.queries.engines import JOINS
from benchmarks.queries.measure import NOTABLE
from benchmarks.queries.sets import SETS
from benchmarks.queries.tables import INGESTED, TIMED_SEED, TITLES, TRAINING_SEEDS, WORKLOAD, WORKLOAD_DUCKDB

Run = Mapping[str, Any]
"""A set on an engine: ``set``, ``engine``, ``scale``, ``rounds``, ``machine``, ``queries`` and so on.

Runs before 2026-11-28 have no ``variants``, and no ``cpu`` of their queries. Their variants are their layouts.
"""

_ENGINES = {"duckdb": "DuckDB", "spark": "Spark"}
_SLOWER = 1.10
_ABOUT = """\
This page measures all queries of TPC-H and TPC-DS on the same tables in several layouts. It is for readers who ask
when a layout makes queries faster, or slower."""
_RESULT = """\
TPC-DS's sales arrive sorted by day, so no rewrite made its queries read less. With the jar, Spark's
[joins skip files](../understand/joins.md): in three runs, all 99 queries together took 42% to 53% less time. With our
layouts, TPC-H's queries read fewer bytes, because its rows arrive by order number. DuckDB then gets faster. In Spark,
two queries that join the lines of an order lose more than the others gain."""
_SUMMARY = """\
Changes are relative to the first row of each run; less is better. Counts are of queries that differ by over 5%. *Joins*
means that `spark.iceberg-zorder.join-pruning` was on. CPU is the JVM's."""
_WHY = (
    "**Joins.** Other queries filter dimensions, so keys of the large table are known only after a join. Without the "
    "jar, Iceberg on Spark uses keys of partition columns only. With it, keys of days skip files. 14 queries of TPC-DS "
    "have no filter on days, and read as much as before: 58% of the bytes that are left. The others read 0.24 times "
    "as much.",
    "**TPC-H's joins** skip no files in Spark, because lineitem and orders lie by order key.",
    "**DuckDB** hands the least and the greatest key of a join's smaller side to the other scan, which skips files. "
    "Keys of days lie close to each other. Other keys lie everywhere, so a second column skips little.",
    "**Iceberg's z-order** interleaves the bits of raw values, so the column with larger numbers dominates: l_partkey "
    "outweighs l_shipdate. Ours interleaves ranks.",
    "**Order of arrival.** TPC-DS's sales arrive by day, and a basket's rows lie together, which compresses well. Any "
    "other order compresses worse: store_sales by date, quantity, store and item has 672 MB instead of 513, and Spark "
    "reads 1% more. After the rewrite that `advise` picks for DuckDB, it opens files with 23% more bytes, and reads 9% "
    "more of them: its costs count opened files, too, and a local disk does not.",
    "**Local joins.** H18 and H21 join lines of one order, so they are fastest as ingested. With ours from the "
    "workload, Spark takes 358 s instead of 318; without these two, 235 s instead of 258.",
)
_LAYOUTS = ("*Iceberg's z-order* and *ours, usual columns*: by the date and the key of most joins.",)
_MEASURES = (
    "*MB* are the data files left after pruning. In Spark they come from the scans that started, in runs without joins "
    "from those in the plan. In DuckDB they are the opened files, so filters from joins count.",
    "*s* is the sum of the medians of the rounds, with adaptive execution. Layouts take turns, and each round begins "
    "with another one. Runs with joins have one round, without a warm-up; queries that took over 5% longer ran "
    "again, three rounds after a warm-up. Two later runs of TPC-DS, as ingested, took 42% less time and CPU with "
    "joins, not 53% and 54%. Queries that were slower in a run ran again: by the medians of 5 to 15 rounds, none "
    "by over 10%.",
    "All files are in the page cache; on S3, bytes and files weigh more.",
    "Of TPC-DS in Spark without joins every third query is timed, once. There, ours from the workload are the tables "
    "as ingested: their difference is the clock's.",
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
        *paragraph(f"{_SUMMARY}{_slower(runs)}"),
        "",
        *_why(runs),
        "",
        *_advised(figures.get("advised", ())),
    ]
    about = "[queries.json](queries.json) has every query, the tables, their columns and the reasons of `advise`."
    lines += how("make bench-queries", _machines(runs), f"{about} {_alike(runs)}")
    sets = [f"{of.title}: {of.about}" for of in SETS]
    lines += ["", *bullets(*sets, *_LAYOUTS, _of_workload(runs), *_MEASURES)]
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


def _slower(runs: Sequence[Run]) -> str:
    """Name the queries that joins made slower, by the median of their rounds."""
    found = []
    for run in runs:
        for variant in filter(_has_joins, variants(run)):
            again = {**run, "queries": run.get("again", ())}
            of_queries = _ratios(run, variant) | _ratios(again, variant)
            ratios = sorted(((ratio, name) for name, ratio in of_queries.items()), reverse=True)
            slower = ", ".join(f"{name} {ratio:.2f}" for ratio, name in ratios if ratio > _SLOWER) or "none"
            found.append(f"{_title(run)} {_variant_title(variant)}: {slower}")
    return f" Queries that took over {_SLOWER:.2f} times as long: {'; '.join(found)}." if found else ""


def _has_joins(variant: str) -> bool:
    return variant.endswith(JOINS)


def _ratios(run: Run, variant: str) -> dict[str, float]:
    """Tell how many times as long each query takes as on the tables as ingested."""
    timed = [query for query in run["queries"] if query["seconds"]]
    return {query["query"]: query["seconds"][variant] / query["seconds"][INGESTED] for query in timed}


def _variant_title(variant: str) -> str:
    return TITLES[variant.removesuffix(JOINS)] + (", joins" if _has_joins(variant) else "")


def _title(run: Run) -> str:
    return next(of.title for of in SETS if of.name == run["set"])


def _named(run: Run) -> str:
    return f"{_title(run)} SF {run['scale']:g}"


def _machines(runs: Sequence[Run]) -> str:
    """Return the machines and versions of the runs, without their loads."""
    found: dict[str, list[str]] = {}
    for run in runs:
        name, _, versions = run["machine"].partition("; load average")[0].partition("; ")
        found.setdefault(versions, []).append(name)
    return "; ".join(f"{' and '.join(dict.fromkeys(names))}; {versions}" for versions, names in found.items())


def _alike(runs: Sequence[Run]) -> str:
    differ = [f"{run['set']} {query['query']}" for run in runs for query in run["queries"] if not query["alike"]]
    if differ:
        return f"**Results differ between layouts** in {', '.join(differ)}."
    return "Results are alike on all layouts, except for the order of rows and the last digits of doubles."


def _of_workload(runs: Sequence[Run]) -> str:
    if any(layout in run["layouts"] for run in runs for layout in (WORKLOAD, WORKLOAD_DUCKDB)):
        return (
            "*Ours, from the workload* uses option `workload` and the columns that `advise` picks. "
            f"Draw {TIMED_SEED} of the values is timed; the workload has {len(TRAINING_SEEDS)} other draws. "
            "A table that no query filters, or that `advise` leaves alone, stays as ingested."
        )
    return f"*Ours, from the workload* is missing, because no run has it. Draw {TIMED_SEED} of the values is timed."


def total(run: Run, what: str, variant: str) -> float:
    """Sum something over the queries.

    Examples
    --------
    >>> total({"queries": [{"bytes": {"ours": 3}}, {"bytes": {"ours": 4}}]}, "bytes", "ours")
    7.0
    """
    return float(sum(query[what][variant] for query in run["queries"] if query[what]))


def _summary(runs: Sequence[Run]) -> Iterator[str]:
    header = ("tables", "layout", "MB", "fewer/more", "CPU s", "s", "mean ratio of times", "faster/slower")
    yield from table(header, [_row(run, variant) for run in runs for variant in variants(run)], texts=2)


def _row(run: Run, variant: str) -> list[str]:
    has_cpu = any(query.get("cpu") for query in run["queries"])
    return [
        f"{_named(run)}, {_ENGINES[run['engine']]}" if variant == INGESTED else "",
        _variant_title(variant),
        _sum(run, "bytes", variant, 1e6),
        _fewer_and_more(run, "bytes", variant),
        _sum(run, "cpu", variant, 1) if has_cpu else "",
        _sum(run, "seconds", variant, 1),
        f"{geometric_mean(_ratios(run, variant).values()):.2f}",
        _fewer_and_more(run, "seconds", variant),
    ]


def _sum(run: Run, what: str, variant: str, unit: float) -> str:
    found, before = total(run, what, variant), total(run, what, INGESTED)
    change = "" if variant == INGESTED else f" {found / before - 1:+.0%}"
    return f"{found / unit:,.1f}{change}"


def _fewer_and_more(run: Run, what: str, variant: str) -> str:
    """Count the queries that are better and worse by more than a twentieth."""
    pairs = [(query[what][variant], query[what][INGESTED]) for query in run["queries"] if query[what]]
    better = sum(own < (1 - NOTABLE) * before for own, before in pairs)
    worse = sum(own > (1 + NOTABLE) * before for own, before in pairs)
    return "" if variant == INGESTED else f"{better}/{worse}"


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


def _advised(advised: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Tell of each table what ``advise`` expects of its best layout, for each engine."""
    if not advised:
        return
    yield from ("## What `advise` says", "")
    yield from paragraph(
        "The expected cost (bytes and opened files) of the best layout found, relative to the table as ingested. "
        "`advise` would rewrite bold ones. The others save less than 10%, or full scans lose more."
    )
    yield ""
    readers = [_ENGINES[name] for name in _ENGINES if any(each["reader"] == name for each in advised)]
    rows = []
    for of in SETS:
        of_set = {_ENGINES[each["reader"]]: each["tables"] for each in advised if each["set"] == of.name}
        names = dict.fromkeys(name for tables in of_set.values() for name in tables)
        rows += [[name, *(_expected(of_set.get(reader, {}).get(name)) for reader in readers)] for name in names]
    yield from table(("table", *readers), [row for row in rows if any(row[1:])])


def _expected(found: Mapping[str, Any] | None) -> str:
    if found is None or found["cost_then"] is None:
        return ""
    change = f"{found['cost_then'] / found['cost_today'] - 1:+.0%}"
    return f"**{change}**" if found["is_picked"] else change
