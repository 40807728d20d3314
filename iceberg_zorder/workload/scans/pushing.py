"""Which conditions the rows of each side of a join have to meet to matter.

A condition from above is one that each row of the join has to meet, else the row is dropped. Leaving out rows of the
side that an outer join fills with NULL lets new rows appear, so that only conditions count there that drop those, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from iceberg_zorder.workload.scans.nulls import rejects_nulls
from iceberg_zorder.workload.scans.references import sources_in
from iceberg_zorder.workload.scans.relations import Fact, Join, Relation, Source, leaves


def push(relation: Relation, facts: Sequence[Fact], reach: Callable[[Source, list[Fact]], None]) -> None:
    """Hand to each source what its rows have to meet.

    Parameters
    ----------
    relation : Source or Join
        What is read from.
    facts : sequence of Fact
        What its rows have to meet.
    reach : callable
        Called with each source and its facts.
    """
    if isinstance(relation, Source):
        reach(relation, [] if relation.is_blocked else list(facts))
        return
    left, right = split(relation, facts)
    push(relation.left, left, reach)
    push(relation.right, right, reach)


def split(join: Join, above: Sequence[Fact]) -> tuple[list[Fact], list[Fact]]:
    """Find what the rows of each side of a join have to meet."""
    lefts, rights = ({each.number for each in leaves(side)} for side in (join.left, join.right))
    kind, facts, on = join.kind, list(above), join.on
    if kind in ("left", "full") and any(rejects_nulls(each.condition, rights) for each in facts):
        kind = "inner" if kind == "left" else "right"
    if kind in ("right", "full") and any(rejects_nulls(each.condition, lefts) for each in facts):
        kind = "inner" if kind == "right" else "left"
    if kind in ("inner", "semi"):
        return facts + on, facts + on
    if kind == "left":
        return facts, _apart_from(facts, rights) + on
    if kind == "right":
        return _apart_from(facts, lefts) + on, facts
    if kind == "anti":
        return facts, facts + on
    # Which row is the nearest, an ASOF join decides on the right.
    return (facts, []) if kind == "asof" else ([], [])


def _apart_from(facts: list[Fact], sources: set[int]) -> list[Fact]:
    """Keep facts about other sources only."""
    return [each for each in facts if not sources_in(each.condition) & (sources | {-1})]
