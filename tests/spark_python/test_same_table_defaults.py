"""Both engines complete a call by the same that a table remembers, and refuse the same."""

from collections.abc import Iterator
from typing import Any

import pytest
from pyiceberg.catalog import Catalog
from pyspark.sql import SparkSession

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.pyiceberg import plan_rewrite
from iceberg_zorder.spark.rewrite import describe_plan
from tests.spark.tables import CATALOG

TABLE = f"{CATALOG}.db.same_defaults"


class Engines:
    """Plans of both engines of a table, whose properties Spark sets."""

    def __init__(self, spark: SparkSession, catalog: Catalog) -> None:
        self._spark = spark
        self._catalog = catalog

    def remember(self, **properties: str) -> None:
        texts = ", ".join(f"'zorder.{name}' = '{value}'" for name, value in properties.items())
        self._spark.sql(f"ALTER TABLE {TABLE} UNSET TBLPROPERTIES IF EXISTS ('zorder.columns', 'zorder.options')")
        self._spark.sql(f"ALTER TABLE {TABLE} SET TBLPROPERTIES ({texts})")

    def plan(self, by: str | None = None, **options: str) -> dict[str, Any]:
        """Plan by both engines, and hold them to the same."""
        given = {name.replace("_", "-"): value for name, value in options.items()}
        on_spark = describe_plan(self._spark, TABLE, by, options=given)
        without = plan_rewrite(self._catalog.load_table("db.same_defaults"), by, options=given).to_dict()
        on_spark["planned_at_ms"] = without["planned_at_ms"]
        assert on_spark == without
        return without

    def refusal(self, by: str | None = None) -> str:
        """Have both engines refuse, and hold them to the same words."""
        with pytest.raises(InvalidInputError) as on_spark:
            describe_plan(self._spark, TABLE, by)
        with pytest.raises(InvalidInputError) as without:
            plan_rewrite(self._catalog.load_table("db.same_defaults"), by)
        assert str(on_spark.value) == str(without.value)
        return str(on_spark.value)


@pytest.fixture
def engines(spark: SparkSession, catalog: Catalog) -> Iterator[Engines]:
    spark.sql(f"CREATE TABLE {TABLE} (a BIGINT, b BIGINT, n STRUCT<x: INT>) USING iceberg")
    spark.sql(f"INSERT INTO {TABLE} SELECT id, -id, named_struct('x', CAST(id AS INT)) FROM range(0, 100, 1, 1)")
    yield Engines(spark, catalog)
    spark.sql(f"DROP TABLE {TABLE}")


def test_weights_of_other_columns_are_not_taken(engines: Engines) -> None:
    engines.remember(columns="a, n.x", options="rewrite-all=true; column-weights=A=2,n.X=1")
    weighted = {"rewrite-all": "true", "column-weights": "A=2,n.X=1"}
    assert engines.plan()["options"] == weighted
    assert engines.plan("zorder(N.x, b, a)")["options"] == weighted
    assert engines.plan("b")["options"] == engines.plan("n.x, zorder(a)")["options"] == {"rewrite-all": "true"}
    assert engines.plan("b", column_weights="b=3")["options"] == {"rewrite-all": "true", "column-weights": "b=3"}
    engines.remember(columns="a", options="column-weights=a:2")
    assert "Cannot set column-weights to 'a:2'" in engines.refusal("b")


def test_what_no_table_may_remember_is_refused(engines: Engines) -> None:
    for options, why in (
        ("cuts=even; dry-run = true", "'dry-run = true' is for a single call: no later call would write anything"),
        ("cuts=even; cuts=odd", "'cuts=odd' sets an option twice"),
        ("cuts=even; cuts", "'cuts' is not of the form name=value"),
        ("=even", "'=even' is not of the form name=value"),
    ):
        engines.remember(columns="a", options=options)
        assert engines.refusal("b") == f"Cannot use property zorder.options = '{options}' of {TABLE}, because {why}"


def test_a_column_that_is_not_there_any_more_is_told(engines: Engines, spark: SparkSession) -> None:
    engines.remember(columns="a, zorder(n.x)")
    spark.sql(f"ALTER TABLE {TABLE} RENAME COLUMN n.x TO y")
    assert engines.refusal() == (
        f"Cannot cluster by column 'n.x', because {TABLE} has no such column: it has y. The table's property "
        "zorder.columns = 'a, zorder(n.x)' names it: change it, or name the columns"
    )
    assert engines.plan("n.y")["sort_order"] == "n.y"
