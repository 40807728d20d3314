"""Each query on each layout: what it reads, whether results are alike, and how long it takes."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from benchmarks.queries.engines import Engine, Rows
from benchmarks.queries.tables import without_limit

_RELATIVE, _ABSOLUTE = 1e-6, 1e-9
"""How far doubles may be apart that were summed in another order."""


@dataclass
class Measured:
    """What one query came to, by layout.

    Parameters
    ----------
    query : str
        Its name.
    files, bytes, read : dict of str to int
        Data files that were left to be read, the sum of their sizes, and the bytes read of them where these are known.
    seconds : dict of str to float
        Medians of the rounds; empty if it was not timed.
    alike : bool
        Whether all layouts, if it was timed, gave the same rows, up to their order and the last digits of doubles.
    """

    query: str
    files: dict[str, int] = field(default_factory=dict)
    bytes: dict[str, int] = field(default_factory=dict)
    read: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    alike: bool = True


def measured(
    engine: Engine,
    queries: Mapping[str, str],
    layouts: Sequence[str],
    rounds: int,
    say: Callable[[str], None],
    timed: Collection[str] | None = None,
) -> list[Measured]:
    """Find what queries read, time those that are named, all by default, and compare the results of the first round.

    Every query runs on one layout after the other, in every round and with every query beginning with the next: the
    first one pays for what an engine compiles, and what changes on the machine meets all of them.
    """
    found = []
    place = 0
    for name, query in queries.items():
        of = Measured(name)
        for layout in layouts:
            engine.use(layout)
            looked = engine.look(query)
            of.files[layout], of.bytes[layout] = looked.files, looked.bytes
            if looked.read is not None:
                of.read[layout] = looked.read
        if timed is None or name in timed:
            _time(engine, query, of, (*layouts[place:], *layouts[:place]), rounds)
            place = (place + 1) % len(layouts)
        shares = " ".join(f"{layout} {of.bytes[layout]:,} B {of.seconds.get(layout, 0):.3f} s" for layout in layouts)
        say(f"{name:5} {shares}{'' if of.alike else ' RESULTS DIFFER'}")
        found.append(of)
    return found


def _time(engine: Engine, query: str, of: Measured, layouts: Sequence[str], rounds: int) -> None:
    results: dict[str, Rows] = {}
    seconds: dict[str, list[float]] = {layout: [] for layout in layouts}
    for turn in range(rounds):
        first = turn % len(layouts)
        for layout in (*layouts[first:], *layouts[:first]):
            engine.use(layout)
            start = time.perf_counter()
            rows = engine.run(query)
            seconds[layout].append(time.perf_counter() - start)
            results.setdefault(layout, rows)
    of.alike = _all_alike(engine, query, results)
    of.seconds = {layout: median(each) for layout, each in seconds.items()}


def _all_alike(engine: Engine, query: str, results: Mapping[str, Rows]) -> bool:
    """Compare results; where LIMIT chooses among equal rows, those without it."""
    first, *others = results.values()
    if all(alike(first, other) for other in others):
        return True
    whole: list[Rows] = []
    for layout in results:
        engine.use(layout)
        whole.append(engine.run(without_limit(query)))
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
