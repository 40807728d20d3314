"""Golden cases of the boxes that pictures show: the labels of every type's values, and sizes."""

from __future__ import annotations

from typing import Any

import numpy as np

from iceberg_zorder.layout.columns import ClusteringColumn
from iceberg_zorder.layout.keys import encode
from iceberg_zorder.report.data_files import ColumnBounds, DataFiles
from iceberg_zorder.report.file_boxes import file_boxes, size_classes
from iceberg_zorder.report.spread_rows import spread_rows
from tests.golden.cases import arrow

SPREAD = 40
_TICKS = 5

_LEAST, _MOST = -(2**63), 2**63 - 1
_DAY = 86_400_000_000
VALUES: dict[str, list[Any]] = {
    "boolean": [False, True],
    "int": [-(2**31), -1, 0, 7, 2**31 - 1],
    "long": [_LEAST, -1, 0, 10**12, _MOST],
    "float": ["-Infinity", "-3.4028235E38", "-0.0", "0.1", "16777216", "1.0E-45", "Infinity"],
    "double": [
        "-Infinity", "-1.7976931348623157E308", "-123456.5", "-0.0", "4.9E-324", "0.0001", "0.00009999995", "0.000099999949",
        "0.1", "0.30000000000000004", "1", "1.0000005", "1.0000015", "2.5", "100000", "123456.5", "123457.5", "999999.5",
        "999999.4999999999", "1000000", "1E16", "1.5E22", "9.5E-7", "1E100", "Infinity",
    ],
    "date": [-719_163, -719_162, -1, 0, 19_000, 2_932_896, 2_932_897, 2**31 - 1, -(2**31)],
    "time": [0, 1, 999_999, 43_200_000_000, _DAY - 1],
    "timestamp": [_LEAST, -62_135_596_800_000_001, -62_135_596_800_000_000, -1, 0, 1_000_000, 1_600_000_000_123_456, _MOST],
    "timestamptz": [253_402_300_799_999_999, 253_402_300_800_000_000, 86_399_000_000, 86_400_000_000],
    "timestamp_ns": [_LEAST, -1, 0, 999, 1_000, 1_600_000_000_123_456_789, _MOST],
    "timestamptz_ns": [1_600_000_000_000_000_000, 5],
    "decimal(9, 2)": ["-9999999.99", "-0.01", "0.00", "0.05", "9999999.99"],
    "decimal(9, 9)": ["-0.000000001", "0.000000000", "0.000001", "0.0000005", "0.999999999"],
    "decimal(18, 0)": ["-999999999999999999", "-1", "0", "10", "999999999999999999"],
    "decimal(38, 10)": [
        f"-{'9' * 28}.{'9' * 10}", "-0.0000000001", "0.0000000000", "0.0000001", "0.00000099", "1.5000000000", f"{'9' * 28}.{'9' * 10}",
    ],
    "string": [
        "", "a" * 24, "b" * 25, "\U0001f600" * 24, "\U0001f600" * 25, "e\u0301" * 13, "\uffee\u0000\n", "<b>&\"'\\", "\ufffd\ufffdx",
        "\U0010ffff",
    ],
    "uuid": ["00000000000000000000000000000000", "7fffffffffffffffffffffffffffffff", "ffffffffffffffffffffffffffffffff"],
    "fixed[3]": ["000000", "7fffff", "ffffff"],
    "binary": ["", "00", "c328", "ff" * 12, "ff" * 13],
}  # fmt: skip
"""Values of which the labels are to be the same, by type."""

RANGES: list[tuple[str, list[Any], list[Any], list[float]]] = [
    # Between bounds there are texts that end within a character.
    ("string", ["a", "é", "\u0800", "\ud7ff", "\U00010000"], ["é", "\u0800", "\ud7ff", "\U00010000", "\U0010ffff"], [1.0] * 5),
    ("string", ["", "\ud7ff\U0001f600", "zz"], ["\U0010ffffab", "\U0010ffff", "zz\u0000é"], [0.5, 1.0, 1.0]),
    # Files that overlap, that have no bounds, NaN for one, or no values.
    ("double", ["0", "1", None, "NaN", None], ["2", "3", "5", "7", None], [1.0, 0.25, 1.0, 1.0, 0.0]),
    ("long", [None, None], [None, None], [1.0, 0.0]),
    ("decimal(38, 2)", ["-5", "-5", "-0.01"], ["5", "-5", "0.01"], [1.0] * 3),
    ("timestamptz", [0, 5, _LEAST], [10, 5, _MOST], [1.0, 0.5, 0.1]),
]  # fmt: skip
"""Types, lower and upper bounds by file, and shares of the rows that have values."""

SIZES = [0, 1, 2, 3, 3, 4, 5, 1023, 1024, 1025, 1116, 1117, 536_870_912, 602_016_199, 10**15, 2**62 - 1, 2**62, _MOST]


def boxes_document() -> dict[str, Any]:
    """The cases, and what must come of them."""
    ranges = [
        (
            kind,
            values[start : start + _TICKS],
            values[start : start + _TICKS],
            [1.0] * len(values[start : start + _TICKS]),
        )
        for kind, values in VALUES.items()
        for start in range(0, len(values), _TICKS)
    ]
    return {
        "columns": [
            {"type": kind, "lower": lower, "upper": upper, "valued": valued, "expected": _boxes(kind, lower, upper, valued)}
            for kind, lower, upper, valued in [*ranges, *RANGES]
        ],
        "sizes": {"of": SIZES, "expected": size_classes(np.array(SIZES, np.int64))},
    }  # fmt: skip


def _boxes(kind: str, lower: list[Any], upper: list[Any], valued: list[float]) -> dict[str, Any]:
    lowers, uppers = (encode(arrow(kind, each), kind) for each in (lower, upper))
    bounds = ColumnBounds(ClusteringColumn(("c",), kind), lowers, uppers, np.array(valued, np.float64))
    ones = np.ones(len(valued), np.int64)
    files = DataFiles(0 * ones, ones, ones, (bounds,))
    return file_boxes(files, spread_rows(files, SPREAD)[0]).to_dict()
