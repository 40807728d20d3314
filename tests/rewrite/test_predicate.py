"""What conditions of Spark SQL say, without a table."""

from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

import pytest

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.rewrite import predicate as p

A = ("a",)
ONE, TWO, TRUE = p.Value("integer", 1), p.Value("integer", 2), p.Value("boolean", True)


def is_(operator: str, *values: p.Value) -> p.Comparison:
    return p.Comparison(A, operator, values)


@pytest.mark.parametrize(
    ("text", "predicate"),
    [
        ("a = 1", is_("=", ONE)),
        ("1 < a", is_(">", ONE)),
        ("(a) != (1)", is_("<>", ONE)),
        ("a = NULL", is_("=", p.NULL)),
        ("a <=> NULL", is_("IS NULL")),
        ("NOT (NULL <=> a)", is_("IS NOT NULL")),
        ("a IS NOT DISTINCT FROM 1", is_("<=>", ONE)),
        ("a IS DISTINCT FROM 1", p.Or((is_("IS NULL"), is_("<>", ONE)))),
        ("NOT (a IS DISTINCT FROM 1)", is_("<=>", ONE)),
        ("a BETWEEN 1 AND 2", p.And((is_(">=", ONE), is_("<=", TWO)))),
        ("NOT (1 > a)", is_(">=", ONE)),
        ("a NOT BETWEEN 1 AND 2", p.Or((is_("<", ONE), is_(">", TWO)))),
        ("a NOT IN (1, NULL)", is_("NOT IN", ONE, p.NULL)),
        ("a LIKE 'x%'", is_("LIKE", p.Value("string", "x"))),
        ("a NOT LIKE 'x%'", is_("NOT LIKE", p.Value("string", "x"))),
        ("a NOT LIKE 'x'", is_("<>", p.Value("string", "x"))),
        ("NOT (a NOT LIKE 'x')", is_("=", p.Value("string", "x"))),
        ("startswith(a, 'x_')", is_("LIKE", p.Value("string", "x_"))),
        ("startswith(a, '')", is_("IS NOT NULL")),
        ("a IS NULL", is_("IS NULL")),
        ("isnotnull(a)", is_("IS NOT NULL")),
        ("NOT isnan(a)", is_("NOT isnan")),
        ("a", is_("=", TRUE)),
        ("NOT a AND a IS TRUE", p.And((is_("<>", TRUE), is_("<=>", TRUE)))),
        ("a IS NOT TRUE", p.Or((is_("IS NULL"), is_("<>", TRUE)))),
        ("1 = 1", p.TRUE),
        ("NOT (1 = 1)", p.FALSE),
        ("FALSE", p.FALSE),
        ("NULL", p.FALSE),
        ("NOT NULL", p.FALSE),
        ("`a.b`.`c``d`.e.f.g.h = 1 -- why", p.Comparison(("a.b", "c`d", "e", "f", "g", "h"), "=", (ONE,))),
        ("a = 1 OR a = 1 AND a = 1", p.Or((is_("=", ONE), p.And((is_("=", ONE),) * 2)))),
        ("NOT (a = 1 AND (a = 1 OR a = 2))", p.Or((is_("<>", ONE), p.And((is_("<>", ONE), is_("<>", TWO)))))),
    ],
)
def test_conditions(text: str, predicate: p.Predicate) -> None:
    assert p.parse_predicate(text) == predicate


def test_a_thousand_alternatives() -> None:
    found = p.parse_predicate(" OR ".join(f"a = {number}" for number in range(1000)))
    assert isinstance(found, p.Or)
    assert len(found.predicates) == 1000


UTC = timezone.utc


@pytest.mark.parametrize(
    ("text", "kind", "content"),
    [
        ("-5", "integer", -5),
        ("5L", "integer", 5),
        ("1.50", "decimal", Decimal("1.50")),
        ("-1.5BD", "decimal", Decimal("-1.5")),
        ("12345678901234567890123456789.0123456789", "decimal", Decimal("12345678901234567890123456789.0123456789")),
        ("1e3", "double", 1000.0),
        ("1.5D", "double", 1.5),
        ("0.1F", "float", 0.10000000149011612),
        ("double('-Infinity')", "double", float("-inf")),
        ("TRUE", "boolean", True),
        (r"'it\'s \n \\'", "string", "it's \n \\"),
        ('"x"', "string", "x"),
        ("X'0aFF'", "binary", b"\x0a\xff"),
        ("CAST('x' AS BINARY)", "binary", b"x"),
        ("DATE '2026-1-5'", "date", date(2026, 1, 5)),
        ("date('2026-01')", "date", date(2026, 1, 1)),
        ("TIMESTAMP '2026-01-05'", "timestamp", datetime(2026, 1, 5, tzinfo=UTC)),
        ("TIMESTAMP '2026-01-05 10:00:00.123456+05:30'", "timestamp", datetime(2026, 1, 5, 4, 30, 0, 123456, UTC)),
        ("TIMESTAMP '2026-07-05T10:00 Europe/Berlin'", "timestamp", datetime(2026, 7, 5, 8, tzinfo=UTC)),
        ("TIMESTAMP_NTZ '2026-01-05 10:00:00'", "timestamp_ntz", datetime(2026, 1, 5, 10)),
        ("CAST('2026-01-05 10:00:00' AS TIMESTAMP)", "timestamp", datetime(2026, 1, 5, 10, tzinfo=UTC)),
        ("CAST(DATE '2026-01-05' AS TIMESTAMP_NTZ)", "timestamp_ntz", datetime(2026, 1, 5)),
        ("CAST('1.5' AS DECIMAL(5, 2))", "decimal", Decimal("1.5")),
        ("CAST(NULL AS INT)", "null", None),
    ],
)
def test_values(text: str, kind: str, content: Any) -> None:
    assert p.parse_predicate(f"a = {text}") == is_("=", p.Value(kind, content))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "No expression was parsed"),
        ("a >>> 1", "an operand of BitwiseRightShift is missing"),
        ("a = 1 AND", "an operand of And is missing"),
        ("a = 'x", "Error tokenizing"),
        ("a = 1 b", "is not supported: compare"),
        ("a = 1; DROP TABLE t", "is not supported: compare"),
        ("upper(a) = 'X'", "UPPER(a) is neither a column nor a value"),
        ("a + 1 = 2", "a + 1 is neither a column nor a value"),
        ("a = b", "compares two columns"),
        ("'a' = 'b'", "a name is quoted in backticks"),
        ("a IN (SELECT 1)", "is not supported: compare"),
        ("a LIKE '%x'", "LIKE '%x' is not a prefix such as LIKE 'x%'"),
        ("a LIKE 'x_%'", "LIKE 'x_%' is not a prefix"),
        ("a LIKE '%'", "LIKE '%' is not a prefix"),
        ("a RLIKE 'x'", "is not supported: compare"),
        ("a = DATE '2026-02-30'", "'2026-02-30' is not a value of type date"),
        ("a = TIMESTAMP 'yesterday'", "'yesterday' is not a value of type timestamp"),
        ("a = TIMESTAMP_NTZ '2026-01-01 10:00:00Z'", "is not a value of type timestamp_ntz"),
        ("a = TIMESTAMP '2026-01-01 10:00:00 Nowhere/City'", "is not a value of type timestamp"),
        ("a = CAST(300 AS TINYINT)", "300 is not a value of type tinyint"),
        ("a = CAST(1.5 AS INT)", "1.5 is not a value of type int"),
        ("a = 'it''s'", "write a quote inside a text"),
        ("a = 1e", "'1e' is not a number"),
        ("a = current_date()", "is neither a column nor a value"),
        ("a = " + "f(" * 40 + "1" + ")" * 40, "..."),
    ],
)
def test_refusals_are_short_and_name_what_is_wrong(text: str, said: str) -> None:
    with pytest.raises(InvalidInputError) as raised:
        p.parse_predicate(text)
    assert said in str(raised.value)
    assert len(str(raised.value)) < 350
    assert "\x1b" not in str(raised.value)
