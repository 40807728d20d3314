"""Columns that nobody names are chosen by the workload, and stay chosen."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from iceberg_zorder.spark import rewrite_data_files
from iceberg_zorder.spark.plan import describe_plan
from tests.spark.tables import CATALOG, Table, create, unchanged, untouched
from tests.spark.test_workload import workload

ROWS = (
    "SELECT id * 7919 % 20011 AS a, id * 104729 % 19997 AS b, named_struct('c d', id * 31337 % 10007) AS s, id AS e, "
    "repeat('x', 20) AS t FROM range(0, 4000, 1, 4)"
)
QUERIES = workload(
    ("a >= 0", 20.0),
    ("s.`c d` < 300 AND e >= 0", 9.0),
    ("b >= 500 AND b < 700", 5.0),
    ("t IS NULL", 3.0),
    ("b = 9000 OR s.`c d` > 9900", 1.0),
)


def planned(table: Table, columns: str | None = None, **options: Any) -> dict[str, Any]:
    named = {name.replace("_", "-"): value for name, value in options.items()}
    plan: dict[str, Any] = describe_plan(table.spark, table.full_name, columns, options=named)
    return plan


def aimed(table: Table) -> Table:
    """Have rewrites make eight files."""
    table.spark.sql(
        f"ALTER TABLE {table.full_name} SET TBLPROPERTIES ('write.target-file-size-bytes' = '{table.bytes() // 8}')"
    )
    return table


def test_what_spares_queries_most_is_chosen_and_stays(spark: SparkSession) -> None:
    table = aimed(create(spark, ROWS, properties={"zorder.workload": QUERIES, "zorder.options": "column-weights=a=2"}))
    with untouched(table):
        one = planned(table, workload_columns=1)
    assert one["sort_order"] == "zorder(s.`c d`)"
    assert one["workload"] == {"queries": 5, "before": None, "predicted": None, "chosen_columns": True}
    assert one["options"] == {"workload": QUERIES, "workload-columns": "1"}
    with unchanged(table):
        done = spark.sql(f"CALL {CATALOG}.system.rewrite_data_files(table => '{table.name}', strategy => 'zorder')")
        # What the queries do not gain by is left.
        assert done.collect()[0].added_data_files_count > 3
    assert table.summary()["zorder.columns"] == "s.`c d`,b"
    with untouched(table):
        again = rewrite_data_files(spark, table.full_name)
    assert "as a rewrite by the same request left them" in (again.message or "")
    # The queries ask for another column of that name from now on, which has no value yet.
    spark.sql(f"ALTER TABLE {table.full_name} RENAME COLUMN b TO old")
    spark.sql(f"ALTER TABLE {table.full_name} ADD COLUMN b BIGINT")
    assert planned(table)["sort_order"] == "zorder(s.`c d`)"


def test_columns_that_were_named_stay_under_their_names_of_today(spark: SparkSession) -> None:
    table = aimed(create(spark, ROWS))
    queries = workload(("b < 700", 5.0))
    with unchanged(table):
        table.call("e DESC, hilbert(b, a)", options={"workload": queries})
    spark.sql(f"ALTER TABLE {table.full_name} RENAME COLUMN a TO `a b`")
    kept = planned(table, workload=queries)
    assert (kept["sort_order"], kept["workload"]["chosen_columns"]) == ("e DESC NULLS LAST, zorder(b, `a b`)", True)
    spark.sql(f"ALTER TABLE {table.full_name} DROP COLUMN `a b`")
    assert planned(table, workload=queries)["sort_order"] == "zorder(b)"


def test_where_there_is_nothing_to_choose_it_is_told(spark: SparkSession) -> None:
    table = create(spark, ROWS)
    useless = workload(("TRUE", 9.0), ("a >= 0", 1.0))
    with untouched(table):
        result = rewrite_data_files(spark, table.full_name, options={"workload": useless})
        assert result.message == (
            f"Nothing to rewrite in {table.full_name}: by no column would the queries of the workload read less; name "
            "the columns to rewrite it anyway."
        )
        plan = planned(table, workload=useless)
        assert (plan["sort_order"], plan["file_groups"], plan["message"]) == (None, [], result.message)
        assert [each["data_files_count"] for each in plan["left"]] == [4]
        named = planned(table, "zorder(a)", workload=useless, workload_columns=12)
        assert (named["sort_order"], named["workload"]["chosen_columns"]) == ("zorder(a)", False)
        for options, why in (
            ({}, "no columns are named, .*, and it has no property zorder.columns and no workload to choose them by"),
            ({"workload": workload(("TRUE", 1.0))}, "filter by none that files could be skipped by"),
            ({"workload": QUERIES, "workload-columns": "13"}, r"'13', because it must be an integer in \[1, 12\]"),
        ):
            with pytest.raises(Exception, match=f"Cannot .*{why}"):
                rewrite_data_files(spark, table.full_name, options=options)
        nothing = create(spark, f"{ROWS} WHERE id < 0")
        assert planned(nothing, workload=QUERIES)["message"].endswith("the table has no data file.")
