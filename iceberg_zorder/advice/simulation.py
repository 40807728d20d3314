"""Simulate candidates and score them by queries: all on few rows, then the best on all rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from iceberg_zorder.advice.advice import SETS, JudgedLayout
from iceberg_zorder.advice.candidates import Candidate
from iceberg_zorder.advice.compression import Compression, ExpectedFiles
from iceberg_zorder.advice.judged_queries import JudgedQuery, standard_error
from iceberg_zorder.advice.sampled_table import SampledTable
from iceberg_zorder.advice.simulated_files import RankedBoxes, SimulatedFiles, files_read
from iceberg_zorder.metrics.file_sizes import FileSizes
from iceberg_zorder.metrics.scan_cost import planning_cost

MOST_SCREENED_ROWS = 100_000
_NEVER_ONLY_SCREENED = 8
_ROWS_OF_FOLDS = 32_768
"""Rows for folds, which only give the ratio of unseen to seen queries."""


def mean(queries: Sequence[JudgedQuery], values: npt.NDArray[np.float64] | npt.NDArray[np.int64]) -> float:
    """Return the weighted average over queries; 0 without queries."""
    return float(np.average(values, weights=[query.weight for query in queries])) if len(queries) else 0.0


def more_of_full_scans(full_scans: float, before: int, after: int) -> float:
    """Return how many bytes or files more full scans read, per query with a filter.

    Savings of full scans count as 0, because estimated file sizes are less certain than estimated reads.

    Examples
    --------
    >>> more_of_full_scans(3.0, 100, 120), more_of_full_scans(3.0, 100, 80)
    (60.0, 0.0)
    """
    return full_scans * max(0, after - before)


@dataclass(frozen=True, eq=False)
class Simulation:
    """Simulates candidates on some rows."""

    rows: SampledTable
    queries: Sequence[JudgedQuery]  # with filters
    today: npt.NDArray[np.float64]  # cost of each query today, shape (queries,)
    compression_factor: float  # bytes of new files for each byte of their input
    compression: Compression  # predicts bytes
    open_cost: int = 0  # cost of opening a file, in bytes
    files_today: int = 0  # today's number of files
    full_scans: float = 0.0  # full scans per query, at least 0
    # Called after each layout with its stage (``screen``, ``simulate`` or ``refine``) and its share of the table's rows
    # and bytes.
    progress: Callable[[str, int, int], None] = lambda *_: None
    _ratios: dict[Candidate, tuple[float, float]] = field(default_factory=dict)

    def judged(self, candidate: Candidate, target: int) -> JudgedLayout:
        """Judge a candidate with files of a target size."""
        expected_files = FileSizes.around(target, self.compression_factor).expected_files
        share = self.compression.share(candidate, target, expected_files)
        files = SimulatedFiles.of(self.rows, candidate.placed(self.rows, expected_files)[0])
        size, count = files_read(files, self._boxes)
        # The ratios of the first file size hold for others, too.
        if candidate not in self._ratios:
            self._ratios[candidate] = self._unseen(candidate, expected_files)
        unseen_size, unseen_count = self._ratios[candidate]
        sizes = np.asarray(share * unseen_size * size, np.float64)
        counts = np.asarray(unseen_count * count, np.float64)
        costs = np.asarray(sizes + self.open_cost * counts + planning_cost(files.count, self.open_cost), np.float64)
        cost, whole = mean(self.queries, costs), round(share * self.rows.bytes)
        more_size = more_of_full_scans(self.full_scans, self.rows.bytes, whole)
        more_files = more_of_full_scans(self.full_scans, self.files_today, files.count)
        return JudgedLayout(
            candidate.kind,
            candidate.text(self.rows),
            tuple(self.rows.columns[place].name for place in candidate.columns),
            files.count,
            mean(self.queries, sizes),
            mean(self.queries, counts),
            cost,
            cost + more_size + self.open_cost * more_files,
            standard_error(self.queries, self.today - costs),
            whole,
        )

    def _unseen(self, candidate: Candidate, expected_files: ExpectedFiles) -> tuple[float, float]:
        """Return what queries read of files cut for others, relative to files cut for them: bytes, and files."""
        if not candidate.folds:
            return 1.0, 1.0
        rows = self.rows.thinned(_ROWS_OF_FOLDS)
        boxes = RankedBoxes.of(rows, self.queries)

        def read(of: Candidate) -> npt.NDArray[np.float64]:
            return np.array(files_read(SimulatedFiles.of(rows, of.placed(rows, expected_files)[0]), boxes), np.float64)

        known = read(candidate)
        unseen = known.copy()
        for fold in candidate.folds:
            unseen[:, fold.unseen] = read(fold.candidate)[:, fold.unseen]
        of_unseen, of_known = ([mean(self.queries, each[place]) for place in (0, 1)] for each in (unseen, known))
        return of_unseen[0] / (of_known[0] or 1.0), of_unseen[1] / (of_known[1] or 1.0)

    def best_first(
        self, candidates: Iterable[Candidate], target_of: Callable[[Candidate], int]
    ) -> list[tuple[Candidate, JudgedLayout]]:
        """Judge candidates, each with its target file size; return the best first.

        With many rows, all candidates are first judged on a part of them. Then these are judged on all rows: the best
        candidates, the best of each kind and number of columns, sorts, and sets that differ from the best set by one
        column. A candidate with folds is the only one of its kind and is judged on all rows at once.
        """
        screen = replace(self, rows=self.rows.thinned(MOST_SCREENED_ROWS))
        stages = iter(("simulate",) if screen.rows is self.rows else ("screen", "simulate", "refine"))
        judged = {
            each: (self if each.folds else screen).judged(each, target_of(each))
            for each in self._told(next(stages), list(candidates))
        }
        exact = {each for each in judged if each.folds or screen.rows is self.rows}
        while True:
            order = sorted(judged, key=lambda each: _place(judged[each]))
            wanted = [each for each in dict.fromkeys(_that_matter(order)) if each not in exact]
            if not wanted:
                return [(each, judged[each]) for each in order]
            # Later rounds judge few candidates.
            for each in self._told(next(stages, None), wanted):
                judged[each] = self.judged(each, target_of(each))
                exact.add(each)

    def _told(self, stage: str | None, candidates: Sequence[Candidate]) -> Iterator[Candidate]:
        """Yield candidates, and report progress after each; a candidate with folds counts once more per fold."""
        ends = list(accumulate(1 + len(each.folds) for each in candidates))
        for each, start, end in zip(candidates, [0, *ends], ends, strict=False):
            yield each
            if stage is not None:
                shares = (whole * end // ends[-1] - whole * start // ends[-1] for whole in self._whole)
                self.progress(stage, *shares)

    @property
    def _whole(self) -> tuple[int, int]:
        """Rows and bytes of the table."""
        return int(self.rows.group_rows.sum()), self.rows.bytes

    @cached_property
    def _boxes(self) -> RankedBoxes:
        return RankedBoxes.of(self.rows, self.queries)


def _place(layout: JudgedLayout) -> tuple[float, int]:
    # Candidates are listed by the frequency of their columns, which decides between equal costs.
    return layout.chosen_by_cost, len(layout.columns)


def _that_matter(order: Sequence[Candidate]) -> Iterable[Candidate]:
    """Return the candidates to judge on all rows, given all of them best first."""
    yield from order[:_NEVER_ONLY_SCREENED]
    seen: set[tuple[str, int]] = set()
    best = next((set(each.columns) for each in order if each.kind in SETS), set())
    for each in order:
        key = each.kind, len(each.columns)
        is_neighbour = each.kind in SETS and len(best ^ set(each.columns)) == 1
        if key not in seen or each.kind == "sort" or is_neighbour:
            seen.add(key)
            yield each
