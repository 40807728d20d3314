"""Check whether the lower/upper bounds of a column distinguish its values; ``MetricsCheck.java`` does the same.

Iceberg truncates the bounds of strings and binaries. If the boundaries of a layout have the same prefix, the files
between them get the same bounds, and none can be skipped.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.layout.columns import quoted_text

WARN, FAIL, FIX = "warn", "fail", "fix"
"""The values of option ``metrics-check``."""
COLUMN_MODE = "write.metadata.metrics.column."
"""The prefix of table properties that set metrics modes; the full name of a column follows."""
LONGEST = 256
"""The longest prefix that we ask for, because every entry of a manifest has two."""
_ENOUGH = 95
_DEFAULT = 16
_CODINGS = {"string": "utf-8", "binary": "latin-1"}
_UNITS = {"string": "characters", "binary": "bytes"}


def set_mode(table: str, field: str, mode: str) -> str:
    r"""Return the statement that sets a column's metrics mode.

    Examples
    --------
    >>> print(set_mode("lake.db.t", "it's", "full"))
    ALTER TABLE lake.db.t SET TBLPROPERTIES ('write.metadata.metrics.column.it\'s' = 'full')
    """
    return f"ALTER TABLE {table} SET TBLPROPERTIES ({quoted_text(COLUMN_MODE + field)} = '{mode}')"


def is_truncated(type_name: str) -> bool:
    """Return whether bounds of a type may be truncated."""
    return type_name in _CODINGS


def least_mode(type_name: str) -> str:
    """Return the mode that keeps bounds of a type: ``full``, or Iceberg's default for strings and binaries."""
    return f"truncate({_DEFAULT})" if is_truncated(type_name) else "full"


def longest_mode(mode: str) -> str | None:
    """Return the mode of the longest bounds that we ask for; None if ``mode`` keeps as much."""
    kept = int(mode.removeprefix("truncate(").removesuffix(")"))
    return f"truncate({LONGEST})" if kept < LONGEST else None


def text_of(key: bytes, type_name: str) -> str:
    """Decode a key into the characters that bounds count; a byte of a binary is one, as in Latin-1."""
    # A sampled key may end inside a character.
    return key.decode(_CODINGS[type_name], errors="replace")


@dataclass(frozen=True)
class KeyPool:
    """The buckets of a file group in one column, between the boundaries of its layout, and their sampled rows."""

    keys: Sequence[bytes]
    """Where the buckets begin, ascending: the smallest sampled key, and the boundaries above it."""
    rows: Sequence[int]
    """The number of sampled rows in each bucket."""
    unseen: int = 0
    """Other sampled rows: their values differ from these only behind the end of the keys, which were cut."""


@dataclass(frozen=True)
class Separation:
    """The number of sampled rows that the kept prefixes distinguish."""

    rows: int
    """The rows of all file groups, but those of the largest bucket of each."""
    apart: int
    """The number of these rows that the kept prefixes distinguish."""
    wanted: int | None
    """The length of the shortest longer prefix that is enough; None if no length up to 256 is."""

    @property
    def is_enough(self) -> bool:
        """Whether the prefixes distinguish at least 95% of the rows."""
        return 100 * self.apart >= _ENOUGH * self.rows

    @property
    def share(self) -> int:
        """The percentage of distinguished rows, rounded down, if there is a row."""
        return 100 * self.apart // self.rows


def separation(type_name: str, kept: int, pools: Iterable[KeyPool]) -> Separation:
    """Return the number of rows that the kept prefixes distinguish, and the prefix length that is enough.

    Neighbouring buckets with the same kept prefix form a run: to find a row of one bucket, all rows of the run are
    read. The rows of the run's largest bucket count as distinguished, those of the others do not. The largest bucket of
    the file group does not count. So the share is 0% if all buckets have the same prefix, and 100% if no two do.

    Rows are counted, not values, because queries look for values about as often as rows have them. So thousands of
    rare values that differ early do not hide that most rows begin alike, and neither does a common default.

    Examples
    --------
    >>> hosts = KeyPool([b"https://a.org/1", b"https://a.org/2", b"https://b.org/1"], [70, 10, 20])
    >>> separation("string", 10, [hosts])
    Separation(rows=30, apart=20, wanted=15)
    >>> separation("string", 10, [KeyPool([b"a", b"b"], [70, 20], unseen=10)])
    Separation(rows=30, apart=20, wanted=None)
    """
    needs: Counter[int] = Counter()
    rows = 0
    for pool in pools:
        rows += pool.unseen
        for need, count in _needs(type_name, pool):
            rows += count
            needs[need] += count
    apart_by = list(accumulate(needs[length] for length in range(LONGEST + 1)))
    apart = sum(count for need, count in needs.items() if need <= kept)
    longer = (length for length in range(kept + 1, LONGEST + 1) if 100 * apart_by[length] >= _ENOUGH * rows)
    wanted = next(longer, None)
    return Separation(rows, apart, max(_DEFAULT, wanted) if wanted and not kept else wanted)


def _needs(type_name: str, pool: KeyPool) -> Iterator[tuple[int, int]]:
    """Yield for neighbouring runs the prefix length that distinguishes them, and the rows of the smaller run."""
    texts = [text_of(key, type_name) for key in pool.keys]
    # Of each run the characters that tell it from the run before, ascending, and the rows of its largest bucket.
    runs: list[tuple[int, int]] = []
    pairs = [0, *(1 + _common(low, high) for low, high in pairwise(texts))]
    for need, rows in [*zip(pairs, pool.rows, strict=False), (0, 0)]:
        while len(runs) > 1 and runs[-1][0] >= need:
            (between, last), (before, first) = runs.pop(), runs.pop()
            yield between, min(first, last)
            runs.append((before, max(first, last)))
        runs.append((need, rows))


def _common(low: str, high: str) -> int:
    """Return the length of the common prefix of two texts."""
    lengths = range(1, 1 + min(len(low), len(high)))
    return bisect_left(lengths, True, key=lambda length: low[:length] != high[:length])


@dataclass(frozen=True)
class WeakBounds:
    """A clustering column whose lower/upper bounds are missing, or distinguish too few rows, and its messages.

    Examples
    --------
    >>> weak = WeakBounds("lake.db.t", "lake.db.t", "url", "url", "string", "truncate(16)", "truncate(20)", 16, 12)
    >>> weak.setting(would=True)
    "Would set write.metadata.metrics.column.url = 'truncate(20)' on lake.db.t: lake.db.t cuts lower/upper \
bounds of clustering column url to 16 characters, which distinguish 12% of the sampled rows: filters on it skip fewer \
files than they could."
    """

    table: str
    sql_name: str
    """The table's name in messages, and in SQL."""
    column: str
    """The column's name in messages."""
    field: str
    """Its full name in properties."""
    type: str
    mode: str
    wanted: str | None
    """The mode that is enough; None if no prefix of up to 256 characters or bytes is known to be."""
    kept: int = 0
    """The number of characters or bytes that bounds keep; 0 without bounds."""
    share: int = 0
    """The percentage of sampled rows that the bounds distinguish, rounded down."""

    @property
    def key(self) -> str:
        """The table property that sets its mode."""
        return COLUMN_MODE + self.field

    @property
    def warning(self) -> str:
        """The warning of a rewrite."""
        if self.wanted is None:
            return f"{self.futility}, or set option metrics-check to {FIX}, which samples longer prefixes."
        how = f"rewrite again with option rewrite-all, or set option metrics-check to {FIX} beside it"
        return f"{self._reason} {self._command} and {how}."

    @property
    def futility(self) -> str:
        """The warning, without a full stop, if no mode is known to be enough."""
        return f"{self._reason} No metrics mode would help, because {self._unknown}: choose another column"

    @property
    def refusal(self) -> str:
        """Why the column is refused, if its bounds are kept."""
        return (
            f"Cannot cluster by column {self.column}, because {self.table} cuts its lower/upper bounds to "
            f"{self._length}, which distinguish {self.share}% of the sampled rows"
            f"{', and ' + self._unknown if self.wanted is None else f': {self._command} first'}"
        )

    def setting(self, *, would: bool = False) -> str:
        """Return the message that the wanted mode was set, or would be, and why."""
        verb = "Would set" if would else "Set"
        return f"{verb} {self.key} = '{self.wanted}' on {self.table}: {self._reason}"

    @property
    def _reason(self) -> str:
        if not self.kept:
            return (
                f"{self.table} keeps no lower/upper bounds of clustering column {self.column} (metrics mode "
                f"{self.mode}): filters on it skip no file."
            )
        return (
            f"{self.table} cuts lower/upper bounds of clustering column {self.column} to {self._length}, which "
            f"distinguish {self.share}% of the sampled rows: filters on it skip fewer files than they could."
        )

    @property
    def _length(self) -> str:
        return f"{self.kept} {_UNITS[self.type]}"

    @property
    def _unknown(self) -> str:
        return f"no prefix of up to {LONGEST} {_UNITS[self.type]} is known to distinguish enough rows"

    @property
    def _command(self) -> str:
        return set_mode(self.sql_name, self.field, self.wanted or "")


@dataclass(frozen=True)
class MetricsFindings:
    """The clustering columns with weak bounds, and what option ``metrics-check`` does about them."""

    option: str = WARN
    weak: tuple[WeakBounds, ...] = ()

    @property
    def fixes(self) -> tuple[WeakBounds, ...]:
        """The columns that get the wanted modes."""
        return tuple(each for each in self.weak if each.wanted) if self.option == FIX else ()

    @property
    def intended(self) -> list[str]:
        """The messages about modes that will be set when files are written."""
        return [each.setting(would=True) for each in self.fixes]

    def without_fixes(self) -> MetricsFindings:
        """Return the same without fixes, because nothing is rewritten."""
        return replace(self, weak=tuple(each for each in self.weak if each not in self.fixes))

    @property
    def warnings(self) -> list[str]:
        """The warnings of columns that nothing is done about."""
        if self.option == FIX:
            return [f"{each.futility}." for each in self.weak if each.wanted is None]
        return [each.warning for each in self.weak] if self.option == WARN else []

    def check(self) -> None:
        """Raise InvalidInputError for the first of these columns, if the option is ``fail``."""
        if self.option == FAIL:
            for each in self.weak:
                raise InvalidInputError(each.refusal)
