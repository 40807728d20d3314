"""Make advice: simulate candidates, let a half of the queries choose and the other half judge."""

from __future__ import annotations

from collections.abc import Sequence

from iceberg_zorder.advice.advice import Advice, ColumnGain, FileSize, JudgedLayout, RewriteCost
from iceberg_zorder.advice.candidates import Candidate, candidates_of, tried_columns
from iceberg_zorder.advice.cautions import cautions
from iceberg_zorder.advice.facts import Facts
from iceberg_zorder.advice.judged_queries import halves
from iceberg_zorder.advice.simulation import Simulation, mean
from iceberg_zorder.advice.statements import partition_statement, rewrite_command, rewrite_statement
from iceberg_zorder.layout.columns import quoted_name

LEAST_SAVING = 0.1
"""A rewrite is advised where queries read a tenth less for it."""
_FEWER_COLUMNS = 1.02
"""A set of fewer columns is taken that reads so much more at most."""
_PARTITIONS = 0.9
"""A change of the partitions is advised where it reads so much of what the best set of columns reads."""
_SIZES = (0.25, 0.5, 1, 2)
"""The target file sizes that are simulated, as shares of the table's."""


def advise(facts: Facts, *, least_saving: float = LEAST_SAVING) -> Advice:
    """Make advice on the layout of a table.

    Parameters
    ----------
    facts : Facts
        The table, its sampled rows, and its workload.
    least_saving : float, optional
        The share of what queries read today that a rewrite is to save, in [0, 1]; else nothing is advised.

    Returns
    -------
    Advice
        The advice; to do nothing is one.
    """
    return _Advisor(facts).advice(least_saving)


class _Advisor:
    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._choosing, self._judging = halves(facts.today.queries)
        self._simulation = (
            None if facts.rows is None else Simulation(facts.rows, self._choosing, self._judging, facts.expected_files)
        )

    def advice(self, least_saving: float) -> Advice:
        facts, table, today = self._facts, self._facts.table, self._today()
        found = self._candidates()
        judged = [layout for _, layout in found]
        best = self._best(judged)
        saving = 0.0 if best is None or not today.bytes_per_query else 1 - best.bytes_per_query / today.bytes_per_query
        pick = best if best is not None and saving >= least_saving and saving > 0 else None
        candidate = next((each for each, layout in found if layout is best), None)
        tried = [] if facts.rows is None else tried_columns(facts.rows, self._choosing)
        queries = facts.today.queries
        return Advice(
            quoted_name((table.catalog, *table.identifier)),
            table.snapshot_id,
            sum(query.weight for query in queries if not query.is_full_scan),
            sum(query.weight for query in queries if query.is_full_scan),
            len(self._choosing),
            len(self._judging),
            len(self._choosing) > 0 and self._is_held_out,
            table.bytes,
            table.target_file_size,
            facts.today.per_day,
            today,
            tuple(judged),
            pick,
            self._reason(best, pick, saving, least_saving),
            None if best is None else self._cost(today, best),
            () if candidate is None or self._simulation is None else self._file_sizes(self._simulation, candidate),
            tuple(self._gains(judged, tried)),
            cautions(facts, tried, today, judged),
            None if pick is None else self._statement(pick),
            None if pick is None or pick.kind == "partition" else rewrite_command(table, pick.layout),
        )

    def _today(self) -> JudgedLayout:
        today = self._facts.today
        place_of = {query.filter: place for place, query in enumerate(today.queries)}
        choosing, judging = ([place_of[query.filter] for query in half] for half in (self._choosing, self._judging))
        return JudgedLayout(
            "today",
            "",
            (),
            self._facts.table.files,
            mean(self._judging, today.bytes[judging]),
            mean(self._judging, today.files[judging]),
            mean(self._choosing, today.bytes[choosing]),
        )

    def _candidates(self) -> list[tuple[Candidate, JudgedLayout]]:
        """Simulate the candidates; the best for the half that chooses comes first."""
        facts, rows = self._facts, self._facts.rows
        if rows is None or self._simulation is None or not self._choosing or not self._divides:
            return []
        target = facts.table.target_file_size
        files = facts.expected_files(target)(facts.table.bytes)
        return self._simulation.best_first(candidates_of(rows, self._choosing, target, files), target)

    def _best(self, judged: Sequence[JudgedLayout]) -> JudgedLayout | None:
        """Choose among candidates by the half that chooses: few columns, and columns rather than partitions."""
        sets = [each for each in judged if each.kind != "partition"]
        partition = next((each for each in judged if each.kind == "partition"), None)
        if not sets:
            return partition
        good = [each for each in sets if each.chosen_by_bytes <= _FEWER_COLUMNS * sets[0].chosen_by_bytes]
        best = min(good, key=lambda each: (len(each.columns), each.chosen_by_bytes))
        if partition is not None and partition.chosen_by_bytes <= _PARTITIONS * best.chosen_by_bytes:
            return partition
        return best

    def _reason(self, best: JudgedLayout | None, pick: JudgedLayout | None, saving: float, least_saving: float) -> str:
        if not self._choosing:
            return "no query of the workload has a filter that files could be chosen by"
        if best is None and self._facts.rows is not None and not self._divides:
            return (
                f"at {self._facts.table.target_file_size:,} bytes a file there is one file to write, and none to skip"
            )
        if best is None:
            return "no column that queries filter by has bounds, more than one value, and rows to simulate"
        if pick is not None:
            half = "queries that have had no part in the choice" if self._is_held_out else "the queries that chose it"
            return f"{half} read {_percent(saving)} less than of the table as it is"
        name = f"partitions by {best.layout}" if best.kind == "partition" else best.layout
        if saving <= 0:
            return f"queries read no less of the best layout that was found, {name}"
        return (
            f"queries read {_percent(saving)} less of the best layout that was found, {name}, and a rewrite is to save "
            f"{_percent(least_saving)}"
        )

    @property
    def _divides(self) -> bool:
        """Whether anything is written to more than one file."""
        expected_files = self._facts.expected_files(self._facts.table.target_file_size)
        rows = self._facts.rows
        return rows is not None and any(expected_files(size) > 1 for size in rows.group_bytes.tolist())

    @property
    def _is_held_out(self) -> bool:
        return self._choosing != self._judging

    def _cost(self, today: JudgedLayout, best: JudgedLayout) -> RewriteCost:
        size, per_day = self._facts.table.bytes, self._facts.today.per_day
        saved = today.bytes_per_query - best.bytes_per_query
        queries = 2 * size / saved if saved > 0 else None
        return RewriteCost(size, size, saved, queries, queries / per_day if queries and per_day else None)

    def _file_sizes(self, simulation: Simulation, candidate: Candidate) -> tuple[FileSize, ...]:
        """Simulate a candidate with files of several sizes."""
        found = {}
        for share in _SIZES:
            target = max(1, int(share * self._facts.table.target_file_size))
            judged = simulation.judged(candidate, target)
            found[judged.files] = FileSize(target, judged.files, judged.bytes_per_query, judged.files_per_query)
        return tuple(sorted(found.values(), key=lambda each: each.target_file_size_bytes))

    def _gains(self, judged: Sequence[JudgedLayout], tried: Sequence[int]) -> list[ColumnGain]:
        """Find what each column is worth beside those of the best set."""
        rows = self._facts.rows
        sets = {frozenset(each.columns): each.bytes_per_query for each in judged if each.kind != "partition"}
        best = self._best([each for each in judged if each.kind != "partition"])
        if rows is None or best is None:
            return []
        columns = frozenset(best.columns)
        gains = []
        for place in tried:
            name = rows.columns[place].name
            # Without any column, files span everything as they do today at worst.
            without = sets.get(columns - {name}, float(rows.bytes) if columns == {name} else None)
            with_it = sets.get(columns | {name})
            gain = None if without is None or with_it is None else without - with_it
            gains.append(ColumnGain(name, sets[frozenset({name})], gain, name in columns))
        return gains

    def _statement(self, pick: JudgedLayout) -> str:
        write = partition_statement if pick.kind == "partition" else rewrite_statement
        return write(self._facts.table, pick.layout)


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%"
