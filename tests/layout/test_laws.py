"""The laws of the layout, on random data: each kernel against its definition, and against a naive reference."""

import itertools
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.layout.boundaries import Boundaries, find_boundaries
from iceberg_zorder.layout.box_tree import even_cuts
from iceberg_zorder.layout.curve import HILBERT, ZORDER, curve_index, position_bits
from iceberg_zorder.layout.keys import NAN, NULL, VALUE, KeyColumn, domain, encode
from iceberg_zorder.layout.sample import cut, sampled_bytes
from tests.golden.cases import ARROW
from tests.layout import naive

LONG = st.integers(-(2**63), 2**63 - 1)
# Few distinct values beside many: ties and heavy hitters are where the kernels differ.
KEYS = st.one_of(st.lists(st.integers(0, 12), max_size=60), st.lists(LONG, max_size=60))

# For each type: values, and the order that Iceberg's comparator gives them as an order of Python values.
ORDERS: dict[str, tuple[st.SearchStrategy[Any], Any]] = {
    "boolean": (st.booleans(), int),
    "int": (st.integers(-(2**31), 2**31 - 1), int),
    "long": (LONG, int),
    "float": (st.floats(width=32, allow_nan=False), float),
    "double": (st.floats(allow_nan=False), float),
    "date": (st.integers(-(2**31), 2**31 - 1), int),
    "time": (st.integers(0, 86_399_999_999), int),
    "timestamp": (LONG, int),
    "timestamptz": (LONG, int),
    "timestamp_ns": (LONG, int),
    "timestamptz_ns": (LONG, int),
    "decimal(9, 3)": (st.integers(-(10**9) + 1, 10**9 - 1).map(lambda u: Decimal(u).scaleb(-3)), Decimal),
    "decimal(18, 0)": (st.integers(-(10**18) + 1, 10**18 - 1).map(Decimal), Decimal),
    "decimal(38, 38)": (st.integers(-(10**38) + 1, 10**38 - 1).map(lambda u: Decimal(f"{u}E-38")), Decimal),
    "string": (st.text(), lambda text: text.encode()),
    "binary": (st.binary(), bytes),
    "uuid": (st.binary(min_size=16, max_size=16), bytes),
    "fixed[5]": (st.binary(min_size=5, max_size=5), bytes),
}  # fmt: skip


def arrow(type_name: str, values: list[Any]) -> pa.Array:
    if type_name.startswith("decimal"):
        precision, scale = (int(part) for part in type_name[8:-1].split(","))
        return pa.array(values, pa.decimal128(precision, scale))
    if type_name == "date":
        return pa.array(values, pa.int32()).cast(pa.date32())
    if type_name.startswith("time"):
        return pa.array(values, pa.int64()).view(ARROW[type_name])
    return pa.array(values, pa.binary(5) if type_name == "fixed[5]" else ARROW[type_name])


def long_column(values: list[int], states: list[int] | None = None) -> KeyColumn:
    return KeyColumn(np.array(values, np.int64), np.array(states or [VALUE] * len(values), np.uint8))


class TestKeys:
    @pytest.mark.parametrize("type_name", ORDERS)
    @given(data=st.data())
    def test_keys_compare_as_icebergs_bounds_do(self, type_name: str, data: st.DataObject) -> None:
        strategy, order = ORDERS[type_name]
        a, b = data.draw(strategy), data.draw(strategy)
        keys = encode(arrow(type_name, [a, None, b]), type_name)
        first, _, second = keys.keys.tolist()
        assert keys.states.tolist() == [VALUE, NULL, VALUE]
        assert (first < second) == (order(a) < order(b))
        assert (first == second) == (order(a) == order(b))

    @given(st.floats(allow_nan=False))
    def test_nan_is_a_state_of_its_own(self, value: float) -> None:
        for type_name in ("float", "double"):
            keys = encode(arrow(type_name, [math.nan, value if type_name == "double" else 1.0, None]), type_name)
            assert keys.states.tolist() == [NAN, VALUE, NULL]

    @pytest.mark.parametrize("storage", [pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())])
    def test_storage_does_not_count(self, storage: pa.DataType) -> None:
        plain = pa.array(["b", None, "a", "b"])
        other = encode(pa.chunked_array([plain.cast(storage), plain.cast(storage)]).slice(2), "string")
        assert other.keys.tolist() == [b"a", b"b", b"b", b"", b"a", b"b"]
        assert other.states.tolist() == [0, 0, 0, 2, 0, 0]

    def test_uuids_of_the_extension_type_are_their_bytes(self) -> None:
        plain = pa.array([bytes(16), None, b"\xff" * 16], pa.binary(16))
        keys = encode(pa.ExtensionArray.from_storage(pa.uuid(), plain), "uuid")
        assert keys.keys.tolist() == encode(plain, "uuid").keys.tolist() == [bytes(16), b"", b"\xff" * 16]

    @pytest.mark.parametrize(
        ("array", "type_name", "expected"),
        [
            (pa.array([1], pa.timestamp("ms")), "timestamp", 1_000),
            (pa.array([1], pa.timestamp("us", "Asia/Tokyo")), "timestamptz_ns", 1_000),
            (pa.array([2_000], pa.timestamp("ns", "UTC")), "timestamptz", 2),
            (pa.array([1], pa.time32("s")), "time", 1_000_000),
            (pa.array([86_400_000], pa.date64()), "date", 1),
            (pa.array([Decimal("1.5")], pa.decimal128(10, 1)), "decimal(10, 2)", 150),
            (pa.array([Decimal("-1.50")], pa.decimal256(40, 2)), "decimal(10, 2)", -150),
        ],
    )
    def test_units_and_scales_are_those_of_the_iceberg_type(
        self, array: pa.Array, type_name: str, expected: int
    ) -> None:
        assert encode(array, type_name).keys.tolist() == [expected]

    @pytest.mark.parametrize(
        ("array", "type_name"),
        [
            (pa.array([1], pa.timestamp("ns")), "timestamp"),
            (pa.array([Decimal("1.55")], pa.decimal128(10, 2)), "decimal(10, 1)"),
        ],
    )
    def test_what_a_unit_or_scale_would_lose_is_refused(self, array: pa.Array, type_name: str) -> None:
        with pytest.raises(pa.ArrowInvalid):
            encode(array, type_name)

    def test_slices_of_decimals(self) -> None:
        values = pa.array([Decimal("1.5"), Decimal("-2.5"), None, Decimal("3.5")], pa.decimal128(10, 1))
        assert encode(values.slice(1), "decimal(10, 1)").keys.tolist() == [-25, 0, 35]

    @pytest.mark.parametrize(
        "type_name", ["list<int>", "map<int, int>", "struct<x: int>", "variant", "geometry", "unknown"]
    )
    def test_types_without_an_order_are_refused(self, type_name: str) -> None:
        with pytest.raises(InvalidInputError, match="Cannot cluster by a column of type"):
            domain(type_name)

    @given(st.lists(st.binary(max_size=6), min_size=1, max_size=40), st.lists(st.binary(max_size=8)), st.integers(1, 5))
    def test_boundaries_of_cut_keys_split_whole_keys_as_they_split_cut_ones(
        self, sampled: list[bytes], keys: list[bytes], length: int
    ) -> None:
        boundaries = find_boundaries(encode(cut(pa.array(sampled), length), "binary"), 8)
        whole, beginnings = pa.array([*sampled, *keys], pa.binary()), cut(pa.array([*sampled, *keys]), length)
        buckets = [boundaries.bucket_of(encode(each, "binary")).tolist() for each in (whole, beginnings)]
        assert buckets[0] == buckets[1]

    def test_sampled_keys_are_as_long_as_bounds_keep_or_the_sample_has_room_for(self) -> None:
        cases = [(16, 10**6), (None, 50_000), (None, 10**6), (None, 2**31 - 1), (1, 1), (2**31 - 1, 10**6)]
        assert [sampled_bytes(*case) for case in cases] == [68, 2684, 134, 64, 64, 134]


class TestBoundaries:
    @given(KEYS, st.integers(1, 70))
    def test_they_strictly_increase_and_are_not_too_many(self, keys: list[int], maximum: int) -> None:
        found = find_boundaries(long_column(keys), maximum).keys.tolist()
        heavy = [key for key in set(keys) if keys.count(key) * maximum >= len(keys)]
        assert all(a < b for a, b in itertools.pairwise(found))
        assert len(found) <= max(maximum, 2 * len(heavy))

    @given(KEYS, st.integers(1, 70))
    def test_heavy_values_and_few_values_have_buckets_of_their_own(self, keys: list[int], maximum: int) -> None:
        column = long_column(keys)
        buckets = dict(zip(keys, find_boundaries(column, maximum).bucket_of(column).tolist(), strict=True))
        for key, bucket in buckets.items():
            if keys.count(key) * maximum >= len(keys) or len(buckets) <= maximum:
                assert [other for other in buckets if buckets[other] == bucket] == [key]


class TestPositions:
    @given(st.lists(st.integers(0, 9), min_size=1, max_size=50), st.integers(1, 16))
    def test_they_are_the_share_of_rows_below(self, buckets: list[int], bits: int) -> None:
        found = Boundaries(np.arange(1, 10)).positions(long_column(buckets), bits).tolist()
        assert found == naive.positions(buckets, 12, bits)


class TestCurve:
    @pytest.mark.parametrize(("columns", "bits"), [(1, 8), (2, 4), (3, 3), (4, 2), (8, 1)])
    def test_interleaving_is_a_bijection(self, columns: int, bits: int) -> None:
        grid = np.array(list(itertools.product(range(2**bits), repeat=columns))).T
        assert sorted(curve_index(ZORDER, list(grid), bits).tolist()) == list(range(2 ** (bits * columns)))

    @given(
        st.integers(1, 8).flatmap(lambda c: st.lists(st.integers(0, 2 ** position_bits(c) - 1), min_size=c, max_size=c))
    )
    def test_it_agrees_with_the_naive_reference(self, row: list[int]) -> None:
        bits = position_bits(len(row))
        assert curve_index(ZORDER, [np.array([p]) for p in row], bits)[0] == naive.interleave(row, bits)

    def test_more_columns_than_bits_are_refused(self) -> None:
        with pytest.raises(InvalidInputError, match="64 clustering columns"):
            position_bits(64)


class TestHilbert:
    @pytest.mark.parametrize(
        ("columns", "bits"),
        [(1, 8), (2, 1), (2, 2), (2, 6), (3, 1), (3, 4), (4, 3), (5, 2), (6, 2), (7, 1), (7, 2), (8, 1), (8, 2)],
    )
    def test_its_laws_hold_on_the_whole_grid(self, columns: int, bits: int) -> None:
        grid = np.array(list(itertools.product(range(2**bits), repeat=columns))).T
        index = curve_index(HILBERT, list(grid), bits)
        assert sorted(index.tolist()) == list(range(2 ** (bits * columns)))
        steps = np.abs(np.diff(grid[:, np.argsort(index)], axis=1)).sum(axis=0)
        assert set(steps.tolist()) == {1}
        assert index[0] == 0

    @pytest.mark.parametrize("columns", range(1, 9))
    def test_the_top_bit_is_used_and_the_sign_is_not(self, columns: int) -> None:
        bits = position_bits(columns)
        corners = np.array(list(itertools.product((0, 2**bits - 1), repeat=columns))).T
        index = curve_index(HILBERT, list(corners), bits)
        assert index.min() == 0
        assert int(index.max()) == 2 ** (bits * columns) - 1


class TestCuts:
    @given(st.lists(st.integers(0, 30), max_size=80), st.integers(1, 12))
    def test_they_agree_with_the_naive_reference(self, index: list[int], files: int) -> None:
        cuts = even_cuts(np.sort(np.array(index, np.int64)), files)
        assert list(cuts.starts) == naive.even_cuts(index, files)
        assert cuts.files <= files
