"""Predict the sizes of new files: the order of rows changes how well columns compress.

Rows of today's files, written again in their present order, give the bytes of each column (:class:`Rewritten`). Another
order changes them:

- Of columns in the sample, some files of the layout are written, and files as large in today's order. The column
  changes as these do.
- Columns compress worse where a layout separates neighbouring rows with values in common. Columns outside the sample
  change by this only: rows that stay neighbours cost the same, rows that stay in one file cost as if shuffled, and all
  others as if mixed from the whole table.
- Sampled rows lie too far apart to show all of this growth. So a column in the sample is multiplied by the growth that
  they do not show, as far as rows do not stay neighbours.
- Rows stay neighbours if sampled rows do, or if they have equal values in all columns of the layout.

A sample is sparse, and dense values compress better. So values are made up, column by column:

- of a column that mostly rises or falls: between sampled values, in their order;
- of a column whose neighbouring rows have similar values: by a random walk from each sampled value to the next;
- of any other column: near values of random rows of the file (a smoothed bootstrap: B. Efron, "Bootstrap methods:
  another look at the jackknife", Annals of Statistics 7, 1979, section 3).

Text, and columns with few distinct values, get no new values: the next lower one of the sample repeats.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute

from iceberg_zorder.advice.sampled_table import SampledTable
from iceberg_zorder.layout.keys import VALUE, KeyColumn

WRITTEN_FILES = 8
"""Most files of a layout that are written."""

_MOST_ROWS = 8_192
"""Most rows written per file."""
_IS_SORTED = 0.95
"""Least share of the steps in one direction for which a column counts as rising or falling."""
_MANY_VALUES = 0.3
"""Least share of distinct values for which a column gets new values between sampled ones."""
_IS_NEAR = 0.5
"""Largest mean distance of neighbouring rows, relative to random rows, for which a random walk is used."""
_NEXT = 2
"""Largest distance in the sample at which two rows count as neighbours today."""
_SEED = 7

Written = Callable[[pa.Table], Mapping[str, int]]
"""Maps rows to the bytes of each column of their data file."""


@dataclass(frozen=True, eq=False)
class Rewritten:
    """Measured sizes of rows from several places of the table, written again in today's order.

    Parameters
    ----------
    today : float
        Bytes of the rows in today's files, above 0.
    columns : mapping of str to float
        Bytes of each column after writing again.
    whole : float
        Bytes of the files after writing again, with their footers.
    written : callable
        Writes rows; returns the bytes of each column.
    shuffled : mapping of str to float, optional
        Bytes of each column with each place's rows shuffled, relative to ``columns``, above 0.
    mixed : mapping of str to float, optional
        Bytes per row of each column in a mix of rows from all places, relative to as many rows of one place, above 0.
    repeats : sequence of mapping of str to ndarray of bool, shape (rows - 1,), optional
        For each place, and each column of the sample that its files have, whether a row equals the row before it.
    """

    today: float
    columns: Mapping[str, float]
    whole: float
    written: Written
    shuffled: Mapping[str, float] = field(default_factory=dict)
    mixed: Mapping[str, float] = field(default_factory=dict)
    repeats: Sequence[Mapping[str, npt.NDArray[np.bool_]]] = ()

    def equal(self, names: Collection[str]) -> float:
        """Return the share of rows that equal the row before them in some columns; 0.0 if a column was not read."""
        found = [
            np.all([place[name] for name in names], axis=0) for place in self.repeats if place.keys() >= set(names)
        ]
        rows = sum(len(next(iter(place.values()), ())) for place in self.repeats)
        return float(sum(each.sum() for each in found)) / rows if rows and names else 0.0


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

    def share(self, files: Sequence[npt.NDArray[np.int64]], columns: Sequence[int]) -> float:
        """Return the predicted bytes of a layout relative to today's files; 1.0 if nothing was measured.

        Parameters
        ----------
        files : sequence of ndarray of int64
            Sampled rows of some new files, in their order.
        columns : sequence of int
            Places of the layout's columns.
        """
        found, filled = self._rewritten, [each for each in files if len(each)]
        if found is None or not filled:
            return 1.0
        # Rows per file are rounded to a power of 1.05, so that today's order is written for few sizes.
        steps = np.round(np.log(np.mean([len(each) for each in filled])) / np.log(1.05))
        size = min(self._rows.sample.rows, round(1.05**steps))
        new, (today, hidden) = self._of(found.written, filled), self._of_today(found, size)
        following, together = _neighbour_shares(filled)
        following = max(following, found.equal([self._rows.columns[place].path for place in columns]))
        changed = 0.0
        for name, of in found.columns.items():
            if name in new:
                changed += of * (new[name] / today[name] * (following + (1 - following) * hidden[name]) - 1)
            else:
                shuffled = found.shuffled.get(name, 1.0)
                mixed = max(shuffled, found.mixed.get(name, 1.0))
                changed += of * (1 - following) * (together * shuffled + (1 - together) * mixed - 1)
        return (found.whole + changed) / found.today

    def _of_today(self, found: Rewritten, size: int) -> tuple[dict[str, float], dict[str, float]]:
        """Return the bytes per row of each column in today's order, in files of ``size`` sampled rows.

        The second result is the growth of each column by shuffling all rows, divided by the growth by shuffling sampled
        rows, 1 or more.
        """
        if size not in self._today:
            chance = np.random.default_rng(_SEED)
            starts = np.unique(np.linspace(0, self._rows.sample.rows - size, WRITTEN_FILES).astype(np.int64)).tolist()
            files = [np.arange(start, start + size) for start in starts]
            today = self._of(found.written, files)
            shuffled = self._of(found.written, [chance.permutation(file) for file in files])
            hidden = {name: max(1.0, found.shuffled.get(name, 1.0) * of / shuffled[name]) for name, of in today.items()}
            self._today[size] = today, hidden
        return self._today[size]

    def _of(self, written: Written, files: Sequence[npt.NDArray[np.int64]]) -> dict[str, float]:
        """Write files; return the bytes per row of each column."""
        names = [each.path for each in self._rows.columns]
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


def _neighbour_shares(files: Sequence[npt.NDArray[np.int64]]) -> tuple[float, float]:
    """Return the shares of rows that still follow a neighbour of today, and that are in one file with one."""
    following, together = (
        float(np.mean([np.mean(np.abs(np.diff(rows)) <= _NEXT) if len(rows) > 1 else 1.0 for rows in each]))
        for each in (files, [np.sort(rows) for rows in files])
    )
    return following, together


class _Column:
    """Makes up keys of a column between its sampled ones; keys sort as values do."""

    def __init__(self, keys: KeyColumn) -> None:
        self._states = keys.states
        values = keys.values
        self._is_text = not isinstance(values, np.ndarray)
        column = pa.array(values) if isinstance(values, np.ndarray) else values
        self._keys = column.unique().sort()
        ranks = pa.compute.index_in(column, self._keys).to_numpy() if self._is_text else values
        self._ordered = np.sort(ranks)
        # First place of each row's key among all sampled keys, and the place behind its last.
        self._first, self._behind = np.zeros((2, keys.rows), np.int64)
        self._first[keys.states == VALUE] = np.searchsorted(self._ordered, ranks, side="left")
        self._behind[keys.states == VALUE] = np.searchsorted(self._ordered, ranks, side="right")
        distinct = int((np.diff(self._ordered) > 0).sum()) + 1
        self._has_between = not self._is_text and distinct >= _MANY_VALUES * max(1, len(ranks))

    def of(self, rows: npt.NDArray[np.int64], wanted: int) -> pa.Array:
        """Make up ``wanted`` keys of a file that holds the sampled ``rows``, in their order."""
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
            # The difference of two keys may exceed the type's largest number.
            gaps = self._ordered[np.minimum(low + 1, last)].astype(np.float64) - keys.astype(np.float64)
            between = np.minimum(gaps * (places - low), 2.0**62)
            keys = keys + between.astype(np.int64)
        return pa.array(keys, mask=missing)
