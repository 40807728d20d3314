"""Simulate upkeep without files, of plain, misleading and small tables: ``python -m benchmarks.upkeep.hard_cases``.

Tables are clustered and grow 20 times. Rows are keys alone; a file's bytes are what its rows weigh. Sizes, the choice
and the layouts are the product's own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

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
from iceberg_zorder.metrics.file_sizes import FileSizes
from iceberg_zorder.metrics.history import SnapshotFacts
from iceberg_zorder.metrics.scan_cost import ideal_file_size, planning_cost
from iceberg_zorder.pyiceberg.files import DataFileTask
from iceberg_zorder.pyiceberg.plan.selection import SizeRules
from iceberg_zorder.rewrite.options import RewriteOptions
from iceberg_zorder.rewrite.snapshot_keys import SETTLED_FROM
from iceberg_zorder.select.branch_history import rewrite_budget
from iceberg_zorder.select.gain import UpkeepRequest, choose, rows_to_spread, size_for_smaller_target
from iceberg_zorder.select.group_cuts import cut_groups

PAGE = Path("docs/benchmarks/hard-cases.md")
_ABOUT = """\
Upkeep chooses files by their bounds, which hide heavy values, correlation, and rows whose size depends on a key. This
page has simulations of such tables, and of plain and small ones. It is for readers who ask how much filters cost and
upkeep writes at worst."""
_HOW = """\
`python -m benchmarks.upkeep.hard_cases` simulates tables that grow 20 times, and writes this page. Tables have 64
files, open costs of an eighth of a file, and grow by 2% in four files; those with a size have the automatic target
size, open costs of 4 MiB, and grow by 3% in one file. In *time-ordered* tables, the second column rises. *Groups of 16
files* are file groups that `max-file-group-size-bytes` limits to 16 files of the target size.

*Bytes* and *cost* are those of `column = value` after upkeep, divided by those after a full rewrite, averaged over the
columns. *One column* is the largest cost of a single column, divided in the same way. *Written* are the bytes that
upkeep wrote, divided by the bytes of a full rewrite after each growth, or by the appended bytes."""
MIB = 1024**2

Keys = npt.NDArray[np.int64]
Rows = tuple[Keys, npt.NDArray[Any]]
"""The keys of rows, of shape (rows, columns), and the bytes of each."""


Maker = Callable[[np.random.Generator, int], Rows]
"""Makes so many rows; their bytes are relative to the mean."""
_DOMAIN = 1 << 30


def _uniform(rng: np.random.Generator, rows: int) -> Rows:
    return rng.integers(0, _DOMAIN, (rows, 2)), np.ones(rows, np.int64)


def _hot(rng: np.random.Generator, rows: int) -> Rows:
    keys, sizes = _uniform(rng, rows)
    keys[rng.random(rows) < 0.6, 0] = _DOMAIN // 2
    return keys, sizes


def _correlated(rng: np.random.Generator, rows: int) -> Rows:
    first = rng.integers(0, _DOMAIN, rows)
    return np.stack([first, first + rng.integers(0, _DOMAIN // 100, rows)], 1), np.ones(rows, np.int64)


def _bytes_by_key(rng: np.random.Generator, rows: int) -> Rows:
    keys, _ = _uniform(rng, rows)
    return keys, np.where(keys[:, 0] < _DOMAIN // 8, 5, 43 / 100)


@dataclass(frozen=True)
class Case:
    """How a table is made and grows."""

    make: Maker
    is_time_ordered: bool = False  # whether the second column rises
    group: int | None = None  # max-file-group-size-bytes, in files of the target size
    size: int = 64 * 100_000
    target: int = 100_000
    open_cost: int = 12_500
    growth: float = 0.02
    appended_files: int = 4

    @property
    def rules(self) -> SizeRules:
        """The default size rules."""
        return SizeRules(FileSizes.around(self.target), RewriteOptions())


def _small(size: int, *, is_time_ordered: bool) -> Case:
    open_cost = 4 * MIB
    return Case(_uniform, is_time_ordered, None, size, ideal_file_size(size, 2, open_cost), open_cost, 0.03, 1)


CASES = {
    "spanning": Case(_uniform),
    "time-ordered": Case(_uniform, is_time_ordered=True),
    "spanning, 130 MB": _small(130_000_000, is_time_ordered=False),
    "time-ordered, 130 MB": _small(130_000_000, is_time_ordered=True),
    "spanning, 30 MB": _small(30_000_000, is_time_ordered=False),
    "time-ordered, 30 MB": _small(30_000_000, is_time_ordered=True),
    "one value has 60% of the rows": Case(_hot),
    "columns that are correlated": Case(_correlated),
    "row size depends on a key": Case(_bytes_by_key),
    "groups of 16 files": Case(_uniform, group=16),
    "groups of 6 files": Case(_uniform, group=6),
    "one value, groups of 6 files": Case(_hot, group=6),
}
_ROWS = 64_000


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
    """What came of a table after each growth: costs beside a full rewrite's, and what was written."""

    name: str
    bytes_read: tuple[float, ...]
    costs: tuple[float, ...]
    of_columns: tuple[float, ...]  # the largest cost of a single column
    written: float  # beside rewriting everything
    written_of_appended: float


def simulate(name: str, growths: int = 20) -> Outcome:
    """Grow one of ``CASES``, with upkeep after each growth."""
    case = CASES[name]
    rng, of_row = np.random.default_rng(7), case.size / _ROWS

    def made(rows: int, growth: int) -> Rows:
        keys, weights = case.make(rng, rows)
        if case.is_time_ordered:
            # A growth follows all that came before it.
            begin, width = (_DOMAIN + (growth - 1) * _DOMAIN // 50, _DOMAIN // 50) if growth else (0, _DOMAIN)
            keys[:, 1] = np.sort(rng.integers(begin, begin + width, rows))
        return keys, np.round(weights * of_row).astype(np.int64)

    table = _written(case, made(_ROWS, 0), 0)
    snapshots = [_snapshot(0, "replace", table)]
    bytes_read, costs, of_columns = [], [], []
    written = everything = added = 0
    for growth in range(1, growths + 1):
        rows = made(int(_ROWS * case.growth), growth)
        parts = zip(*(np.array_split(each, case.appended_files) for each in rows), strict=True)
        appended = [File(part, 2 * growth - 1) for part in parts]
        table += appended
        snapshots.append(_snapshot(2 * growth - 1, "append", appended))
        added += sum(file.size for file in appended)
        everything += sum(file.size for file in table)
        chosen, new = _rewritten(case, table, snapshots, 2 * growth)
        if new:
            table = [file for file in table if id(file) not in {id(each) for each in chosen}] + new
            snapshots.append(_snapshot(2 * growth, "replace", new))
        written += sum(file.size for file in chosen)
        best = _costs(case, _written(case, _rows(table), 0))
        today = _costs(case, table)
        means = today.sum(axis=0) / best.sum(axis=0)
        bytes_read.append(float(means[0]))
        costs.append(float(means[1]))
        of_columns.append(float((today / best)[:, 1].max()))
    reads = tuple(bytes_read), tuple(costs), tuple(of_columns)
    return Outcome(name, *reads, written / everything, written / added)


def _rewritten(
    case: Case, table: list[File], snapshots: list[SnapshotFacts], snapshot: int
) -> tuple[list[File], list[File]]:
    files, every = _described(table), range(len(table))
    request = UpkeepRequest(1.2, 5, case.rules.sizes, LayoutRequest(1), [None] * 2, [1.0] * 2, case.open_cost)
    runs = {each.snapshot_id: str(each.snapshot_id) for each in snapshots if each.operation == "replace"}
    called = {id(file) for file in _called_for(case, table, runs)}
    choice = choose(
        files,
        np.array([id(file) in called for file in table]),
        np.zeros(len(table), np.bool_),
        rewrite_budget(runs, snapshots),
        rows_to_spread([case.rules.sizes.expected_files(files.bytes)])[0],
        request,
    )
    chosen = [table[place] for place in every if place in set(choice.files.tolist())]
    if not chosen:
        return [], []
    groups = [(np.sort(choice.files), choice.extents)]
    if case.group is not None:
        bound = case.group * case.target
        groups = cut_groups(files, groups[0][0], bound, len(chosen), request.kept, request.weights)
    return chosen, [
        new
        for places, extents in groups
        for new in _written(
            case,
            _rows([table[place] for place in places]),
            snapshot,
            extents,
            uses_smaller_target=choice.uses_smaller_target,
        )
    ]


def _called_for(case: Case, table: list[File], runs: Mapping[int, str]) -> list[File]:
    tasks = [
        DataFileTask(DataFile.from_args(record_count=1, file_size_in_bytes=file.size), 0, added_by=file.added_by)
        for file in table
    ]
    called = case.rules.called_files(tasks, runs)
    return [file for file, task in zip(table, tasks, strict=True) if task in called]


def _snapshot(number: int, operation: str, added: Sequence[File]) -> SnapshotFacts:
    end = {SETTLED_FROM: "0"} if operation == "replace" else {}
    return SnapshotFacts(number, 0, operation, {"added-files-size": str(sum(file.size for file in added)), **end})


def _rows(files: Sequence[File]) -> Rows:
    keys, sizes = zip(*(file.rows for file in files), strict=True)
    return np.concatenate(keys), np.concatenate(sizes)


def _written(
    case: Case,
    rows: Rows,
    snapshot: int,
    extents: Sequence[int] = (),
    *,
    uses_smaller_target: bool = False,
) -> list[File]:
    keys, sizes = rows
    size = int(sizes.sum())
    files = case.rules.sizes.expected_files(size_for_smaller_target(size) if uses_smaller_target else size)
    if files == 1:
        return [File(rows, snapshot)]
    sample = Sample(tuple(KeyColumn(np.ascontiguousarray(each), np.zeros(len(keys), np.uint8)) for each in keys.T))
    columns = [ClusteringColumn((name,), "long") for name in "ab"]
    layout = fit(columns, sample, LayoutRequest(files).spanning(extents))
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


def _costs(case: Case, files: Sequence[File]) -> npt.NDArray[np.float64]:
    """Return the bytes and the cost of ``column = value``, averaged over the rows, of shape (columns, 2)."""
    keys = np.sort(_rows(files)[0], axis=0)
    found = np.zeros((keys.shape[1], 2))
    for place in range(keys.shape[1]):
        for file in files:
            ends = file.rows[0][:, place].min(), file.rows[0][:, place].max()
            matching = np.searchsorted(keys[:, place], ends[1], "right") - np.searchsorted(keys[:, place], ends[0])
            found[place] += np.array([file.size, file.size + case.open_cost]) * matching / len(keys)
    found[:, 1] += planning_cost(len(files), case.open_cost)
    return found


def page(outcomes: Sequence[Outcome]) -> str:
    """Return the page."""
    rows = [
        [
            each.name,
            f"{np.mean(each.bytes_read):.2f}x",
            f"{max(each.bytes_read):.2f}x",
            f"{np.mean(each.costs):.2f}x",
            f"{max(each.costs):.2f}x",
            f"{max(each.of_columns):.2f}x",
            f"{each.written:.3f}x",
            f"{each.written_of_appended:.1f}x",
        ]
        for each in outcomes
    ]
    names = "table", "bytes, mean", "largest", "cost, mean", "largest", "one column", "written", "of appended"
    lines = [
        *head("Upkeep where bounds mislead", _ABOUT),
        "",
        *table(names, rows),
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
