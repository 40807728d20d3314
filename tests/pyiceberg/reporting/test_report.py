"""Clustering reports of real tables, beside what other readers of the metadata say."""

import json
import random
import uuid
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table
from pyiceberg.types import LongType, NestedField, StructType

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.metrics.clustering_report import ClusteringReport
from iceberg_zorder.pyiceberg import plan_rewrite, report, rewrite_data_files
from iceberg_zorder.render.report_text import report_text
from tests.present import present
from tests.pyiceberg.committing import BY_FILES, commit, files_of, head_id, head_of, rewritten

ROWS = 1_000
SCHEMA = pa.schema([("p", pa.int64()), ("a", pa.int64()), ("s", pa.string()), ("x", pa.float64())])
SMALL = {"rewrite-all": True, "target-file-size-bytes": 8_000}


def rows_of(number: int) -> pa.Table:
    """A day's rows: ``a`` goes up from day to day, the others are all over the place."""
    scattered = [(row * 7919 + number) % 10_007 for row in range(ROWS)]
    return pa.table(
        {
            "p": [row % 2 for row in range(ROWS)],
            "a": range(number * ROWS, (number + 1) * ROWS),
            "s": [f"https://example.com/{value:06d}" for value in scattered],
            "x": [float(value) if value % 11 else None for value in scattered],
        },
        SCHEMA,
    )


def days(catalog: SqlCatalog, count: int, **properties: str) -> Table:
    table = catalog.create_table("db.days", SCHEMA, properties={"write.metadata.metrics.default": "full", **properties})
    for number in range(count):
        table.append(rows_of(number))
    return table


def codes(found: ClusteringReport) -> dict[str, str]:
    return {finding.code: finding.severity for finding in found.findings}


def test_figures_are_those_of_the_metadata(catalog: SqlCatalog) -> None:
    table = days(catalog, 8, **BY_FILES)
    found = report(
        table, ["a", "s"], predicates=["a = 2500", "a >= 6000 AND s > 'https://example.com/009'", "x IS NULL"]
    )
    files = table.inspect.files()
    assert found.total_file_count == files.num_rows == 8
    assert found.total_bytes == sum(files["file_size_in_bytes"].to_pylist())
    assert (found.total_rows, found.total_constant_file_count) == (8 * ROWS, 0)
    assert (found.average_depth, found.average_overlaps, found.file_depth_histogram) == (1.0, 0.0, {"00001": 8})
    by_name = {column.name: column for column in found.columns}
    assert by_name["a"].scan_fraction == pytest.approx(1 / 8, rel=0.05)
    assert by_name["s"].scan_fraction == pytest.approx(1, rel=0.01)
    # Files of one size each, nearly.
    assert by_name["a"].average_file_count == pytest.approx(1, rel=0.05)
    assert by_name["s"].average_file_count == pytest.approx(8, rel=0.01)
    for predicate, row_filter in zip(
        found.predicates, ["a = 2500", "a >= 6000 and s > 'https://example.com/009'", "x is null"], strict=True
    ):
        planned = [task.file.file_size_in_bytes for task in table.scan(row_filter=row_filter).plan_files()]
        assert predicate.total_file_count == len(planned)
        assert predicate.scan_fraction == pytest.approx(sum(planned) / found.total_bytes, rel=1e-12)
    assert found.file_sizes.files_below_min == 8
    # Eight files of some kilobytes: opening them is what costs.
    assert (codes(found)["rewrite-pays"], found.file_sizes.files_after_rewrite) == ("warning", 1)


def test_attainable_is_what_a_rewrite_attains(catalog: SqlCatalog, monkeypatch: pytest.MonkeyPatch) -> None:
    # Rows are spread over the files in the order of their paths, which are the same each time here.
    bits = random.Random(1)
    monkeypatch.setattr(uuid, "uuid4", lambda: uuid.UUID(int=bits.getrandbits(128), version=4))
    # 16 files, four cuts of each column: of other numbers either of two columns that are alike may get the more cuts.
    table = days(catalog, 8, **{"write.target-file-size-bytes": "9600"})
    predicates = [
        "a BETWEEN 2500 AND 2900",
        "s < 'https://example.com/001'",
        "a < 1000 AND s > 'https://example.com/008'",
    ]
    before = report(table, ["a", "s"], predicates=predicates)
    rewrite_data_files(table, ["a", "s"], options={"rewrite-all": True})
    after = report(table, predicates=predicates)
    assert after.total_file_count == pytest.approx(before.file_sizes.files_after_rewrite, abs=1)
    for attained, predicted in zip(after.columns, before.columns, strict=True):
        assert predicted.attainable == pytest.approx(attained.scan_fraction, rel=0.1)
        assert predicted.attainable_file_count == pytest.approx(attained.average_file_count, rel=0.1)
    for attained_by, predicted_by in zip(after.predicates, before.predicates, strict=True):
        assert predicted_by.attainable == pytest.approx(attained_by.scan_fraction, rel=0.25)
    assert "rewrite-pays" not in codes(after)
    assert "never-laid-out" not in codes(after)
    assert after.history.laid_out_files == after.total_file_count


def test_reports_on_two_snapshots_promise_files_of_one_size(catalog: SqlCatalog) -> None:
    table = days(catalog, 8)
    first = present(table.current_snapshot())
    rewrite_data_files(table, ["a", "s"], options={"rewrite-all": True, "target-file-size-bytes": 9600})
    before, after = report(table, ["a", "s"], snapshot_id=first.snapshot_id), report(table)
    assert before.file_sizes.target_file_size_bytes == after.file_sizes.target_file_size_bytes == 9600
    assert before.snapshot_timestamp_ms == first.timestamp_ms


@pytest.mark.parametrize("remembered", ["column-weights=a=20,b=1", "cuts=even"])
def test_what_a_table_remembers_is_attainable(catalog: SqlCatalog, remembered: str) -> None:
    draw = random.Random(5)
    schema = pa.schema([("a", pa.int64()), ("b", pa.int64())])
    options = f"{remembered};target-file-size-bytes=40000;rewrite-all=true"
    table = catalog.create_table("db.t", schema, properties={"zorder.columns": "a,b", "zorder.options": options})
    table.append(pa.table({name: [draw.randrange(10**9) for _ in range(40_000)] for name in "ab"}, schema))
    rewrite_data_files(table)
    found = report(table)
    assert found.total_file_count > 8
    assert "rewrite-pays" not in codes(found)


def test_columns_of_the_last_rewrite_are_found_by_the_names_of_today(catalog: SqlCatalog) -> None:
    table = days(catalog, 3)
    with table.update_schema() as schema:
        schema.add_column(("n",), StructType(NestedField(20, "in side", LongType(), required=False)))
    rewrite_data_files(table, "p desc, hilbert(s, a, n.`in side`)", options=SMALL)
    head = head_of(table.refresh())
    table.update_schema().rename_column("s", "u r l").rename_column("p", "part").rename_column("n", "m").commit()
    table.update_schema().rename_column("a", "s").rename_column(("m", "in side"), "x").commit()
    found = report(table)
    assert found.cluster_by_keys == ("part", "`u r l`", "s", "m.x")
    assert report(table).sort_order == "part DESC NULLS LAST, hilbert(`u r l`, s, m.x)"
    assert found.history.last_layout_columns == "p DESC NULLS LAST, hilbert(s, a, n.`in side`)"
    table.update_schema().delete_column("m").commit()
    why = (
        rf"^Cannot report on lake.db.days, because column 'n.in side' of the last rewrite \(snapshot {head.snapshot_id}\)"
        " was dropped: name the columns that queries filter on$"
    )
    with pytest.raises(InvalidInputError, match=why):
        report(table)
    with table.update_schema() as schema:
        schema.add_column(("n",), StructType(NestedField(20, "in side", LongType(), required=False)))
    with pytest.raises(InvalidInputError, match=why):
        report(table)
    assert report(table, "s").cluster_by_keys == ("s",)


def test_history_tells_what_has_come_since_and_who_undid_it(catalog: SqlCatalog) -> None:
    table = days(catalog, 4)
    rewrite_data_files(table, ["a", "s"], options=SMALL)
    laid_out = head_of(table.refresh())
    table.append(rows_of(4))
    found = report(table)
    assert found.history.last_layout_snapshot_id == laid_out.snapshot_id
    assert (found.history.newer_files, codes(found)["newer-files"]) == (1, "warning")

    commit(table, rewritten(table, files_of(table)), head_id(table), snapshot_properties={})
    undone = report(table, ["a", "s"])
    assert undone.history.undone_by_snapshot_id == head_id(table)
    assert codes(undone)["layout-undone"] == codes(undone)["newer-files"] == "warning"
    rewrite_data_files(table, ["a", "s"], options=SMALL)
    assert "layout-undone" not in codes(report(table))


def flagged(catalog: SqlCatalog) -> Table:
    """A flag is set in one row of a hundred: bounds let half of them look as if it were."""
    schema = pa.schema([("day", pa.int64()), ("a", pa.int64()), ("flag", pa.int64())])
    table = catalog.create_table("db.flags", schema, properties={"write.target-file-size-bytes": "4000"})
    append_flags(table, 1)
    return table


def append_flags(table: Table, day: int) -> None:
    draw, count = random.Random(2), 9_000
    flags = [draw.randrange(100) // 99 for _ in range(count)]
    table.append(pa.table({"day": [day] * count, "a": [draw.randrange(10**6) for _ in range(count)], "flag": flags}))


def test_nothing_is_recommended_right_after_a_rewrite(catalog: SqlCatalog) -> None:
    table = flagged(catalog)
    before = report(table, ["a", "flag"])
    assert codes(before)["rewrite-pays"] == "warning"
    result = rewrite_data_files(table, ["a", "flag"])
    assert before.recommendation is not None
    assert (before.recommendation.files, before.recommendation.expected_files) == (
        result.rewritten_data_files_count,
        result.added_data_files_count,
    )
    found = report(table)
    # What is attainable by bounds alone is more than this layout attains.
    assert (found.cost_ratio or 0) > 1.2
    assert "rewrite-pays" not in codes(found)
    assert present(found.recommendation).command is None
    assert "unchanged since a rewrite by the same request" in " ".join(str(found).split())
    table.update_schema().rename_column("a", "b").rename_column("flag", "is set").commit()
    assert report(table, ["b", "`is set`"]).cost == found.cost


def test_costs_are_those_of_the_plan_if_it_has_them_of_all_files(catalog: SqlCatalog) -> None:
    schema = pa.schema([("day", pa.int64()), ("a", pa.int64()), ("flag", pa.int64())])
    table = catalog.create_table("db.by_day", schema)
    with table.update_spec() as change:
        change.add_identity("day")
    for day in (1, 2) * 4:
        append_flags(table, day)
    with table.transaction() as transaction:
        transaction.set_properties({"write.target-file-size-bytes": "60000"})
    planned = plan_rewrite(table, ["a", "flag"])
    figures = [why.parameters for each in (*planned.groups, *planned.left) for why in each.reasons]
    found = report(table, ["a", "flag"])
    assert len(figures) == 2, figures
    assert found.cost == sum(each["before"] for each in figures)
    assert found.attainable_cost == sum(each["attainable"] for each in figures)
    # What a plan leaves out of its costs is a part of the table nevertheless.
    with table.transaction() as transaction:
        transaction.set_properties(
            {"zorder.options": "min-age-seconds=3600", "write.target-file-size-bytes": "536870912"}
        )
    append_flags(table, 2)
    assert present(report(table, ["a", "flag"]).cost) > present(found.cost)


def test_files_of_a_rewrite_to_the_same_size_are_neither_small_nor_large(catalog: SqlCatalog) -> None:
    table = days(catalog, 3)
    rewrite_data_files(table, ["a", "s"], options={"rewrite-all": True, "target-file-size-bytes": 1_000_000})
    table.append(rows_of(3))
    with table.transaction() as transaction:
        transaction.set_properties({"write.target-file-size-bytes": "1000000"})
    assert report(table, ["a"]).file_sizes.files_below_min == 1, "that of the append"
    assert "1 below 750.0 kB, 0 above 1.8 MB, not counting files of such a rewrite" in str(report(table, ["a"]))
    with table.transaction() as transaction:
        transaction.set_properties({"write.target-file-size-bytes": "2000000"})
    assert report(table, ["a"]).file_sizes.files_below_min == 2


def test_bounds_that_are_not_kept_are_told_with_what_to_do(catalog: SqlCatalog) -> None:
    table = days(
        catalog, 2, **{"write.metadata.metrics.column.s": "truncate(16)", "write.metadata.metrics.column.x": "counts"}
    )
    found = report(table, ["s", "x"])
    assert (codes(found)["bounds-alike"], codes(found)["bounds-not-kept"]) == ("error", "error")
    commands = {finding.code: finding.command for finding in found.findings}
    expected = "ALTER TABLE lake.db.days SET TBLPROPERTIES ('write.metadata.metrics.column.{}' = '{}')"
    assert commands["bounds-alike"] == expected.format("s", "truncate(256)")
    assert commands["bounds-not-kept"] == expected.format("x", "full")
    x = found.columns[1]
    assert (x.scan_fraction, x.attainable, x.files_without_bounds) == (1.0, None, 2)
    with table.transaction() as transaction:
        transaction.set_properties(
            {"write.metadata.metrics.column.s": "full", "write.metadata.metrics.column.x": "full"}
        )
    table.append(rows_of(2))
    later = report(table, ["s", "x"])
    assert codes(later)["bounds-missing"] == "warning"
    assert "bounds-alike" not in codes(later), "what is kept now is all"
    assert later.columns[1].files_without_bounds == 2


def test_upper_bounds_that_no_cut_one_can_be_are_to_be_longer(catalog: SqlCatalog) -> None:
    table = catalog.create_table("db.last", pa.schema([("t", pa.string())]))
    for number in range(3):
        last = chr(0x10FFFF) * 20
        table.append(pa.table({"t": [f"{number}", f"{last}{number}" if number else "z"]}))
    found = report(table, ["t"])
    assert (found.columns[0].files_without_bounds, found.columns[0].files_without_upper_bounds) == (2, 2)
    [finding] = [each for each in found.findings if each.code == "bounds-missing"]
    assert finding.command == (
        "ALTER TABLE lake.db.last SET TBLPROPERTIES ('write.metadata.metrics.column.t' = 'truncate(256)')"
    )
    rewrite_data_files(table, "t", options={"rewrite-all": True})
    assert report(table, ["t"]).columns[0].files_without_upper_bounds == 1
    table.transaction().set_properties({"write.metadata.metrics.column.t": "full"}).commit_transaction()
    rewrite_data_files(table, "t", options={"rewrite-all": True})
    assert "bounds-missing" not in codes(report(table, ["t"]))


def test_text_fits_a_terminal_and_json_has_it_all(catalog: SqlCatalog) -> None:
    table = days(catalog, 5)
    rewrite_data_files(table, ["a", "s"], options=SMALL)
    table.append(rows_of(5))
    found = report(table, predicates=["a BETWEEN 10 AND 1000 AND s LIKE 'https://example.com/00%' AND x IS NOT NULL"])
    text = report_text(found.to_dict())
    commands = {f"  {finding.command}" for finding in found.findings}
    assert all(len(line) <= 100 for line in text.splitlines() if line not in commands)
    assert commands <= {*text.splitlines(), "  None"}
    assert str(found) == text
    read: dict[str, Any] = json.loads(found.to_json())
    assert read["version"] == 1
    assert read == json.loads(json.dumps(found.to_dict()))


def test_what_the_queries_of_a_workload_read_is_that_of_predicates(
    catalog: SqlCatalog, caplog: pytest.LogCaptureFixture
) -> None:
    table = days(catalog, 4)
    filters = {"a < 1000": 5.0, "s = 'https://example.com/000009' AND a >= 2000": 2.0, "TRUE": 1.0, "a = -1": 7.0}
    queries = [{"filter": text, "weight": weight} for text, weight in filters.items()]
    workload = {"version": 1, "queries": queries}
    found = report(table, ["a", "s"], predicates=list(filters), workload=workload)
    alone = {each.predicate: each for each in found.predicates}
    read = present(found.workload)
    mean = sum(weight * (alone[text].scan_fraction or 0.0) for text, weight in filters.items()) / 15
    assert read.scan_fraction == pytest.approx(mean)
    assert read.average_file_count == pytest.approx(
        sum(weight * alone[text].total_file_count for text, weight in filters.items()) / 15
    )
    assert [(each.filter, each.scan_fraction, each.total_file_count) for each in read.costliest] == [
        (text, alone[text].scan_fraction, alone[text].total_file_count)
        for text in sorted(filters, key=lambda text: -filters[text] * (alone[text].scan_fraction or 0.0))
    ]
    assert found.to_dict()["workload"]["queries"] == read.queries
    assert f"({100 * mean:.1f}%)" in str(found).partition("the 4 queries of the workload read ")[2]
    # It is the table's if nobody says otherwise, and a report does without one that cannot be read.
    table.transaction().set_properties({"zorder.workload": json.dumps(workload)}).commit_transaction()
    assert report(table, ["a", "s"]).workload == read
    table.transaction().set_properties({"zorder.workload": "/no/such/workload.json"}).commit_transaction()
    without = report(table, ["a", "s"])
    assert "workload" not in without.to_dict()
    assert "Reported without the workload of property zorder.workload: Cannot use the workload" in caplog.text
    with pytest.raises(InvalidInputError, match="Cannot read workload /no/such/other.json"):
        report(table, ["a", "s"], workload="/no/such/other.json")
