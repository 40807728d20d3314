"""Estimate the sizes of new files: the order of rows changes how well columns compress.

Rows of today's files are written anew in their present order, which gives the bytes of each column today. The effect of
another order comes from sampled rows: some files of the layout are written, and as many files in today's order. A
sample is sparse, and dense values compress better, so rows between the sampled ones are made up:

- where a column rises or falls, between neighbours in its order;
- where neighbours are near each other, about between them;
- else near a random row of the file (a smoothed bootstrap: B. Efron, "Bootstrap methods: another look
  at the jackknife", Annals of Statistics 7, 1979, section 3).

Text is not made up: the lower neighbour's value repeats.

A layout also loses what neighbouring rows have in common, as far as it separates those rows. To measure that loss, rows
are written shuffled within their file, and mixed from the whole table. Sampled rows are too far from each other to show
all of it: they are written shuffled, too, and what a column loses only with all rows is added.
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
"""Number of files of a layout that are written."""

_MOST_ROWS = 8_192
"""Most rows of a written file."""
_IS_SORTED = 0.95
"""Share of the steps that must rise (or fall) for a column to count as rising (or falling)."""
_MANY_VALUES = 0.3
"""Share of distinct values from which values are made up between sampled ones."""
_IS_NEAR = 0.5
"""Largest distance of neighbouring rows that counts as near, relative to two random rows."""
_NEXT = 2
"""Largest distance in the sample at which two rows count as neighbours, or as rows of one file."""
_SEED = 7

Written = Callable[[pa.Table], Mapping[str, int]]
"""Maps rows to the bytes of each column of their data file."""


@dataclass(frozen=True, eq=False)
class Rewritten:
    """Sizes of some rows, written anew in today's order.

    Parameters
    ----------
    today : float
        Bytes of the rows in today's files, above 0.
    columns : mapping of str to float
        Bytes of each column after writing anew.
    whole : float
        Bytes of all columns after writing anew.
    written : callable
        Writes rows.
    shuffled, mixed : mapping of str to float, optional
        Bytes of each column relative to ``columns``, above 0: with each file's rows shuffled, and with rows of the
        whole table in each file.
    """

    today: float
    columns: Mapping[str, float]
    whole: float
    written: Written
    shuffled: Mapping[str, float] = field(default_factory=dict)
    mixed: Mapping[str, float] = field(default_factory=dict)


class Compression:
    """Estimates the sizes of new files.

    Parameters
    ----------
    rows : SampledTable
        The sampled rows.
    rewritten : Rewritten or None
        Measured sizes; with None, sizes do not change.
    """

    def __init__(self, rows: SampledTable, rewritten: Rewritten | None) -> None:
        self._rows = rows
        self._rewritten = rewritten
        self._today: dict[int, tuple[dict[str, float], dict[str, float]]] = {}

    def share(self, files: Sequence[npt.NDArray[np.int64]]) -> float:
        """Return the bytes of new files relative to the same rows' bytes today."""
        found, filled = self._rewritten, [each for each in files if len(each)]
        if found is None or not filled:
            return 1.0
        # Sizes are rounded to steps of 1/20, so that few distinct sizes have to be written.
        steps = np.round(np.log(np.mean([len(each) for each in filled])) / np.log(1.05))
        size = min(self._rows.sample.rows, round(1.05**steps))
        new, (today, unseen) = self._of(found.written, filled), self._of_today(found, size)
        following, together = _kept(filled)
        changed = 0.0
        for name, of in found.columns.items():
            if name in new:
                changed += of * (new[name] / today[name] * (following + (1 - following) * unseen[name]) - 1)
            else:
                shuffled = found.shuffled.get(name, 1.0)
                mixed = max(shuffled, found.mixed.get(name, 1.0))
                changed += of * (1 - following) * (together * shuffled + (1 - together) * mixed - 1)
        return (found.whole + changed) / found.today

    def _of_today(self, found: Rewritten, size: int) -> tuple[dict[str, float], dict[str, float]]:
        """Return the bytes per row and column in today's order, in files of ``size`` sampled rows.

        The second tells how many times more bytes a column takes when all rows are shuffled than when sampled rows are,
        1 or more: the loss that sampled rows do not show.
        """
        if size not in self._today:
            chance = np.random.default_rng(_SEED)
            starts = np.unique(np.linspace(0, self._rows.sample.rows - size, WRITTEN_FILES).astype(np.int64)).tolist()
            files = [np.arange(start, start + size) for start in starts]
            today = self._of(found.written, files)
            shuffled = self._of(found.written, [chance.permutation(file) for file in files])
            unseen = {name: max(1.0, found.shuffled.get(name, 1.0) * of / shuffled[name]) for name, of in today.items()}
            self._today[size] = today, unseen
        return self._today[size]

    def _of(self, written: Written, files: Sequence[npt.NDArray[np.int64]]) -> dict[str, float]:
        """Write files; return the bytes per row and column."""
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


def _kept(files: Sequence[npt.NDArray[np.int64]]) -> tuple[float, float]:
    """Return the shares of sampled rows that stay neighbours, and that stay in one file with their neighbours."""
    following, together = (
        float(np.mean([np.mean(np.abs(np.diff(rows)) <= _NEXT) if len(rows) > 1 else 1.0 for rows in each]))
        for each in (files, [np.sort(rows) for rows in files])
    )
    return following, together


class _Column:
    """Makes up values of a column between its sampled ones; works on keys, which order as the values do."""

    def __init__(self, keys: KeyColumn) -> None:
        self._states = keys.states
        values = keys.values
        self._is_text = not isinstance(values, np.ndarray)
        column = pa.array(values) if isinstance(values, np.ndarray) else values
        self._keys = column.unique().sort()
        ranks = pa.compute.index_in(column, self._keys).to_numpy() if self._is_text else values
        self._ordered = np.sort(ranks)
        # First and last place of each row's key among all keys.
        self._first, self._behind = np.zeros((2, keys.rows), np.int64)
        self._first[keys.states == VALUE] = np.searchsorted(self._ordered, ranks, side="left")
        self._behind[keys.states == VALUE] = np.searchsorted(self._ordered, ranks, side="right")
        distinct = int((np.diff(self._ordered) > 0).sum()) + 1
        self._has_between = not self._is_text and distinct >= _MANY_VALUES * max(1, len(ranks))

    def of(self, rows: npt.NDArray[np.int64], wanted: int) -> pa.Array:
        """Make up ``wanted`` values of a file that holds the sampled ``rows``, in their order."""
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
            # The distance of two keys may need 64 bits.
            gaps = self._ordered[np.minimum(low + 1, last)].astype(np.float64) - keys.astype(np.float64)
            between = np.minimum(gaps * (places - low), 2.0**62)
            keys = keys + between.astype(np.int64)
        return pa.array(keys, mask=missing)
