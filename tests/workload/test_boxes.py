"""Boxes hold every row for which a condition is true, and no other where nothing had to be left out."""

import math
import random
import struct
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.layout.columns import ClusteringColumn
from iceberg_zorder.layout.fit import LayoutRequest, fit
from iceberg_zorder.layout.keys import NULL, VALUE, KeyColumn, encode
from iceberg_zorder.layout.sample import Sample
from iceberg_zorder.rewrite import predicate as p
from iceberg_zorder.workload.boxes import NOT_NULL, Box, Edge, boxes_of, position_boxes
from tests.workload.truth import truth

UTC = timezone.utc


def double(bits: int) -> float:
    found: float = struct.unpack("<d", struct.pack("<Q", bits))[0]
    return found


# Of each type: how Arrow and conditions call it, and values that are hard to put in order.
COLUMNS: dict[str, tuple[str, pa.DataType, str, list[Any]]] = {
    "flag": ("boolean", pa.bool_(), "boolean", [True, False]),
    "small": ("int", pa.int32(), "integer", [-(2**31), 2**31 - 1, -1, 0, 1, 5]),
    "big": ("long", pa.int64(), "integer", [-(2**63), 2**63 - 1, 0, -1, 2**53, 2**53 + 1]),
    "real": (
        "double",
        pa.float64(),
        "double",
        [0.0, -0.0, 1.5, -1.5, math.inf, -math.inf, math.nan, double(1), 5e-324, 1.7e308, -1.7e308],
    ),
    "single": ("float", pa.float32(), "float", [0.0, -0.0, 0.5, math.inf, -math.inf, math.nan, 0.10000000149011612]),
    "price": (
        "decimal(9, 2)",
        pa.decimal128(9, 2),
        "decimal",
        [Decimal(each) for each in ("-0.01", "0", "9999999.99")],
    ),
    "huge": (
        "decimal(38, 3)",
        pa.decimal128(38, 3),
        "decimal",
        [Decimal(each) for each in (f"{'9' * 35}.999", f"-{'9' * 35}.999", "0", "-0.001", "1.000")],
    ),
    "day": ("date", pa.date32(), "date", [date(1, 1, 1), date(9999, 12, 31), date(1970, 1, 1), date(1969, 12, 31)]),
    "at": (
        "timestamptz",
        pa.timestamp("us", "UTC"),
        "timestamp",
        [
            datetime(1969, 12, 31, 23, 59, 59, 999999, UTC),
            datetime(2024, 2, 29, tzinfo=UTC),
            datetime(1, 1, 1, tzinfo=UTC),
        ],
    ),
    "local": (
        "timestamp",
        pa.timestamp("us"),
        "timestamp_ntz",
        [datetime(9999, 12, 31, 23, 59, 59, 999999), datetime(1970, 1, 1)],
    ),
    "text": (
        "string",
        pa.string(),
        "string",
        ["", "a", "a\0", "ab", "b", "\ue000", "\uffff", "😀", "\U0010ffff", "é" * 20],
    ),
    "raw": ("binary", pa.binary(), "binary", [b"", b"\0", b"\xff", b"\xff\xff", b"a", b"a\0"]),
}
TYPES: dict[p.Name, str] = {(name,): kind for name, (kind, _, _, _) in COLUMNS.items()}
OPERATORS = ("=", "<>", "<", "<=", ">", ">=", "<=>")


def between(kind: str, one: Any, other: Any, chance: random.Random) -> Any:
    """A value between two others, which rows may not have."""
    if kind in ("integer", "decimal", "double", "float") and all(math.isfinite(each) for each in (one, other)):
        with localcontext() as context:
            context.prec = 60
            middle = (Decimal(one) + Decimal(other)) / 2
        return (
            int(middle)
            if kind == "integer"
            else middle.quantize(Decimal("0.01"))
            if kind == "decimal" and abs(middle) < 10**9
            else one
        )
    if kind == "date":
        return one + timedelta(days=chance.choice((1, -1))) if date(2, 1, 1) < one < date(9998, 1, 1) else one
    return one + chance.choice(("", "a", "\0")) if kind == "string" else one


def value(name: str, chance: random.Random) -> p.Value:
    _, _, kind, values = COLUMNS[name]
    content = (
        between(kind, chance.choice(values), chance.choice(values), chance)
        if chance.random() < 0.3
        else chance.choice(values)
    )
    return p.Value(kind, content)


def part(chance: random.Random, depth: int) -> p.Predicate:
    if depth and chance.random() < 0.6:
        parts = tuple(part(chance, depth - 1) for _ in range(chance.randint(2, 3)))
        return chance.choice((p.And, p.Or))(parts)
    name = chance.choice(list(COLUMNS))
    how = chance.random()
    if how < 0.6:
        return p.Comparison((name,), chance.choice(OPERATORS), (value(name, chance),))
    if how < 0.75:
        values = tuple(value(name, chance) for _ in range(chance.randint(1, 4)))
        return p.Comparison((name,), chance.choice(("IN", "NOT IN")), values)
    if how < 0.85:
        prefix = p.Value("string", chance.choice(("a", "\ue000", "😀", "\U0010ffff", "é")))
        return p.Comparison(("text",), chance.choice(("LIKE", "NOT LIKE")), (prefix,))
    if how < 0.9:
        return p.Comparison(("real",), chance.choice(("isnan", "NOT isnan")))
    is_null = p.Comparison((name,), chance.choice(("IS NULL", "IS NOT NULL")))
    return is_null if how < 0.98 else chance.choice((p.TRUE, p.FALSE))


def rows_of(chance: random.Random, count: int) -> list[dict[str, Any]]:
    return [
        {name: None if chance.random() < 0.1 else chance.choice(values) for name, (_, _, _, values) in COLUMNS.items()}
        for _ in range(count)
    ]


def keys_of(rows: list[dict[str, Any]]) -> dict[str, KeyColumn]:
    return {
        name: encode(pa.array([row[name] for row in rows], arrow), kind)
        for name, (kind, arrow, _, _) in COLUMNS.items()
    }


def edge(keys: KeyColumn, row: int) -> Edge:
    """Where a row stands in a column."""
    state = int(keys.states[row])
    if state != VALUE:
        return (state,)
    return VALUE, int(keys.keys[row]) if isinstance(keys.keys, np.ndarray) else keys.keys[row].as_py()


def holds(box: Box, keys: dict[str, KeyColumn], row: int) -> bool:
    return all(each.start <= edge(keys[name[0]], row) < each.stop for name, each in box.ranges)


@pytest.mark.parametrize("seed", range(3))
def test_boxes_hold_the_rows_of_a_condition_and_no_others(seed: int) -> None:
    chance = random.Random(seed)
    rows = rows_of(chance, 150)
    keys = keys_of(rows)
    seen = {True: 0, False: 0}
    for _ in range(60):
        predicate = part(chance, 2)
        boxes = boxes_of(predicate, TYPES, most=10**6)
        fewer = boxes_of(predicate, TYPES, most=2)
        assert len(fewer) <= 2
        for place, row in enumerate(rows):
            is_true = truth(predicate, row)
            seen[is_true] += 1
            assert any(holds(box, keys, place) for box in boxes) == is_true, (predicate, row)
            assert not is_true or any(holds(box, keys, place) for box in fewer), (predicate, row)
    assert min(seen.values()) > 500


@pytest.mark.parametrize("seed", range(2))
def test_positions_of_a_box_hold_those_of_its_rows(seed: int) -> None:
    chance = random.Random(seed)
    rows = rows_of(chance, 300)
    keys = keys_of(rows)
    names = chance.sample(list(COLUMNS), 4)
    columns = [ClusteringColumn((name,), COLUMNS[name][0]) for name in names]
    orders = ((chance.random() < 0.5, chance.random() < 0.5),) if seed % 2 else ()
    layout = fit(
        columns, Sample(tuple(keys[name] for name in names)), LayoutRequest(8, leading_orders=orders, boundaries=3)
    )
    positions = layout.positions(Sample(tuple(keys[name] for name in names)))
    excluded = 0
    for _ in range(100):
        for box in boxes_of(part(chance, 1), TYPES):
            found = position_boxes([box], layout.columns)[:, 0]
            for place in range(len(rows)):
                at = np.array([each[place] for each in positions])
                is_inside = bool(((found[:, 0] <= at) & (at <= found[:, 1])).all())
                assert is_inside or not holds(box, keys, place), box
                excluded += not is_inside
    assert excluded > 500


def test_ends_of_domains_leave_nothing_or_everything() -> None:
    types: dict[p.Name, str] = {("a",): "long", ("d",): "decimal(38, 0)"}
    for condition in (
        "a > 9223372036854775807",
        "a < -9223372036854775808",
        "a = 99999999999999999999",
        "a > 1 AND a < 2",
    ):
        assert boxes_of(p.parse_predicate(condition), types) == (), condition
    for condition in ("a >= -9223372036854775808", "a < 99999999999999999999"):
        (box,) = boxes_of(p.parse_predicate(condition), types)
        assert box.range(("a",)).met(NOT_NULL).start <= (VALUE, -(2**63))
        assert box.range(("a",)).stop == (NULL,)


@pytest.mark.parametrize(
    ("condition", "kind"),
    [
        ("a = 1.5D", "long"),
        ("a > 7", "string"),
        ("a < '2024-01-01'", "long"),
        ("a LIKE 'x%'", "binary"),
        ("NOT (a LIKE 'x%')", "binary"),
    ],
)
def test_what_keys_do_not_show_leaves_all_but_null(condition: str, kind: str) -> None:
    (box,) = boxes_of(p.parse_predicate(condition), {("a",): kind})
    assert box.range(("a",)) == NOT_NULL


def test_many_boxes_are_covered_by_few() -> None:
    values = tuple(p.Value("integer", 10 * each) for each in range(100))
    condition = p.And(tuple(p.Comparison((name,), "IN", values) for name in ("a", "b", "c")))
    types: dict[p.Name, str] = {("a",): "int", ("b",): "int", ("c",): "int"}
    boxes = boxes_of(condition, types)
    assert 20 <= len(boxes) <= 64
    assert all(len(box.ranges) == 3 for box in boxes)
    for corner in ((0, 0, 0), (990, 990, 990), (500, 10, 730)):
        assert any(
            all(each.start <= (VALUE, key) < each.stop for (_, each), key in zip(box.ranges, corner, strict=True))
            for box in boxes
        )


def test_columns_are_found_whatever_their_case_if_that_is_one() -> None:
    (box,) = boxes_of(p.parse_predicate("A.b = 1"), {("a", "B"): "long"})
    assert box.ranges[0][0] == ("a", "B")
    with pytest.raises(InvalidInputError, match="there is no column 'c'"):
        boxes_of(p.parse_predicate("c = 1"), {("a",): "long"})
    with pytest.raises(InvalidInputError, match="ambiguous"):
        boxes_of(p.parse_predicate("ab = 1"), {("Ab",): "long", ("aB",): "long"})
