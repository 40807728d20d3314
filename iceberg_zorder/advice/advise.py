"""Advise on a layout: simulate candidates, pick one by half of the queries, judge it by the other half."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

from rich.filesize import decimal

from iceberg_zorder.advice.advice import Advice, DailySavings, FileSize, JudgedLayout, RewriteCost
from iceberg_zorder.advice.candidates import Candidate, candidates_of
from iceberg_zorder.advice.cautions import cautions
from iceberg_zorder.advice.compression import Compression
from iceberg_zorder.advice.facts import Facts
from iceberg_zorder.advice.judged_queries import halves
from iceberg_zorder.advice.simulation import Simulation, mean, more_of_full_scans
from iceberg_zorder.advice.statements import named_workload, partition_statement, rewrite_command, rewrite_statement
from iceberg_zorder.advice.workload_cuts import workload_cuts
from iceberg_zorder.layout.box_tree import EVEN
from iceberg_zorder.layout.columns import quoted_name
from iceberg_zorder.metrics.scan_cost import planning_cost, scan_cost
from iceberg_zorder.rewrite.cpu_seconds import READ, of_rewrite

LEAST_SAVING = 0.1
"""Default share of the queries' cost that a recommended rewrite must save."""
_ALIKE = 0.02
"""Largest relative difference of costs that counts as equal; the simpler layout then wins.

Fewer columns are simpler. A set of columns is simpler than cuts from the workload, which need a workload file that is
read anew when queries change. Workload cuts get no further handicap: cross-validation already overstates their cost."""
_PARTITIONS = 0.9
"""Highest cost, relative to the best set of columns, at which a partition change is recommended."""
_SIZES = (0.25, 0.5, 1, 2)
"""Simulated target file sizes, relative to the table's."""


def advise(
    facts: Facts,
    *,
    least_saving: float = LEAST_SAVING,
    progress: Callable[[str, int, int], None] = lambda *_: None,
) -> Advice:
    """Return advice on the layout of a table.

    Parameters
    ----------
    facts : Facts
        The table, its sampled rows, and its workload.
    least_saving : float, optional
        Share of the queries' cost today that a recommended rewrite must save, in [0, 1].
    progress : callable, optional
        Called for each simulated layout; see :class:`Simulation`.

    Returns
    -------
    Advice
        The advice, which may be to do nothing.
    """
    return _Advisor(facts, progress).advice(least_saving)


def best_of(judged: Sequence[JudgedLayout]) -> JudgedLayout | None:
    """Return the cheapest candidate for the choosing half; the simplest of those that cost about the same.

    Examples
    --------
    >>> def of(kind, *columns, cost):
    ...     return JudgedLayout(kind, "", columns, 9, cost - 4, 1.0, cost, cost, 99)
    >>> sets = [of("zorder", "a", "b", cost=70.0), of("sort", "a", cost=71.0), of("sort", "b", cost=90.0)]
    >>> [best_of([*others, *sets]).kind for others in ([], [of("workload", "a", cost=69.6)])]
    ['sort', 'sort']
    >>> best_of([of("workload", "a", cost=62.0), of("partition", "b", cost=63.0), *sets]).kind
    'partition'
    """
    sets = [each for each in judged if each.is_set]
    good = [each for each in sets if each.chosen_by_cost <= (1 + _ALIKE) * sets[0].chosen_by_cost]
    best = min(good, key=lambda each: (len(each.columns), each.chosen_by_cost), default=None)
    for kind, share in (("partition", _PARTITIONS), ("workload", 1 - _ALIKE)):
        other = next((each for each in judged if each.kind == kind), None)
        if other is not None and (best is None or other.chosen_by_cost <= share * best.chosen_by_cost):
            best = other
    return best


class _Advisor:
    def __init__(self, facts: Facts, progress: Callable[[str, int, int], None]) -> None:
        self._facts = facts
        self._choosing, self._judging = halves(facts.today.queries)
        self._simulation = (
            None
            if facts.rows is None
            else Simulation(
                facts.rows,
                self._choosing,
                self._judging,
                facts.expected_files,
                Compression(facts.runs),
                facts.table.open_cost,
                facts.table.files,
                self._full_scans_per_query,
                progress,
            )
        )

    def advice(self, least_saving: float) -> Advice:
        facts, table, today = self._facts, self._facts.table, self._today
        found = self._candidates()
        judged = [layout for _, layout in found]
        best = best_of(judged)
        saving = 0.0 if best is None or not today.cost_per_query else self._saved(best)[0] / today.cost_per_query
        pick = best if best is not None and saving >= least_saving and saving > 0 else None
        candidate = next((each for each, layout in found if layout is best), None)
        return Advice(
            quoted_name((table.catalog, *table.identifier)),
            table.snapshot_id,
            self._filtered,
            self._full_scans,
            len(self._choosing),
            len(self._judging),
            len(self._in_both),
            table.bytes,
            table.target_file_size if candidate is None else self._target(candidate),
            table.open_cost,
            facts.today.per_day,
            today,
            tuple(judged),
            pick,
            self._reason(best, pick, saving, least_saving),
            None if pick is None else self._cost(pick),
            () if candidate is None or self._simulation is None else self._file_sizes(self._simulation, candidate),
            cautions(facts, today, judged),
            *self._pasted(pick),
        )

    @cached_property
    def _today(self) -> JudgedLayout:
        today = self._facts.today
        place_of = {query.filter: place for place, query in enumerate(today.queries)}
        choosing, judging = ([place_of[query.filter] for query in half] for half in (self._choosing, self._judging))
        table = self._facts.table
        size, files = (mean(self._judging, each[judging]) for each in (today.bytes, today.files))
        chosen_size, chosen_files = (mean(self._choosing, each[choosing]) for each in (today.bytes, today.files))
        cost = scan_cost(size, files, table.files, table.open_cost)
        chosen_by = scan_cost(chosen_size, chosen_files, table.files, table.open_cost)
        return JudgedLayout("today", "", (), table.files, size, files, cost, chosen_by, table.bytes)

    def _candidates(self) -> list[tuple[Candidate, JudgedLayout]]:
        """Simulate the candidates; return the best for the choosing half first."""
        facts, rows = self._facts, self._facts.rows
        if rows is None or self._simulation is None or not self._choosing or self._is_done:
            return []
        target = facts.table.target_file_size
        files = facts.expected_files(target)(facts.table.bytes)
        found = list(candidates_of(rows, self._choosing, target))
        # Even cuts ignore a workload.
        if facts.table.cuts != EVEN:
            found += workload_cuts(rows, self._choosing, files, self._in_both)
        return self._simulation.best_first(found, self._target)

    def _target(self, candidate: Candidate) -> int:
        """Return the target file size of a candidate; the statement for partitions names it."""
        table = self._facts.table
        of_columns = {} if candidate.kind == "partition" else table.targets
        return of_columns.get(len(candidate.columns), table.target_file_size)

    def _reason(self, best: JudgedLayout | None, pick: JudgedLayout | None, saving: float, least_saving: float) -> str:
        if not self._choosing:
            return "no query of the workload has a known filter by which engines can skip files"
        if best is None and self._is_done:
            table = self._facts.table
            files = "one file" if table.files == 1 else f"{table.files:,} files"
            return (
                f"a rewrite of the table's {decimal(table.bytes)} in {files} would write as many files, at "
                f"{table.target_file_size:,} bytes a file"
            )
        if best is None:
            return "a layout needs a filtered column with lower/upper bounds, at least two values and rows to simulate"
        if pick is not None:
            return f"{self._judges} cost {_percent(saving)} less, in bytes and open costs of files"
        today = self._today
        read, was = (each.read_text(today.bytes) for each in (best, today))
        found = f"the best layout found, {_name(best)}: they read {read}, today {was}"
        if saving <= 0 and best.cost_per_query < today.cost_per_query:
            less = _percent(1 - best.cost_per_query / today.cost_per_query)
            whole, whole_today = (each.full_scan_cost(self._facts.table.open_cost) for each in (best, today))
            more = _percent(whole / whole_today - 1)
            return f"{self._judges} cost {less} less with {found}. But full scans cost {more} more"
        if saving <= 0:
            return f"queries cost no less with {found}"
        return f"{self._judges} cost {_percent(saving)} less with {found}. A rewrite must save {_percent(least_saving)}"

    @property
    def _is_done(self) -> bool:
        """Whether each group is one file today, and stays one with any number of clustering columns."""
        facts, rows = self._facts, self._facts.rows
        targets = {facts.table.target_file_size, *facts.table.targets.values()}
        return (
            rows is not None
            and facts.table.files <= len(rows.group_bytes)
            and all(facts.expected_files(target)(size) == 1 for target in targets for size in rows.group_bytes.tolist())
        )

    @property
    def _judges(self) -> str:
        """The judging queries as text; filters that also chose the layout are named, because it favours them."""
        if not self._in_both:
            return "queries that did not choose the layout"
        scans = sum(query.weight for query in self._judging)
        share = sum(query.weight for query in self._judging if query.filter in self._in_both) / scans
        if len(self._in_both) == len(self._judging):
            return "queries whose filters also chose the layout"
        return f"queries ({share:.0%} of them have filters that also chose the layout)"

    def _saved(self, best: JudgedLayout) -> tuple[float, float, float]:
        """Return the savings per query, less the extra reads of full scans: cost, bytes, files."""
        today, full_scans = self._today, self._full_scans_per_query
        size = today.bytes_per_query - best.bytes_per_query - more_of_full_scans(full_scans, today.bytes, best.bytes)
        files = today.files_per_query - best.files_per_query - more_of_full_scans(full_scans, today.files, best.files)
        planning = planning_cost(today.files - best.files, self._facts.table.open_cost)
        return size + self._facts.table.open_cost * files + planning, size, files

    @cached_property
    def _filtered(self) -> float:
        return sum(query.weight for query in self._facts.today.queries if not query.is_full_scan)

    @cached_property
    def _full_scans(self) -> float:
        return sum(query.weight for query in self._facts.today.queries if query.is_full_scan)

    @property
    def _full_scans_per_query(self) -> float:
        """Full scans per query with a filter; 0 without such queries."""
        return self._full_scans / self._filtered if self._filtered else 0.0

    @cached_property
    def _in_both(self) -> frozenset[str]:
        """The filters in both halves."""
        choosing, judging = ({each.filter for each in half} for half in (self._choosing, self._judging))
        return frozenset(choosing & judging)

    def _cost(self, pick: JudgedLayout) -> RewriteCost:
        table, per_day, (saved, size, files) = self._facts.table, self._facts.today.per_day, self._saved(pick)
        queries = sum(each.full_scan_cost(table.open_cost) for each in (self._today, pick)) / saved
        days = queries / per_day if per_day else None
        daily = DailySavings(per_day * size, per_day * files, per_day * size * READ) if per_day else None
        return RewriteCost(table.bytes, pick.bytes, saved, queries, days, of_rewrite(table.bytes), daily)

    def _file_sizes(self, simulation: Simulation, candidate: Candidate) -> tuple[FileSize, ...]:
        targets = (max(1, int(share * self._target(candidate))) for share in _SIZES)
        found = {each.files: each for each in (simulation.sized(candidate, target) for target in targets)}
        return tuple(sorted(found.values(), key=lambda each: each.target_file_size_bytes))

    def _pasted(self, pick: JudgedLayout | None) -> tuple[str | None, str | None, str | None]:
        """Return the statement, the command and the preparation."""
        table = self._facts.table
        if pick is None:
            return None, None, None
        if pick.kind == "partition":
            return partition_statement(table, pick.layout), None, None
        if pick.is_set:
            return rewrite_statement(table, pick.layout), rewrite_command(table, pick.layout), None
        named = named_workload(table, self._facts.today.queries)
        sort_order = f"zorder({', '.join(pick.columns)})"
        return (
            rewrite_statement(table, sort_order, named.option),
            rewrite_command(table, sort_order, named.option),
            named.preparation,
        )


def _name(layout: JudgedLayout) -> str:
    if layout.kind == "workload":
        return f"cuts from the workload by {', '.join(layout.columns)}"
    return f"partitions by {layout.layout}" if layout.kind == "partition" else layout.layout


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%"
