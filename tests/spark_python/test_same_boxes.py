"""Conditions of queries become the same boxes over keys in both engines."""

import base64
import json
import random
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.table import Table
from pyspark.sql import SparkSession

from iceberg_zorder.pyiceberg.listing.listing import scanned_table
from iceberg_zorder.rewrite.predicate import parse_predicate
from iceberg_zorder.workload.boxes import Edge, boxes_of
from tests.spark.tables import CATALOG
from tests.spark_python.where import create

NAME = "db.boxes_of_conditions"


def listed(values: range, column: str = "l") -> str:
    return f"{column} IN ({', '.join(map(str, values))})"


def either(values: range, column: str = "l") -> str:
    return " OR ".join(f"{column} = {value}" for value in values)


CONDITIONS = [
    "TRUE",
    "1 = 1",
    "l > 1 AND l < 2",
    "l IN (1, NULL)",
    "l NOT IN (1, NULL)",
    "NOT (l <=> 1)",
    "NOT (1 <=> l OR s <=> 'b')",
    "l <> 1 OR s = 'a'",
    "l <> 1 AND l <> 7 AND i <> 3",
    "l NOT IN (1, 2) OR s NOT LIKE 'x%'",
    "isnan(d) OR i = 3",
    "NOT isnan(d) OR i = 3",
    "NOT isnan(d)",
    "d <> 1.5",
    "d = double('NaN')",
    "d IN (0.0, 2.5)",
    "NOT flag",
    "flag IS NOT TRUE",
    "flag <=> FALSE",
    "flag <> TRUE OR l = 1",
    "n > 1.005 AND n <= 7",
    "n = 1.005",
    "big < 12345678901234567890.5",
    "big = 1 OR big > 3",
    "s LIKE 'a%' AND s NOT LIKE 'ab%' AND s NOT LIKE 'ad%'",
    "s LIKE '\u00e9%' OR s > '\U0001f600'",
    "s IS NULL OR s = ''",
    "b = X'00' OR b >= X'FF00'",
    "x4 = X'00000001'",
    "day = '2024-02-28' OR day > TIMESTAMP '2024-03-01 10:00:00'",
    "at >= TIMESTAMP '2024-02-28 22:00:00Z' AND wall < TIMESTAMP_NTZ '2024-02-29 00:00:00.000001'",
    "st.x = 1 AND st.`a b` LIKE 'c%'",
    "st.x IS NOT NULL AND L = 4",
    "(l = 1 AND i = 2) OR (l = 1 AND i = 3)",
    "(l BETWEEN 3 AND 5 OR i IS NULL) AND NOT (d > 1.5 AND s = 'b')",
    listed(range(64)),
    listed(range(0, 400, 3)),
    listed(range(200)),
    listed(range(201)),
    f"NOT {listed(range(20))}",
    f"NOT {listed(range(21))}",
    either(range(12)),
    either(range(201)),
    f"({either(range(3))} OR {listed(range(5, 90))}) AND i > 3",
    f"{listed(range(0, 20, 2))} AND {listed(range(0, 30, 3), 'i')}",
    f"NOT {listed(range(0, 20, 2))} AND NOT {listed(range(0, 30, 3), 'i')} AND s IN ('a', 'b', 'c')",
    " AND ".join(f"l <> {value}" for value in range(12)) + " AND NOT " + listed(range(20, 28)),
    f"({listed(range(0, 90, 2))} AND i = 3) OR ({listed(range(1, 90, 2))} AND s = 'x') OR d > 3.5",
]


@pytest.fixture(scope="module")
def table(catalog: Catalog) -> Iterator[Table]:
    yield create(catalog, NAME, PartitionSpec(), random.Random(1), 1)
    catalog.drop_table(NAME)


Boxes = list[tuple[tuple[str, Edge, Edge], ...]]


def in_python(table: Table, texts: Sequence[str]) -> dict[str, Boxes]:
    types = scanned_table(table, table.name()).columns
    return {
        text: [
            tuple((f"[{', '.join(name)}]", each.start, each.stop) for name, each in box.ranges)
            for box in boxes_of(parse_predicate(text), types)
        ]
        for text in texts
    }


def in_java(spark: SparkSession, table: Table, texts: Sequence[str]) -> dict[str, Boxes]:
    """As Jackson writes them: a call of Java for each edge takes half a minute."""
    jvm: Any = spark.sparkContext._jvm
    session, name = spark._jsparkSession, f"{CATALOG}.{'.'.join(table.name())}"
    schema = jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(session, name).schema()
    expression = jvm.io.icebergzorder.spark.internals.SparkInternals.icebergExpression
    boxes, mapper = (
        jvm.io.icebergzorder.spark.spec.ConditionBoxes.of,
        jvm.com.fasterxml.jackson.databind.ObjectMapper(),
    )
    return {
        text: [
            tuple((name, edge(keys["start"]), edge(keys["stop"])) for name, keys in box["ranges"].items())
            for box in json.loads(mapper.writeValueAsString(boxes(schema, expression(session, name, text), False)))
        ]
        for text in texts
    }


def edge(java: dict[str, Any]) -> Edge:
    key = java["number"] if java["bytes"] is None else base64.b64decode(java["bytes"])
    return (java["state"],) if key is None else (java["state"], key)


def test_boxes_are_the_same(spark: SparkSession, table: Table) -> None:
    assert in_java(spark, table, CONDITIONS) == in_python(table, CONDITIONS)
