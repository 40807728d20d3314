"""The problems of a policy, with line and field, reported together."""

from __future__ import annotations

from collections.abc import Mapping

from iceberg_zorder.errors import InvalidInputError

Path = tuple[str | int, ...]
"""Path of a value: keys of mappings and indices of lists."""

_MOST = 10


def field_name(path: Path) -> str:
    """Return the path of a value as text."""
    name = ""
    for part in path:
        name += f"[{part}]" if isinstance(part, int) else f".{part}" if name else part
    return name


def reason(error: Exception) -> str:
    """Return the reason of an error, without its leading "Cannot X, because"."""
    text = str(error)
    return f"cannot{text.removeprefix('Cannot')}" if text.startswith("Cannot ") else text


class Problems:
    """Collects the problems of a policy while it is read.

    ``name`` is the policy's file; ``lines`` has the line of each value, from 1.

    Examples
    --------
    >>> problems = Problems("policy.yaml", {("interval",): 3})
    >>> problems.add(("interval",), "'soon' is not a duration")
    >>> problems.raise_any()
    Traceback (most recent call last):
    iceberg_zorder.errors.InvalidInputError: Cannot use policy.yaml, because line 3, interval: 'soon' is not a duration
    """

    def __init__(self, name: str, lines: Mapping[Path, int] | None = None) -> None:
        self._name = name
        self._lines = {} if lines is None else lines
        self._found: dict[tuple[Path, str], None] = {}

    def add(self, path: Path, text: str) -> None:
        """Add a problem of a value."""
        self._found[path, text] = None

    def has(self, path: Path) -> bool:
        """Return whether the value, a value inside it, or a value around it has a problem."""
        return any(found[: len(path)] == path or path[: len(found)] == found for found, _ in self._found)

    def raise_any(self) -> None:
        """Raise InvalidInputError with up to ten problems, if there are any.

        It has no cause, because a library's message about a value may show secrets.
        """
        ranks = {path: rank for rank, path in enumerate(self._lines)}
        in_order = sorted(self._found, key=lambda each: (self._line(each[0]), ranks.get(each[0], 0), each[1]))
        told = [self._told(path, text) for path, text in in_order]
        if not told:
            return
        more = [f"and {len(told) - _MOST} more"] if len(told) > _MOST else []
        listed = "".join(f"\n- {each}" for each in [*told[:_MOST], *more])
        why = told[0] if len(told) == 1 else f"of {len(told)} problems:{listed}"
        raise InvalidInputError(f"Cannot use {self._name}, because {why}") from None

    def _line(self, path: Path) -> int:
        ends = range(len(path), -1, -1)
        return next((self._lines[path[:end]] for end in ends if path[:end] in self._lines), 0)

    def _told(self, path: Path, text: str) -> str:
        line = self._line(path)
        places = [*([f"line {line}"] if line else []), *([field_name(path)] if path else [])]
        return f"{', '.join(places)}: {text}" if places else text
