"""Whether the lower/upper bounds that a table keeps of a column tell its values apart; the Java core has the twin.

Iceberg cuts the bounds of strings and binaries to a beginning. Where that is alike in the boundaries of a layout, the
files between them get the same bounds, and none is skipped, however well the rows are laid out.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.layout.columns import quoted_text

WARN, FAIL, FIX = "warn", "fail", "fix"
"""What is done about columns whose bounds do not serve: the values of the option ``metrics-check``."""
COLUMN_MODE = "write.metadata.metrics.column."
"""What the table properties of metrics modes begin with; the full name of a column follows."""
LONGEST = 256
"""Longer beginnings are not asked for: bounds are kept in full then."""
_ENOUGH = 95
_DEFAULT = 16
_CODINGS = {"string": "utf-8", "binary": "latin-1"}
_UNITS = {"string": "characters", "binary": "bytes"}


def set_mode(table: str, field: str, mode: str) -> str:
    r"""Write the statement that sets a column's metrics mode.

    Parameters
    ----------
    table : str
        The table's name, as SQL has it.
    field : str
        The column's full name in properties.
    mode : str
        The mode.

    Returns
    -------
    str
        The statement.

    Examples
    --------
    >>> print(set_mode("lake.db.t", "it's", "full"))
    ALTER TABLE lake.db.t SET TBLPROPERTIES ('write.metadata.metrics.column.it\'s' = 'full')
    """
    return f"ALTER TABLE {table} SET TBLPROPERTIES ({quoted_text(COLUMN_MODE + field)} = '{mode}')"


def is_truncated(type_name: str) -> bool:
    """Tell whether bounds of a type may be cut to a beginning.

    Examples
    --------
    >>> is_truncated("binary"), is_truncated("fixed[900]")
    (True, False)
    """
    return type_name in _CODINGS


def beginning(key: bytes, length: int, type_name: str) -> bytes:
    r"""Take what bounds keep of a key.

    Examples
    --------
    >>> beginning("größe".encode(), 3, "string").decode(), beginning("größe".encode(), 3, "binary")
    ('grö', b'gr\xc3')
    """
    return text_of(key, type_name)[:length].encode(_CODINGS[type_name])


def text_of(key: bytes, type_name: str) -> str:
    r"""Write a key in characters as bounds count them: a byte of a binary is one, in Latin-1.

    Examples
    --------
    >>> text_of("naïve".encode()[:3], "string"), text_of(b"a\xff", "binary")
    ('na�', 'aÿ')
    """
    # A sampled key may end inside a character.
    return key.decode(_CODINGS[type_name], errors="replace")


@dataclass(frozen=True)
class KeyPool:
    """What a file group is divided by in one column.

    Parameters
    ----------
    keys : sequence of bytes
        The smallest sampled key and the layout's boundaries above it, ascending; none if the layout has left it out.
    alone : bool, optional
        Whether it was left out, and its one sampled key may have been cut: nobody knows what tells its values apart.
    """

    keys: Sequence[bytes]
    alone: bool = False


@dataclass(frozen=True)
class Separation:
    """How many neighbouring keys the beginnings that are kept tell apart.

    Parameters
    ----------
    pairs : int
        Neighbours in all file groups; a key that is alone counts as a pair that nothing tells apart.
    separated : int
        Those that differ in what is kept.
    wanted : int or None
        The shortest longer beginning that is enough; None if that is not found among the first 256.
    """

    pairs: int
    separated: int
    wanted: int | None

    @property
    def is_enough(self) -> bool:
        """Whether 95% are told apart."""
        return 100 * self.separated >= _ENOUGH * self.pairs

    @property
    def share(self) -> int:
        """How many percent are told apart, rounded down, if there is a pair."""
        return 100 * self.separated // self.pairs


def separation(type_name: str, kept: int, pools: Iterable[KeyPool]) -> Separation:
    """Count the pairs of neighbours that the kept beginnings tell apart, and find the beginning that is enough.

    Parameters
    ----------
    type_name : str
        ``string`` or ``binary``.
    kept : int
        The characters of a string, or bytes of a binary, that bounds keep; 0 if there are no bounds. Then at least 16
        are wanted, Iceberg's default.
    pools : iterable of KeyPool
        The keys, by file group.

    Returns
    -------
    Separation
        The counts, and what is wanted.

    Examples
    --------
    >>> hosts = KeyPool([b"https://a.org/1", b"https://a.org/2", b"https://b.org/1"])
    >>> separation("string", 10, [hosts])
    Separation(pairs=2, separated=1, wanted=15)
    >>> separation("string", 10, [KeyPool([b"a", b"b"]), KeyPool([], alone=True)])
    Separation(pairs=2, separated=1, wanted=None)
    """
    needs = sorted(need for pool in pools for need in _needs(type_name, kept, pool))
    # So many pairs are 95%: what the last of them needs is enough.
    enough = -(-_ENOUGH * len(needs) // 100)
    wanted = max(kept + 1 if kept else _DEFAULT, needs[enough - 1] if enough else 0)
    return Separation(len(needs), bisect_right(needs, kept), int(wanted) if wanted <= LONGEST else None)


def _needs(type_name: str, kept: int, pool: KeyPool) -> Iterator[float]:
    """Tell for each pair how many characters tell it apart; of those that need no more than is kept, at most that."""
    if pool.alone:
        yield math.inf
    texts = [text_of(key, type_name) for key in pool.keys]
    for low, high in pairwise(texts):
        yield kept if low[:kept] != high[:kept] else 1 + _common(low, high)


def _common(low: str, high: str) -> int:
    """Count the characters that two texts begin with.

    Examples
    --------
    >>> _common("abc", "abd"), _common("ab", "abd"), _common("", "a")
    (2, 2, 0)
    """
    lengths = range(1, 1 + min(len(low), len(high)))
    return bisect_left(lengths, True, key=lambda length: low[:length] != high[:length])


@dataclass(frozen=True)
class WeakBounds:
    """A clustering column whose lower/upper bounds are not kept, or tell too little apart, and what is said of it.

    Parameters
    ----------
    table, sql_name : str
        The table's name in messages, and in SQL.
    column : str
        The column's name in messages.
    field : str
        Its full name in properties.
    type : str
        Its type.
    mode : str
        Its metrics mode.
    wanted : str
        The mode that is enough.
    kept : int
        The characters or bytes that are kept; 0 if there are no bounds.
    share : int
        The percentage of pairs that are told apart, rounded down.

    Examples
    --------
    >>> weak = WeakBounds("lake.db.t", "lake.db.t", "url", "url", "string", "truncate(16)", "truncate(20)", 16, 12)
    >>> weak.setting(would=True)
    "Would set write.metadata.metrics.column.url = 'truncate(20)' on lake.db.t: The 16 characters that lake.db.t \
keeps of lower/upper bounds of clustering column url tell 12% of its sampled boundaries apart: files cannot be skipped \
by it as well as they could."
    """

    table: str
    sql_name: str
    column: str
    field: str
    type: str
    mode: str
    wanted: str
    kept: int = 0
    share: int = 0

    @property
    def key(self) -> str:
        """The table property that sets its mode."""
        return COLUMN_MODE + self.field

    @property
    def warning(self) -> str:
        """What a rewrite warns of."""
        return f"{self._reason} {self._command} and rewrite again, or set option metrics-check to {FIX}."

    @property
    def refusal(self) -> str:
        """Why it is not clustered by, if its bounds are kept."""
        return (
            f"Cannot cluster by column {self.column}, because the {self._length} that {self.table} keeps of its "
            f"lower/upper bounds tell {self.share}% of its sampled boundaries apart: {self._command} first"
        )

    def setting(self, *, would: bool = False) -> str:
        """Say that the wanted mode was set, or would be, and why."""
        verb = "Would set" if would else "Set"
        return f"{verb} {self.key} = '{self.wanted}' on {self.table}: {self._reason}"

    @property
    def _reason(self) -> str:
        if not self.kept:
            return (
                f"{self.table} keeps no lower/upper bounds of clustering column {self.column} (metrics mode "
                f"{self.mode}): no file can be skipped by it."
            )
        return (
            f"The {self._length} that {self.table} keeps of lower/upper bounds of clustering column {self.column} tell "
            f"{self.share}% of its sampled boundaries apart: files cannot be skipped by it as well as they could."
        )

    @property
    def _length(self) -> str:
        return f"{self.kept} {_UNITS[self.type]}"

    @property
    def _command(self) -> str:
        return set_mode(self.sql_name, self.field, self.wanted)


@dataclass(frozen=True)
class CheckedMetrics:
    """The clustering columns whose bounds do not serve, and what is done about them.

    Parameters
    ----------
    option : str, optional
        The option ``metrics-check``.
    weak : tuple of WeakBounds, optional
        The columns.
    """

    option: str = WARN
    weak: tuple[WeakBounds, ...] = ()

    @property
    def fixes(self) -> tuple[WeakBounds, ...]:
        """The columns that get the wanted modes."""
        return self.weak if self.option == FIX else ()

    @property
    def intended(self) -> list[str]:
        """What is set when files are written, as sentences."""
        return [each.setting(would=True) for each in self.fixes]

    def without_fixes(self) -> CheckedMetrics:
        """Set nothing, for nothing is rewritten."""
        return replace(self, weak=()) if self.fixes else self

    @property
    def warnings(self) -> list[str]:
        """What is warned of: columns that nothing is done about."""
        return [each.warning for each in self.weak] if self.option == WARN else []

    def check(self) -> None:
        """Refuse such columns if that is asked for; raises InvalidInputError."""
        if self.option == FAIL:
            for each in self.weak:
                raise InvalidInputError(each.refusal)
