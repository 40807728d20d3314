"""Estimate the sizes of new files: the order of rows changes how well columns compress.

Some rows of today's files, as they lie there, were written as a rewrite writes them: that tells what each column comes
to in their order. What another order makes of a column is told by sampled rows: some of the files that a layout has are
written, too, and as many files of rows as they lie today. Sampled rows are few, and what lies densely is compressed
more; so the rows between them are made up, of values that lie as theirs do among all that were sampled:

- where a column rises, or falls, they lie between their neighbours in its order;
- where neighbours are near, they lie about between them;
- else they lie near any row of the file (a smoothed bootstrap: B. Efron, "Bootstrap methods: another look
  at the jackknife", Annals of Statistics 7, 1979, section 3).

Text between two values is not made up, but the lower one taken. Columns that are not sampled are taken to lose what
neighbours have in common, as far as a layout parts them: some of the rows were written in an order by chance, and some
of all places together, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute

from iceberg_zorder.advice.sampled_table import SampledTable
from iceberg_zorder.layout.keys import VALUE, KeyColumn

WRITTEN_FILES = 8
"""So many of the files of a layout are written by their sampled rows."""

_MOST_ROWS = 8_192
"""Of so many rows a file is written at most."""
_IS_SORTED = 0.95
"""A column rises or falls in a file if so many of the steps do."""
_MANY_VALUES = 0.3
"""A column has values between those that were sampled, if so many of the sampled ones differ."""
_IS_NEAR = 0.5
"""Rows that follow each other in a file are near in a column, if they are so far apart as two by chance."""
_NEXT = 2
"""Sampled rows are together, or follow each other, that have been so far apart among the sampled ones at most."""
_SEED = 7

Written = Callable[[pa.Table], Mapping[str, int]]
"""From rows to the bytes of each column in a data file."""


@dataclass(frozen=True, eq=False)
class Rewritten:
    """What some rows come to that lie as they do today.

    Parameters
    ----------
    today : float
        Their bytes in today's files, above 0.
    columns : mapping of str to float
        By the name of a column, its bytes when they are written anew.
    whole : float
        All of their bytes then.
    written : callable
        Writes rows.
    shuffled, mixed : mapping of str to float, optional
        By the name of a column, what it comes to as a multiple of that, above 0: when the rows of each file are
        shuffled, and when each file has rows of the whole table.
    """

    today: float
    columns: Mapping[str, float]
    whole: float
    written: Written
    shuffled: Mapping[str, float] = field(default_factory=dict)
    mixed: Mapping[str, float] = field(default_factory=dict)


class Compression:
    """Tells what files come to.

    Parameters
    ----------
    rows : SampledTable
        The sampled rows.
    rewritten : Rewritten or None
        What some rows come to; without, everything keeps its bytes.
    """

    def __init__(self, rows: SampledTable, rewritten: Rewritten | None) -> None:
        self._rows = rows
        self._rewritten = rewritten
        self._today: dict[int, dict[str, float]] = {}

    def share(self, files: Sequence[npt.NDArray[np.int64]]) -> float:
        """Find the bytes of new files as a share of those that the same rows have today."""
        found, filled = self._rewritten, [each for each in files if len(each)]
        if found is None or not filled:
            return 1.0
        # Layouts have files of many sizes, and steps of a twentieth keep the number of those that are written low.
        steps = np.round(np.log(np.mean([len(each) for each in filled])) / np.log(1.05))
        size = min(self._rows.sample.rows, round(1.05**steps))
        new, today = self._of(found.written, filled), self._of_today(found.written, size)
        changed = sum(of * (new[name] / today[name] - 1) for name, of in found.columns.items() if name in new)
        unsampled = {name: of for name, of in found.columns.items() if name not in new}
        return (found.whole + changed + _lost(found, unsampled, filled)) / found.today

    def _of_today(self, written: Written, size: int) -> dict[str, float]:
        """Find the bytes of a row in each column in files of so many sampled rows as they lie today."""
        if size not in self._today:
            starts = np.unique(np.linspace(0, self._rows.sample.rows - size, WRITTEN_FILES).astype(np.int64)).tolist()
            self._today[size] = self._of(written, [np.arange(start, start + size) for start in starts])
        return self._today[size]

    def _of(self, written: Written, files: Sequence[npt.NDArray[np.int64]]) -> dict[str, float]:
        """Write files, and find the bytes of a row in each column."""
        names = [".".join(each.parts) for each in self._rows.columns]
        found, count = dict.fromkeys(names, 0.0), 0
        for rows in files:
            scale = float(self._rows.rows_of_sampled[rows].mean())
            wanted = max(1, min(_MOST_ROWS, round(len(rows) * scale)))
            file = pa.table([each.of(rows, wanted) for each in self._columns], names)
            for name, size in written(file).items():
                found[name] += size
            count += wanted
        return {name: max(1.0, size) / count for name, size in found.items()}

    @cached_property
    def _columns(self) -> list[_Column]:
        return [_Column(each) for each in self._rows.sample.columns]


def _lost(found: Rewritten, columns: Mapping[str, float], files: Sequence[npt.NDArray[np.int64]]) -> float:
    """Find how many bytes more columns come to that are not sampled, by what they come to in today's order.

    One is as today where rows follow each other that do so today, as if shuffled where they are in one file at least,
    and as if mixed where they are not.
    """
    following, together = (
        float(np.mean([np.mean(np.abs(np.diff(rows)) <= _NEXT) if len(rows) > 1 else 1.0 for rows in each]))
        for each in (files, [np.sort(rows) for rows in files])
    )
    lost = 0.0
    for name, of in columns.items():
        shuffled = found.shuffled.get(name, 1.0)
        mixed = max(shuffled, found.mixed.get(name, 1.0))
        lost += of * ((1 - following) * (together * (shuffled - 1) + (1 - together) * (mixed - 1)))
    return lost


class _Column:
    """Makes up rows of a column between its sampled ones; keys stand for values, and order as they do."""

    def __init__(self, keys: KeyColumn) -> None:
        self._states = keys.states
        values = keys.values
        self._is_text = not isinstance(values, np.ndarray)
        column = pa.array(values) if isinstance(values, np.ndarray) else values
        self._keys = column.unique().sort()
        ranks = pa.compute.index_in(column, self._keys).to_numpy() if self._is_text else values
        self._ordered = np.sort(ranks)
        # The first and the last place of each row's key among all of them.
        self._first, self._behind = np.zeros((2, keys.rows), np.int64)
        self._first[keys.states == VALUE] = np.searchsorted(self._ordered, ranks, side="left")
        self._behind[keys.states == VALUE] = np.searchsorted(self._ordered, ranks, side="right")
        distinct = int((np.diff(self._ordered) > 0).sum()) + 1
        self._has_between = not self._is_text and distinct >= _MANY_VALUES * max(1, len(ranks))

    def of(self, rows: npt.NDArray[np.int64], wanted: int) -> pa.Array:
        """Make up so many rows of a file that has some of the sampled ones, in their order."""
        chance = np.random.default_rng(_SEED)
        near = np.linspace(0, len(rows) - 1, wanted)
        missing = self._states[rows[np.round(near).astype(np.int64)]] != VALUE
        valued = rows[self._states[rows] == VALUE]
        if not len(valued):
            return pa.array(np.zeros(wanted, np.int64), mask=np.ones(wanted, np.bool_))
        first, behind = self._first[valued], self._behind[valued]
        places = first + chance.random(len(valued)) * (behind - first)
        at, along = np.linspace(0, len(valued) - 1, wanted), np.arange(len(valued))
        steps = np.diff(first)
        moved = steps[steps != 0]
        rises = float((moved > 0).mean()) if len(moved) else 1.0
        if max(rises, 1 - rises) >= _IS_SORTED:
            ordered = np.sort(places)
            found = np.interp(at, along, ordered if rises >= 0.5 else ordered[::-1])
        elif np.abs(np.diff(places)).mean() <= _IS_NEAR * np.abs(places - chance.permutation(places)).mean():
            step = np.interp(at, along[:-1] + 0.5, np.abs(np.diff(places)))
            walk = np.cumsum(step * chance.normal(0, (len(valued) / wanted) ** 0.5, wanted))
            found = np.interp(at, along, places - np.interp(along, at, walk)) + walk
        else:
            spacing = (places.max() - places.min()) / len(valued)
            found = chance.choice(places, wanted) + spacing * (chance.random(wanted) - 0.5)
        found = np.clip(found, places.min(), places.max())
        return self._values(found, missing)

    def _values(self, places: npt.NDArray[np.float64], missing: npt.NDArray[np.bool_]) -> pa.Array:
        last = len(self._ordered) - 1
        low = np.clip(places.astype(np.int64), 0, last)
        keys = self._ordered[low]
        if self._is_text:
            return pa.compute.if_else(pa.array(missing), None, self._keys.take(pa.array(keys)))
        if self._has_between:
            # Keys may lie as far apart as 64 bits go.
            gaps = self._ordered[np.minimum(low + 1, last)].astype(np.float64) - keys.astype(np.float64)
            between = np.minimum(gaps * (places - low), 2.0**62)
            keys = keys + between.astype(np.int64)
        return pa.array(keys, mask=missing)
