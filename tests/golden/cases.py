"""The golden cases: small samples of every type and shape, as plain JSON values, and how to read such values.

NULL is None; integers are days, micro- or nanoseconds for dates and times; floats and decimals are texts; binary, fixed
and UUID are hexadecimal digits.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import pyarrow as pa

from iceberg_zorder.layout.box_tree import ADAPTIVE
from iceberg_zorder.layout.columns import ClusteringColumn
from iceberg_zorder.layout.curve import HILBERT, ZORDER
from iceberg_zorder.layout.cuts import EVEN
from iceberg_zorder.layout.fit import LayoutRequest
from iceberg_zorder.layout.keys import KeyColumn, encode

ARROW = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "date": pa.date32(),
    "time": pa.time64("us"),
    "timestamp": pa.timestamp("us"),
    "timestamptz": pa.timestamp("us", "UTC"),
    "timestamp_ns": pa.timestamp("ns"),
    "timestamptz_ns": pa.timestamp("ns", "UTC"),
    "string": pa.string(),
    "binary": pa.binary(),
    "uuid": pa.binary(16),
}


@dataclass(frozen=True)
class Column:
    """One clustering column of a case."""

    name: tuple[str, ...]
    type: str
    values: list[Any]

    def clustering_column(self) -> ClusteringColumn:
        return ClusteringColumn(self.name, self.type)

    def keys(self) -> KeyColumn:
        return encode(arrow(self.type, self.values), self.type)


@dataclass(frozen=True)
class Case:
    """A sample, and how many files and boundaries to lay it out with."""

    name: str
    columns: tuple[Column, ...]
    files: int = 4
    boundaries: int = 4096
    cuts: str = EVEN
    curve: str = ZORDER
    prefix: tuple[tuple[bool, bool], ...] = ()
    size_tolerance: float = 0.25
    weights: tuple[float, ...] = ()

    def request(self) -> LayoutRequest:
        return LayoutRequest(
            self.files, self.cuts, self.curve, self.prefix, self.boundaries, self.size_tolerance, self.weights
        )


def arrow(type_name: str, values: list[Any]) -> pa.Array:
    """The values of a case as Arrow holds them."""
    if type_name.startswith("decimal"):
        precision, scale = (int(part) for part in type_name[8:-1].split(","))
        return pa.array([None if v is None else Decimal(v) for v in values], pa.decimal128(precision, scale))
    if type_name.startswith("fixed"):
        return pa.array([None if v is None else bytes.fromhex(v) for v in values], pa.binary(int(type_name[6:-1])))
    if type_name in ("binary", "uuid"):
        return pa.array([None if v is None else bytes.fromhex(v) for v in values], ARROW[type_name])
    if type_name in ("float", "double"):
        return pa.array([None if v is None else float(v) for v in values], ARROW[type_name])
    if type_name in ("string", "boolean", "int", "long"):
        return pa.array(values, ARROW[type_name])
    integers = pa.array(values, pa.int32() if type_name == "date" else pa.int64())
    return integers.cast(ARROW[type_name]) if type_name == "date" else integers.view(ARROW[type_name])


def cases() -> list[Case]:
    """Every case; each name is the name of its file."""
    shapes = _shapes()
    adaptive = [replace(each, name=f"adaptive_{each.name}", cuts=ADAPTIVE) for each in shapes]
    return [*_types(), *shapes, *adaptive, *_wishes()]


_TYPED: dict[str, list[Any]] = {
    "boolean": [True, False, None, True, False, False],
    "int": [0, -1, 1, 2**31 - 1, -(2**31), None, 7, 7],
    "long": [0, -1, 1, 2**63 - 1, -(2**63), None, 10**12, -(10**12)],
    "float": ["0.0", "-0.0", "NaN", None, "1.5", "-1.5", "Infinity", "-Infinity", "1.0E-45", "3.4028235E38"],
    "double": ["0.0", "-0.0", "NaN", None, "1.5", "-1.5", "Infinity", "-Infinity", "4.9E-324", "1.7976931348623157E308"],
    "date": [0, -1, 1, 18262, -25567, None, 2932896],
    "time": [0, 1, 86_399_999_999, None, 43_200_000_000],
    "timestamp": [0, -1, 1, 1_600_000_000_123_456, -62_135_596_800_000_000, None],
    "timestamptz": [0, -1, 1, 1_600_000_000_123_456, 253_402_300_799_999_999, None],
    "timestamp_ns": [0, -1, 1, 1_600_000_000_123_456_789, -(2**63), None],
    "timestamptz_ns": [0, -1, 1, 1_600_000_000_123_456_789, 2**63 - 1, None],
    "decimal(9, 2)": ["0.00", "-0.01", "0.01", "9999999.99", "-9999999.99", None],
    "decimal(18, 0)": ["0", "-1", "999999999999999999", "-999999999999999999", None],
    "decimal(38, 10)": ["0.0000000000", "-0.0000000001", "1.5000000000", "9" * 28 + ".9999999999", "-" + "9" * 28 + ".9999999999", None],
    "string": ["", "a", "A", "ä", "aa", "a\u0000", "\U0001f600", "\uffee", "zz", None, "a" * 40],
    "uuid": ["00000000000000000000000000000000", "ffffffffffffffffffffffffffffffff", "7fffffffffffffffffffffffffffffff", "80000000000000000000000000000000", None],
    "fixed[3]": ["000000", "ffffff", "7fffff", "800000", None],
    "binary": ["", "00", "0000", "ff", "7f", "80", "ff00", None],
}  # fmt: skip


def _types() -> list[Case]:
    return [
        Case("type_" + name.replace("(", "_").replace(", ", "_").rstrip(")]").replace("[", "_"), (Column(("v",), name, values),))
        for name, values in _TYPED.items()
    ]  # fmt: skip


def _shapes() -> list[Case]:
    rng = random.Random(20)
    many = range(400)
    gauss = [f"{rng.gauss(0, 1):.17g}" if rng.random() > 0.1 else "NaN" for _ in many]
    urls = [f"https://www.example.com/shop/item/{rng.randrange(10**6):06d}" for _ in many]
    zipf = [min(999, math.floor(rng.paretovariate(0.8))) for _ in many]
    return [
        Case(
            "shipdate_partkey",
            (
                Column(("l_shipdate",), "date", [8036 + rng.randrange(2526) for _ in many]),
                Column(("l_partkey",), "long", [1 + rng.randrange(200_000) for _ in many]),
            ),
            files=16,
        ),
        Case(
            "three_mixed",
            (
                Column(("s",), "string", [None if i % 11 == 0 else f"k{rng.randrange(50)}" for i in many]),
                Column(("d",), "double", gauss),
                Column(("m",), "decimal(12, 2)", [f"{rng.randrange(-(10**9), 10**9) / 100:.2f}" for _ in many]),
            ),
            files=7,
            boundaries=16,
        ),
        Case("heavy_hitters", (Column(("v",), "int", zipf),), files=8, boundaries=10),
        Case("heavy_bytes", (Column(("v",), "string", [f"v{value:03d}" for value in zipf]),), files=8, boundaries=10),
        Case("more_heavy_than_boundaries", (Column(("v",), "int", [i // 8 for i in range(64)]),), files=3, boundaries=5),
        Case("one_boundary", (Column(("v",), "long", [rng.randrange(10**6) for _ in many]),), files=5, boundaries=1),
        Case("one_boundary_for_two", (Column(("v",), "int", [1, 1, 1, 2]), Column(("s",), "string", list("aaab"))), boundaries=1),
        Case("ties", (Column(("a",), "int", [i % 3 for i in many]), Column(("b",), "int", [i % 2 for i in many])), files=9),
        Case(
            "left_out",
            (
                Column(("c",), "int", [7] * 60),
                Column(("n",), "string", [None] * 60),
                Column(("v",), "int", [rng.randrange(1000) for _ in range(60)]),
            ),
        ),
        Case("all_left_out", (Column(("c",), "double", ["NaN"] * 5), Column(("n",), "date", [None] * 5))),
        Case("constant_and_null", (Column(("c",), "int", [7, None, 7, None, 7]),), files=2),
        Case(
            "names",
            (
                Column(("address", "zip code"), "string", [f"{rng.randrange(10**5):05d}" for _ in many]),
                Column(("größe in €", "a`b", 'c"d\\\t\u001f'), "int", [rng.randrange(1000) for _ in many]),
            ),
        ),
        Case("eight_columns", tuple(Column((f"c{c}",), "int", [rng.randrange(100) for _ in many]) for c in range(8)), files=10),
        Case("long_prefix", (Column(("url",), "string", urls), Column(("n",), "long", list(many))), files=6, boundaries=50),
        Case("one_row", (Column(("v",), "int", [5]),)),
        Case("no_row", (Column(("v",), "int", []), Column(("s",), "string", []))),
    ]  # fmt: skip


def _wishes() -> list[Case]:
    rng = random.Random(21)
    many = range(600)
    day = Column(("d",), "date", [None if i % 37 == 0 else rng.randrange(400) for i in many])
    part = Column(("p",), "long", [math.floor(rng.paretovariate(0.6)) for _ in many])
    price = Column(("x",), "double", ["NaN" if i % 19 == 0 else f"{rng.gauss(0, 1):.17g}" for i in many])
    flag = Column(("f",), "string", [rng.choice(["a", "b", "b", "c", None]) for _ in many])
    wide = tuple(Column((f"c{c}",), "int", [rng.randrange(1000) for _ in many]) for c in range(8))
    hilbert = Case("hilbert", (day, part), files=12, curve=HILBERT)
    prefixed = Case("prefix", (flag, day, part), files=14, prefix=((False, True),))
    adaptive = Case("adaptive", (day, part, price), files=30, cuts=ADAPTIVE)
    return [
        hilbert,
        replace(hilbert, name="hilbert_adaptive", cuts=ADAPTIVE),
        replace(hilbert, name="hilbert_one", columns=(part,)),
        replace(hilbert, name="hilbert_three", columns=(day, price, part)),
        replace(hilbert, name="hilbert_eight", columns=wide),
        replace(hilbert, name="hilbert_eight_adaptive", columns=wide, cuts=ADAPTIVE),
        adaptive,
        replace(adaptive, name="adaptive_weights", weights=(1.0, 2.5, 0.125)),
        replace(adaptive, name="adaptive_tolerance", size_tolerance=0.05),
        replace(adaptive, name="adaptive_exact", size_tolerance=0.0, files=13),
        replace(adaptive, name="adaptive_wide_tolerance", size_tolerance=0.9),
        replace(adaptive, name="adaptive_one_file", files=1),
        replace(adaptive, name="adaptive_more_files_than_rows", files=700),
        replace(adaptive, name="adaptive_heavy", columns=(flag, Column(("z",), "int", [0 if i % 10 else i for i in many]))),
        prefixed,
        replace(prefixed, name="prefix_adaptive", cuts=ADAPTIVE),
        replace(prefixed, name="prefix_descending", prefix=((True, False),), cuts=ADAPTIVE),
        replace(prefixed, name="prefix_descending_nulls_first", prefix=((True, True),)),
        replace(prefixed, name="prefix_two", columns=(flag, price, day, part), prefix=((False, False), (True, True)), files=40, cuts=ADAPTIVE),
        replace(prefixed, name="prefix_two_even", columns=(flag, price, day, part), prefix=((False, False), (True, True)), files=40),
        replace(prefixed, name="prefix_hilbert", curve=HILBERT, weights=(3.0, 1.0), cuts=ADAPTIVE),
        Case("prefix_left_out", (Column(("c",), "int", [1] * 50), Column(("v",), "int", [i % 7 for i in range(50)])), prefix=((True, True),), cuts=ADAPTIVE),
        Case("curve_left_out", (Column(("v",), "int", [i % 7 for i in range(50)]), Column(("c",), "int", [1] * 50)), prefix=((True, True),), cuts=ADAPTIVE),
        Case("curve_left_out_even", (Column(("v",), "int", [i % 7 for i in range(50)]), Column(("c",), "int", [1] * 50)), prefix=((False, True),)),
    ]  # fmt: skip


SORT_ORDERS = [
    "zorder(a, b)", "ZOrder ( a , b )", "a, b", "a", " a\t,\nb ", "zorder(a.b.c, `d e`)", "`a``b`.`c.d`", "größe, straße.名前",
    "_a1, 2b", "zorder", "zorder, a", "`zorder`(a)", "zorder(`hilbert(a)`)",
    "", " ", "zorder()", "zorder( )", "zorder(a", "zorder(a))", "zorder(a) b", "a,,b", "a,", ",a", "a b", "a.", ".a", "a..b",
    "`a", "`a``", "`a```", "``", "````", "a-b", "hilbert(a, b)", "HILBERT(a)", "peano(a)", "p, zorder(a)", "zorder(a), p", "a ASC", "zorder(a desc)",
    "a NULLS LAST", "zorder(bucket(4, a))", "a; DROP TABLE t", "😀",
    "p.q desc , hilbert ( a,b )", "p ASC nulls LAST, q DESC NULLS first,zorder(a)", "p DESC, zorder(a)", "p asc, q, zorder(a)", "asc, desc, nulls",
    "asc desc, zorder(first)", "p NULLS, zorder(a)", "p NULLS a, zorder(b)", "p desc asc, zorder(a)", "p nulls first asc, zorder(a)", "p desc, q",
    "p, q NULLS FIRST", "p, zorder(a), q", "zorder(a), hilbert(b)", "p, peano(a)", "p, zorder()", "p, ", "hilbert(a,b,c,d,e,f,g,h)",
    "p, hilbert(a,b,c,d,e,f,g,h,i)", "zorder(a,b,c,d,e,f,g,h,i)", "zorder(zorder(a))", "p DESC zorder(a)",
]  # fmt: skip

COLUMN_WEIGHTS = [
    "a=3,b=1", " a = 3 , `b c`.d=0.25 ", "a=1000000", "a=0.0000001", "", "a", "a=", "a=0", "a=0.0", "a=-1", "a=1e3", "a=1.", "a=.5", "a=1000001", "a=1,",
    "a=1 b=2", "a=1,,b=2", "=1", "a==1", "a=NaN", "a=1;b=2", "`a=1", "zorder(a)=1", "a=00012.50",
]  # fmt: skip


def row_group_cases() -> list[dict[str, Any]]:
    """File groups, by what manifests say of their data files, and what is asked of their samples."""
    rng = random.Random(5)

    def file(number: int, commit: int, rows: int, size: int, row_groups: int) -> list[Any]:
        """A file of row groups that are equal, but for the last."""
        offsets = [4 + i * (size - 4) // row_groups for i in range(row_groups)]
        return [f"s3://lake/größe/{number:05d}-{rng.randrange(10**6)}.parquet", commit, rows, size, offsets]

    even = [file(i, 1, 80_000, 4_000_000, 8) for i in range(50)]
    appends = [file(i % 5, 1 + i // 5, 9_000 + 10 * i, 900_000, 1) for i in range(200)]
    uneven = [*even[:25], *(file(i, 2, 70, 9_000, 1) for i in range(100))]
    unknown = [[path, commit, rows, size, []] for path, commit, rows, size, _ in appends[:90]]
    wrong = [[path, commit, rows, size, [4, 4, 900]] for path, commit, rows, size, _ in even]
    huge = [file(i, 0, 10**12, 10**15, 80) for i in range(20)]
    some_empty = [[str(i), 0, i % 2, 100, [4, 50]] for i in range(60)]
    asked: list[tuple[list[list[Any]], list[tuple[int, int, int]]]] = [
        (even, [(50_000, 64, 0), (50_000, 64, -7), (50_000, 10, 2**63 - 1), (300_000, 4, 1), (1_999_999, 64, 0), (2_000_000, 64, 0), (1, 1, 3)]),
        (even[:2], [(1_000, 2, 0)]),
        (appends, [(50_000, 20, 0), (50_000, 500, 0)]),
        (rng.sample(appends, len(appends)), [(50_000, 20, 0)]),
        (uneven, [(50_000, 10, 0), (500_000, 10, 0)]),
        (unknown, [(50_000, 9, 9)]),
        (wrong, [(50_000, 9, 0)]),
        (huge, [(1_000_000, 2_000, 0)]),
        (some_empty, [(14, 1, 0)]),
        ([["a", 1, 0, 100, [4]], ["b", 1, 10, 100, [4, 50]]], [(1, 1, 0)]),
        ([], [(5, 1, 0)]),
    ]  # fmt: skip
    return [
        {
            "files": files,
            "asked": [
                {"rows": rows, "output_files": count, "seed": seed, "are_clusters": are_clusters}
                for rows, count, seed in of_these
                for are_clusters in (False, True)
            ],
        }
        for files, of_these in asked
    ]
