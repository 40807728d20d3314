"""Predict the sizes of new files: the order of rows changes how well columns compress.

Runs of neighbouring rows, from all over the table, are laid out as a small table. Some of its files, which have as many
rows as those of the large table, are written; and as many rows in today's order. The table grows as the former do over
the latter. Files of the small table have a wider range of values; half of the runs show what that costs. ::

    today    aaaa bbbb cccc dddd     four runs; rows of a run have values in common
    written  abcd abcd abcd abcd     a layout that separates them: each file has all values

The rows are real ones. So columns that vary together still do, and neighbours stay together or part as in a rewrite.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

import numpy as np
import numpy.typing as npt

from iceberg_zorder.advice.sampled_table import SampledTable

_FEWEST_FILES = 8
"""Fewest files of the runs, unless the table has fewer; larger files hold fewer rows than in the table."""
_WRITTEN_FILES, _WRITTEN_ROWS = 8, 8_192
"""Most files of a layout that are written, and most rows of each."""
_BLOCK = 512
"""Rows that stay together when half of the rows are left out."""

ExpectedFiles = Callable[[int], int]
"""Maps the bytes of a group to its number of files."""

Places = npt.NDArray[np.int64]


class Ordered(Hashable, Protocol):
    """A layout of rows."""

    def placed(
        self, table: SampledTable, expected_files: ExpectedFiles, *, in_order: bool = False
    ) -> tuple[Places, Places]:
        """Return the file of each row; with ``in_order`` also its place in the file, else zeros."""


@dataclass(frozen=True, eq=False)
class Runs:
    """Runs of neighbouring rows."""

    rows: SampledTable  # in today's order; some groups of the table may have none
    # Bytes of columns and of footers in new files of rows in today's order, relative to today's files.
    columns: float
    footers: float


class Compression:
    """Estimates the sizes of new files; without runs they do not change.

    ``written`` maps places of the runs' rows to the bytes of the columns in a new file of them, in that order.
    """

    def __init__(self, runs: Runs | None = None, written: Callable[[Places], int] = len) -> None:
        self._runs, self._written = runs, written
        self._today: dict[int, float] = {}
        self._shares: dict[tuple[Ordered, int], float] = {}

    def share(self, layout: Ordered, target: int, expected_files: ExpectedFiles) -> float:
        """Return the predicted bytes of a layout with files of a target size, relative to today's files."""
        if self._runs is None:
            return 1.0
        # Layouts are simulated on some rows, and the best ones again on all.
        if (layout, target) not in self._shares:
            grown = self._grown(self._runs, layout, expected_files)
            self._shares[layout, target] = self._runs.footers + self._runs.columns * grown
        return self._shares[layout, target]

    def _grown(self, runs: Runs, layout: Ordered, expected_files: ExpectedFiles) -> float:
        """Return the bytes of columns in a layout, relative to today's order."""
        table, count = runs.rows, runs.rows.sample.rows
        rows = max(count, int(table.group_rows.sum()))
        files = sum(expected_files(size) for size in table.group_bytes.tolist())
        share = max(count / rows, min(1.0, _FEWEST_FILES / files))
        grown = []
        for part in (1, 2):
            kept = np.flatnonzero(np.arange(count) // _BLOCK % part == 0)
            some = replace(table, sample=table.sample.take(kept), groups=table.groups[kept])
            of_part = _files(some, layout, partial(_fewer, expected_files, share / part))
            grown.append(self._relative(runs, [kept[places] for places in of_part]))
        # The fewer the rows, the wider a file's range of values: an extrapolation in 1 / rows.
        return max(grown[0] / 2, grown[0] - (grown[1] - grown[0]) * (1 - count / rows))

    def _relative(self, runs: Runs, files: list[Places]) -> float:
        """Return the bytes per row of files, relative to as many rows in today's order."""
        # Rows per file are rounded to a power of 1.05, so that today's order is written for few sizes.
        step = np.round(np.log(np.mean([len(rows) for rows in files])) / np.log(1.05))
        return self._bytes_per_row(files) / self._of_today(runs, min(runs.rows.sample.rows, round(1.05**step)))

    def _of_today(self, runs: Runs, rows: int) -> float:
        if rows not in self._today:
            starts = np.unique(np.linspace(0, runs.rows.sample.rows - rows, _WRITTEN_FILES).astype(np.int64))
            self._today[rows] = self._bytes_per_row([start + np.arange(rows) for start in starts])
        return self._today[rows]

    def _bytes_per_row(self, files: list[Places]) -> float:
        return max(1, sum(self._written(rows) for rows in files)) / sum(len(rows) for rows in files)


def _fewer(expected_files: ExpectedFiles, share: float, size: int) -> int:
    return max(1, round(share * expected_files(size)))


def _files(table: SampledTable, layout: Ordered, expected_files: ExpectedFiles) -> list[Places]:
    """Return the rows of some files of a layout, in their order."""
    file, place = layout.placed(table, expected_files, in_order=True)
    order = np.lexsort((place, file))
    files = np.split(order, np.flatnonzero(np.diff(file[order])) + 1)
    return [rows[:_WRITTEN_ROWS] for rows in files[:: -(-len(files) // _WRITTEN_FILES)]]
