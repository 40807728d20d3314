"""Sort orders: ``zorder(a, b)`` or ``hilbert(a, b)``, after optional prefix columns.

A plain list of columns, ``a, b``, means ``zorder(a, b)``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from iceberg_zorder.layout.columns import NameReader, quoted_name
from iceberg_zorder.layout.curve import HILBERT, MAX_HILBERT_COLUMNS, ZORDER

_CURVES = (ZORDER, HILBERT)
_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?")
_MAX_WEIGHT = 1_000_000


@dataclass(frozen=True)
class PrefixColumn:
    """A column to sort by before the curve.

    Examples
    --------
    >>> PrefixColumn(("a", "b c"), descending=True, nulls_first=False).text
    'a.`b c` DESC NULLS LAST'
    """

    parts: tuple[str, ...]
    descending: bool
    """Whether larger values come first."""
    nulls_first: bool
    """Whether NULL comes before all values."""

    @property
    def text(self) -> str:
        """The column as a sort order writes it, in full."""
        direction, nulls = "DESC" if self.descending else "ASC", "FIRST" if self.nulls_first else "LAST"
        return f"{quoted_name(self.parts)} {direction} NULLS {nulls}"


@dataclass(frozen=True)
class SortOrder:
    """A parsed ``sort_order``.

    Examples
    --------
    >>> order = parse_sort_order("day, hilbert(a, b.c)")
    >>> order.text
    'day ASC NULLS FIRST, hilbert(a, b.c)'
    >>> order.renamed(lambda parts: (*parts, "x")).text
    'day.x ASC NULLS FIRST, hilbert(a.x, b.c.x)'
    """

    curve: str
    columns: tuple[tuple[str, ...], ...]
    """The clustering columns in order, one or more, each as its parts."""
    prefix: tuple[PrefixColumn, ...] = ()
    """Columns to sort by first."""

    @property
    def text(self) -> str:
        """The sort order in full, as :func:`parse_sort_order` reads it."""
        prefix = "".join(f"{column.text}, " for column in self.prefix)
        return f"{prefix}{self.curve}({', '.join(map(quoted_name, self.columns))})"

    @property
    def names(self) -> tuple[tuple[str, ...], ...]:
        """All columns, the prefix columns first, each as its parts."""
        return (*(column.parts for column in self.prefix), *self.columns)

    def renamed(self, name_of: Callable[[tuple[str, ...]], tuple[str, ...]]) -> SortOrder:
        """Return the sort order with new names; ``name_of`` gets the prefix columns first."""
        prefix = tuple(replace(column, parts=name_of(column.parts)) for column in self.prefix)
        return replace(self, prefix=prefix, columns=tuple(map(name_of, self.columns)))


def parse_sort_order(text: str) -> SortOrder:
    """Return a sort order, read from text.

    Names are made of ASCII letters, digits, ``_`` and letters of other scripts, or of anything in backticks with
    backticks doubled; fields of structs follow after a dot. White space is free. A prefix column may be followed by
    ``ASC`` (the default) or ``DESC``, and by ``NULLS FIRST`` (the default with ``ASC``) or ``NULLS LAST`` (the default
    with ``DESC``), in any case. Columns are not checked against a table.

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
    return _SortOrderReader(text, "parse sort_order").sort_order()


def parse_column_weights(text: str) -> tuple[tuple[tuple[str, ...], float], ...]:
    """Return column weights, read from text such as ``a=3, b=0.5``.

    Examples
    --------
    >>> parse_column_weights("a=3, `b c`=0.5")
    ((('a',), 3.0), (('b c',), 0.5))
    """
    return _SortOrderReader(text, "set column-weights to").column_weights()


class _SortOrderReader(NameReader):
    """A recursive descent parser."""

    def sort_order(self) -> SortOrder:
        prefix: list[PrefixColumn] = []
        directed: list[tuple[str, int]] = []
        while not (curve := self._curve()):
            parts = self.column()
            start = self.position
            prefix.append(self._directed(parts))
            if self.position > start:
                directed.append((self.text[start : self.position].strip(), start))
            if not self.is_at(","):
                self.end()
                for words, place in directed:
                    self.refuse(f"'{words}' needs zorder(...) or hilbert(...) after it", place)
                return SortOrder(ZORDER, tuple(column.parts for column in prefix))
            self.position += 1
        columns = [self.column()]
        while self.is_at(","):
            self.position += 1
            columns.append(self.column())
        if not self.is_at(")"):
            self.unexpected("',' or ')'")
        self.position += 1
        self.skip_space()
        if self.is_at(","):
            self.refuse(f"no column can follow {curve}(...)", self.position)
        self.end()
        if curve == HILBERT and len(columns) > MAX_HILBERT_COLUMNS:
            self.refuse(
                f"hilbert(...) has room for {MAX_HILBERT_COLUMNS} columns and has {len(columns)}", self.position
            )
        return SortOrder(curve, tuple(columns), tuple(prefix))

    def _curve(self) -> str | None:
        """Read the name of a curve and its opening parenthesis, or nothing if a column stands here."""
        self.skip_space()
        start = self.position
        word = self.word()
        self.skip_space()
        if not word or not self.is_at("("):
            self.position = start
            return None
        if word.lower() not in _CURVES:
            self.refuse(f"'{word}' is not a curve", start)
        self.position += 1
        return word.lower()

    def _directed(self, parts: tuple[str, ...]) -> PrefixColumn:
        direction = self._keyword("asc", "desc")
        nulls = self._keyword("nulls") and self._keyword("first", "last", needed=True)
        descending = direction == "desc"
        return PrefixColumn(parts, descending, nulls == "first" if nulls else not descending)

    def _keyword(self, *words: str, needed: bool = False) -> str | None:
        """Read one of some words, with the white space after it."""
        start = self.position
        word = self.word()
        if word.lower() in words:
            self.skip_space()
            return word.lower()
        self.position = start
        if needed:
            self.unexpected(" or ".join(each.upper() for each in words))
        return None

    def column_weights(self) -> tuple[tuple[tuple[str, ...], float], ...]:
        weights = []
        while True:
            column = self.column()
            if not self.is_at("="):
                self.unexpected("'='")
            self.position += 1
            weights.append((column, self._weight()))
            if not self.is_at(","):
                self.end()
                return tuple(weights)
            self.position += 1

    def _weight(self) -> float:
        self.skip_space()
        number = _NUMBER.match(self.text, self.position)
        if number is None or not 0 < float(number[0]) <= _MAX_WEIGHT:
            self.refuse(f"a number in (0, {_MAX_WEIGHT}] is expected", self.position)
        self.position = number.end()
        self.skip_space()
        return float(number[0])
