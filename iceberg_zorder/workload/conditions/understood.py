"""What was understood of a condition: a predicate that is true wherever it is, and what the predicate leaves out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from iceberg_zorder.request.predicate import Predicate
from iceberg_zorder.workload.filtered_columns import Kinds, filtered_columns, narrowest, widest
from iceberg_zorder.workload.normal_form import TRUE, all_of, any_of


@dataclass(frozen=True)
class Understood:
    """What was understood of a condition.

    Parameters
    ----------
    predicate : Predicate
        In normal form. True of each row of which the condition is true.
    lost : tuple of str, optional
        Why it may be true of more rows: each as it stands after "because".
    unknown : dict of tuple of str to str, optional
        Columns that the condition compares with values that are not known, which makes the predicate weaker, too; each
        with one of :data:`iceberg_zorder.workload.workload.KINDS`.
    """

    predicate: Predicate
    lost: tuple[str, ...] = ()
    unknown: Kinds = field(default_factory=dict)


def lost(reason: str) -> Understood:
    """Say that nothing was understood, and why."""
    return Understood(TRUE, (reason,))


def unknown_value(columns: Kinds) -> Understood:
    """Say which columns are compared with unknown values."""
    return Understood(TRUE, (), columns)


def all_understood(parts: Iterable[Understood]) -> Understood:
    """Join conditions by AND.

    Examples
    --------
    >>> from iceberg_zorder.request.predicate import IsNull
    >>> all_understood([lost("it is odd"), Understood(IsNull(("a",)))])
    Understood(predicate=IsNull(column=('a',)), lost=('it is odd',), unknown={})
    """
    parts = list(parts)
    return Understood(
        all_of(each.predicate for each in parts), _reasons(parts), narrowest(each.unknown for each in parts)
    )


def any_understood(parts: Iterable[Understood]) -> Understood:
    """Join conditions by OR: of one whose alternatives are not all understood nothing is left."""
    parts = list(parts)
    predicate = any_of(each.predicate for each in parts)
    reasons = _reasons(parts)
    if not any(each.unknown for each in parts) or reasons:
        return Understood(predicate, reasons)
    kinds = widest(narrowest([each.unknown, filtered_columns(each.predicate)]) for each in parts)
    if not kinds:
        return Understood(predicate, ("it compares different columns with values that are not known",))
    return Understood(predicate, (), kinds)


def _reasons(parts: Iterable[Understood]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(reason for each in parts for reason in each.lost))
