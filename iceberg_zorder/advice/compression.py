"""Predict the sizes of new files: the order of rows changes how well columns compress.

Runs of neighbouring rows, from all over the table, are laid out as a small table. Some of its files, which have as many
rows as those of the large table, are written; and as many rows in today's order. The table grows as the former do over
the latter::

    today    aaaa bbbb cccc dddd     four runs; rows of a run have values in common
    written  abcd abcd abcd abcd     a layout that separates them: each file has all values

The rows are real ones. So columns that vary together still do, and neighbours stay together or part as in a rewrite.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from iceberg_zorder.advice.sampled_table import SampledTable

_FEWEST_FILES = 8
"""Fewest files of the runs, unless the table has fewer; larger files hold fewer rows than in the table."""
_WRITTEN_FILES, _WRITTEN_ROWS = 8, 8_192
"""Most files of a layout that are written, and most rows of each."""

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
    """Runs of neighbouring rows.

    Parameters
    ----------
    rows : SampledTable
        The rows, in today's order. Some groups of the table may have none.
    growth : float
        Bytes of today's files when they are written again in their order, relative to today's bytes.
    written : callable
        Maps places of rows to the bytes of a new file of them, in that order.
    """

    rows: SampledTable
    growth: float
    written: Callable[[Places], int]


class Compression:
    """Estimates the sizes of new files; without runs they do not change."""

    def __init__(self, runs: Runs | None) -> None:
        self._runs = runs
        self._today: dict[int, float] = {}
        self._shares: dict[tuple[Ordered, int], float] = {}

    def share(self, layout: Ordered, target: int, expected_files: ExpectedFiles) -> float:
        """Return the predicted bytes of a layout with files of a target size, relative to today's files."""
        if self._runs is None:
            return 1.0
        # Layouts are simulated on some rows, and the best ones again on all.
        if (layout, target) not in self._shares:
            self._shares[layout, target] = self._written(self._runs, layout, expected_files)
        return self._shares[layout, target]

    def _written(self, runs: Runs, layout: Ordered, expected_files: ExpectedFiles) -> float:
        table, count = runs.rows, runs.rows.sample.rows
        files = sum(expected_files(size) for size in table.group_bytes.tolist())
        share = max(count / int(table.group_rows.sum()), min(1.0, _FEWEST_FILES / files))
        file, place = layout.placed(table, lambda size: max(1, round(share * expected_files(size))), in_order=True)
        order = np.lexsort((place, file))
        of_runs = np.split(order, np.flatnonzero(np.diff(file[order])) + 1)
        written = [rows[:_WRITTEN_ROWS] for rows in of_runs[:: -(-len(of_runs) // _WRITTEN_FILES)]]
        # Rows per file are rounded to a power of 1.05, so that today's order is written for few sizes.
        step = np.round(np.log(np.mean([len(rows) for rows in written])) / np.log(1.05))
        return runs.growth * _bytes_per_row(runs, written) / self._of_today(runs, min(count, round(1.05**step)))

    def _of_today(self, runs: Runs, rows: int) -> float:
        if rows not in self._today:
            starts = np.unique(np.linspace(0, runs.rows.sample.rows - rows, _WRITTEN_FILES).astype(np.int64))
            self._today[rows] = _bytes_per_row(runs, [start + np.arange(rows) for start in starts])
        return self._today[rows]


def _bytes_per_row(runs: Runs, files: list[Places]) -> float:
    return max(1, sum(runs.written(rows) for rows in files)) / sum(len(rows) for rows in files)
