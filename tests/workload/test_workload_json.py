"""The JSON of workloads: read back as it was written, and refused where it is wrong."""

import json
import math
from typing import Any

import pytest

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.workload.summary import summary
from iceberg_zorder.workload.workload import ColumnsOnly, Gathered, NotUnderstood, Query, ScanFilter, Workload
from iceberg_zorder.workload.workload_json import from_json, to_json

WORKLOAD = Workload.of(
    [Query("a = 1", 2.0), Query("TRUE", 2.0, 1.5), Query("`ä b` LIKE 'x%'", 0.25), Query("a = 1", 1.0)],
    [ColumnsOnly((("a", "="), ("s.`x y`", "range")), 40.0), ColumnsOnly((("a", "in"),), 1.0, "b > 1")],
    [NotUnderstood("part", "upper(a) = 'X'", "UPPER(a) is neither a column nor a value", 1.5)],
    3.0,
)


def test_it_is_read_back() -> None:
    text = to_json(WORKLOAD)
    assert from_json(text, "w.json") == WORKLOAD
    assert to_json(from_json(text, "w.json")) == text
    assert json.loads(text)["queries"][0] == {"filter": "a = 1", "weight": 3.0}
    assert "ä b" in text


def test_equal_ones_are_counted_together_whatever_their_order() -> None:
    parts = [
        Query("a = 1", 0.1),
        Query("b = 1", 1.0, 1.0),
        Query("a = 1", 0.2),
        Query("a = 1", 0.3),
        Query("b = 1", 2.0),
    ]
    found = Workload.of(parts)
    assert found == Workload.of(reversed(parts))
    assert [(each.filter, each.weight, each.weaker) for each in found.queries] == [
        ("b = 1", 3.0, 1.0),
        ("a = 1", 0.6, 0.0),
    ]
    assert found.joined(found).weight == pytest.approx(7.2)
    assert WORKLOAD.weight == 46.25
    by_hand = '{"version": 1, "queries": [{"filter": "a = 1", "weight": 1}, {"filter": " a = 1 ", "weight": 2}]}'
    assert from_json(by_hand, "w.json").queries == (Query("a = 1", 3.0),)


def test_what_is_gathered_is_counted_once() -> None:
    gathered = Gathered()
    gathered.add(ScanFilter("a = 1", lost=(("t.a = u.b", "why"), ("t.a = u.b", "why"))), 1.0)
    gathered.add(ScanFilter("a = 1"), 2.0)
    gathered.add(ScanFilter("TRUE", {"b": "=", "a": "range"}), 3.0)
    gathered.miss("statement", "x" * 2_000, "why", 1.0)
    found = gathered.workload()
    assert found.queries == (Query("a = 1", 3.0, 1.0),)
    assert found.columns_only == (ColumnsOnly((("a", "range"), ("b", "=")), 3.0),)
    assert [(each.weight, len(each.text)) for each in found.not_understood] == [(1.0, 9), (1.0, 500)]


def test_a_summary_tells_how_columns_are_filtered() -> None:
    found = summary(WORKLOAD)
    assert (found["scans"], found["full_scans"], found["understood"], found["partly_understood"]) == (
        46.25,
        2,
        3.75,
        1.5,
    )
    assert (found["columns_only_scans"], found["statements_elsewhere"], found["statements_not_understood"]) == (
        41,
        3,
        0,
    )
    assert found["columns"][0] == {"name": "a", "weight": 44.0, "how": {"=": 43.0, "in": 1.0}}
    assert [each["name"] for each in found["columns"]] == ["a", "s.`x y`", "b", "`ä b`"]
    assert found["not_understood"][0]["reason"].startswith("UPPER")


def with_query(**changed: Any) -> dict[str, Any]:
    return {"version": 1, "queries": [{"filter": "a = 1", "weight": 1.0, **changed}]}


@pytest.mark.parametrize(
    ("document", "why"),
    [
        ([], "it should be a valid dictionary"),
        ({"version": 1}, "queries: Field required"),
        ({"version": 2, "queries": []}, "version: it should be "),
        ({"version": 1, "queries": [], "querys": []}, "querys: Extra inputs are not permitted"),
        ({"version": 1, "queries": [1]}, "queries[0]: it should be a valid dictionary"),
        (with_query(filter=3), "queries[0].filter: it should be a valid string"),
        (
            with_query(filter="upper(a) = 'X'"),
            "queries[0].filter: it cannot be used: UPPER(a) is neither a column nor a value",
        ),
        (with_query(weight=-1), "queries[0].weight: it should be greater than or equal to 0"),
        (with_query(weight=math.nan), "queries[0].weight: it should be a finite number"),
        (with_query(weight=True), "queries[0].weight: it should be a valid number"),
        (with_query(weaker=2), "queries[0]: weaker is more than weight"),
        (
            {**with_query(), "columns-only": [{"columns": {"a": "?"}, "weight": 1}]},
            "columns-only[0].columns.a: it should be '=', ",
        ),
        (
            {**with_query(), "not-understood": [{"text": 1, "reason": "", "weight": 1}]},
            "not-understood[0].text: it should be a valid string",
        ),
        ({**with_query(), "elsewhere": -1}, "elsewhere: it should be greater than or equal to 0"),
        ({"version": 1, "queries": [{"filter": "a = 1", "weight": 1e308}] * 2}, "its weights add up to infinity"),
    ],
)
def test_what_is_wrong_is_refused(document: Any, why: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        from_json(json.dumps(document), "w.json")
    assert str(refused.value).startswith(f"Cannot read workload w.json, because {why}")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it is not valid JSON"),
        ('{"version": 1', "it is not valid JSON"),
        ('{"version": 1, "version": 1, "queries": []}', "key version appears twice in an object"),
        ("[" * 100_000, "it is not valid JSON"),
    ],
)
def test_what_is_no_json_is_refused(text: str, why: str) -> None:
    with pytest.raises(InvalidInputError, match=f"Cannot read workload w.json, because {why}"):
        from_json(text, "w.json")
