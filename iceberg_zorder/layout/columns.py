"""Clustering columns: a name of one or more parts with an Iceberg type, and the syntax of such names."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NoReturn

from iceberg_zorder.errors import InvalidInputError

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_QUOTED = re.compile("`((?:[^`]|``)*)`(?!`)")
_SPACE = " \t\n\f\r"


@dataclass(frozen=True)
class ClusteringColumn:
    """A column to cluster by.

    Parameters
    ----------
    parts : tuple of str
        The column's name and, if it is nested, the names of the fields down to it.
    type : str
        Its type as Iceberg writes it, such as ``"long"`` or ``"decimal(10, 2)"``.

    Examples
    --------
    >>> ClusteringColumn(("address", "zip code"), "string").name
    'address.`zip code`'
    """

    parts: tuple[str, ...]
    type: str

    @property
    def name(self) -> str:
        """The parts joined by dots, in backticks where a part is not a plain word."""
        return quoted_name(self.parts)

    @property
    def path(self) -> str:
        """The parts joined by dots as they are, as in Iceberg's schemas and in Parquet."""
        return ".".join(self.parts)


def quoted_name(parts: tuple[str, ...]) -> str:
    """Join the parts of a name, in backticks where a part is not a plain word.

    Examples
    --------
    >>> quoted_name(("a", "b.c", "d`e"))
    'a.`b.c`.`d``e`'
    """
    return ".".join(part if _PLAIN.fullmatch(part) else quoted_identifier(part) for part in parts)


def quoted_text(text: str) -> str:
    r"""Put a text in quotes, as Spark SQL reads it back unless ``spark.sql.parser.escapedStringLiterals`` is set.

    Examples
    --------
    >>> print(quoted_text("it's"), quoted_text("a\\b"), quoted_text("${c}"))
    'it\'s' 'a\\b' '$\{c}'
    """
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("${", "$\\{")
    return f"'{escaped}'"


def quoted_identifier(part: str) -> str:
    """Put one part of a name in backticks.

    Examples
    --------
    >>> quoted_identifier("a`b")
    '`a``b`'
    """
    return "`" + part.replace("`", "``") + "`"


def parse_name(text: str, action: str = "parse sort_order") -> tuple[str, ...]:
    """Read the name of one column; a message says which ``action`` fails.

    Examples
    --------
    >>> parse_name("a.`b.c`")
    ('a', 'b.c')
    """
    reader = NameReader(text, action)
    parts = reader.column()
    reader.end()
    return parts


class NameReader:
    """Reads column names from left to right; parsers of larger texts extend it.

    Error messages name the failed ``action``, such as ``parse sort_order``, and the position.

    Examples
    --------
    >>> reader = NameReader("a.`b c` , d", "parse sort_order")
    >>> reader.column(), reader.text[reader.position :]
    (('a', 'b c'), ', d')
    """

    def __init__(self, text: str, action: str) -> None:
        self.text = text
        self.position = 0
        self._action = action

    def column(self) -> tuple[str, ...]:
        """Read the name of a column, with the white space around it and its dots."""
        parts = []
        while True:
            self.skip_space()
            if self.is_at("`"):
                quoted = _QUOTED.match(self.text, self.position)
                if quoted is None:
                    self.refuse("a backtick is not closed", self.position)
                self.position = quoted.end()
                part = quoted[1].replace("``", "`")
            else:
                part = self.word()
            if not part:
                self.unexpected("a column")
            self.skip_space()
            parts.append(part)
            if not self.is_at("."):
                return tuple(parts)
            self.position += 1

    def end(self) -> None:
        """Refuse whatever is left of the text."""
        if self.position < len(self.text):
            self.unexpected("',' or the end")

    def word(self) -> str:
        """Read letters, ASCII digits and underscores, maybe none."""
        start = self.position
        for character in self.text[start:]:
            if not (character == "_" or (character.isalnum() if character.isascii() else character.isalpha())):
                break
            self.position += 1
        return self.text[start : self.position]

    def skip_space(self) -> None:
        """Skip white space."""
        while self.position < len(self.text) and self.text[self.position] in _SPACE:
            self.position += 1

    def is_at(self, character: str) -> bool:
        """Whether a character comes next."""
        return self.text[self.position : self.position + 1] == character

    def unexpected(self, expected: str) -> NoReturn:
        """Refuse what comes next."""
        found = f"'{self.text[self.position]}'" if self.position < len(self.text) else "the end"
        self.refuse(f"{expected} is expected and {found} is found", self.position)

    def refuse(self, what: str, position: int) -> NoReturn:
        """Refuse the text for what stands at a position."""
        raise InvalidInputError(f"Cannot {self._action} '{self.text}', because {what} at position {position}")
