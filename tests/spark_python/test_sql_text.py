"""Literals and names are read back by Spark's own parser."""

import re

import pytest
from pyspark.sql import SparkSession

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.layout.columns import quoted_identifier
from iceberg_zorder.rewrite.options import name_parts
from iceberg_zorder.spark.call import string_literal
from tests.spark.tables import settings

TEXTS = [
    "",
    "plain",
    "it's",
    "''",
    'say "x"',
    "back\\slash",
    "end\\",
    "\\'",
    "\\n is no new line",
    "two\nlines\tand a tab\r",
    "100\\% of a\\_b",
    "\\u0041 \\101",
    "${env:HOME} and ${spark.app.name}",
    "$\\{x}",
    "`ticks` -- /* no comment */ ; :name ?",
    "größer ≥ 🧊",
]


@pytest.mark.parametrize("escaped", [False, True])
def test_literals_mean_the_text(spark: SparkSession, escaped: bool) -> None:
    with settings(spark, {"spark.sql.parser.escapedStringLiterals": str(escaped).lower()}):
        expressions = ", ".join(string_literal(text, escaped_string_literals=escaped) for text in TEXTS)
        assert list(spark.sql(f"SELECT {expressions}").collect()[0]) == TEXTS


@pytest.mark.parametrize("part", ["a", "a b", "a`b", "a.b", "select", "größe"])
def test_identifiers_name_the_part(spark: SparkSession, part: str) -> None:
    assert spark.sql(f"SELECT 1 AS {quoted_identifier(part)}").columns == [part]


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("db.t", ["db", "t"]),
        ("lake.a.b.t", ["lake", "a", "b", "t"]),
        ("`my lake`.`d.b`.`t``x`", ["my lake", "d.b", "t`x"]),
        (" db . t ", ["db", "t"]),
        ("db.my-table", ["db", "my-table"]),
    ],
)
def test_name_parts(name: str, parts: list[str]) -> None:
    assert name_parts(name) == parts


@pytest.mark.parametrize("name", ["", ".", "db.", ".t", "db..t", "`db", "db.`t", "a b", "db.t'", "f(x)", "a,b", "``"])
def test_what_is_no_name(name: str) -> None:
    with pytest.raises(InvalidInputError, match=f"Cannot read the name '{re.escape(name)}', because "):
        name_parts(name)
