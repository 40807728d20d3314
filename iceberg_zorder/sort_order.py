"""Read ``sort_order``: ``zorder(a, b)``, or the plain list ``a, b``, which means the same."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NoReturn

from iceberg_zorder.curve import ZORDER
from iceberg_zorder.errors import InvalidInputError

_CURVES_TO_COME = frozenset({"hilbert"})
_DIRECTIONS = frozenset({"asc", "desc", "nulls"})
_SPACE = " \t\n\f\r"
_QUOTED = re.compile("`((?:[^`]|``)*)`(?!`)")


@dataclass(frozen=True)
class SortOrder:
    """What a ``sort_order`` asks for.

    Parameters
    ----------
    curve : str
        Name of the curve.
    columns : tuple of tuple of str
        The clustering columns in order, one or more, each as its parts.
    """

    curve: str
    columns: tuple[tuple[str, ...], ...]


def parse_sort_order(text: str) -> SortOrder:
    """Read a sort order.

    Names are made of ASCII letters, digits, ``_`` and letters of other scripts, or of anything in backticks with
    backticks doubled; fields of structs follow after a dot. White space is free. Whether the columns exist, or one is
    named twice, only the schema can tell.

    Parameters
    ----------
    text : str
        The sort order as written.

    Returns
    -------
    SortOrder
        The curve and the columns.

    Raises
    ------
    InvalidInputError
        When the text is no sort order; the message names the position as a number of characters before it.

    Examples
    --------
    >>> parse_sort_order("ZORDER(a, b.`zip code`)")
    SortOrder(curve='zorder', columns=(('a',), ('b', 'zip code')))
    >>> parse_sort_order("a, b") == parse_sort_order("zorder(a, b)")
    True
    >>> parse_sort_order("zorder(a")
    Traceback (most recent call last):
    iceberg_zorder.errors.InvalidInputError: Cannot parse sort_order 'zorder(a', because ',' or ')' is expected and \
the end is found at position 8
    """
    return _Parser(text).sort_order()


def parse_name(text: str) -> tuple[str, ...]:
    """Read the name of one column.

    Parameters
    ----------
    text : str
        The name, such as ``a.`b c```.

    Returns
    -------
    tuple of str
        Its parts.

    Raises
    ------
    InvalidInputError
        When the text is not one name.

    Examples
    --------
    >>> parse_name("a.`b.c`")
    ('a', 'b.c')
    """
    parser = _Parser(text)
    parts = parser.column()
    parser.end()
    return parts


class _Parser:
    """A recursive descent over the characters."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._next = 0

    def sort_order(self) -> SortOrder:
        self._skip_space()
        start = self._next
        word = self._word()
        self._skip_space()
        if word and self._at("("):
            return self._curve(word.lower(), start)
        self._next = start
        columns = self._columns()
        self.end()
        return SortOrder(ZORDER, columns)

    def _curve(self, word: str, start: int) -> SortOrder:
        if word in _CURVES_TO_COME:
            self._refuse(f"{word}(...) is not available in this version", start)
        if word != ZORDER:
            self._refuse(f"'{word}' is not a curve", start)
        self._next += 1
        columns = self._columns()
        if not self._at(")"):
            self._unexpected("',' or ')'")
        self._next += 1
        self._skip_space()
        if self._at(","):
            self._refuse("a column beside zorder(...) is not available in this version", self._next)
        self.end()
        return SortOrder(ZORDER, columns)

    def _columns(self) -> tuple[tuple[str, ...], ...]:
        columns = [self.column()]
        while self._at(","):
            self._next += 1
            columns.append(self.column())
        return tuple(columns)

    def column(self) -> tuple[str, ...]:
        parts = [self._part()]
        while self._at("."):
            self._next += 1
            parts.append(self._part())
        start = self._next
        direction = self._word()
        if direction.lower() in _DIRECTIONS:
            self._refuse(f"'{direction}' is not available in this version", start)
        if self._at("("):
            self._refuse("a column beside zorder(...) is not available in this version", start)
        self._next = start
        return tuple(parts)

    def end(self) -> None:
        if self._next < len(self._text):
            self._unexpected("',' or the end")

    def _part(self) -> str:
        """One name, with the white space around it."""
        self._skip_space()
        part = self._quoted() if self._at("`") else self._word()
        if not part:
            self._unexpected("a column")
        self._skip_space()
        return part

    def _quoted(self) -> str:
        quoted = _QUOTED.match(self._text, self._next)
        if quoted is None:
            self._refuse("a backtick is not closed", self._next)
        self._next = quoted.end()
        return quoted[1].replace("``", "`")

    def _word(self) -> str:
        start = self._next
        while self._next < len(self._text) and _is_name_character(self._text[self._next]):
            self._next += 1
        return self._text[start : self._next]

    def _skip_space(self) -> None:
        while self._next < len(self._text) and self._text[self._next] in _SPACE:
            self._next += 1

    def _at(self, character: str) -> bool:
        return self._text[self._next : self._next + 1] == character

    def _unexpected(self, expected: str) -> NoReturn:
        found = f"'{self._text[self._next]}'" if self._next < len(self._text) else "the end"
        self._refuse(f"{expected} is expected and {found} is found", self._next)

    def _refuse(self, what: str, position: int) -> NoReturn:
        raise InvalidInputError(f"Cannot parse sort_order '{self._text}', because {what} at position {position}")


def _is_name_character(character: str) -> bool:
    if character.isascii():
        return character == "_" or character.isalnum()
    return character.isalpha()
