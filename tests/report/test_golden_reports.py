"""The golden files of reports, which JUnit reads too: Python and Java report the same of the same files, bit for bit."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pyarrow as pa
import pytest

from iceberg_zorder.layout.columns import ClusteringColumn
from iceberg_zorder.layout.keys import encode
from iceberg_zorder.layout.sample import Sample
from iceberg_zorder.report.clustering_report import ClusteringReport
from iceberg_zorder.report.data_files import ColumnBounds, DataFiles
from iceberg_zorder.report.file_boxes import file_boxes
from tests.golden.cases import arrow
from tests.golden.generate import DIRECTORY
from tests.golden.report_cases import report_cases, report_document, report_of

CASES = {case.name: case for case in report_cases()}


@cache
def report(name: str) -> ClusteringReport:
    """Measure the files of a case once for all tests."""
    return report_of(CASES[name])


def test_no_file_is_missing_or_extra() -> None:
    assert {file.stem for file in DIRECTORY.glob("report_*.json")} == set(CASES)


@pytest.mark.parametrize("name", CASES)
def test_reports(name: str) -> None:
    golden = json.loads((DIRECTORY / f"{name}.json").read_text(encoding="utf-8"))
    # By way of JSON, which has lists for tuples.
    assert json.loads(json.dumps(report_document(CASES[name]))) == golden


def test_the_cases_are_of_every_finding_that_files_alone_show() -> None:
    found = {finding.code for name in CASES for finding in report(name).findings}
    assert found == {
        "badly-sized-files", "bounds-alike", "bounds-missing", "bounds-not-kept", "delete-files", "layout-undone",
        "loose-layout", "never-laid-out", "newer-files", "old-partition-specs",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "values", "labels"),
    [
        ("boolean", [False, True], ["0", "1"]),
        ("double", ["-Infinity", "-0.0", "0.0001", "123456.5", "1E100"], ["-inf", "0", "0.0001", "123456", "1e+100"]),
        ("date", [-719_163, -719_162, 0, 2_932_896], ["0000-12-31", "0001-01-01", "1970-01-01", "9999-12-31"]),
        ("time", [1], ["00:00:00"]),
        ("timestamptz", [-1_000_000, 86_400_000_000], ["1969-12-31 23:59:59", "1970-01-02 00:00:00"]),
        ("timestamp_ns", [999], ["1970-01-01 00:00:00"]),
        ("decimal(9, 2)", ["-0.01", "0.05"], ["-0.01", "0.05"]),
        ("decimal(38, 10)", ["-0.0000000001", "1.5"], ["-1E-10", "1.5000000000"]),
        ("string", ["", "a" * 24, "b" * 25], ["", "a" * 24, "b" * 24 + "…"]),
        ("binary", ["c328"], ["c328"]),
    ],
)
def test_ticks_are_values_that_can_be_read(kind: str, values: list[object], labels: list[str]) -> None:
    keys = encode(arrow(kind, values), kind)
    ones = np.ones(len(values), np.int64)
    bounds = ColumnBounds(ClusteringColumn(("c",), kind), keys, keys, np.ones(len(values)))
    (axis,) = file_boxes(DataFiles(0 * ones, ones, ones, (bounds,)), Sample((keys,))).axes
    assert list(dict.fromkeys(label for _, label in axis.ticks)) == labels


def test_of_many_files_some_are_shown() -> None:
    count = 12_001
    keys = encode(pa.array(range(count)), "long")
    ones = np.ones(count, np.int64)
    files = DataFiles(
        0 * ones, ones, ones, (ColumnBounds(ClusteringColumn(("c",), "long"), keys, keys, np.ones(count)),)
    )
    found = file_boxes(files, Sample((keys,)))
    (axis,) = found.axes
    assert [round(place * count) for place in axis.lower] == [file * count // 5_000 for file in range(5_000)]
    assert len(found.sizes) == count


def test_a_layout_is_not_loose_where_another_rewrite_would_make_the_same_again() -> None:
    settled, unsettled = (report(name) for name in ("report_settled", "report_unsettled"))
    assert [column.scan_fraction for column in settled.columns] == [
        column.scan_fraction for column in unsettled.columns
    ]
    assert (settled.history.settled_files, unsettled.history.settled_files) == (16, 8)
    assert ["loose-layout" in {finding.code for finding in each.findings} for each in (settled, unsettled)] == [
        False,
        True,
    ]
