"""LIKE, and other ways to ask for the beginning of a text."""

from __future__ import annotations

from iceberg_zorder.request.predicate import Comparison, IsNull, Name, Not, Predicate, StartsWith
from iceberg_zorder.request.predicate_values import Value
from iceberg_zorder.workload.conditions.understood import Understood, lost
from iceberg_zorder.workload.normal_form import FALSE


def like(column: Name, pattern: str, escape: str | None, *, negated: bool) -> Understood:
    """Understand ``column LIKE pattern``, or its opposite.

    Examples
    --------
    >>> like(("s",), "10!%%", "!", negated=False).predicate
    StartsWith(column=('s',), prefix='10%')
    >>> like(("s",), "a%b", None, negated=False).lost
    ("LIKE 'a%b' asks for more than a beginning",)
    """
    text, rest = _literal_beginning(pattern, escape)
    if rest not in ("", "%") and rest.strip("%"):
        reason = f"LIKE '{pattern}' asks for more than a beginning"
        return lost(reason) if negated or not text else Understood(StartsWith(column, text), (reason,))
    found = starts_with(column, text) if rest else Comparison(column, "=", Value("string", text))
    if not negated:
        return Understood(found)
    if isinstance(found, Comparison):
        return Understood(Comparison(column, "<>", found.value))
    return Understood(Not(found)) if isinstance(found, StartsWith) else Understood(FALSE)


def starts_with(column: Name, prefix: str) -> Predicate:
    """Ask for a beginning; all text that is not NULL begins with the empty one."""
    return StartsWith(column, prefix) if prefix else Not(IsNull(column))


def _literal_beginning(pattern: str, escape: str | None) -> tuple[str, str]:
    text, place = "", 0
    while place < len(pattern):
        character = pattern[place]
        if escape and character == escape and place + 1 < len(pattern):
            text += pattern[place + 1]
            place += 2
        elif character in "%_" or (character == "\\" and not escape):
            break
        else:
            text += character
            place += 1
    return text, pattern[place:]
