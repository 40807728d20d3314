"""Rewrites of what pays: judged by the bounds in the manifests, the values of all rows, and a rewrite of everything."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from statistics import fmean

import numpy as np
import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform

from iceberg_zorder.layout.columns import ClusteringColumn
from iceberg_zorder.pyiceberg import plan_rewrite, rewrite_data_files
from iceberg_zorder.pyiceberg.listing.listing import column_bounds
from iceberg_zorder.pyiceberg.plan.rewrite_plan import RewritePlan
from iceberg_zorder.rewrite.result import TableFiles
from tests.pyiceberg.committing import BY_FILES
from tests.pyiceberg.lake import data_files, one_commit
from tests.pyiceberg.plan.selection.test_gains import LONGS, longs, mean, measured, values_of

ROWS = 2_000
"""Rows of a file."""
SIZES = {"target-file-size-bytes": "32500", "compression-factor": "1"}
UPKEEP = {**SIZES, "max-scan-ratio": "1.2"}
ALL = {**SIZES, "rewrite-all": "true"}
DOMAIN = 1 << 40


def anywhere(rng: np.random.Generator, rows: int) -> pa.Table:
    """Rows of any values."""
    return longs(a=rng.integers(0, DOMAIN, rows), b=rng.integers(0, DOMAIN, rows))


def paths(table: Table) -> set[str]:
    return {file.file_path for file in data_files(table)}


def scanned(table: Table) -> float:
    """What filters on a, or on b, read on average: of every 50th row's values; all of a column without any bounds."""
    files, fields = data_files(table), {table.schema().find_field(name).field_id: name for name in "ab"}
    bounded = [name for id_, name in fields.items() if any(id_ in (file.lower_bounds or {}) for file in files)]
    values = {name: each[::50] for name, each in values_of(table, *bounded).items()} if bounded else {}
    return mean({"a": 1.0, "b": 1.0, **measured(files, table, values)})


def snapshot_id(table: Table) -> int | None:
    return table.metadata.current_snapshot_id


@dataclass
class History:
    """What became of a table that is kept up."""

    ratios: list[float] = field(default_factory=list)
    rewritten: int = 0
    everything: int = 0
    restless: int = 0


def kept_up(catalog: SqlCatalog, appends: int) -> History:
    """Append to a table that was laid out, keep it up, and compare it with one of which everything is rewritten."""
    rng = np.random.default_rng(3)
    table, other = (catalog.create_table(f"db.{name}", LONGS) for name in ("t", "other"))
    history = History()
    for append in range(appends + 1):
        rows = anywhere(rng, 32 * ROWS if append == 0 else ROWS)
        table.append(rows)
        other.append(rows)
        before = {file.file_path: file.file_size_in_bytes for file in data_files(table)}
        rewrite_data_files(table, "a, b", options=UPKEEP if append else ALL)
        gone = sum(size for path, size in before.items() if path not in paths(table))
        at = snapshot_id(table)
        rewrite_data_files(table, "a, b", options=UPKEEP)
        history.restless += snapshot_id(table) != at
        rewrite_data_files(other, "a, b", options=ALL)
        if append:
            history.rewritten += gone
            history.everything += sum(before.values())
            history.ratios.append(scanned(table) / scanned(other))
    return history


def test_appends_that_span_the_domain(catalog: SqlCatalog) -> None:
    history = kept_up(catalog, appends=4)
    # The limit is of estimates; a single figure is by chance up to some percent above.
    assert max(history.ratios) <= 1.35
    assert fmean(history.ratios) <= 1.15
    assert history.rewritten <= 0.6 * history.everything
    # What is left just below the limit may look just above it by the bounds of new files, whose names are by chance.
    assert history.restless <= 1


def test_rewrites_of_the_same_layout_are_several(catalog: SqlCatalog) -> None:
    """The same keys come again and again, so that samples, and with them layouts, are equal."""
    table = catalog.create_table("db.sensors", LONGS)
    rng = np.random.default_rng(8)
    rows = longs(a=rng.integers(0, DOMAIN, 7 * ROWS), b=rng.integers(0, DOMAIN, 7 * ROWS))
    few = {**UPKEEP, "max-files-to-rewrite": "1"}
    for _ in range(6):
        table.append(rows)
        rewrite_data_files(table, "a, b", options=few)
    layouts = [each.summary for each in table.snapshots() if each.summary and each.summary["zorder.layout-hash"]]
    assert len({each["zorder.layout-hash"] for each in layouts}) == 1
    assert len({each["zorder.rewrite-id"] for each in layouts}) == 6
    before = scanned(table)
    assert rewrite_data_files(table, "a, b", options=UPKEEP).rewritten_data_files_count > 0
    assert scanned(table) < 0.8 * before


@pytest.fixture
def grid(catalog: SqlCatalog) -> Table:
    """Sixteen files of disjoint boxes, which nobody but appends has laid out."""
    rng = np.random.default_rng(4)
    table = catalog.create_table("db.grid", LONGS)
    with one_commit(table) as commit:
        for box in range(16):
            a, b = box % 4, box // 4
            commit.append(longs(a=rng.integers(a << 40, a + 1 << 40, ROWS), b=rng.integers(b << 40, b + 1 << 40, ROWS)))
    return table


def across(table: Table, files: int = 2) -> Iterator[str]:
    """Append files that lie across a grid; gives their paths."""
    rng = np.random.default_rng(5)
    known = paths(table)
    for _ in range(files):
        table.append(longs(a=rng.integers(0, 4 << 40, ROWS), b=rng.integers(0, 4 << 40, ROWS)))
    yield from paths(table) - known


def test_what_is_as_good_as_it_gets_is_left_whoever_wrote_it(grid: Table) -> None:
    at = snapshot_id(grid)
    result = rewrite_data_files(grid, "a, b", options=UPKEEP)
    assert (result.rewritten_data_files_count, snapshot_id(grid)) == (0, at)
    (left,) = plan_rewrite(grid, "a, b", options=UPKEEP).left
    assert result.message == (f"Nothing to rewrite in lake.db.grid: 16 data files are skipped ({left.reason}).")
    assert left.reason.startswith("a filter costs ")
    assert " after a full rewrite" in left.reason


def test_files_that_lie_across_others_are_rewritten_although_their_size_is_right(grid: Table) -> None:
    broad = set(across(grid, files=4))
    assert plan_rewrite(grid, "a, b", options={**SIZES, "max-scan-ratio": "Infinity"}).groups == ()
    (group,) = plan_rewrite(grid, "a, b", options=UPKEEP).groups
    assert broad <= {task.data_file.file_path for task in group.tasks}
    assert ", too much by max-scan-ratio 1.2 (attainable: " in group.reason
    before = scanned(grid)
    rewrite_data_files(grid, "a, b", options=UPKEEP)
    after = scanned(grid)
    rewrite_data_files(grid, "a, b", options=ALL)
    assert after < before
    assert after <= 1.25 * scanned(grid)


def test_figures_of_a_rewrite_of_a_part_are_of_the_whole_table(grid: Table) -> None:
    set(across(grid, files=4))
    old, values = data_files(grid), values_of(grid, "a", "b")
    result = rewrite_data_files(grid, "a, b", options={**ALL, "max-files-to-rewrite": "8"})
    new, summary = data_files(grid), grid.metadata.snapshots[-1].summary
    assert result.rewritten_data_files_count == 8
    for found, files in ((result.before, old), (result.after, new)):
        assert found == TableFiles(len(files), sum(file.file_size_in_bytes for file in files))
    assert summary is not None
    told = json.loads(str(summary["zorder.scan-fractions"]))
    assert [each.column for each in result.scan_fractions] == ["a", "b"]
    for each in result.scan_fractions:
        name = each.column
        counted = [measured(files, grid, values)[name] for files in (old, new, new)]
        assert [each.before, each.actual, each.predicted] == pytest.approx(counted, rel=0.05)
        opened = [len(files) * measured(files, grid, values, by_count=True)[name] for files in (old, new)]
        assert [each.files_before, each.files_actual] == pytest.approx(opened, rel=0.05)
        figures = {"before": each.before, "predicted": each.predicted, "actual": each.actual}
        assert told[name] == pytest.approx(figures, abs=1e-6)


def test_a_larger_ratio_leaves_more(grid: Table) -> None:
    set(across(grid))
    assert plan_rewrite(grid, "a, b", options={**UPKEEP, "max-scan-ratio": "1"}).groups
    plan = plan_rewrite(grid, "a, b", options={**UPKEEP, "max-scan-ratio": "3"})
    assert plan.groups == ()
    assert "after a full rewrite: too small a gain by max-scan-ratio 3 and min-input-files" in plan.left[0].reason


def test_small_files_that_would_be_as_many_again_are_left(catalog: SqlCatalog) -> None:
    rng = np.random.default_rng(6)
    table = catalog.create_table("db.small", LONGS, properties=BY_FILES)
    for box in range(2):
        table.append(longs(a=rng.integers(box << 40, box + 1 << 40, 1_300), b=rng.integers(0, DOMAIN, 1_300)))
    # Two files of 65% of the target: more data than that, which is written to two files again.
    assert plan_rewrite(table, "a, b", options=UPKEEP).groups == ()
    table.append(longs(a=rng.integers(0, 2 << 40, 500), b=rng.integers(0, DOMAIN, 500)))
    (group,) = plan_rewrite(table, "a, b", options=UPKEEP).groups
    assert group.reason == "3 files below min-file-size-bytes 24,375"


def test_a_column_without_bounds_gains_nothing(grid: Table) -> None:
    set(across(grid, files=4))
    with grid.transaction() as transaction:
        modes = {f"write.metadata.metrics.column.{name}": "none" for name in "ab"}
        transaction.set_properties(modes)
    plan = plan_rewrite(grid, "a, b", options=UPKEEP)
    assert plan.groups == ()
    none = "a (metrics mode none), b (metrics mode none)"
    (left,) = plan.left
    assert left.reason.endswith(
        f"; columns not counted, because new files get no bounds for them unless metrics-check is fix: {none}"
    )
    assert plan.message is not None
    assert left.reason in plan.message


def without_bounds(catalog: SqlCatalog, *columns: str, mode: str = "none") -> Table:
    """A table of files that span everything, written without bounds of some columns.

    So many files that their order, which is that of their names and by chance, does not decide which column is cut more.
    """
    modes = {f"write.metadata.metrics.column.{name}": mode for name in columns}
    table = catalog.create_table("db.unbounded", LONGS, properties=modes)
    rng = np.random.default_rng(7)
    with one_commit(table) as commit:
        for _ in range(17):
            commit.append(longs(a=rng.integers(0, DOMAIN, ROWS), b=rng.integers(0, DOMAIN, ROWS)))
    return table


def kept_in_full(table: Table, *columns: str) -> None:
    with table.transaction() as transaction:
        transaction.set_properties({f"write.metadata.metrics.column.{name}": "full" for name in columns})


def shares(plan: RewritePlan) -> tuple[float, float]:
    """The share of the bytes that filters read today, and as expected, by the reason of the only group."""
    ((why,),) = (group.reasons for group in plan.groups)
    size = sum(group.input_size for group in (*plan.groups, *plan.left))
    return why.parameters["before"] / size, why.parameters["predicted"] / size


@pytest.mark.parametrize("mode", ["none", "counts"])
@pytest.mark.parametrize("columns", ["a", "ab"])
def test_files_without_bounds_are_rewritten_once_new_ones_get_them(
    catalog: SqlCatalog, columns: str, mode: str
) -> None:
    table = without_bounds(catalog, *columns, mode=mode)
    if columns == "a":
        rewrite_data_files(table, "b", options=UPKEEP)
    kept_in_full(table, *columns)
    # What b loses, where files are laid out by it alone, counts once.
    options = {**UPKEEP, "column-weights": "a=1, b=1"}
    today, plan = scanned(table), plan_rewrite(table, "a, b", options=options)
    result = rewrite_data_files(table, "a, b", options=options)
    assert result.rewritten_data_files_count == len(plan.groups[0].tasks)
    assert shares(plan)[0] == pytest.approx(today, abs=0.01)
    assert shares(plan)[1] == pytest.approx(scanned(table), abs=0.03)
    assert scanned(table) < 0.8 * today
    # Whoever has written them, and by whatever request.
    for ratio in ("1.2", "1.25"):
        assert plan_rewrite(table, "a, b", options={**UPKEEP, "max-scan-ratio": ratio}).groups == ()


def test_what_is_expected_of_columns_with_bounds_reckons_with_the_others(catalog: SqlCatalog) -> None:
    table = without_bounds(catalog, "a")
    plan = plan_rewrite(table, "a, b", options=UPKEEP)
    assert plan.groups[0].reason.endswith(
        "; columns not counted, because new files get no bounds for them unless metrics-check is fix: a (metrics mode none)"
    )
    rewrite_data_files(table, "a, b", options=UPKEEP)
    # Of a every file is read.
    assert shares(plan)[1] == pytest.approx(2 * scanned(table) - 1, abs=0.03)
    (left,) = plan_rewrite(table, "a, b", options={**UPKEEP, "max-scan-ratio": "1.25"}).left
    assert (
        " after a full rewrite, where opening a file counts as 4 MiB by default: set rewrite-all to rewrite nevertheless"
        in left.reason
    )
    assert left.reason.endswith(
        "; columns not counted, because new files get no bounds for them unless metrics-check is fix: a (metrics mode none)"
    )


@pytest.mark.parametrize("columns", ["a", "ab"])
def test_a_rewrite_that_has_bounds_kept_is_chosen_by_them(catalog: SqlCatalog, columns: str) -> None:
    table, fix = without_bounds(catalog, *columns), {**UPKEEP, "metrics-check": "fix"}
    rewrite_data_files(table, "a, b", options=UPKEEP)
    result = rewrite_data_files(table, "a, b", options=fix)
    assert result.rewritten_data_files_count > 0
    assert "Set write.metadata.metrics.column.a = 'full'" in (result.message or "")
    assert scanned(table) < 0.5
    at = snapshot_id(table)
    for options in (fix, UPKEEP):
        assert rewrite_data_files(table, "a, b", options=options).rewritten_data_files_count == 0
    assert snapshot_id(table) == at


def test_other_columns_than_those_of_the_last_rewrite_are_told(grid: Table) -> None:
    set(across(grid, files=4))
    rewrite_data_files(grid, "a, b", options=ALL)
    for options in (UPKEEP, ALL):
        result = rewrite_data_files(grid, "b", options=options)
        files = result.rewritten_data_files_count
        assert files > 8
        told = (
            rf"The last layout of lake.db.grid was by \w+\(a, b\); this rewrite lays out {files} of \d+ data files by "
        )
        assert bool(re.search(told, result.message or "")) == (options is UPKEEP)
        rewrite_data_files(grid, "a, b", options=ALL)


def test_only_the_partitions_that_need_it(catalog: SqlCatalog) -> None:
    rng = np.random.default_rng(7)
    table = catalog.create_table("db.p", pa.schema([("p", pa.int64()), *LONGS]))
    table.update_spec().add_field("p", IdentityTransform(), "p").commit()
    for box in range(16):
        a, b = box % 4, box // 4
        rows = longs(
            p=np.repeat([1, 2], ROWS),
            a=np.concatenate([rng.integers(a << 40, a + 1 << 40, ROWS), rng.integers(0, 4 << 40, ROWS)]),
            b=np.concatenate([rng.integers(b << 40, b + 1 << 40, ROWS), rng.integers(0, 4 << 40, ROWS)]),
        )
        table.append(rows)
    plan = plan_rewrite(table, "a, b", options=UPKEEP)
    assert [(group.partition_path, len(group.tasks)) for group in plan.groups] == [("p=2", 16)]
    assert [(left.partition_path, len(left.tasks)) for left in plan.left] == [("p=1", 16)]


def test_bounds_that_are_no_values_bound_nothing(grid: Table) -> None:
    field, column = grid.schema().find_field("a"), ClusteringColumn(("a",), "long")
    one = (1).to_bytes(8, "little")
    pairs = [(one, 5), (b"abc", -1), (b"", 2**64 - 1), (b"123456789", 5)]
    files = [
        DataFile.from_args(
            record_count=10,
            lower_bounds={field.field_id: bound},
            upper_bounds={field.field_id: one},
            null_value_counts={field.field_id: nulls},
        )
        for bound, nulls in pairs
    ]
    bounds = column_bounds(files, field, column)
    assert bounds.bounded.tolist() == [True, False, False, False]
    assert bounds.valued.tolist() == [0.5, 1, 1, 0.5]
