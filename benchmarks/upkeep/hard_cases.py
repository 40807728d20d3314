"""Simulate upkeep of tables whose bounds mislead, without files: ``python -m benchmarks.upkeep.hard_cases``.

Tables of 64 files, clustered, grow 20 times by 2% in four files. Rows are keys alone; a file's bytes are what its rows
weigh. Sizes, the choice and the layouts are the product's own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import numpy.typing as npt
import typer
from pyiceberg.manifest import DataFile

from benchmarks.pages import head, paragraph, table
from iceberg_zorder.layout.columns import ClusteringColumn
from iceberg_zorder.layout.fit import LayoutRequest, fit
from iceberg_zorder.layout.keys import KeyColumn
from iceberg_zorder.layout.sample import Sample
from iceberg_zorder.metrics.data_files import ColumnBounds, DataFiles
from iceberg_zorder.metrics.history import SnapshotFacts
from iceberg_zorder.pyiceberg.files import DataFileTask
from iceberg_zorder.pyiceberg.plan.selection import SizeRules
from iceberg_zorder.rewrite.options import RewriteOptions
from iceberg_zorder.select.branch_history import rewrite_budget
from iceberg_zorder.select.gain import UpkeepRequest, choose, rows_to_spread, size_for_smaller_target
from iceberg_zorder.select.group_cuts import cut_groups

PAGE = Path("docs/benchmarks/hard-cases.md")
PROMISED = 0.30
_ABOUT = """\
Upkeep chooses files by their bounds, which hide heavy values, correlation, and rows whose size depends on a key. This
page has simulations of such tables. It is for readers who ask how much filters read and upkeep writes at worst."""
_HOW = """\
`python -m benchmarks.upkeep.hard_cases` simulates tables of 64 files that grow 20 times by 2%, and writes this page.
*Reads* are the bytes that `column = value` reads, divided by the bytes that it reads after a full rewrite. *Written*
are the bytes that upkeep wrote, divided by the bytes of a full rewrite after each growth. *Groups of 16 files* are file
groups that `max-file-group-size-bytes` limits to 16 files of the target size."""
ROWS_OF_A_FILE, BYTES_OF_A_ROW = 1_000, 100
RULES = SizeRules(100_000, 75_000, 180_000, RewriteOptions())
_PARTS, _FILES_OF_AN_APPEND, _DOMAIN = 50, 4, 1 << 30

Keys = npt.NDArray[np.int64]
Rows = tuple[Keys, Keys]
"""The keys of rows, of shape (rows, columns), and the bytes of each."""


def _uniform(rng: np.random.Generator, rows: int) -> Rows:
    return rng.integers(0, _DOMAIN, (rows, 2)), np.full(rows, BYTES_OF_A_ROW)


def _hot(rng: np.random.Generator, rows: int) -> Rows:
    keys, sizes = _uniform(rng, rows)
    keys[rng.random(rows) < 0.6, 0] = _DOMAIN // 2
    return keys, sizes


def _correlated(rng: np.random.Generator, rows: int) -> Rows:
    first = rng.integers(0, _DOMAIN, rows)
    return np.stack([first, first + rng.integers(0, _DOMAIN // 100, rows)], 1), np.full(rows, BYTES_OF_A_ROW)


def _bytes_by_key(rng: np.random.Generator, rows: int) -> Rows:
    keys, _ = _uniform(rng, rows)
    return keys, np.where(keys[:, 0] < _DOMAIN // 8, 500, 43)


CASES: dict[str, tuple[Callable[[np.random.Generator, int], Rows], int | None]] = {
    "uniform": (_uniform, None),
    "one value has 60% of the rows": (_hot, None),
    "columns that are correlated": (_correlated, None),
    "row size depends on a key": (_bytes_by_key, None),
    "groups of 16 files": (_uniform, 16),
    "groups of 6 files": (_uniform, 6),
    "one value, groups of 6 files": (_hot, 6),
}
"""How rows are made, and ``max-file-group-size-bytes`` in files of the target size."""


@dataclass(frozen=True, eq=False)
class File:
    """A data file: its rows, and the snapshot that added it."""

    rows: Rows
    added_by: int

    @property
    def size(self) -> int:
        """Its bytes."""
        return int(self.rows[1].sum())


@dataclass(frozen=True)
class Outcome:
    """What came of a table: reads beside a full rewrite's after each growth, and bytes beside rewriting everything."""

    name: str
    reads: tuple[float, ...]
    written: float


def simulate(name: str, files: int = 64, growths: int = 20) -> Outcome:
    """Grow a table, with upkeep after each growth.

    Parameters
    ----------
    name : str
        One of ``CASES``.
    files : int, optional
        How many files it has at first.
    growths : int, optional
        How often it grows by 2%.

    Returns
    -------
    Outcome
        What came of it.
    """
    make, group = CASES[name]
    rng = np.random.default_rng(7)
    rows = files * ROWS_OF_A_FILE
    table = _written(make(rng, rows), 0)
    snapshots = [_snapshot(0, "replace", table)]
    reads, written, everything = [], 0, 0
    for growth in range(1, growths + 1):
        parts = zip(*(np.array_split(each, _FILES_OF_AN_APPEND) for each in make(rng, rows // _PARTS)), strict=True)
        appended = [File(part, 2 * growth - 1) for part in parts]
        table += appended
        snapshots.append(_snapshot(2 * growth - 1, "append", appended))
        everything += sum(file.size for file in table)
        chosen, new = _rewritten(table, snapshots, 2 * growth, group)
        if new:
            table = [file for file in table if id(file) not in {id(each) for each in chosen}] + new
            snapshots.append(_snapshot(2 * growth, "replace", new))
        written += sum(file.size for file in chosen)
        reads.append(_read(table) / _read(_written(_rows(table), 0)))
    return Outcome(name, tuple(reads), written / everything)


def _rewritten(
    table: list[File], snapshots: list[SnapshotFacts], snapshot: int, group: int | None
) -> tuple[list[File], list[File]]:
    files, every = _described(table), range(len(table))
    request = UpkeepRequest(
        1.2, 4, RULES.expected_output_files, LayoutRequest(1), [None] * 2, [1.0] * 2, 4 * 1024**2, 4.0
    )
    runs = {each.snapshot_id: str(each.snapshot_id) for each in snapshots if each.operation == "replace"}
    called = {id(file) for file in _called_for(table, runs)}
    choice = choose(
        files,
        np.array([id(file) in called for file in table]),
        np.zeros(len(table), np.bool_),
        rewrite_budget(runs, snapshots),
        rows_to_spread([RULES.expected_output_files(files.bytes)])[0],
        request,
    )
    chosen = [table[place] for place in every if place in set(choice.files.tolist())]
    if not chosen:
        return [], []
    bound = files.bytes if group is None else group * RULES.target_file_size
    parts = cut_groups(_described(chosen), bound, len(chosen), request.kept, request.weights)
    return chosen, [
        new
        for part in parts
        for new in _written(
            _rows([chosen[place] for place in part]), snapshot, uses_smaller_target=choice.uses_smaller_target
        )
    ]


def _called_for(table: list[File], runs: Mapping[int, str]) -> list[File]:
    tasks = [
        DataFileTask(DataFile.from_args(record_count=1, file_size_in_bytes=file.size), 0, added_by=file.added_by)
        for file in table
    ]
    called = RULES.called_for(tasks, runs)
    return [file for file, task in zip(table, tasks, strict=True) if task in called]


def _snapshot(number: int, operation: str, added: Sequence[File]) -> SnapshotFacts:
    return SnapshotFacts(number, 0, operation, {"added-files-size": str(sum(file.size for file in added))})


def _rows(files: Sequence[File]) -> Rows:
    keys, sizes = zip(*(file.rows for file in files), strict=True)
    return np.concatenate(keys), np.concatenate(sizes)


def _written(rows: Rows, snapshot: int, *, uses_smaller_target: bool = False) -> list[File]:
    keys, sizes = rows
    size = int(sizes.sum())
    files = RULES.expected_output_files(size_for_smaller_target(size) if uses_smaller_target else size)
    if files == 1:
        return [File(rows, snapshot)]
    sample = Sample(tuple(KeyColumn(np.ascontiguousarray(each), np.zeros(len(keys), np.uint8)) for each in keys.T))
    columns = [ClusteringColumn((name,), "long") for name in "ab"]
    layout = fit(columns, sample, LayoutRequest(files))
    of_rows = layout.file(sample, np.arange(len(keys)) * 0x1E3779B97F4A7C15)
    order = np.argsort(of_rows, kind="stable")
    places = np.split(order, np.flatnonzero(np.diff(of_rows[order])) + 1)
    return [File((keys[each], sizes[each]), snapshot) for each in places]


def _described(files: Sequence[File]) -> DataFiles:
    states = np.zeros(len(files), np.uint8)
    lower, upper = (np.array([end(file.rows[0], axis=0) for file in files]) for end in (np.min, np.max))
    columns = tuple(
        ColumnBounds(
            ClusteringColumn((name,), "long"),
            KeyColumn(lower[:, place].copy(), states),
            KeyColumn(upper[:, place].copy(), states),
            np.ones(len(files)),
        )
        for place, name in enumerate("ab")
    )
    counts, sizes = np.array([len(file.rows[1]) for file in files]), np.array([file.size for file in files])
    return DataFiles(np.zeros(len(files), np.int64), counts, sizes, columns)


def _read(files: Sequence[File]) -> float:
    """Average the share of bytes that ``column = value`` reads over rows and columns."""
    keys = np.sort(_rows(files)[0], axis=0)
    read = 0.0
    for place in range(keys.shape[1]):
        for file in files:
            ends = file.rows[0][:, place].min(), file.rows[0][:, place].max()
            read += file.size * (
                np.searchsorted(keys[:, place], ends[1], "right") - np.searchsorted(keys[:, place], ends[0])
            )
    return float(read) / (sum(file.size for file in files) * keys.size)


def page(outcomes: Sequence[Outcome]) -> str:
    """Return the page."""
    rows = []
    for each in outcomes:
        mean, largest = float(np.mean(each.reads)), max(each.reads)
        holds = "holds" if each.written <= PROMISED else "broken"
        rows.append([each.name, f"{mean:.2f}x", f"{largest:.2f}x", f"{each.written:.3f}x", holds])
    lines = [
        *head("Upkeep where bounds mislead", _ABOUT),
        "",
        *table(("table", "reads, mean", "reads, largest", "written", f"at most {PROMISED:.2f}x written"), rows),
        "",
        "## How it is measured",
        "",
        *paragraph(_HOW),
    ]
    return "\n".join(lines) + "\n"


def main(
    write_page: Annotated[bool, typer.Option("--page/--no-page", help="Whether to write under docs.")] = True,
) -> None:
    """Simulate every case, and write the page."""
    text = page([simulate(name) for name in CASES])
    typer.echo(text)
    if write_page:
        PAGE.write_text(text)


if __name__ == "__main__":
    typer.run(main)
