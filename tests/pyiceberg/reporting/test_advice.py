"""Advice on real tables: simulated files are read as PyIceberg reads them, and what is advised comes true."""

import math
import random
import re
from datetime import datetime
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.table import Table

from iceberg_zorder.advice.advice import Advice
from iceberg_zorder.advice.simulated_files import RankedBoxes, SimulatedFiles, files_read
from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.layout.columns import ClusteringColumn
from iceberg_zorder.metrics.scan_cost import scan_cost
from iceberg_zorder.pyiceberg import advise, plan_rewrite, rewrite_data_files, sample
from iceberg_zorder.pyiceberg.listing.listing import FileFilter, list_files
from iceberg_zorder.pyiceberg.reporting.advice import queries_today
from iceberg_zorder.pyiceberg.reporting.sampled_rows import sampled_table
from iceberg_zorder.rewrite.cpu_seconds import READ, of_rewrite
from iceberg_zorder.rewrite.options import ZOrderOptions
from iceberg_zorder.workload.joined_columns import joined_columns
from iceberg_zorder.workload.read import read_workload
from iceberg_zorder.workload.scanned_table import ScannedTable
from iceberg_zorder.workload.workload import ColumnsOnly, NotUnderstood, Query, Workload
from iceberg_zorder.workload.workload_json import to_json
from tests.present import present
from tests.pyiceberg.committing import BY_FILES, head_of
from tests.pyiceberg.lake import planned, table_of

SMALL = {"target-file-size-bytes": 8_000}


made = partial(table_of, files=8)


def workload(*texts: str) -> Workload:
    return Workload.of([Query(text, 1.0) for text in texts])


def statement_workload(path: Path, statement: str, table: ScannedTable, dialect: str) -> Workload:
    path.write_text(statement)
    return read_workload([path], table, dialect=dialect)


def hostile(chance: random.Random, rows: int) -> pa.Table:
    values: dict[str, tuple[pa.DataType, list[Any]]] = {
        "n": (pa.int64(), [*range(20), -(2**63), 2**63 - 1]),
        "d": (pa.float64(), [0.0, -0.0, 1.5, math.inf, -math.inf, *(each / 7 for each in range(20))]),
        "s": (pa.string(), ["", "a", "ab", "é", "😀", "\U0010ffff", "a" * 15, "a" * 16, "a" * 17, "a" * 40]),
        "m": (pa.decimal128(30, 2), [Decimal("-1.00"), Decimal("0.01"), Decimal(10**25)]),
        "t": (pa.timestamp("us"), [datetime(1969, 12, 31), datetime(2024, 1, 1), datetime(9999, 12, 31)]),
        "b": (pa.bool_(), [True, False]),
    }
    columns = {}
    for name, (kind, some) in values.items():
        column: list[Any] = []
        for start in range(0, rows, 20):
            # A file of few values next to each other, so that bounds rule something out.
            few = sorted(chance.sample(some, min(3, len(some))))
            nulls = chance.choice((0, 0, 0, 0.3, 1))
            column += [None if chance.random() < nulls else chance.choice(few) for _ in range(start, start + 20)]
        columns[name] = pa.array(column, kind)
    return pa.table(columns)


CONDITIONS = """
n = 5 | n <> 5 | n > 7 AND n <= 11 | n IN (1, 5, 19) | n NOT IN (1, 2) | n IS NULL | n IS NOT NULL | n < 5.5 | n = 3.5
n >= 9223372036854775807 | n < -9223372036854775807 | d = 0 | d > 2.5D | d < -1e300D | d >= 1.5 AND n < 10 | d <= 0
s = '' | s = 'a' | s LIKE 'a%' | s LIKE 'aaaaaaaaaaaaaaa%' | s NOT LIKE 'a%' | s > 'b' | s = 'aaaaaaaaaaaaaaaaa'
s < 'aaaaaaaaaaaaaaaaa' | s >= 'aaaaaaaaaaaaaaaab' | s IN ('é', '😀') | m < 0 | m > 1000000 | m = 0.01 OR n = 3 | b | NOT b
t < TIMESTAMP_NTZ '1970-01-01 00:00:00' | t >= DATE '2024-01-01' | b = true AND n = 5 | n = 5 OR s IS NULL | TRUE | FALSE
(n = 1 OR n = 2) AND (s = 'a' OR d < 1) | NOT (n > 3 OR s = 'ab') | n <=> NULL | n <=> 4 OR t IS NOT NULL AND d > 1
""".replace("\n", " | ")


@pytest.mark.parametrize("seed", range(4))
def test_simulated_files_are_read_as_pyiceberg_reads_real_ones(catalog: Catalog, seed: int) -> None:
    table = made(catalog, hostile(random.Random(seed), 1_200), files=60)
    texts = [text.strip() for text in CONDITIONS.split(" | ") if text.strip()]
    (group,) = planned(table, {"rewrite-all": "true"}).groups
    today = queries_today(table, workload(*texts), group.tasks)
    assert len(today.queries) == len(texts)
    columns = [ClusteringColumn((field.name,), str(field.field_type)) for field in table.schema().fields]
    rows = present(sampled_table(table, columns, [group], ZOrderOptions()))
    assert rows.sample.rows == 1_200
    files = SimulatedFiles.of(rows, np.repeat(np.arange(60), [task.data_file.record_count for task in group.tasks]))
    _, read = files_read(files, RankedBoxes.of(rows, today.queries))
    told = dict(zip((query.filter for query in today.queries), read.tolist(), strict=True))
    real = dict(zip((query.filter for query in today.queries), today.files.tolist(), strict=True))
    # Bounds of 16 characters are taken to be cut, though they may be values; and PyIceberg looks no closer at NOT LIKE.
    cut = {text for text in texts if "aaaaaaaaaaaaaaaa" in text}
    assert all(told[text] >= real[text] for text in cut)
    assert all(told[text] <= real[text] for text in texts if "NOT LIKE" in text)
    compared = {text for text in texts if text not in cut and "NOT LIKE" not in text}
    assert {text: told[text] for text in compared} == {text: real[text] for text in compared}
    assert sum(0 < count < 60 for count in real.values()) > 15


def grid(rows: int, seed: int = 1) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "user": rng.integers(0, 1_000, rows),
            "item": rng.integers(0, 1_000, rows),
            "other": rng.integers(0, 1_000, rows),
            "text": [f"{number:012d}" * 3 for number in rng.integers(0, 10**12, rows)],
        }
    )


QUERIES = [f"{name} = {number}" for name in ("user", "item") for number in range(0, 1_000, 25)]


def actual(table: Table, queries: Workload) -> float:
    """The share of the table that the queries read."""
    tasks = list_files(table, head_of(table), FileFilter.from_where(table))
    whole = sum(task.data_file.file_size_in_bytes for task in tasks)
    return float(queries_today(table, queries, tasks).bytes.mean()) / whole


def test_what_is_advised_comes_true(catalog: Catalog) -> None:
    table = made(catalog, grid(20_000))
    found = advise(table, workload(*QUERIES), options={"target-file-size-bytes": 40_000, "sample-rows": 8_000})
    assert found.pick is not None
    assert set(found.pick.columns) == {"user", "item"}
    assert found.filters == len(QUERIES)
    assert f"sort_order => '{found.pick.layout}'" in present(found.statement)
    assert found.today.bytes_per_query == pytest.approx(found.table_bytes, rel=0.01)
    predicted = found.pick.bytes_per_query / found.pick.bytes
    asked = {"rewrite-all": True, "target-file-size-bytes": 40_000, "sample-rows": 8_000}
    rewrite_data_files(table, found.pick.layout, options=asked)
    assert actual(table, workload(*QUERIES)) == pytest.approx(predicted, rel=0.1)
    written = sum(task.file.file_size_in_bytes for task in table.scan().plan_files())
    assert written == pytest.approx(found.pick.bytes, rel=0.1)
    assert abs(written - found.table_bytes) > 0.1 * found.table_bytes
    again = advise(table, workload(*QUERIES), options={"target-file-size-bytes": 40_000})
    assert (again.pick, again.statement, again.command, again.cost) == (None, None, None, None)


def test_cuts_from_the_workload_are_advised_and_come_true(catalog: Catalog, tmp_path: Path) -> None:
    starts = np.random.default_rng(5).integers(0, 100, (40, 2)).tolist()
    queries = workload(*(f"user BETWEEN {a} AND {a + 3} AND item BETWEEN {b} AND {b + 3}" for a, b in starts))
    (tmp_path / "workload.json").write_text(to_json(queries))
    table = made(catalog, grid(10_000))
    options: dict[str, int | str] = {"target-file-size-bytes": 20_000}
    found = advise(table, tmp_path / "workload.json", options=options)
    assert found.pick is not None
    assert (found.pick.kind, found.preparation) == ("workload", None)
    sort_order = f"zorder({', '.join(found.pick.columns)})"
    assert f"sort_order => '{sort_order}'" in (found.statement or "")
    assert f"'workload', '{tmp_path}/workload.json'" in (found.statement or "")
    assert f"--option workload={tmp_path}/workload.json" in (found.command or "")
    # The rewrite is cut for the queries that read it here, and so reads no more.
    rewrite_data_files(
        table, sort_order, options={**options, "rewrite-all": True, "workload": f"{tmp_path}/workload.json"}
    )
    assert actual(table, queries) <= 1.05 * found.pick.bytes_per_query / found.pick.bytes


def test_costs_and_sizes(catalog: Catalog) -> None:
    table = made(catalog, grid(20_000))
    found = advise(table, workload(*QUERIES, "other = 7"), options={"target-file-size-bytes": 40_000}, days=2)
    cost, pick = found.cost, found.pick
    assert cost is not None
    assert pick is not None
    assert found.queries_per_day == len(QUERIES) / 2 + 0.5
    assert (cost.read_bytes, cost.written_bytes) == (found.table_bytes, pick.bytes)
    # Sums of floats in another order.
    assert pick.cost_per_query == pytest.approx(scan_cost(pick.bytes_per_query, pick.files_per_query, pick.files, 1))
    assert cost.saved_cost_per_query == pytest.approx(found.today.cost_per_query - pick.cost_per_query)
    costs = found.today.full_scan_cost(1) + pick.full_scan_cost(1)
    assert cost.pays_after_queries == pytest.approx(costs / cost.saved_cost_per_query)
    assert cost.pays_after_days == pytest.approx(cost.pays_after_queries / found.queries_per_day)
    daily = present(cost.saved_per_day)
    saved = scan_cost(daily.bytes, daily.files, found.queries_per_day * (found.today.files - pick.files), 1)
    assert saved == pytest.approx(found.queries_per_day * cost.saved_cost_per_query)
    assert daily.cpu_seconds == pytest.approx(READ * daily.bytes)
    assert cost.cpu_seconds == of_rewrite(found.table_bytes)
    reads = [each.bytes_per_query for each in found.file_sizes]
    assert reads == sorted(reads)
    assert len({each.files for each in found.file_sizes}) == len(reads) == 4
    of_kind = {each.kind for each in found.candidates}
    assert {"sort", "zorder"} <= of_kind
    assert found.to_dict()["candidates"][0]["layout"] == found.candidates[0].layout


def test_queries_count_as_often_as_they_are_asked(catalog: Catalog) -> None:
    rare = [Query(f"item = {number}", 1.0) for number in range(0, 1_000, 20)]
    often = [Query(f"user = {number}", 50.0) for number in range(0, 1_000, 40)]
    found = advise(made(catalog, grid(3_000)), Workload.of([*rare, *often]), options=SMALL)
    read = {each.layout: each.bytes_per_query for each in found.candidates if each.kind == "sort"}
    assert read["zorder(user)"] < read["zorder(item)"] / 2


def kinds(advice: Advice) -> set[tuple[str, tuple[str, ...]]]:
    return {(each.kind, each.columns) for each in advice.warnings}


def test_warnings_have_reasons(catalog: Catalog) -> None:
    rng = np.random.default_rng(3)
    user = rng.integers(0, 1_000, 20_000)
    rows = pa.table(
        {
            "user": user,
            "twin": user * 2 + rng.integers(0, 3, 20_000),
            "kind": user % 3,
            "id": rng.permutation(20_000),
            "hidden": user,
        }
    )
    properties = {"write.metadata.metrics.column.hidden": "counts", "zorder.columns": "zorder(kind, id, hidden)"}
    table = made(catalog, rows, properties=properties)
    texts = [f"user = {n} AND twin > {n} AND id = {n}" for n in range(40)] + [f"hidden = {n}" for n in range(5)]
    queries = Workload.of(
        [*(Query(text, 1.0) for text in texts), Query("TRUE", 30.0), Query("user < 9", 1.0)],
        [ColumnsOnly((("user", "="),), 3.0)],
        [NotUnderstood("part", "upper(x)", "it is not", 2.0)],
    )
    found = advise(table, queries, options=SMALL)
    assert kinds(found) >= {
        ("never-filtered", ("kind",)),
        ("full-scans", ()),
        ("point-lookups", ("id",)),
        ("no-bounds", ("hidden",)),
        ("not-judged", ()),
    }
    (missed,) = (each.message for each in found.warnings if "not understood" in each.message)
    assert missed.startswith("2 statements or parts of filters were not understood")
    assert "The most frequent is 'upper(x)', because it is not;" in missed
    (bloom,) = (each for each in found.warnings if each.kind == "point-lookups")
    assert bloom.statement == (
        "ALTER TABLE lake.db.t SET TBLPROPERTIES ('write.parquet.bloom-filter-enabled.column.id' = 'true')"
    )
    (hidden,) = (each for each in found.warnings if each.kind == "no-bounds")
    assert hidden.statement == (
        "ALTER TABLE lake.db.t SET TBLPROPERTIES ('write.metadata.metrics.column.hidden' = 'full')"
    )
    assert all("hidden" not in each.columns for each in found.candidates)


@pytest.mark.parametrize(
    ("condition", "dialect"),
    [
        ("JOIN d ON t.s.x = d.k", "spark"),
        ("JOIN d ON t.[s].[x] = d.[k]", "tsql"),
        ('JOIN d ON d."k" = s."x"', "trino"),
        ("WHERE t.s.x IN (SELECT k FROM d)", "spark"),
    ],
)
def test_joins_by_fields_of_structs_are_not_taken_for_columns_of_their_names(
    tmp_path: Path, condition: str, dialect: str
) -> None:
    table = ScannedTable(("db", "t"), {("x",): "int", ("s",): "struct<1: x: int>", ("s", "x"): "int"})
    found = statement_workload(tmp_path / "q.sql", f"SELECT * FROM db.t t {condition}", table, dialect)
    assert joined_columns(found, table) == {("s", "x"): 1.0}
    found = statement_workload(tmp_path / "q.sql", "SELECT * FROM db.t WHERE x = none_such", table, dialect)
    assert joined_columns(found, table) == {}


@pytest.mark.parametrize(
    ("queries", "reason"),
    [
        (workload("TRUE"), "no query of the workload has a known filter"),
        (Workload.of(), "no query of the workload has a known filter"),
        (workload("text <> 'x'"), "a layout needs a filtered column with lower/upper bounds"),
    ],
)
def test_nothing_to_judge_is_advice(catalog: Catalog, queries: Workload, reason: str) -> None:
    found = advise(made(catalog, grid(500)), queries, options={"target-file-size-bytes": 2_000})
    assert found.pick is None
    assert reason in found.reason


def test_small_files_are_merged_and_a_table_of_one_file_is_done(catalog: Catalog) -> None:
    table = made(catalog, grid(500), properties=BY_FILES)
    found = advise(table, workload(*QUERIES))
    assert found.pick is not None
    assert (found.today.files, found.pick.files) == (8, 1)
    rewrite_data_files(table, found.pick.layout, options={"rewrite-all": True})
    found = advise(table, workload(*QUERIES))
    assert (found.pick, found.candidates) == (None, ())
    assert "in one file would write as many files" in found.reason
    assert [each.kind for each in found.warnings][:1] == ["small-table"]


def test_files_that_cost_more_to_open_than_they_save_are_not_advised(catalog: Catalog) -> None:
    table = made(catalog, grid(3_000), files=1, properties=BY_FILES)
    found = advise(table, workload(*QUERIES), options=SMALL)
    best = found.candidates[0]
    assert best.bytes_per_query < 0.7 * found.today.bytes_per_query
    assert best.cost_per_query > found.today.cost_per_query
    assert found.pick is None
    assert found.reason == (
        f"queries cost no less with the best layout found, {best.layout}: they read "
        f"{best.read_text(found.table_bytes)}, today {found.today.read_text(found.table_bytes)}"
    )
    assert re.fullmatch(r"[0-9.]+ kB in [0-9.]+ of \d+ files \([0-9.]+%\)", best.read_text(found.table_bytes))


@pytest.mark.parametrize("columns", [1, 3])
def test_what_is_advised_is_what_a_rewrite_does(catalog: Catalog, columns: int) -> None:
    properties = {"read.split.open-file-cost": "30000", "zorder.options": "sample-rows=4000"}
    table = made(catalog, grid(20_000), files=30, properties=properties)
    texts = [f"{name} = {n}" for name in ("user", "item", "other")[:columns] for n in range(0, 1_000, 25)]
    found = advise(table, workload(*texts))
    assert found.pick is not None
    assert len(found.pick.columns) == columns
    plan = sample(table, plan_rewrite(table, found.pick.layout, options={"rewrite-all": "true"}))
    assert present(plan.target).size == found.target_file_size_bytes == (65_536 if columns == 1 else 131_072)
    assert sum(each.layout.files for each in plan.sampled_groups) == found.pick.files
    assert found.pick.files > 1


def test_a_rewrite_that_is_refused_is_not_advised(catalog: Catalog) -> None:
    found = advise(made(catalog, grid(3_000)), workload(*QUERIES), options={**SMALL, "column-weights": "other=3"})
    assert (found.pick, found.statement, found.command, found.cost) == (None, None, None, None)
    assert re.search(r"the rewrite to zorder\(.*\) would do nothing: Cannot .*other", found.reason)


def test_remembered_options_count(catalog: Catalog) -> None:
    properties = {"zorder.options": "target-file-size-bytes=8000; cuts=even"}
    found = advise(made(catalog, grid(3_000), properties=properties), workload(*QUERIES))
    assert found.target_file_size_bytes == 8_000
    assert "workload" not in {each.kind for each in found.candidates}
    assert found.pick is not None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"workload": workload("no_such = 1")}, "of column 'no_such': "),
        ({"workload": workload("user = 'x'")}, "cannot be compared with"),
        ({"days": 0.0}, "because it must be more than 0"),
        ({"least_saving": 1.5}, r"because it must be in \[0, 1\]"),
        ({"options": {"no-such": "1"}}, "no-such"),
        ({"branch": "dev"}, "branch does not exist"),
    ],
)
def test_what_cannot_be_honoured_is_refused(catalog: Catalog, arguments: dict[str, Any], message: str) -> None:
    table = made(catalog, grid(100))
    with pytest.raises(InvalidInputError, match=message):
        advise(table, **{"workload": workload(*QUERIES), **arguments})


def saved(found: Advice) -> list[float]:
    return [1 - each.cost_per_query / found.today.cost_per_query for each in found.candidates]


@pytest.mark.parametrize("seed", [1, 4])
def test_no_layout_of_the_table_saves_more_than_the_pick(catalog: Catalog, seed: int) -> None:
    """Twenty filters: ten of them chose a layout, by which the other ten read more than by others."""
    rng = np.random.default_rng(seed)
    texts: list[str] = []
    for _ in range(10):
        for name, widths in (("user", [1, 300, 600]), ("item", [300, 600, 900])):
            start, width = int(rng.integers(0, 1_000)), int(rng.choice(widths))
            texts.append(f"{name} BETWEEN {start} AND {start + width}")
    table = made(catalog, grid(20_000))
    found = advise(table, workload(*texts), options={"target-file-size-bytes": 40_000})
    assert 1 - present(found.pick).cost_per_query / found.today.cost_per_query >= max(saved(found)) - 0.02
    strict = advise(table, workload(*texts), options={"target-file-size-bytes": 40_000}, least_saving=max(saved(found)))
    assert strict.pick is None


def test_a_margin_shrinks_with_the_number_of_filters(catalog: Catalog) -> None:
    table = made(catalog, grid(20_000))
    margins = []
    for count in (8, 80):
        starts = np.random.default_rng(0).integers(0, 500, count).tolist()
        texts = [f"user BETWEEN {start} AND {start + 400 * (place % 2)}" for place, start in enumerate(starts)]
        found = advise(table, workload(*dict.fromkeys(texts)), options={"target-file-size-bytes": 40_000})
        margins.append(next(each.margin for each in found.candidates if each.layout == "zorder(user)"))
    assert margins[0] / margins[1] == pytest.approx(10**0.5, rel=0.4)


def test_what_few_statements_do_not_prove_is_not_advised(catalog: Catalog) -> None:
    table = made(catalog, grid(20_000))
    texts = ["user BETWEEN 100 AND 101", "user BETWEEN 0 AND 999", "user BETWEEN 0 AND 998"]
    found = advise(table, workload(*texts), options=SMALL, least_saving=0.2)
    best = found.candidates[0]
    assert found.pick is None
    assert 1 - best.chosen_by_cost / found.today.chosen_by_cost > 0.2
    assert "3 filters judge this to ±" in found.reason
    assert "A rewrite must surely save 20.0%" in found.reason


def test_another_file_size_is_advised_if_it_saves_much_more(catalog: Catalog) -> None:
    """At the table's size there is one file, which saves nothing: advise left the table, and showed what would."""
    properties = {"read.split.open-file-cost": "1", "write.target-file-size-bytes": "300000"}
    table = made(catalog, grid(20_000), files=4, properties=properties)
    found = advise(table, workload(*QUERIES))
    pick = present(found.pick)
    sizes = {each.target_file_size_bytes: each.cost_per_query for each in found.file_sizes}
    assert pick.target_file_size_bytes == min(sizes, key=lambda each: sizes[each]) == 75_000
    assert pick == found.candidates[0]
    assert pick.cost_per_query < 0.8 * sizes[300_000]
    assert "'target-file-size-bytes', '75000'" in present(found.statement)
    assert "--option target-file-size-bytes=75000" in present(found.command)
    rewrite_data_files(table, pick.layout, options={"rewrite-all": True, "target-file-size-bytes": 75_000})
    assert len(list_files(table, head_of(table), FileFilter.from_where(table))) == pick.files
    asked = advise(table, workload(*QUERIES), options={"target-file-size-bytes": 300_000})
    assert all(each.target_file_size_bytes is None for each in asked.candidates)


def test_a_rewrite_by_the_tables_own_columns_is_due(catalog: Catalog) -> None:
    table = made(catalog, grid(20_000), files=4)
    options = {"target-file-size-bytes": 40_000, "rewrite-all": True}
    rewrite_data_files(table, "zorder(item, user)", options=options)
    asked = {"target-file-size-bytes": 40_000}
    found = advise(table, workload(*QUERIES), options=asked)
    assert (found.pick, [each for each in found.warnings if each.kind == "rewrite-due"]) == (None, [])
    for seed in range(2, 6):
        table.append(grid(20_000, seed))
    found = advise(table, workload(*QUERIES), options=asked)
    assert present(found.pick).layout == "zorder(item, user)"
    (due,) = (each for each in found.warnings if each.kind == "rewrite-due")
    assert (due.columns, due.statement) == (("item", "user"), None)
    assert "laid out by item, user, but many files do not follow it" in due.message
