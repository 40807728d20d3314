"""Simulate rewrites of a table that is larger than one job, by manifests: ``python -m benchmarks.upkeep.large_tables``.

A table has uniform keys. Its rows are two million sampled keys; a file's box is the range of its rows, and its bytes
are in proportion to their number. Layouts are the product's own. Files of a *spanning* table span all columns; those of
a *time-ordered* one are narrow in the first column.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import numpy.typing as npt
import typer

from benchmarks.pages import bullets, head, paragraph, table
from iceberg_zorder.layout.columns import ClusteringColumn
from iceberg_zorder.layout.fit import LayoutRequest, cut, fit, uncut
from iceberg_zorder.layout.keys import VALUE, KeyColumn
from iceberg_zorder.layout.layout import Layout
from iceberg_zorder.layout.sample import Sample
from iceberg_zorder.metrics.data_files import ColumnBounds, DataFiles
from iceberg_zorder.metrics.file_sizes import FileSizes
from iceberg_zorder.metrics.history import SnapshotFacts
from iceberg_zorder.metrics.scan_cost import planning_cost
from iceberg_zorder.pyiceberg.plan.selection import SizeRules
from iceberg_zorder.rewrite.options import RewriteOptions
from iceberg_zorder.rewrite.snapshot_keys import SETTLED_FROM
from iceberg_zorder.select.branch_history import rewrite_budget
from iceberg_zorder.select.gain import UpkeepRequest, choose, rows_to_spread

PAGE = Path("docs/benchmarks/large-tables.md")
_ABOUT = """\
A Spark job needs local disk of four times its bytes, so a rewrite of a large table needs several file groups. Groups
whose files span everything overlap, and then filters read more. This page simulates ways to rewrite 10 TiB. It is for
developers, who choose between them."""
_NEXT = """\
Figures are GiB, of the table of two columns and files of 512 MiB. The planner chooses files by the state of the table
and its history: a rewrite that committed some groups, then appends of 2%. A rewrite without all its groups was killed,
and the same call goes on. *Again* are chosen bytes that the rewrite has written."""
_HOW = """\
`python -m benchmarks.upkeep.large_tables` writes this page. Tables have 10 TiB, and 2,000,000 sampled rows with uniform
keys. A file's box is the range of its rows, widened by what a sample misses. Layouts are the product's own, fitted to
1,000,000 rows in all. Costs are GiB of `column = value`, averaged over the columns, with open costs of 4 MiB and the
cost of planning. Files of a *spanning* table span all columns; files of a *time-ordered* table are as narrow as a
commit of four files in the first column, and span the others. *1/4 done* and *1/2 done* are after so many groups,
interpolated between two groups.
*Disk a job* is four times the bytes of the largest job. *Written* and *commits* include the pass before."""
_WAYS = (
    "*A tree for each group*, *one tree for all groups*: groups of 1 TiB, of files in the order of their paths, which "
    "is no order of time. Sizes are those of a group's files. With one tree, boxes are the same in all groups.",
    "*Then equal boxes are merged*: a task merges the files of one box, without a shuffle.",
    "*Then groups along narrow columns*: a second rewrite of everything. Its groups of 1 TiB are cut as "
    "`max-file-group-size-bytes` cuts them.",
    "*Groups along time*: the same cuts in the first pass. *Weights by extent*: each column's weight is the share of "
    "the table that the group spans in that column.",
    "*Then the same, with 2% of appended files*: the second pass comes after an append of files that span everything.",
    "*Iceberg's z-order*: groups of 100 GiB, in time order if there is one, even cuts of the curve through the whole "
    "table, in ten commits.",
)
MIB, GIB, TIB = 1024**2, 1024**3, 1024**4
SIZE, GROUP, ICEBERGS_GROUP = 10 * TIB, TIB, 100 * GIB
OPEN_COST = 4 * MIB
_DISK = 4  # bytes of local disk for each byte of a job's files
_ROWS = 2_000_000
_FILES_OF_A_COMMIT = 4
_DOMAIN = 1 << 40
_APPENDED = 0.02
SPANNING, TIME_ORDERED = "spanning", "time-ordered"

_Floats = npt.NDArray[np.float64]
_Integers = npt.NDArray[np.int64]


class Boxes(NamedTuple):
    """Data files: their bounds as shares of the domain, of shape (files, columns), and their bytes."""

    lower: _Floats
    upper: _Floats
    sizes: _Floats

    @property
    def extents(self) -> _Floats:
        """By file and column, the share of ``column = value`` filters that read the file."""
        return self.upper - self.lower

    def take(self, places: npt.NDArray[np.int64] | npt.NDArray[np.bool_]) -> Boxes:
        """Return the files at some places."""
        return Boxes(self.lower[places], self.upper[places], self.sizes[places])

    @staticmethod
    def joined(parts: Sequence[Boxes]) -> Boxes:
        """Return the files of several sets."""
        return Boxes(*(np.concatenate(each) for each in zip(*parts, strict=True)))


def cost(files: Boxes) -> float:
    """Return the cost of ``column = value``, averaged over the columns, in bytes."""
    read = (files.extents * (files.sizes + OPEN_COST)[:, None]).sum(axis=0).mean()
    return float(read) + planning_cost(len(files.sizes), OPEN_COST)


@dataclass(frozen=True, eq=False)
class Rows:
    """Sampled rows: keys of shape (rows, columns)."""

    keys: _Integers

    @property
    def size(self) -> float:
        """The bytes that a row stands for."""
        return SIZE / _ROWS

    @property
    def sample(self) -> Sample:
        """The keys as layouts take them."""
        states = np.zeros(len(self.keys), np.uint8)
        return Sample(tuple(KeyColumn(np.ascontiguousarray(each), states) for each in self.keys.T))

    def take(self, places: _Integers) -> Rows:
        """Return the rows at some places."""
        return Rows(self.keys[places])

    def boxes(self, file: _Integers) -> Boxes:
        """Return the files of the rows, in the order of their numbers."""
        order = np.argsort(file, kind="stable")
        starts = np.flatnonzero(np.diff(file[order], prepend=-1))
        counts = np.diff(starts, append=len(order))
        lower, upper = (each.reduceat(self.keys[order], starts, axis=0) / _DOMAIN for each in (np.minimum, np.maximum))
        # The values of n rows span (n - 1) / (n + 1) of the interval that they are drawn from, on average.
        margin = (upper - lower) / np.maximum(counts - 1, 1)[:, None]
        return Boxes(np.maximum(lower - margin, 0), np.minimum(upper + margin, 1), counts * self.size)


@dataclass(frozen=True)
class Case:
    """A table, and the target size of its files."""

    columns: int
    target: int

    @property
    def names(self) -> list[ClusteringColumn]:
        """The clustering columns, time first."""
        return [ClusteringColumn((name,), "long") for name in "abc"[: self.columns]]

    def files(self, size: float) -> int:
        """Return how many files so many bytes are written to."""
        return max(1, round(size / self.target))

    def today(self, *, is_time_ordered: bool) -> Boxes:
        """Return the files before any rewrite."""
        count = self.files(SIZE)
        lower, upper = np.zeros((count, self.columns)), np.ones((count, self.columns))
        if is_time_ordered:
            commit, commits = np.arange(count) // _FILES_OF_A_COMMIT, -(-count // _FILES_OF_A_COMMIT)
            lower[:, 0], upper[:, 0] = commit / commits, (commit + 1) / commits
        return Boxes(lower, upper, np.full(count, SIZE / count))

    def appended(self, appends: int, *, is_time_ordered: bool) -> Boxes:
        """Return the files of some appends of 2% of the table; times follow those of the table."""
        each = self.files(_APPENDED * SIZE)
        lower, upper = np.zeros((appends * each, self.columns)), np.ones((appends * each, self.columns))
        if is_time_ordered:
            lower[:, 0] = 1 + _APPENDED * np.arange(appends * each) / each
            upper[:, 0] = lower[:, 0] + _APPENDED / each
        return Boxes(lower, upper, np.full(appends * each, _APPENDED * SIZE / each))

    def rows(self) -> Rows:
        """Return the rows of the table in the order of time."""
        keys = np.random.default_rng(7).integers(0, _DOMAIN, (_ROWS, self.columns))
        return Rows(keys[np.argsort(keys[:, 0], kind="stable")])

    def fitted(self, rows: Rows, files: int, weights: _Floats | None = None) -> _Integers:
        """Return the new file of each row, by a layout that is fitted to every second row."""
        half = rows.take(np.arange(0, len(rows.keys), 2)).sample
        request = LayoutRequest(files, weights=() if weights is None else tuple(weights.tolist()))
        return _files_of(fit(self.names, half, request), rows)


def _files_of(layout: Layout, rows: Rows) -> _Integers:
    return layout.file(rows.sample, np.arange(len(rows.keys)) * 0x1E3779B97F4A7C15)


class Pass(NamedTuple):
    """One call's file groups, in the order of their commits: the files that each replaces, and the new ones."""

    name: str
    before: Boxes
    replaced: list[_Integers]  # places in ``before``
    new: list[Boxes]
    commits: int | None = None  # if several groups share one
    job: float | None = None  # the bytes of the largest job, if a group has several

    def after(self, done: int) -> Boxes:
        """Return the table's files when the first groups are committed."""
        kept = np.ones(len(self.before.sizes), np.bool_)
        for places in self.replaced[:done]:
            kept[places] = False
        return Boxes.joined([self.before.take(kept), *self.new[:done]])

    def cost_after(self, share: float) -> float:
        """Return the cost when a share of the groups is committed; between two groups, by linear interpolation."""
        below, part = divmod(share * len(self.new), 1) if len(self.new) > 1 else (int(share), 0.0)
        costs = [cost(self.after(min(int(below) + more, len(self.new)))) for more in (0, 1)]
        return (1 - part) * costs[0] + part * costs[1]

    @property
    def files(self) -> Boxes:
        """The table's files after all groups."""
        return self.after(len(self.new))

    @property
    def largest(self) -> float:
        """The bytes of the largest job."""
        return self.job or max(float(self.before.sizes[places].sum()) for places in self.replaced)


def groups_of(files: Boxes, most: int) -> list[_Integers]:
    """Cut files into as few groups of about ``most`` bytes as possible, in the columns that the fewest bytes span.

    It is :func:`.cut_groups`, but a part keeps its number of groups, although its files may be a little too large.
    """
    found, parts = list[_Integers](), [(np.arange(len(files.sizes)), -int(-files.sizes.sum() // most))]
    while parts:
        part, count = parts.pop()
        if count < 2:
            found.append(part)
            continue
        cuts = []
        for lower, upper in zip(files.lower[part].T, files.upper[part].T, strict=True):
            order = np.argsort(lower + upper, kind="stable")
            ends = np.cumsum(files.sizes[part][order])
            left = 1 + int(np.argmin(np.abs(count * ends[:-1] - count // 2 * ends[-1])))
            place = (lower + upper)[order[left - 1 : left + 1]].mean()
            spanning = files.sizes[part][(2 * lower < place) & (place < 2 * upper)].sum()
            cuts.append((spanning, part[order[:left]], part[order[left:]]))
        _, first, second = min(cuts, key=lambda each: each[0])
        parts += [(second, count - count // 2), (first, count // 2)]
    return found


@dataclass
class Simulation:
    """The ways to rewrite a table of one case; layouts that several ways have in common are fitted once."""

    case: Case
    rows: Rows = field(init=False)
    groups: int = -(-SIZE // GROUP)

    def __post_init__(self) -> None:
        """Draw the rows, and deal them to groups of files that span everything."""
        self.rows = self.case.rows()
        self._dealt = np.random.default_rng(8).integers(0, self.groups, _ROWS)

    def one_job(self) -> Boxes:
        """Return the files of one rewrite of everything."""
        return self.rows.boxes(self.case.fitted(self.rows, self.case.files(SIZE)))

    def own_trees(self, target: int) -> tuple[list[Boxes], _Integers]:
        """Return the files of each group of spanning files, and the number of each row's file among all of them."""
        new, file, count = [], np.empty(_ROWS, np.int64), 0
        for group in range(self.groups):
            places = np.flatnonzero(self._dealt == group)
            rows = self.rows.take(places)
            of_rows = self.case.fitted(rows, round(len(places) * rows.size / target))
            file[places] = np.unique(of_rows, return_inverse=True)[1] + count
            new.append(rows.boxes(of_rows))
            count += len(new[-1].sizes)
        return new, file

    def with_append(self, file_of_row: _Integers) -> tuple[Boxes, _Integers]:
        """Return the files, and the file of each row, if 2% of the rows are in appended files that span everything."""
        rng, count = np.random.default_rng(11), self.case.files(_APPENDED * SIZE)
        appended = int(file_of_row.max()) + 1 + rng.integers(0, count, _ROWS)
        file = np.unique(np.where(rng.random(_ROWS) < _APPENDED, appended, file_of_row), return_inverse=True)[1]
        return self.rows.boxes(file), file

    def one_tree(self, target: int) -> Boxes:
        """Return the files that each group gets of one tree, whose leaves are files of a target size in a group."""
        file = self.case.fitted(self.rows, max(1, round(GROUP / target)))
        found = self.rows.boxes(file)
        return found._replace(sizes=found.sizes / self.groups)

    def along(self, files: Boxes, file_of_row: _Integers, *, is_weighted: bool) -> tuple[list[_Integers], list[Boxes]]:
        """Return groups of files along columns in which they are narrow, and the new files of each."""
        replaced, new = groups_of(files, GROUP), []
        group_of_file = np.empty(len(files.sizes), np.int64)
        for number, places in enumerate(replaced):
            group_of_file[places] = number
        group_of_row = group_of_file[file_of_row]
        for number, places in enumerate(replaced):
            rows = self.rows.take(np.flatnonzero(group_of_row == number))
            part = files.take(places)
            spans = part.upper.max(axis=0) - part.lower.min(axis=0)
            count = self.case.files(part.sizes.sum())
            new.append(rows.boxes(self.case.fitted(rows, count, spans if is_weighted else None)))
        return replaced, new

    def icebergs(self, *, is_time_ordered: bool) -> list[Boxes]:
        """Return the files of Iceberg's groups: of times if the table is in their order."""
        count = -(-SIZE // ICEBERGS_GROUP)
        order = np.arange(_ROWS) if is_time_ordered else np.random.default_rng(9).permutation(_ROWS)
        whole = uncut(self.case.names, self.rows.take(np.arange(0, _ROWS, 2)).sample, LayoutRequest(1, cuts="even"))
        found = []
        for places in np.array_split(order, count):
            rows = self.rows.take(places)
            request = LayoutRequest(self.case.files(len(places) * rows.size), cuts="even")
            found.append(rows.boxes(_files_of(cut(whole, rows.sample, request), rows)))
        return found


def _dealt(files: Boxes, groups: int) -> list[_Integers]:
    return np.array_split(np.random.default_rng(3).permutation(len(files.sizes)), groups)


ONE_JOB, OWN, ONE, THEN = "one job", "a tree for each group", "one tree for all groups", "then "
NARROW, MERGED = f"{THEN}groups along narrow columns", f"{THEN}equal boxes are merged"
MIXED = f"{THEN}the same, with 2% of appended files"
TIMES, WEIGHTED = "groups along time", "groups along time, weights by extent"


def passes(case: Case, trees: Sequence[int], small: int) -> Iterator[tuple[str, list[Pass]]]:
    """Simulate the ways of each table; a pass that begins with ``THEN`` follows the pass before it.

    ``trees`` are the sizes of files within a group that share one tree, and ``small`` those of groups with their own.
    """
    simulation = Simulation(case)
    spanning, times = (case.today(is_time_ordered=each) for each in (False, True))
    one = simulation.one_job()
    ones = {target: simulation.one_tree(target) for target in trees}
    own = {target: simulation.own_trees(target) for target in (case.target, small)}
    for name, before in ((SPANNING, spanning), (TIME_ORDERED, times)):
        listed = _dealt(before, simulation.groups)
        found = [Pass(ONE_JOB, before, [np.arange(len(before.sizes))], [one])]
        for target, (new, file_of_row) in own.items():
            found.append(Pass(f"{OWN}, {_mib(target)}", before, listed, new))
            if before is spanning:
                first = found[-1].files
                found.append(Pass(NARROW, first, *simulation.along(first, file_of_row, is_weighted=True)))
            if before is spanning and target == case.target:
                mixed, of_row = simulation.with_append(file_of_row)
                found.append(Pass(MIXED, mixed, *simulation.along(mixed, of_row, is_weighted=True)))
        for target, tree in ones.items():
            found.append(Pass(f"{ONE}, {_mib(target)}", before, listed, [tree] * simulation.groups))
            if target * simulation.groups <= case.target:
                found.append(_merged(found[-1].files, tree, simulation.groups))
        if before is times:
            of_row = np.minimum((simulation.rows.keys[:, 0] * len(before.sizes)) // _DOMAIN, len(before.sizes) - 1)
            found += [
                Pass(way, before, *simulation.along(before, of_row, is_weighted=way == WEIGHTED))
                for way in (TIMES, WEIGHTED)
            ]
        icebergs = simulation.icebergs(is_time_ordered=before is times)
        of_iceberg = np.array_split(np.arange(len(before.sizes)), len(icebergs))
        found.append(Pass("Iceberg's z-order", before, of_iceberg, icebergs, commits=10))
        yield name, found


def _merged(files: Boxes, tree: Boxes, groups: int) -> Pass:
    """Merge the files of a box in all groups, in ten commits; a task merges one box."""
    boxes = np.array_split(np.arange(len(tree.sizes)), 10)
    replaced = [(each[:, None] + len(tree.sizes) * np.arange(groups)).ravel() for each in boxes]
    new = [tree.take(each)._replace(sizes=tree.sizes[each] * groups) for each in boxes]
    return Pass(MERGED, files, replaced, new, job=float(tree.sizes.max()) * groups)


class NextCall(NamedTuple):
    """What a call chooses of a table in some state, by what it predicts; in bytes."""

    state: str
    today: float
    attainable: float
    chosen: float
    again: float  # the chosen bytes that the rewrite has written
    expected: float


def next_call(case: Case, way: Pass, groups: int, appends: int = 0) -> NextCall:
    """Choose files as the product does, when so many groups of a way are committed, and 2% was appended so often."""
    appended = case.appended(appends, is_time_ordered=way.name == WEIGHTED)
    files = Boxes.joined([way.after(groups), appended])
    written = sum(len(each.sizes) for each in way.new[:groups])
    is_written = np.zeros(len(files.sizes), np.bool_)
    is_written[len(way.after(groups).sizes) - written : len(way.after(groups).sizes)] = True
    added = [SIZE, *(each.sizes.sum() for each in way.new[:groups]), *[_APPENDED * SIZE] * appends]
    operations = ["append", *["replace"] * groups, *["append"] * appends]
    total = {"total-files-size": str(int(files.sizes.sum()))}
    snapshots = [
        SnapshotFacts(number, 0, operation, {"added-files-size": str(int(size)), **total})
        for number, (operation, size) in enumerate(zip(operations, added, strict=True))
    ]
    is_ended, of_written = groups == len(way.new), 0.0
    if is_ended:
        last = snapshots[groups]
        snapshots[groups] = replace(last, summary={**last.summary, SETTLED_FROM: "0"})
    else:
        # The planner skips what the killed rewrite has written; filters read these files all the same.
        of_written, files = cost(files.take(is_written)), files.take(~is_written)
        is_written = np.zeros(len(files.sizes), np.bool_)
    budget = rewrite_budget(dict.fromkeys(range(1, groups + 1), "rewrite"), snapshots)
    states = np.full(len(files.sizes), VALUE, np.uint8)
    lower, upper = (
        [KeyColumn((of_column * _DOMAIN).astype(np.int64), states) for of_column in ends.T]
        for ends in (files.lower, files.upper)
    )
    valued = np.ones(len(states))
    columns = tuple(ColumnBounds(*each, valued) for each in zip(case.names, lower, upper, strict=True))
    sizes = files.sizes.astype(np.int64)
    described = DataFiles(np.zeros(len(sizes), np.int64), sizes // 100, sizes, columns)
    rules = SizeRules(FileSizes.around(case.target), RewriteOptions())
    request = UpkeepRequest(
        1.2, 5, rules.sizes, LayoutRequest(1), [None] * case.columns, [1.0] * case.columns, OPEN_COST
    )
    none = np.zeros(len(sizes), np.bool_)
    rows = rows_to_spread([rules.sizes.expected_files(described.bytes)])[0]
    choice = choose(described, none, none, budget, rows, request)
    chosen = sizes[choice.files]
    again = chosen[is_written[choice.files]]
    state = f"{way.name}: {groups} of {len(way.new)} groups" + (f", {appends} appends" if appends else "")
    today, attainable, expected = (each + of_written for each in (choice.today, choice.attainable, choice.expected))
    return NextCall(state, today, attainable, float(chosen.sum()), float(again.sum()), expected)


def next_calls(case: Case, found: dict[str, list[Pass]]) -> Iterator[NextCall]:
    """Choose files after kills, and after appends."""
    spanning, times = ({each.name: each for each in found[name]} for name in (SPANNING, TIME_ORDERED))
    own, one, narrow, weighted = (
        spanning[f"{OWN}, {_mib(case.target)}"],
        spanning[ONE_JOB],
        spanning[NARROW],
        times[WEIGHTED],
    )
    for way, groups in ((own, 2), (own, 6), (weighted, 2), (weighted, 6)):
        yield next_call(case, way, groups)
    for way, appends in ((one, 1), (own, 0), (own, 1), (own, 3), (narrow, 1), (weighted, 1)):
        yield next_call(case, way, len(way.new), appends)


def _mib(size: int) -> str:
    return f"{size // MIB} MiB"


def _row(each: Pass, before: Sequence[Pass]) -> list[str]:
    written = sum(float(of.before.sizes.sum()) for of in (*before, each))
    disk = _DISK * each.largest
    return [
        each.name,
        *(f"{each.cost_after(share) / GIB:,.0f}" for share in (0.25, 0.5, 1)),
        f"{len(each.files.sizes):,}",
        f"{disk / TIB:.1f} TiB" if disk > TIB / 10 else f"{disk / GIB:.0f} GiB",
        f"{written / TIB:.0f} TiB",
        f"{sum(of.commits or len(of.new) for of in (*before, each)):,}",
    ]


_HEADER = "way", "1/4 done", "1/2 done", "all done", "files", "disk a job", "written", "commits"
_CASES = (
    (Case(2, 512 * MIB), (512 * MIB, 128 * MIB, 64 * MIB, 512 * MIB // 10), 64 * MIB),
    (Case(3, 512 * MIB), (512 * MIB, 512 * MIB // 10), 64 * MIB),
    (Case(2, 128 * MIB), (128 * MIB,), 64 * MIB),
)


def page(sections: Sequence[str], calls: Sequence[NextCall]) -> str:
    """Return the page."""
    rows = [[each.state, *(f"{figure / GIB:,.0f}" for figure in each[1:])] for each in calls]
    names = "state", "cost today", "attainable", "chosen", "again", "cost predicted"
    lines = [
        *head("Tables larger than one job", _ABOUT),
        *sections,
        "",
        "## What the next call chooses",
        "",
        *paragraph(_NEXT),
        "",
        *table(names, rows),
        "",
        "## How it is measured",
        "",
        *paragraph(_HOW),
        "",
        *bullets(*_WAYS),
    ]
    return "\n".join(lines) + "\n"


def main(
    write_page: Annotated[bool, typer.Option("--page/--no-page", help="Whether to write under docs.")] = True,
) -> None:
    """Simulate every case, and write the page."""
    sections = list[str]()
    calls = list[NextCall]()
    for case, trees, small in _CASES:
        found = dict(passes(case, trees, small))
        for name, ways in found.items():
            firsts, rows = list[Pass](), list[list[str]]()
            for each in ways:
                firsts = firsts if each.name.startswith(THEN) else []
                rows.append(_row(each, firsts))
                firsts = firsts or [each]
            title = f"{name}, {case.columns} columns, files of {_mib(case.target)}"
            today = f"A filter costs {cost(ways[0].before) / GIB:,.0f} GiB today."
            sections += ["", f"## {title[0].upper()}{title[1:]}", "", today, "", *table(_HEADER, rows)]
            typer.echo("\n".join(sections[-len(rows) - 6 :]))
        if not calls:
            calls += next_calls(case, found)
            typer.echo("\n".join(map(str, calls)))
    text = page(sections, calls)
    if write_page:
        PAGE.write_text(text)


if __name__ == "__main__":
    typer.run(main)
