"""Each query on each variant: what it reads, whether results are alike, and how long it takes."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from benchmarks.queries.engines import JOINS, Engine, Looked, Ran, Rows
from benchmarks.queries.tables import without_limit

NOTABLE = 0.05
"""Smaller relative differences are not told."""
_RELATIVE, _ABSOLUTE = 1e-6, 1e-9
"""How far doubles may be apart that were summed in another order."""


@dataclass
class Measured:
    """What one query came to, by variant: a layout, with ``+joins`` behind its name if joins skip files in Spark.

    Parameters
    ----------
    query : str
        Its name.
    files, bytes, read : dict of str to int
        Data files that were left to be read, the sum of their sizes, and the bytes read of them where these are known.
    seconds, cpu : dict of str to float
        Medians of the rounds: wall time, and CPU time of the engine where it is known; empty if it was not timed.
    alike : bool
        Whether all variants, if it was timed, gave the same rows, up to their order and the last digits of doubles.
    """

    query: str
    files: dict[str, int] = field(default_factory=dict)
    bytes: dict[str, int] = field(default_factory=dict)
    read: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    cpu: dict[str, float] = field(default_factory=dict)
    alike: bool = True

    def count(self, variant: str, looked: Looked) -> None:
        """Keep what was read of a variant."""
        self.files[variant], self.bytes[variant] = looked.files, looked.bytes
        if looked.read is not None:
            self.read[variant] = looked.read


def measured(
    engine: Engine,
    queries: Mapping[str, str],
    layouts: Sequence[str],
    rounds: int,
    say: Callable[[str], None],
    timed: Collection[str] | None = None,
) -> list[Measured]:
    """Count what queries read, time those that are named, all by default, and compare the results of the first round.

    Every query runs on one variant after the other, in every round and with every query beginning with the next: the
    first one pays for what an engine compiles, and what changes on the machine meets all of them. What a query reads
    is counted in a round before, which is not timed. An engine that counts in every run needs none for a single round.
    """
    variants = engine.variants(layouts)
    found = []
    place = 0
    for name, query in queries.items():
        of = Measured(name)
        in_turn = (*variants[place:], *variants[:place])
        is_timed = timed is None or name in timed
        if not is_timed or rounds > 1 or not engine.counts_every_run:
            for variant in in_turn:
                engine.use(variant)
                of.count(variant, engine.look(query))
        if is_timed:
            _time(engine, query, of, in_turn, rounds)
        place = (place + 1) % len(variants)
        shares = " ".join(f"{variant} {of.bytes[variant]:,} B {_times(of, variant)}" for variant in variants)
        say(f"{name:5} {shares}{'' if of.alike else ' RESULTS DIFFER'}")
        found.append(of)
    return found


def slowed_by_joins(found: Sequence[Measured], base: str) -> list[str]:
    """Name the queries that took over 5% longer with joins that skip files than on the variant ``base``.

    Examples
    --------
    >>> slowed_by_joins([Measured("Q1", seconds={"a+joins": 1.1, "a": 1.0}), Measured("Q2", seconds={"a": 1.0})], "a")
    ['Q1']
    """
    return [
        each.query
        for each in found
        if any(
            name.endswith(JOINS) and seconds > (1 + NOTABLE) * each.seconds[base]
            for name, seconds in each.seconds.items()
        )
    ]


def _times(of: Measured, variant: str) -> str:
    cpu = f" ({of.cpu[variant]:.2f} s CPU)" if variant in of.cpu else ""
    return f"{of.seconds.get(variant, 0):.3f} s{cpu}"


def _time(engine: Engine, query: str, of: Measured, variants: Sequence[str], rounds: int) -> None:
    runs: dict[str, list[Ran]] = {variant: [] for variant in variants}
    results: dict[str, Rows] = {}
    for turn in range(rounds):
        first = turn % len(variants)
        for variant in (*variants[first:], *variants[:first]):
            engine.use(variant)
            ran = engine.run(query)
            runs[variant].append(ran)
            results.setdefault(variant, ran.rows)
            if ran.looked is not None and variant not in of.bytes:
                of.count(variant, ran.looked)
    of.alike = _all_alike(engine, query, results)
    of.seconds = {variant: median(ran.seconds for ran in each) for variant, each in runs.items()}
    counted = {variant: [ran.cpu for ran in each if ran.cpu is not None] for variant, each in runs.items()}
    of.cpu = {variant: median(each) for variant, each in counted.items() if each}


def _all_alike(engine: Engine, query: str, results: Mapping[str, Rows]) -> bool:
    """Compare results; where LIMIT chooses among equal rows, those without it."""
    first, *others = results.values()
    if all(alike(first, other) for other in others):
        return True
    whole: list[Rows] = []
    for variant in results:
        engine.use(variant)
        whole.append(engine.run(without_limit(query)).rows)
    return all(alike(whole[0], other) for other in whole[1:])


def alike(one: Rows, other: Rows) -> bool:
    """Tell whether two results have the same rows, up to their order and the last digits of doubles.

    Examples
    --------
    >>> alike([(1, 0.1 + 0.2), (2, None)], [(2, None), (1, 0.3)])
    True
    >>> alike([(1, 0.3)], [(1, 0.31)]), alike([(1,)], [(1,), (1,)]), alike([(None,)], [(0,)])
    (False, False, False)
    """
    if len(one) != len(other):
        return False
    pairs = zip(sorted(one, key=_place), sorted(other, key=_place), strict=True)
    return all(all(map(_same, row, peer)) for row, peer in pairs)


def _place(row: Sequence[Any]) -> list[tuple[bool, str]]:
    # Doubles last, and coarsely: they are not to decide which rows are held against each other.
    exact = [(value is None, str(value)) for value in row if not isinstance(value, float)]
    return exact + [(False, f"{value:.4g}") for value in row if isinstance(value, float)]


def _same(value: Any, peer: Any) -> bool:
    if isinstance(value, float) and isinstance(peer, float):
        both_nan = math.isnan(value) and math.isnan(peer)
        return both_nan or math.isclose(value, peer, rel_tol=_RELATIVE, abs_tol=_ABSOLUTE)
    return bool(value == peer)
