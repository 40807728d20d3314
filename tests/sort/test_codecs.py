"""Columns come out of their small form as they went into it."""

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from iceberg_zorder.sort.codecs import Codecs

LONGEST = 2**63 - 1
BATCHES: dict[str, tuple[pa.DataType, list[list[Any]]]] = {
    "long": (
        pa.int64(),
        [[1, -2, None], [None, 127, -128], [128], [], [None], [32_768], [2**31, -LONGEST - 1, LONGEST]],
    ),
    "int": (pa.int32(), [[5], [-40_000, None], [2**31 - 1, -(2**31)]]),
    "date": (pa.date32(), [[dt.date(1970, 1, 9)], [dt.date(2026, 11, 21), None], [dt.date(9999, 12, 31)]]),
    "time": (pa.time64("us"), [[dt.time(0, 0, 0, 3)], [dt.time(23, 59, 59, 999_999), None]]),
    "timestamp": (pa.timestamp("us"), [[dt.datetime(1970, 1, 1), None], [dt.datetime(2026, 11, 21, 1, 2, 3, 4)]]),
    "timestamptz": (pa.timestamp("us", "UTC"), [[dt.datetime(1960, 1, 1, tzinfo=dt.timezone.utc)], [None]]),
    "decimal": (pa.decimal128(9, 2), [[Decimal("-1.27"), None], [Decimal("1.28")], [Decimal("9999999.99")]]),
    "longest decimal": (pa.decimal128(18, 0), [[Decimal(0)], [Decimal(10**18 - 1), Decimal(1 - 10**18), None]]),
    "wide decimal": (pa.decimal128(38, 3), [[Decimal("1.125")], [Decimal(10**34), None]]),
    "string": (pa.large_string(), [["a", "", None], ["\N{SNOWMAN}"], []]),
    "binary": (pa.large_binary(), [[b"a", b"", None], [b"\0\xff"]]),
    "fixed": (pa.binary(2), [[b"ab", None], [b"\0\0"]]),
    "boolean": (pa.bool_(), [[True, None], [False]]),
    "double": (pa.float64(), [[1.5, None], [-0.0]]),
    "list": (pa.large_list(pa.int64()), [[[1, None], None], [[]]]),
    "struct": (pa.struct([("a", pa.int64())]), [[{"a": 1}, None], [{"a": None}]]),
}


@pytest.mark.parametrize("name", BATCHES)
@pytest.mark.parametrize("how", ["whole", "sliced", "reversed"])
def test_every_type(name: str, how: str) -> None:
    kind, batches = BATCHES[name]
    ordered = batches[::-1] if how == "reversed" else batches
    codecs = Codecs(pa.schema([("a", kind)]))
    parts = []
    for values in ordered:
        column = (
            pa.array([values[0] if values else None, *values], kind)[1:] if how == "sliced" else pa.array(values, kind)
        )
        parts += codecs.encoded(pa.RecordBatch.from_arrays([column], ["a"]))
    expected = pa.array([value for values in ordered for value in values], kind)
    joined = codecs.joined(0, parts)
    assert codecs.decoded(0, joined).equals(expected)
    assert codecs.finished([joined]).column(0).equals(expected)
    assert codecs.finished([joined.slice(1)]).column(0).equals(expected.slice(1))
    backwards = pa.array(range(len(expected)))[::-1]
    assert codecs.finished([joined.take(backwards)]).column(0).equals(expected.take(backwards))


def test_what_is_under_a_null_does_not_matter() -> None:
    large = pa.py_buffer(b"\x7f" * 16)
    column = pa.Array.from_buffers(pa.int64(), 2, [pa.py_buffer(b"\x00"), large])
    codecs = Codecs(pa.schema([("a", pa.int64())]))
    (held,) = codecs.encoded(pa.RecordBatch.from_arrays([column], ["a"]))
    assert (held.type, held.to_pylist()) == (pa.int8(), [None, None])


@pytest.mark.parametrize(
    ("values", "held"),
    [
        ([127, -128], pa.int8()),
        ([128], pa.int16()),
        ([-129], pa.int16()),
        ([2**15], pa.int32()),
        ([-(2**31) - 1], pa.int64()),
    ],
)
def test_how_many_bytes_a_number_takes(values: list[int], held: pa.DataType) -> None:
    codecs = Codecs(pa.schema([("a", pa.int64())]))
    (column,) = codecs.encoded(pa.RecordBatch.from_arrays([pa.array(values)], ["a"]))
    assert column.type == held


@pytest.mark.parametrize(
    ("different", "new", "held"),
    [
        (5, 0, [pa.int8()] * 3),
        (100, 30, [pa.int8(), pa.int16(), pa.int16()]),
        (20_000, 20_000, [pa.int16(), pa.large_string(), pa.large_string()]),
    ],
)
def test_strings_in_dictionaries(different: int, new: int, held: list[pa.DataType]) -> None:
    codecs = Codecs(pa.schema([("a", pa.large_string())]))
    values = [[None, *(f"value {batch * new + each}" for each in range(different))] for batch in range(3)]
    columns = [pa.array(each, pa.large_string()) for each in values]
    parts = [codecs.encoded(pa.RecordBatch.from_arrays([each.dictionary_encode()], ["a"]))[0] for each in columns]
    assert [pa.large_string() if pa.types.is_string(part.type) else part.type for part in parts] == held
    (plain,) = codecs.encoded(pa.RecordBatch.from_arrays([columns[0]], ["a"]))
    assert pa.types.is_string(plain.type)
    expected = pa.concat_arrays([*columns, columns[0]])
    assert codecs.decoded(0, codecs.joined(0, [*parts, plain])).equals(expected)
    few = codecs.finished([codecs.joined(0, parts)]).column(0)
    assert pa.types.is_dictionary(few.type) == (held[-1] != pa.large_string())
    assert few.to_pylist() == expected.to_pylist()[: len(few)]
