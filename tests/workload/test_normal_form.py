"""A normal form is true of the same rows, is written as Spark SQL that is read back, and stays what it is."""

import math
import sqlite3
from datetime import date, datetime, timezone
from decimal import Decimal
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iceberg_zorder.rewrite import predicate as p
from iceberg_zorder.workload.filtered_columns import filtered_columns
from iceberg_zorder.workload.normal_form import normal_form
from iceberg_zorder.workload.predicate_text import predicate_text
from iceberg_zorder.workload.workload import KINDS
from tests.workload.truth import truth

SQLITE = sqlite3.connect(":memory:")
NAMES: tuple[p.Name, ...] = (("a",), ("b c",), ("s", "x"), ("date",))
numbers = st.integers(-2, 3).map(lambda content: p.Value("integer", content))
names = st.sampled_from(NAMES)
values = numbers | st.just(p.NULL)
leaves: st.SearchStrategy[p.Predicate] = st.one_of(
    st.sampled_from([p.TRUE, p.FALSE]),
    st.builds(p.Comparison, names, st.sampled_from(["=", "<>", "<", "<=", ">", ">="]), st.tuples(values)),
    st.builds(p.Comparison, names, st.just("<=>"), st.tuples(numbers)),
    st.builds(
        p.Comparison,
        names,
        st.sampled_from(["IN", "NOT IN"]),
        st.lists(values, min_size=1, max_size=4).map(tuple),
    ),
    st.builds(p.Comparison, names, st.sampled_from(["IS NULL", "IS NOT NULL"])),
)
predicates: st.SearchStrategy[p.Predicate] = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(p.And, st.lists(inner, min_size=1, max_size=3).map(tuple)),
        st.builds(p.Or, st.lists(inner, min_size=1, max_size=3).map(tuple)),
    ),
    max_leaves=12,
)


OPERANDS = st.sampled_from(["-1", "0", "1", "2", "NULL"])
tests = st.builds(
    str.format,
    st.sampled_from(
        [
            *("{0} = {1}", "{0} <> {1}", "{0} < {1}", "{1} <= {0}", "{0} > {1}", "{1} >= {0}", "TRUE", "FALSE", "NULL"),
            *("{0} IN ({1}, {2})", "{0} NOT IN ({1}, {2})", "{0} BETWEEN {1} AND {2}", "{0} NOT BETWEEN {1} AND {2}"),
            *("{0} IS DISTINCT FROM {1}", "{0} IS NOT DISTINCT FROM {1}", "{0} IS NULL", "{0} IS NOT NULL", "1 = 1"),
        ]
    ),
    st.sampled_from("ab"),
    OPERANDS,
    OPERANDS,
)
conditions = st.recursive(
    tests,
    lambda inner: st.builds("({} {} {})".format, inner, st.sampled_from(["AND", "OR", "AND NOT", "OR NOT"]), inner),
)


@given(conditions.map("NOT {}".format) | conditions)
def test_a_condition_is_true_of_the_same_rows_in_sqlite(text: str) -> None:
    predicate = p.parse_predicate(text)
    normal = normal_form(predicate)
    for a, b in product((None, -2, -1, 0, 1, 2, 3), repeat=2):
        (wanted,) = SQLITE.execute(f"SELECT ({text}) IS TRUE FROM (SELECT ? AS a, ? AS b)", (a, b)).fetchone()
        assert truth(predicate, {"a": a, "b": b}) == bool(wanted), (a, b)
        assert truth(normal, {"a": a, "b": b}) == bool(wanted), (a, b)


@given(predicates)
def test_it_is_read_back_and_stays(predicate: p.Predicate) -> None:
    found = normal_form(predicate)
    assert normal_form(found) == found
    assert normal_form(p.parse_predicate(predicate_text(found))) == found
    assert normal_form(p.parse_predicate(predicate_text(predicate))) == found
    assert set(filtered_columns(found).values()) <= set(KINDS)


@given(st.lists(predicates, min_size=2, max_size=3), st.randoms())
def test_the_order_of_parts_does_not_count(parts: list[p.Predicate], rng: Any) -> None:
    mixed = list(parts)
    rng.shuffle(mixed)
    assert normal_form(p.And(tuple(parts))) == normal_form(p.And(tuple(mixed)))
    assert normal_form(p.Or(tuple(parts))) == normal_form(p.Or(tuple(mixed)))


VALUES = (
    p.Value("string", 'it\'s ${x} \\ "quoted" \n ü😀'),
    p.Value("string", ""),
    p.Value("binary", b"\x00\xff"),
    p.Value("boolean", False),
    p.Value("integer", -(2**63)),
    p.Value("decimal", Decimal("-0.10")),
    p.Value("decimal", Decimal("1E-20")),
    p.Value("decimal", Decimal("12345678901234567890123456789.01234")),
    p.Value("double", 0.1),
    p.Value("double", 1e300),
    p.Value("double", -math.inf),
    p.Value("float", 0.10000000149011612),
    p.Value("date", date(1, 1, 1)),
    p.Value("timestamp", datetime(2024, 5, 17, 10, 30, 0, 120, tzinfo=timezone.utc)),
    p.Value("timestamp_ntz", datetime(2024, 5, 17)),
    p.NULL,
)


@pytest.mark.parametrize("value", VALUES, ids=str)
def test_values_are_read_back(value: p.Value) -> None:
    predicate = p.Comparison(("a",), "<", (value,))
    assert p.parse_predicate(predicate_text(predicate)) == predicate


@pytest.mark.parametrize("name", ["a", "select", "Timestamp", "a b", "a`b", "ä", "a.b", "1", "_x", "end"])
def test_names_are_read_back(name: str) -> None:
    for predicate in (
        p.Comparison((name,), "IS NULL"),
        p.Comparison(("s", name), "=", (p.Value("integer", 1),)),
        p.Comparison((name,), "LIKE", (p.Value("string", "x%_'\\"),)),
    ):
        assert p.parse_predicate(predicate_text(predicate)) == predicate


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("a = 1 AND a = 1.0", "a = 1 AND a = 1.0"),
        ("a <> 1 AND a <> 2 AND a NOT IN (2, 3)", "a NOT IN (1, 2, 3)"),
        ("a = 1 OR a = 2 OR a IN (2, 3) OR b = 1", "a IN (1, 2, 3) OR b = 1"),
        ("(a = 1 AND b = 2 AND c = 3) OR (c = 3 AND a = 1)", "a = 1 AND c = 3"),
        ("a IS NOT NULL AND (a = 1 OR a > 7)", "a = 1 OR a > 7"),
        ("a IS NOT NULL AND (a = 1 OR b > 7)", "a IS NOT NULL AND (a = 1 OR b > 7)"),
        ("NOT (a < 1 OR b IS NULL)", "a >= 1 AND b IS NOT NULL"),
        ("NOT isnan(a)", "NOT isnan(a)"),
        ("flag <> TRUE OR NOT flag", "flag = FALSE"),
        ("a = NULL OR a IN (NULL, 1)", "a = 1"),
        ("a NOT IN (1, NULL)", "FALSE"),
        ("a IN (NULL)", "FALSE"),
    ],
)
def test_forms(text: str, normal: str) -> None:
    assert predicate_text(normal_form(p.parse_predicate(text))) == normal
