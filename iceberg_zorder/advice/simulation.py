"""Simulate candidates and score them by queries: all candidates on few rows, the best ones on all rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from iceberg_zorder.advice.advice import SETS, FileSize, JudgedLayout
from iceberg_zorder.advice.candidates import Candidate, ExpectedFiles
from iceberg_zorder.advice.compression import Compression, Rewritten
from iceberg_zorder.advice.judged_queries import JudgedQuery
from iceberg_zorder.advice.sampled_table import SampledTable
from iceberg_zorder.advice.simulated_files import RankedBoxes, SimulatedFiles, files_read
from iceberg_zorder.metrics.scan_cost import planning_cost, scan_cost

MOST_SCREENED_ROWS = 100_000
_NEVER_ONLY_SCREENED = 8
_ROWS_OF_FOLDS = 32_768
"""Folds tell how much more queries read that cuts do not know: a ratio, for which few rows do."""


def mean(queries: Sequence[JudgedQuery], values: npt.NDArray[np.float64] | npt.NDArray[np.int64]) -> float:
    """Average over queries by their weights; 0 without any."""
    return float(np.average(values, weights=[query.weight for query in queries])) if len(queries) else 0.0


def more_of_full_scans(full_scans: float, before: int, after: int) -> float:
    """Find how many bytes or files more full scans read, of which there are so many to a query with a filter.

    That they may read less of smaller files is no reason for a rewrite: what files come to is told less well than what
    of them is read.

    Examples
    --------
    >>> more_of_full_scans(3.0, 100, 120), more_of_full_scans(3.0, 100, 80)
    (60.0, 0.0)
    """
    return full_scans * max(0, after - before)


@dataclass(frozen=True, eq=False)
class Simulation:
    """Simulates candidates on some rows.

    Parameters
    ----------
    rows : SampledTable
        The rows.
    choosing, judging : sequence of JudgedQuery
        Both halves of the queries.
    expected_files : callable
        From a target file size to what tells how many files so many bytes are written to.
    rewritten : Rewritten or None
        What some rows come to that are written anew.
    open_cost, files_today : int, optional
        Bytes that cost as much as to open a file, and how many files there are.
    full_scans : float, optional
        How many full scans there are to a query that chooses, in [0, inf).
    progress : callable, optional
        Told of the stage ``simulate``, or of ``screen`` on few rows before it and ``refine`` after it: of each layout
        its share of the table's rows and bytes.
    """

    rows: SampledTable
    choosing: Sequence[JudgedQuery]
    judging: Sequence[JudgedQuery]
    expected_files: Callable[[int], ExpectedFiles]
    rewritten: Rewritten | None
    open_cost: int = 0
    files_today: int = 0
    full_scans: float = 0.0
    progress: Callable[[str, int, int], None] = lambda *_: None

    def judged(self, candidate: Candidate, target: int) -> JudgedLayout:
        """Judge a candidate whose files are to have a size."""
        files, share = self._files(candidate, target)
        known, size = self._read(files, share, judging=False)[-1], round(share * self.rows.bytes)
        more_size = more_of_full_scans(self.full_scans, self.rows.bytes, size)
        more_files = more_of_full_scans(self.full_scans, self.files_today, files.count)
        return JudgedLayout(
            candidate.kind,
            candidate.text(self.rows),
            tuple(self.rows.columns[place].name for place in candidate.columns),
            files.count,
            *self._read(files, share),
            known * self._unknown(candidate, target) + more_size + self.open_cost * more_files,
            size,
        )

    def sized(self, candidate: Candidate, target: int) -> FileSize:
        """Judge a candidate by the half that judges alone, with files of another size."""
        files, share = self._files(candidate, target)
        return FileSize(target, files.count, *self._read(files, share))

    def _unknown(self, candidate: Candidate, target: int) -> float:
        """Find what the queries that choose cost of files that do not know them, as a multiple of what they cost."""
        if not candidate.folds:
            return 1.0
        rows, expected_files = self.rows.thinned(_ROWS_OF_FOLDS), self.expected_files(target)
        boxes = RankedBoxes.of(rows, self.choosing)

        def read(of: Candidate) -> npt.NDArray[np.float64]:
            """Find what each of the queries costs, as if files kept the bytes of today."""
            files = of.files(rows, expected_files)
            size, count = files_read(files, boxes)
            return size + self.open_cost * count + planning_cost(files.count, self.open_cost)

        known = read(candidate)
        unknown = np.zeros(len(known))
        for fold in candidate.folds:
            unknown[fold.unseen] = read(fold.candidate)[fold.unseen]
        of_known = mean(self.choosing, known)
        return mean(self.choosing, unknown) / of_known if of_known else 1.0

    def _files(self, candidate: Candidate, target: int) -> tuple[SimulatedFiles, float]:
        """Simulate files by the bytes of today, and find the share of these that they come to."""
        files = candidate.files(self.rows, self.expected_files(target))
        return files, self._compression.share(files.written)

    def _read(self, files: SimulatedFiles, share: float, *, judging: bool = True) -> tuple[float, float, float]:
        """Average the bytes and files that a query of one half reads, and what it costs."""
        queries = self.judging if judging else self.choosing
        read, count = (mean(queries, each) for each in files_read(files, self._boxes[judging]))
        return share * read, count, scan_cost(share * read, count, files.count, self.open_cost)

    def best_first(
        self, candidates: Iterable[Candidate], target_of: Callable[[Candidate], int]
    ) -> list[tuple[Candidate, JudgedLayout]]:
        """Judge candidates, each with files of its target size, the best for the half that chooses first.

        Where there are many rows, all are judged on some of them first, and on all rows those that this leaves among
        the best, the best of each kind and number of columns, sorts, and the neighbours of the best set: what differs
        from it by one column. What has folds is the only one of its kind, and is judged on all rows at once.
        """
        screen = replace(self, rows=self.rows.thinned(MOST_SCREENED_ROWS))
        stages = iter(("simulate",) if screen.rows is self.rows else ("screen", "simulate", "refine"))
        found = {
            each: (self if each.folds else screen).judged(each, target_of(each))
            for each in self._told(next(stages), list(candidates))
        }
        exact = {each for each in found if each.folds or screen.rows is self.rows}
        while True:
            order = sorted(found, key=lambda each: _place(found[each]))
            wanted = [each for each in dict.fromkeys(_that_matter(order)) if each not in exact]
            if not wanted:
                return [(each, found[each]) for each in order]
            # Later rounds have few of them.
            for each in self._told(next(stages, None), wanted):
                found[each] = self.judged(each, target_of(each))
                exact.add(each)

    def _told(self, stage: str | None, candidates: Sequence[Candidate]) -> Iterator[Candidate]:
        """Go through candidates, and tell of each when it is judged; those with folds are fitted once more for each."""
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
    def _compression(self) -> Compression:
        return Compression(self.rows, self.rewritten)

    @cached_property
    def _boxes(self) -> tuple[RankedBoxes, RankedBoxes]:
        return RankedBoxes.of(self.rows, self.choosing), RankedBoxes.of(self.rows, self.judging)


def _place(layout: JudgedLayout) -> tuple[float, int]:
    # Of those that cost the same, the one by columns of more queries comes first, as candidates are listed.
    return layout.chosen_by_cost, len(layout.columns)


def _that_matter(order: Sequence[Candidate]) -> Iterable[Candidate]:
    """Choose among candidates, the best first, those whose figures are to be as good as they can be."""
    yield from order[:_NEVER_ONLY_SCREENED]
    seen: set[tuple[str, int]] = set()
    best = next((set(each.columns) for each in order if each.kind in SETS), set())
    for each in order:
        key = each.kind, len(each.columns)
        is_neighbour = each.kind in SETS and len(best ^ set(each.columns)) == 1
        if key not in seen or each.kind == "sort" or is_neighbour:
            seen.add(key)
            yield each
