"""The problems of a policy, each with its line and its field, reported all at once."""

from __future__ import annotations

from collections.abc import Mapping

from iceberg_zorder.errors import InvalidInputError

Path = tuple[str | int, ...]
"""Where a value stands: keys of mappings, and places in lists."""

_MOST = 10


def field_name(path: Path) -> str:
    """Write where a value stands."""
    name = ""
    for part in path:
        name += f"[{part}]" if isinstance(part, int) else f".{part}" if name else part
    return name


def reason(error: Exception) -> str:
    """Write what another part of the package refuses as part of a sentence."""
    text = str(error)
    return f"cannot{text.removeprefix('Cannot')}" if text.startswith("Cannot ") else text


class Problems:
    """The problems of a policy, gathered while it is read.

    ``name`` is its file, for messages, and ``lines`` have the line of each value, from 1 on.

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
        """Note a problem of a value."""
        self._found[path, text] = None

    def has(self, path: Path) -> bool:
        """Tell whether a problem of a value is noted, of one inside it, or of one around it."""
        return any(found[: len(path)] == path or path[: len(found)] == found for found, _ in self._found)

    def raise_any(self) -> None:
        """Raise an InvalidInputError with all problems that are noted, ten at most, if there are any.

        Its cause is left out: what a library says of a value may show secrets.
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
