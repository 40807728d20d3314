"""Advise on a layout: simulate candidates, and pick one that saves enough for the number of queries that judge it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from functools import cached_property

from rich.filesize import decimal

from iceberg_zorder.advice.advice import Advice, Caution, DailySavings, FileSize, JudgedLayout, RewriteCost
from iceberg_zorder.advice.candidates import Candidate, candidates_of
from iceberg_zorder.advice.cautions import cautions, rewrite_due
from iceberg_zorder.advice.compression import Compression
from iceberg_zorder.advice.facts import Facts
from iceberg_zorder.advice.judged_queries import recurring
from iceberg_zorder.advice.simulation import Simulation, mean, more_of_full_scans
from iceberg_zorder.advice.statements import (
    TARGET_SIZE,
    named_workload,
    partition_statement,
    rewrite_command,
    rewrite_statement,
    with_size,
)
from iceberg_zorder.advice.workload_cuts import workload_cuts
from iceberg_zorder.layout.box_tree import EVEN
from iceberg_zorder.layout.columns import quoted_name
from iceberg_zorder.metrics.scan_cost import SMALLEST_FILE, planning_cost
from iceberg_zorder.rewrite.cpu_seconds import READ, of_rewrite

LEAST_SAVING = 0.1
"""Default share of the queries' cost that a recommended rewrite must save."""
_ALIKE = 0.02
"""Largest relative difference of costs that counts as equal; the simpler layout then wins.

Fewer columns are simpler. A set of columns is simpler than cuts from the workload, which need a workload file that is
read anew when queries change. Workload cuts get no further handicap: cross-validation already overstates their cost."""
_PARTITIONS = 0.9
"""Highest cost, relative to the best set of columns, at which a partition change is recommended."""
_OTHER_SIZE = 0.8
"""Highest cost, relative to the size that a rewrite takes by itself, at which another file size is recommended.

That size may cost 10% more than the best one, because fewer files are easier to keep."""
_SIZES = (1, 0.25, 0.5, 2)
"""Simulated target file sizes, relative to the table's."""


def advise(
    facts: Facts,
    compression: Compression,
    *,
    least_saving: float = LEAST_SAVING,
    progress: Callable[[str, int, int], None] = lambda *_: None,
) -> Advice:
    """Return advice on the layout of a table.

    Parameters
    ----------
    facts : Facts
        The table, its sampled rows, and its workload.
    compression : Compression
        Predicts the bytes of new files.
    least_saving : float, optional
        Share of the queries' cost today that a recommended rewrite must save, in [0, 1].
    progress : callable, optional
        Called for each simulated layout; see :class:`Simulation`.

    Returns
    -------
    Advice
        The advice, which may be to do nothing.
    """
    return _Advisor(facts, compression, progress, least_saving).advice()


def best_of(judged: Sequence[JudgedLayout], own: Collection[str] = ()) -> JudgedLayout | None:
    """Return the cheapest candidate; of those that cost about the same the table's own columns, or else the simplest.

    Examples
    --------
    >>> def of(kind, *columns, cost):
    ...     return JudgedLayout(kind, "", columns, 9, cost - 4, 1.0, cost, cost, 1.0, 99)
    >>> sets = [of("zorder", "a", "b", cost=70.0), of("sort", "a", cost=71.0), of("sort", "b", cost=90.0)]
    >>> [best_of([*others, *sets]).kind for others in ([], [of("workload", "a", cost=69.6)])]
    ['sort', 'sort']
    >>> best_of([of("workload", "a", cost=62.0), of("partition", "b", cost=63.0), *sets]).kind
    'partition'
    >>> best_of(sets, own=["b", "a"]).columns
    ('a', 'b')
    """
    sets = [each for each in judged if each.is_set]
    good = [each for each in sets if each.chosen_by_cost <= (1 + _ALIKE) * sets[0].chosen_by_cost]
    best = min(
        good, key=lambda each: (set(each.columns) != set(own), len(each.columns), each.chosen_by_cost), default=None
    )
    for kind, share in (("partition", _PARTITIONS), ("workload", 1 - _ALIKE)):
        other = next((each for each in judged if each.kind == kind), None)
        if other is not None and (best is None or other.chosen_by_cost <= share * best.chosen_by_cost):
            best = other
    return best


class _Advisor:
    def __init__(
        self,
        facts: Facts,
        compression: Compression,
        progress: Callable[[str, int, int], None],
        least_saving: float,
    ) -> None:
        self._facts = facts
        self._least_saving = least_saving
        today = facts.today
        places = [place for place, query in enumerate(today.queries) if not query.is_full_scan]
        self._queries = [today.queries[place] for place in places]
        size, files, table = today.bytes[places], today.files[places], facts.table
        costs = size + table.open_cost * files + planning_cost(table.files, table.open_cost)
        cost = mean(self._queries, costs)
        self._today = JudgedLayout(
            "today",
            "",
            (),
            table.files,
            mean(self._queries, size),
            mean(self._queries, files),
            cost,
            cost,
            0.0,
            table.bytes,
        )
        self._simulation = (
            None
            if facts.rows is None
            else Simulation(
                facts.rows,
                self._queries,
                costs,
                facts.compression_factor,
                compression,
                table.open_cost,
                table.files,
                self._full_scans_per_query,
                progress,
            )
        )

    def advice(self) -> Advice:
        facts, table, today = self._facts, self._facts.table, self._today
        found = self._candidates()
        judged = [layout for _, layout in found]
        own = self._own
        # A layout of a larger margin must not hide one that saves enough.
        best = best_of([each for each in judged if self._pays(each)], own) or best_of(judged, own)
        candidate = next((each for each, layout in found if layout is best), None)
        sizes = self._file_sizes(candidate)
        sized = next((each for each in sizes if (each.target_file_size_bytes or 0) >= SMALLEST_FILE), None)
        if best is not None and sized is not None and self._needs_size(best, sized):
            best = sized
            judged.insert(0, best)
        pick = best if best is not None and self._pays(best) else None
        return Advice(
            quoted_name((table.catalog, *table.identifier)),
            table.snapshot_id,
            self._filtered,
            self._full_scans,
            len(self._queries),
            table.bytes,
            table.target_file_size if candidate is None else self._target(candidate),
            table.open_cost,
            facts.today.per_day,
            today,
            tuple(judged),
            pick,
            self._reason(best, pick),
            None if pick is None else self._cost(pick),
            tuple(_file_size(each) for each in sorted(sizes, key=lambda each: each.target_file_size_bytes or 0)),
            (*cautions(facts, today, judged), *self._due(judged, pick)),
            *self._pasted(pick),
        )

    def _saved(self, layout: JudgedLayout) -> float:
        """Return the saved share of the queries' cost."""
        return 1 - layout.chosen_by_cost / self._today.chosen_by_cost if self._today.chosen_by_cost else 0.0

    def _margin(self, layout: JudgedLayout) -> float:
        """Return the standard error of the saved share."""
        return layout.margin / self._today.chosen_by_cost if self._today.chosen_by_cost else 0.0

    def _pays(self, layout: JudgedLayout) -> bool:
        saved = self._saved(layout) - self._margin(layout)
        return saved > 0 and saved >= self._least_saving

    def _needs_size(self, best: JudgedLayout, sized: JudgedLayout) -> bool:
        """Return whether a layout pays with another file size only, or costs much less; not if the size was given."""
        is_given = best.kind == "partition" or TARGET_SIZE in self._facts.table.options
        is_better = not self._pays(best) or sized.chosen_by_cost <= _OTHER_SIZE * best.chosen_by_cost
        return not is_given and self._pays(sized) and is_better

    def _candidates(self) -> list[tuple[Candidate, JudgedLayout]]:
        """Simulate the candidates; return the best first."""
        facts, rows = self._facts, self._facts.rows
        if rows is None or self._simulation is None or not self._queries or self._is_done:
            return []
        target = facts.table.target_file_size
        files = facts.sizes(target).expected_files(facts.table.bytes)
        found = list(candidates_of(rows, self._queries, target, facts.table.laid_out_by))
        # Even cuts ignore a workload.
        if facts.table.cuts != EVEN:
            found += workload_cuts(rows, self._queries, files, recurring(self._queries))
        return self._simulation.best_first(found, self._target)

    def _target(self, candidate: Candidate) -> int:
        """Return the target file size of a candidate; the statement for partitions names it."""
        table = self._facts.table
        of_columns = {} if candidate.kind == "partition" else table.targets
        return of_columns.get(len(candidate.columns), table.target_file_size)

    def _reason(self, best: JudgedLayout | None, pick: JudgedLayout | None) -> str:
        if not self._queries:
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
        saved, today = self._saved(best), self._today
        certain = f"{len(self._queries):,} filters judge this to ±{_percent(self._margin(best))}"
        if pick is not None:
            return f"queries cost {_percent(saved)} less, in bytes and open costs of files; {certain}"
        read, was = (each.read_text(today.bytes) for each in (best, today))
        found = f"the best layout found, {_name(best)}: they read {read}, today {was}"
        if saved <= 0 and best.cost_per_query < today.cost_per_query:
            less = _percent(1 - best.cost_per_query / today.cost_per_query)
            whole, whole_today = (each.full_scan_cost(self._facts.table.open_cost) for each in (best, today))
            more = _percent(whole / whole_today - 1)
            return f"queries cost {less} less with {found}. But full scans cost {more} more"
        if saved <= 0:
            return f"queries cost no less with {found}"
        least = _percent(self._least_saving)
        return f"queries cost {_percent(saved)} less with {found}; {certain}. A rewrite must surely save {least}"

    def _due(self, judged: Sequence[JudgedLayout], pick: JudgedLayout | None) -> Iterator[Caution]:
        table, own = self._facts.table, self._own
        mine = next((each for each in judged if each.is_set and own and set(each.columns) == set(own)), None)
        if mine is not None and self._pays(mine):
            is_picked = pick is not None and set(pick.columns) == set(own)
            statement = None if is_picked else rewrite_statement(with_size(table, mine), mine.layout)
            yield rewrite_due(own, _percent(self._saved(mine)), statement)

    @cached_property
    def _own(self) -> tuple[str, ...]:
        """The columns that the table is laid out by; empty if queries do not filter by all of them."""
        columns = () if self._facts.rows is None else self._facts.rows.columns
        names = {each.path: each.name for each in columns}
        own = self._facts.table.laid_out_by
        return tuple(names[path] for path in own) if names.keys() >= set(own) else ()

    @property
    def _is_done(self) -> bool:
        """Whether each group is one file today, and stays one with any number of clustering columns."""
        facts, rows = self._facts, self._facts.rows
        targets = {facts.table.target_file_size, *facts.table.targets.values()}
        return (
            rows is not None
            and facts.table.files <= len(rows.group_bytes)
            and all(
                facts.sizes(target).expected_files(size) == 1
                for target in targets
                for size in rows.group_bytes.tolist()
            )
        )

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

    def _cost(self, pick: JudgedLayout) -> RewriteCost:
        table, today, per_day = self._facts.table, self._today, self._facts.today.per_day
        saved, full_scans = today.chosen_by_cost - pick.chosen_by_cost, self._full_scans_per_query
        queries = sum(each.full_scan_cost(table.open_cost) for each in (today, pick)) / saved
        days = queries / per_day if per_day else None
        size = today.bytes_per_query - pick.bytes_per_query - more_of_full_scans(full_scans, today.bytes, pick.bytes)
        files = today.files_per_query - pick.files_per_query - more_of_full_scans(full_scans, today.files, pick.files)
        daily = DailySavings(per_day * size, per_day * files, per_day * size * READ) if per_day else None
        return RewriteCost(table.bytes, pick.bytes, saved, queries, days, of_rewrite(table.bytes), daily)

    def _file_sizes(self, candidate: Candidate | None) -> list[JudgedLayout]:
        """Judge a candidate with several file sizes; return the cheapest first."""
        if candidate is None or self._simulation is None:
            return []
        found: dict[int, JudgedLayout] = {}
        for share in _SIZES:
            target = max(1, int(share * self._target(candidate)))
            layout = self._simulation.judged(candidate, target)
            found.setdefault(layout.files, replace(layout, target_file_size_bytes=target))
        return sorted(found.values(), key=lambda each: each.chosen_by_cost)

    def _pasted(self, pick: JudgedLayout | None) -> tuple[str | None, str | None, str | None]:
        """Return the statement, the command and the preparation."""
        table = self._facts.table
        if pick is None:
            return None, None, None
        table = with_size(table, pick)
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


def _file_size(layout: JudgedLayout) -> FileSize:
    size, read = layout.target_file_size_bytes or 0, (layout.bytes_per_query, layout.files_per_query)
    return FileSize(size, layout.files, *read, layout.cost_per_query)


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%"
