"""Read ``sort_order``: ``zorder(a, b)`` or ``hilbert(a, b)`` after optional prefix columns, or a plain list of columns.

The plain list ``a, b`` means ``zorder(a, b)``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NoReturn

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.layout.curve import HILBERT, MAX_HILBERT_COLUMNS, ZORDER

_CURVES = (ZORDER, HILBERT)
_SPACE = " \t\n\f\r"
_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?")
_MAX_WEIGHT = 1_000_000
_QUOTED = re.compile("`((?:[^`]|``)*)`(?!`)")


@dataclass(frozen=True)
class PrefixColumn:
    """A column to sort by before the curve.

    Parameters
    ----------
    parts : tuple of str
        The parts of its name.
    descending : bool
        Whether larger values come first.
    nulls_first : bool
        Whether NULL comes before all values.
    """

    parts: tuple[str, ...]
    descending: bool
    nulls_first: bool


@dataclass(frozen=True)
class SortOrder:
    """What a ``sort_order`` asks for.

    Parameters
    ----------
    curve : str
        Name of the curve.
    columns : tuple of tuple of str
        The clustering columns in order, one or more, each as its parts.
    prefix : tuple of PrefixColumn
        Columns to sort by first.
    """

    curve: str
    columns: tuple[tuple[str, ...], ...]
    prefix: tuple[PrefixColumn, ...] = ()


def parse_sort_order(text: str) -> SortOrder:
    """Read a sort order.

    Names are made of ASCII letters, digits, ``_`` and letters of other scripts, or of anything in backticks with
    backticks doubled; fields of structs follow after a dot. White space is free. A prefix column may be followed by
    ``ASC`` (the default) or ``DESC``, and by ``NULLS FIRST`` (the default with ``ASC``) or ``NULLS LAST`` (the default
    with ``DESC``), in any case. Whether the columns exist, or one is named twice, only the schema can tell.

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
    SortOrder(curve='zorder', columns=(('a',), ('b', 'zip code')), prefix=())
    >>> parse_sort_order("region DESC, hilbert(a, b)").prefix
    (PrefixColumn(parts=('region',), descending=True, nulls_first=False),)
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


def parse_column_weights(text: str) -> tuple[tuple[tuple[str, ...], float], ...]:
    """Read column weights, such as ``a=3, b=0.5``.

    Parameters
    ----------
    text : str
        Columns, named as in a sort order, each with a number in (0, 1000000].

    Returns
    -------
    tuple of (tuple of str, float)
        The parts of every column's name, and its weight.

    Raises
    ------
    InvalidInputError
        When the text is no list of weights.

    Examples
    --------
    >>> parse_column_weights("a=3, `b c`=0.5")
    ((('a',), 3.0), (('b c',), 0.5))
    """
    return _Parser(text, "set column-weights to").column_weights()


class _Parser:
    """A recursive descent over the characters."""

    def __init__(self, text: str, action: str = "parse sort_order") -> None:
        self._text = text
        self._action = action
        self._next = 0

    def sort_order(self) -> SortOrder:
        prefix: list[PrefixColumn] = []
        directed: list[tuple[str, int]] = []
        while not (curve := self._curve()):
            parts = self.column()
            start = self._next
            prefix.append(self._directed(parts))
            if self._next > start:
                directed.append((self._text[start : self._next].strip(), start))
            if not self._at(","):
                self.end()
                for words, place in directed:
                    self._refuse(f"'{words}' needs zorder(...) or hilbert(...) after it", place)
                return SortOrder(ZORDER, tuple(column.parts for column in prefix))
            self._next += 1
        columns = self._columns()
        if not self._at(")"):
            self._unexpected("',' or ')'")
        self._next += 1
        self._skip_space()
        if self._at(","):
            self._refuse(f"no column can follow {curve}(...)", self._next)
        self.end()
        if curve == HILBERT and len(columns) > MAX_HILBERT_COLUMNS:
            self._refuse(f"hilbert(...) has room for {MAX_HILBERT_COLUMNS} columns and has {len(columns)}", self._next)
        return SortOrder(curve, columns, tuple(prefix))

    def _curve(self) -> str | None:
        """Read the name of a curve and its opening parenthesis, or nothing if a column stands here."""
        self._skip_space()
        start = self._next
        word = self._word()
        self._skip_space()
        if not word or not self._at("("):
            self._next = start
            return None
        if word.lower() not in _CURVES:
            self._refuse(f"'{word}' is not a curve", start)
        self._next += 1
        return word.lower()

    def _directed(self, parts: tuple[str, ...]) -> PrefixColumn:
        direction = self._keyword("asc", "desc")
        nulls = self._keyword("nulls") and self._keyword("first", "last", needed=True)
        descending = direction == "desc"
        return PrefixColumn(parts, descending, nulls == "first" if nulls else not descending)

    def _keyword(self, *words: str, needed: bool = False) -> str | None:
        """Read one of some words, with the white space after it."""
        start = self._next
        word = self._word()
        if word.lower() in words:
            self._skip_space()
            return word.lower()
        self._next = start
        if needed:
            self._unexpected(" or ".join(each.upper() for each in words))
        return None

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
        return tuple(parts)

    def column_weights(self) -> tuple[tuple[tuple[str, ...], float], ...]:
        weights = []
        while True:
            column = self.column()
            if not self._at("="):
                self._unexpected("'='")
            self._next += 1
            weights.append((column, self._weight()))
            if not self._at(","):
                self.end()
                return tuple(weights)
            self._next += 1

    def _weight(self) -> float:
        self._skip_space()
        number = _NUMBER.match(self._text, self._next)
        if number is None or not 0 < float(number[0]) <= _MAX_WEIGHT:
            self._refuse(f"a number in (0, {_MAX_WEIGHT}] is expected", self._next)
        self._next = number.end()
        self._skip_space()
        return float(number[0])

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
        raise InvalidInputError(f"Cannot {self._action} '{self._text}', because {what} at position {position}")


def _is_name_character(character: str) -> bool:
    if character.isascii():
        return character == "_" or character.isalnum()
    return character.isalpha()
