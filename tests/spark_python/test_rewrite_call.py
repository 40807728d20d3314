"""What is checked before anything is sent, and the statements that are sent."""

from typing import Any, cast

import pytest
from pyspark.sql import SparkSession

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.rewrite.options import option_text, sort_order_text
from iceberg_zorder.spark import rewrite_data_files
from iceberg_zorder.spark.rewrite import checked_call, rewrite_statement

# No attribute of it can be used: nothing must be sent.
NO_SESSION = cast(SparkSession, object())


def test_all_arguments_in_order() -> None:
    call = checked_call(
        "lake.db.t",
        ["a", "n.`x y`"],
        where="s = 'it'",
        options={"rewrite-all": True, "sample-seed": -1, "cuts": "even"},
        branch="audit",
    )
    assert rewrite_statement(call, "lake") == (
        "CALL `lake`.system.zorder_rewrite(table => 'lake.db.t', "
        "sort_order => 'zorder(`a`, `n`.`x y`)', where => 's = \\'it\\'', "
        "options => map('rewrite-all', 'true', 'sample-seed', '-1', 'cuts', 'even'), branch => 'audit')"
    )


def test_options_arrive_in_sessions_whose_literals_have_no_escapes() -> None:
    call = checked_call("t", ["a"], options={"workload": '{"f": "a\\b"}'})
    sent = rewrite_statement(call, "lake", escaped_string_literals=True)
    assert """map('workload', concat('{"f": "a', chr(92), 'b"}'))""" in sent


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ("a,", "Cannot parse sort_order 'a,', because a column is expected and the end is found at position 2"),
        ([], "Cannot rewrite db.t, because columns is empty: name the columns to cluster by"),
        (["a", 1], "Cannot rewrite db.t, because columns holds 1: pass names as text"),
        (
            ["a,b"],
            "Cannot rewrite db.t, because 'a,b' is not the name of one column: "
            "pass one name per item, a part with special characters in backticks",
        ),
        (
            ["zorder(a)"],
            "Cannot rewrite db.t, because 'zorder(a)' is not the name of one column: "
            "pass one name per item, a part with special characters in backticks",
        ),
    ],
)
def test_malformed_columns(columns: Any, message: str) -> None:
    with pytest.raises(InvalidInputError) as raised:
        rewrite_data_files(NO_SESSION, "db.t", columns)
    assert str(raised.value) == message


def test_names_of_columns_are_taken_literally() -> None:
    assert sort_order_text("t", ("`a,b`", "c.`d``e`", "größe")) == "zorder(`a,b`, `c`.`d``e`, `größe`)"


@pytest.mark.parametrize(
    ("value", "text"),
    [(True, "true"), (False, "false"), (7, "7"), (0.3, "0.3"), (512e6, "512000000"), ("x y", "x y"), ("", "")],
)
def test_option_values(value: Any, text: str) -> None:
    assert option_text("o", value) == text


@pytest.mark.parametrize("value", [None, float("nan"), float("inf"), b"x", ["a"]])
def test_malformed_option_values(value: Any) -> None:
    with pytest.raises(InvalidInputError, match="^Cannot set rewrite-all to .*, because it must be text, a finite"):
        rewrite_data_files(NO_SESSION, "db.t", ["a"], options={"rewrite-all": value})


def test_malformed_option_name() -> None:
    with pytest.raises(InvalidInputError, match="^Cannot set the option 1, because"):
        rewrite_data_files(NO_SESSION, "db.t", ["a"], options=cast(Any, {1: "x"}))
