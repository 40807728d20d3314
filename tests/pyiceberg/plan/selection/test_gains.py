"""What a rewrite without options gains: judged by the bounds in the manifests and the values of all rows."""

import json
import logging
import struct
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.figures import size
from iceberg_zorder.layout.fit import LayoutRequest, fit
from iceberg_zorder.layout.keys import encode
from iceberg_zorder.layout.sample import Sample, cut
from iceberg_zorder.pyiceberg import execute, plan_rewrite, report, rewrite_data_files, sample
from iceberg_zorder.pyiceberg.bounds import KeptBounds
from iceberg_zorder.pyiceberg.files import FileGroup, GroupResult, PartitionFiles, SampledGroup
from iceberg_zorder.pyiceberg.plan.sampling import SampleContext
from iceberg_zorder.pyiceberg.plan.scan_measure import column_scans, described_files, scan_measure
from iceberg_zorder.rewrite.messages import Reason, why_nothing_of, words
from iceberg_zorder.rewrite.options import ZOrderOptions
from tests.present import present
from tests.pyiceberg import lake
from tests.pyiceberg.committing import BY_FILES, commit_files
from tests.pyiceberg.lake import data_files, one_commit, position_delete, row_order

LONGS = pa.schema([("a", pa.int64()), ("b", pa.int64())])
BOTH = {"column-weights": "user=1, ts=1"}
"""Both columns count, so that what time loses users may gain."""


def longs(**columns: Any) -> pa.Table:
    return pa.table({name: pa.array(np.asarray(values), pa.int64()) for name, values in columns.items()})


def daily(catalog: SqlCatalog, days: int = 20, rows: int = 2_000) -> Table:
    """A table of users whose data comes day by day."""
    rng = np.random.default_rng(7)
    table = catalog.create_table("db.t", pa.schema([("user", pa.int64()), ("ts", pa.int64())]))
    for day in range(days):
        ts = day * 86_400 + np.sort(rng.integers(0, 86_400, rows))
        table.append(longs(user=rng.integers(0, 50_000, rows), ts=ts))
    return table


def of_small_partitions(catalog: SqlCatalog, partitions: int = 30) -> Table:
    """Six small files in each partition, all of them of any values."""
    rng = np.random.default_rng(8)
    schema = pa.schema([("p", pa.int64()), ("a", pa.int64()), ("b", pa.int64())])
    table = catalog.create_table("db.t", schema, properties=BY_FILES)
    table.update_spec().add_field("p", IdentityTransform(), "p").commit()
    for _ in range(6):
        count = 100 * partitions
        p = np.arange(count) % partitions
        table.append(longs(p=p, a=rng.integers(0, 10**6, count), b=rng.integers(0, 10**6, count)))
    return table


def of_sparse_events(catalog: Catalog, name: str = "db.t") -> Table:
    """Events of a day each in two partitions, in the first of which the few that are of orders have all the bytes."""
    rng = np.random.default_rng(9)
    schema = pa.schema([("p", pa.int64()), ("user", pa.int64()), ("ts", pa.int64()), ("payload", pa.binary())])
    table = catalog.create_table(name, schema)
    table.update_spec().add_field("p", IdentityTransform(), "p").commit()
    with one_commit(table) as commit:
        for day in range(20):
            for partition, share in enumerate((0.1, 1.0)):
                is_order = rng.random(2_000) < share
                users, ts = rng.integers(0, 50_000, 2_000), day * 86_400 + np.sort(rng.integers(0, 86_400, 2_000))
                payload = [rng.bytes(300) if each and not partition else None for each in is_order]
                columns = [pa.array(each, mask=~is_order) for each in (users, ts)]
                commit.append(pa.table([np.full(2_000, partition), *columns, pa.array(payload, pa.binary())], schema))
    return table


def measured(
    files: Sequence[DataFile], table: Table, values: Mapping[str, np.ndarray], *, by_count: bool = False
) -> dict[str, float]:
    """For each column, the share of bytes, or of files, that a filter on each of the values reads, on average."""
    files = [file for file in files if file.lower_bounds]
    sizes = np.array([1 if by_count else file.file_size_in_bytes for file in files])
    found = {}
    for name, each in values.items():
        field_id = table.schema().find_field(name).field_id
        lower, upper = (
            np.array([struct.unpack("<q", (bounds or {})[field_id])[0] for bounds in ends])
            for ends in ([file.lower_bounds for file in files], [file.upper_bounds for file in files])
        )
        distinct, counts = np.unique(each, return_counts=True)
        read = sum(
            count * int(sizes[(lower <= value) & (value <= upper)].sum())
            for value, count in zip(distinct.tolist(), counts.tolist(), strict=True)
        )
        found[name] = read / (len(each) * int(sizes.sum()))
    return found


def values_of(table: Table, *columns: str) -> dict[str, np.ndarray]:
    rows = table.scan().to_arrow()
    return {name: rows[name].to_numpy() for name in columns}


def mean(fractions: Mapping[str, float]) -> float:
    return sum(fractions.values()) / len(fractions)


def summary_of(table: Table) -> Mapping[str, str]:
    snapshot = present(table.current_snapshot())
    return present(snapshot.summary).additional_properties


def test_time_pays_for_users_with_the_default_weights(catalog: SqlCatalog) -> None:
    table, size = daily(catalog), {"target-file-size-bytes": 30_000}
    result = rewrite_data_files(table, "user, ts", options=size)
    assert result.rewritten_data_files_count == 20
    assert result.message is not None
    assert result.message.startswith("ts pays for user: ")


def test_daily_appends_are_not_made_worse_and_the_column_that_pays_is_named(
    catalog: SqlCatalog, caplog: pytest.LogCaptureFixture
) -> None:
    table = daily(catalog, rows=10_000)
    values = values_of(table, "user", "ts")
    before = measured(data_files(table), table, values)
    with caplog.at_level(logging.INFO, "iceberg_zorder"):
        result = rewrite_data_files(table, ["user", "ts"], options=BOTH)
    actual = measured(data_files(table), table, values)
    assert mean(actual) <= mean(before)
    assert result.added_data_files_count == len(data_files(table)) > 1
    assert actual["ts"] > before["ts"]
    assert result.message is not None
    assert result.message.startswith("ts pays for user: a filter on ts reads ")
    assert result.message in [each.getMessage() for each in caplog.records if each.levelno == logging.WARNING]
    said = [each.getMessage() for each in caplog.records if each.levelno == logging.INFO]
    assert any(
        "Scan fractions of the rewrite of lake.db.t: user 100.0% " in each and "actual; ts 5.0%" in each
        for each in said
    )

    assert [each.column for each in result.scan_fractions] == ["user", "ts"]
    summary = summary_of(table)
    for each in result.scan_fractions:
        assert each.before == pytest.approx(before[each.column], rel=0.02)
        assert each.actual == pytest.approx(actual[each.column], rel=0.03)
        assert each.predicted == pytest.approx(actual[each.column], rel=0.1)
        told = json.loads(summary["zorder.scan-fractions"])[each.column]
        assert (told["predicted"], told["actual"]) == pytest.approx((each.predicted, each.actual), abs=1e-6)
    assert summary["zorder.target-file-size"] == f"{64 * 1024} data"
    assert int(summary["zorder.rewrite-duration-ms"]) > 0

    files = data_files(table)
    settled = rewrite_data_files(table, ["user", "ts"], options=BOTH)
    (left,) = plan_rewrite(table, ["user", "ts"], options=BOTH).left
    assert settled.message == why_nothing_of("lake.db.t", {words(left.reasons): len(files)})
    ((code, figures),) = [(each.code, each.parameters) for each in left.reasons]
    assert code == "settled"
    assert 0 < figures["before"] <= 1.2 * figures["attainable"]
    assert f" times the attainable {size(figures['attainable'])})" in present(settled.message)
    again = rewrite_data_files(table, ["user", "ts"], options={**BOTH, "min-input-files": 4})
    assert (again.nothing_to_do, again.scan_fractions) == (True, ())
    assert present(again.message).startswith("Nothing to rewrite in lake.db.t: ")
    assert [each.file_path for each in data_files(table)] == [each.file_path for each in files]


@pytest.mark.parametrize("how", [{}, {"partial-progress.enabled": "true"}], ids=["at once", "partial progress"])
def test_new_files_that_turn_out_worse_are_told_of_and_rest(catalog: SqlCatalog, how: dict[str, str]) -> None:
    table = of_sparse_events(catalog)
    columns = ["user", "ts"]
    old = data_files(table)
    rows = table.scan().to_arrow().sort_by([("p", "ascending"), ("ts", "ascending"), ("user", "ascending")])
    result = rewrite_data_files(table, columns, where="p = 0", options=how)
    assert result.rewritten_data_files_count == 20, "predicted by rows, of which those without values have no bytes"
    user, ts = result.scan_fractions
    before, predicted, actual = (
        sum(getattr(each, when) for each in (user, ts)) for when in ("before", "predicted", "actual")
    )
    assert predicted < before < actual
    assert [each for each in table.properties if each.startswith("zorder.")] == []
    after = table.scan().to_arrow().sort_by([("p", "ascending"), ("ts", "ascending"), ("user", "ascending")])
    assert after.drop_columns("payload") == rows.drop_columns("payload")

    metadata, files = table.metadata_location, files_of(table, 0)
    again = rewrite_data_files(table, columns, where="p = 0", options=how)
    (left,) = plan_rewrite(table, columns, where="p = 0", options=how).left
    assert [each.code for each in left.reasons] == ["settled"]
    assert again.message == why_nothing_of("lake.db.t", {words(left.reasons): len(files)})
    assert table.refresh().metadata_location == metadata
    assert {each.file_path for each in files}.isdisjoint(each.file_path for each in old)


def files_of(table: Table, partition: int) -> list[DataFile]:
    return [file for file in data_files(table) if file.partition[0] == partition]


@pytest.mark.parametrize("shape", ["random", "correlated", "skewed", "daily"])
def test_predictions_are_near_what_is_attained(catalog: SqlCatalog, shape: str) -> None:
    rng = np.random.default_rng(11)
    count, files = 60_000, 6
    a = np.arange(count) if shape == "daily" else rng.integers(0, 10**9, count)
    b = {
        "random": rng.integers(0, 10**9, count),
        "correlated": a + rng.integers(0, 10**8, count),
        "skewed": (rng.pareto(1.5, count) * 1000).astype(np.int64),
        "daily": rng.integers(0, 10**9, count),
    }[shape]
    table = catalog.create_table("db.t", LONGS)
    for part in np.array_split(np.arange(count), files):
        table.append(longs(a=a[part], b=b[part]))
    size = sum(file.file_size_in_bytes for file in data_files(table))
    options = {"rewrite-all": True, "target-file-size-bytes": size // 24, "sample-rows": 20_000}
    result = rewrite_data_files(table, ["a", "b"], options=options)
    assert result.added_data_files_count >= 20
    actual = measured(data_files(table), table, {"a": a, "b": b})
    errors = [abs(each.predicted / actual[each.column] - 1) for each in result.scan_fractions if each.predicted]
    assert len(errors) == 2
    assert sum(errors) / 2 <= 0.05
    assert max(errors) <= 0.1


def test_a_dry_run_tells_what_a_rewrite_does_and_writes_nothing(catalog: SqlCatalog) -> None:
    table = daily(catalog, rows=10_000)
    metadata, files = table.metadata, data_files(table)
    dry_run = rewrite_data_files(table, "user, ts", options={**BOTH, "dry-run": True})
    assert dry_run.dry_run
    assert present(dry_run.message).startswith("Dry run: nothing was written. ts pays for user: ")
    assert dry_run.expected_seconds is None
    assert [each.actual for each in dry_run.scan_fractions] == [None, None]
    assert (table.refresh().metadata, data_files(table)) == (metadata, files)

    plan = plan_rewrite(table, "user, ts", options=BOTH)
    sampled = sample(table, plan, predicates=["ts < 86400", "user = 5 and ts >= 0"])
    result = execute(table, sampled)
    assert not result.dry_run
    counts = ("rewritten_data_files_count", "added_data_files_count", "rewritten_bytes_count")
    assert [getattr(result, each) for each in counts] == [getattr(dry_run, each) for each in counts]
    assert [(each.before, each.predicted) for each in result.scan_fractions] == [
        (each.before, each.predicted) for each in dry_run.scan_fractions
    ]
    day, user = sampled.predicates
    sizes = [file.file_size_in_bytes for file in files]
    assert day.predicate == "ts < 86400"
    assert day.before == pytest.approx(sizes[0] / sum(sizes))
    read = sum(task.file.file_size_in_bytes for task in table.scan(row_filter="ts < 86400").plan_files())
    assert day.predicted == pytest.approx(read / sum(f.file_size_in_bytes for f in data_files(table)), rel=0.1)
    assert user.predicted is not None
    assert sampled.to_dict()["predicates"][0] == {
        "predicate": "ts < 86400",
        "before": day.before,
        "predicted": day.predicted,
    }

    summary = summary_of(table)
    planned = sample(table, plan_rewrite(table, "user, ts", options={"rewrite-all": True, "dry-run": True}))
    seconds = int(summary["zorder.rewrite-duration-ms"]) / int(summary["removed-files-size"]) / 1000
    size = sum(file.file_size_in_bytes for file in data_files(table))
    assert planned.expected_seconds == pytest.approx(seconds * size)
    assert execute(table, planned).expected_seconds == planned.expected_seconds
    nothing = rewrite_data_files(table, "user, ts", options={**BOTH, "dry-run": True})
    assert present(nothing.message).startswith("Dry run: nothing was written. Nothing to rewrite in lake.db.t: ")
    with pytest.raises(InvalidInputError, match="Cannot use the filter 'nope = 1'"):
        sample(table, plan_rewrite(table, "user, ts"), predicates=["nope = 1"])
    with pytest.raises(InvalidInputError, match="Cannot set dry-run to 'perhaps', because it must be true or false"):
        rewrite_data_files(table, "user", options={"dry-run": "perhaps"})


def test_rewrite_all_rewrites_what_gets_worse_and_says_so(catalog: SqlCatalog) -> None:
    table = catalog.create_table("db.t", LONGS)
    for start in range(0, 5_000, 1_000):
        table.append(longs(a=range(start, start + 1_000), b=range(start, start + 1_000)))
    plan = plan_rewrite(table, "a, b")
    assert plan.groups == ()
    (files,) = plan.left
    assert [each.code for each in files.reasons] == ["scan-ratio-low"]
    result = rewrite_data_files(table, "a, b", options={"rewrite-all": True})
    assert result.added_data_files_count == 1
    assert str(result.message).startswith("A filter on a reads ")
    assert str(result.message).endswith(": filters on a, b cost more.")
    assert [each.before for each in result.scan_fractions] == pytest.approx([0.2, 0.2], rel=0.01)
    assert [each.actual for each in result.scan_fractions] == [1.0, 1.0]


def test_deletes_are_rewritten_whatever_is_gained(catalog: SqlCatalog) -> None:
    table = catalog.create_table("db.t", LONGS)
    for start in range(0, 3_000, 1_000):
        table.append(longs(a=range(start, start + 1_000), b=range(start, start + 1_000)))
    commit_files(table, position_delete(table, data_files(table)[0], range(500)))
    plan = sample(table, plan_rewrite(table, "a, b"))
    assert [len(group.tasks) for group in plan.groups] == [1]
    assert rewrite_data_files(table, "a, b").rewritten_data_files_count == 1
    assert table.scan().count() == 2_500


def test_a_group_without_values_is_rewritten(catalog: SqlCatalog) -> None:
    table = catalog.create_table("db.t", LONGS)
    for _ in range(5):
        table.append(pa.table({"a": pa.array([None] * 10, pa.int64()), "b": pa.array([None] * 10, pa.int64())}))
    result = rewrite_data_files(table, "a, b")
    assert (result.rewritten_data_files_count, result.added_data_files_count, result.scan_fractions) == (5, 1, ())


def test_where_the_target_is_from(catalog: SqlCatalog) -> None:
    table = daily(catalog, days=3)
    megabyte = 1024**2

    def target(**options: Any) -> tuple[int, str]:
        said = plan_rewrite(table, "user, ts", options={k.replace("_", "-"): v for k, v in options.items()})
        found = said.to_dict()
        line = (
            f"  target file size {found['target_file_size_bytes']:,} bytes, from the {found['target_file_size_from']}"
        )
        assert line in str(said).splitlines()
        return found["target_file_size_bytes"], found["target_file_size_from"]

    assert target() == (64 * 1024, "data")
    assert target(target_file_size_bytes=1_000_000) == (1_000_000, "option")
    assert target(min_file_size_bytes=30 * megabyte) == (40 * megabyte, "data")
    assert target(max_file_size_bytes=9_000) == (5_000, "data")
    rewrite_data_files(table, "user, ts", options={"target-file-size-bytes": 20_000, "rewrite-all": True})
    assert target() == (20_000, "last layout")
    table.append(longs(user=[1], ts=[2]))
    assert target() == (20_000, "last layout")
    table.transaction().set_properties({"write.target-file-size-bytes": "30000000"}).commit_transaction()
    assert target() == (30_000_000, "property")


@pytest.mark.parametrize(
    ("told", "wanted"),
    [
        ("262144 data", (64, "data")),
        ("261120 data", (255, "last layout")),
        ("262144 option", (256, "last layout")),
    ],
)
def test_a_size_by_the_data_does_not_stay_for_ever(catalog: SqlCatalog, told: str, wanted: tuple[int, str]) -> None:
    table = daily(catalog, days=3)
    table.append(longs(user=[1], ts=[2]), snapshot_properties={"zorder.target-file-size": told})
    found = plan_rewrite(table, "user, ts").to_dict()
    assert (found["target_file_size_bytes"] >> 10, found["target_file_size_from"]) == wanted
    assert report(table, "user, ts").file_sizes.target_file_size_bytes == found["target_file_size_bytes"]
    part = plan_rewrite(table, "user, ts", where="ts = 2").to_dict()
    assert part["target_file_size_from"] == "last layout", "a part does not speak for the table"
    rewrite_data_files(table, "user, ts", options={"rewrite-all": True})
    assert summary_of(table)["zorder.target-file-size"] == f"{wanted[0] << 10} {told.partition(' ')[2]}"


def test_a_table_of_empty_appends_has_no_data_file(catalog: SqlCatalog) -> None:
    table = daily(catalog, days=0)
    table.append(longs(user=[], ts=[]))
    plan = plan_rewrite(table, "user, ts")
    assert plan.message == "Nothing to rewrite in lake.db.t: the table has no data file."


def test_another_sort_order_of_a_part_is_told(catalog: SqlCatalog) -> None:
    table = daily(catalog, days=6)
    rewrite_data_files(table, "user, ts", options={"target-file-size-bytes": 10_000, "rewrite-all": True})
    files = len(data_files(table))
    assert files > 4

    def message(by: str, **options: Any) -> str:
        return str(rewrite_data_files(table, by, options={"rewrite-all": True, "dry-run": True, **options}).message)

    part = {"max-files-to-rewrite": 3}
    assert "The last layout" not in message("ts, user"), "of the whole table"
    assert "The last layout" not in message("user, ts", **part)
    for by, said in (
        ("user DESC, hilbert(ts)", "user DESC NULLS LAST, hilbert(ts)"),
        ("ts, user", "zorder(ts, user)"),
    ):
        found = message(by, **part)
        sentence = found[found.index("The last layout") :]
        assert sentence.removeprefix("The last layout of lake.db.t was by ").split("(")[0] in ("zorder", "hilbert")
        assert sentence.endswith(f"(user, ts); this rewrite lays out 3 of {files} data files by {said}.")


def test_values_that_are_longer_than_their_keys_are_found_in_their_own_files(catalog: SqlCatalog) -> None:
    properties = {"write.metadata.metrics.column.a": "full"}
    table = catalog.create_table("db.t", pa.schema([("a", pa.string())]), properties=properties)
    values = [f"{number}{'x' * 1_000}{number}" for number in range(6)]
    for value in values:
        table.append(pa.table({"a": [value] * 50}))
    # Of so many rows the sample has room for 64 bytes of a value.
    order = row_order(table, "a")
    kept = KeptBounds.of(table, order.named)
    measure = scan_measure(table, order, kept, SampleContext(table, order, ZOrderOptions()).sampled_lengths(10**8))
    keys = Sample((encode(cut(pa.array(values), 64), "string"),))
    files = described_files(measure, data_files(table))
    (group,) = lake.planned(table, {"rewrite-all": "true"}).groups
    sampled = SampledGroup(group, fit(order.named, keys, LayoutRequest(1)), keys, files, files)
    (read,) = column_scans(measure, [sampled], [GroupResult(sampled, (), files, None)])
    assert read.actual == pytest.approx(1 / 6, rel=0.01)
    assert read.files_actual == 1


@pytest.mark.parametrize("partial", [False, True])
def test_scan_fractions_of_commits_and_of_all(catalog: SqlCatalog, partial: bool) -> None:
    table = of_small_partitions(catalog, partitions=4)
    values = values_of(table, "a", "b")
    options = {"partial-progress.enabled": partial, "partial-progress.max-commits": 4}
    result = rewrite_data_files(table, ["a", "b"], options=options)
    actual = measured(data_files(table), table, values)
    for each in result.scan_fractions:
        assert each.actual == pytest.approx(actual[each.column], rel=0.02)
    commits = [
        each.summary.additional_properties
        for each in table.metadata.snapshots
        if each.summary and "zorder.columns" in each.summary.additional_properties
    ]
    assert len(commits) == (4 if partial else 1)
    for summary in commits:
        assert 0 < json.loads(summary["zorder.scan-fractions"])["a"]["actual"] <= 1
        assert summary["zorder.target-file-size"] == f"{4 * 1024**2} data"
        assert int(summary["zorder.rewrite-duration-ms"]) >= 0


def test_what_gains_in_a_group_but_loses_in_the_table_is_left(catalog: SqlCatalog) -> None:
    """Most rows of the table have one value of b. In the group one file has it, and a rewrite would spread it over several."""
    rng, rows, table = np.random.default_rng(3), 2_000, catalog.create_table("db.t", LONGS)
    with one_commit(table) as commit:
        for part in range(9):
            a = rng.integers(part * 1_000, (part + 1) * 1_000, rows)
            commit.append(longs(a=a, b=rng.integers(1_000, 10**6, rows)))
        commit.append(longs(a=rng.integers(0, 9_000, rows), b=np.full(rows, 7)))
        for part in range(90):
            commit.append(longs(a=rng.integers(part * 100, part * 100 + 100, rows), b=np.full(rows, 7)))
    planned = plan_rewrite(table.refresh(), "a, b", options={"max-scan-ratio": 1, "min-file-size-bytes": 1})
    tasks = sorted(
        (task for each in (*planned.groups, *planned.left) for task in each.tasks),
        key=lambda task: _span(task.data_file, 1),
        reverse=True,
    )
    # The ten files that span most of a: nine of other values, and one that has the value 7 only.
    count = 10
    chosen = FileGroup(
        tuple(tasks[:count]),
        index=1,
        spec_id=0,
        expected_output_files=count,
        max_output_file_size=0,
        must_rewrite=False,
    )
    rest = PartitionFiles(tuple(tasks[count:]), reasons=(Reason("not-in-plan"),))
    found = sample(table, replace(planned, groups=(chosen,), left=(rest,), message=None))
    assert {_span(task.data_file, 2) for task in rest.tasks} == {0}
    assert not found.groups
    assert "is not predicted to cost less" in present(found.message)
    # By its own values, it would gain.
    alone = sample(table, replace(planned, groups=(chosen,), left=(), message=None))
    assert [each.gains for each in alone.sampled_groups] == [True]


def _span(file: DataFile, column: int) -> int:
    """How far apart the bounds of a column are."""
    lower, upper = (struct.unpack("<q", of[column])[0] for of in (file.lower_bounds, file.upper_bounds))
    return int(upper - lower)


def test_a_plan_tells_that_the_cap_keeps_filters_dear_also_if_small_files_are_merged(catalog: SqlCatalog) -> None:
    rng, rows, domain = np.random.default_rng(4), 2_000, 1 << 40
    table = catalog.create_table("db.t", LONGS, properties={"read.split.open-file-cost": "10000"})

    def append(files: int, rows: int) -> None:
        with one_commit(table.refresh()) as commit:
            for _ in range(files):
                commit.append(longs(a=rng.integers(0, domain, rows), b=rng.integers(0, domain, rows)))

    append(24, rows)
    options = {"target-file-size-bytes": sum(each.file_size_in_bytes for each in data_files(table)) // 24}
    for _ in range(9):
        rewrite_data_files(table.refresh(), "a, b", options={**options, "rewrite-all": True})
    append(6, rows)
    append(6, rows // 10)
    found = plan_rewrite(table.refresh(), "a, b", options=options)
    assert [(len(each.tasks), [why.code for why in each.reasons]) for each in found.groups] == [(6, ["small"])]
    (left,) = found.left
    assert "no rewrite saves enough within the cap of 17 written bytes for each added byte" in left.reason
    figures = left.reasons[0].parameters
    with table.transaction() as transaction:
        transaction.set_properties({"write.target-file-size-bytes": str(options["target-file-size-bytes"])})
    assert report(table.refresh(), "a, b").cost == figures["before"] > 1.2 * figures["attainable"]


def test_appended_files_of_a_short_time_are_cut_by_the_other_column(catalog: SqlCatalog) -> None:
    """A filter on time reads few of them, one on the other column all: in a part, columns count by what it spans."""
    rng = np.random.default_rng(3)
    table = catalog.create_table("db.times", LONGS, properties={"read.split.open-file-cost": "1000"})
    table.append(longs(a=np.arange(64_000), b=rng.integers(0, 64_000, 64_000)))
    options = {"target-file-size-bytes": sum(file.file_size_in_bytes for file in data_files(table)) // 64}
    rewrite_data_files(table, "a, b", options=options)
    before = {file.file_path for file in data_files(table)}
    for part in np.array_split(np.arange(64_000, 67_200), 6):
        table.append(longs(a=part, b=rng.integers(0, 64_000, len(part))))
    (group,) = plan_rewrite(table, "a, b", options=options).groups
    assert 40 <= group.extents["a"] <= 60
    assert group.extents["b"] >= 990
    rewrite_data_files(table, "a, b", options=options)
    new = [file for file in data_files(table) if file.file_path not in before]
    assert len(new) >= 3
    assert all(_span(file, 1) > 3_000 and _span(file, 2) < 25_600 for file in new)
