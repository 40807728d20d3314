"""The golden files of reports, which JUnit reads too: Python and Java report the same of the same files, bit for bit."""

from __future__ import annotations

import json
from dataclasses import replace
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
from tests.golden.box_cases import boxes_document
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


@pytest.mark.parametrize("name", CASES)
def test_a_report_is_read_back_from_its_json(name: str) -> None:
    told = report(name)
    assert ClusteringReport.from_json(told.to_json()) == replace(told, boxes=None)
    text = told.to_json(boxes=True)
    assert ClusteringReport.from_json(text).to_json(boxes=True) == text
    assert ("boxes" in json.loads(text)) == (told.total_file_count > 0)


def test_boxes() -> None:
    golden = json.loads((DIRECTORY / "boxes.json").read_text(encoding="utf-8"))
    assert json.loads(json.dumps(boxes_document())) == golden


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
    assert found.sizes == {"1": count}


def test_a_report_of_before_sort_orders_were_told_can_be_read() -> None:
    values = report("report_deep").to_dict()
    del values["sort_order"]
    assert ClusteringReport.from_json(json.dumps(values)).sort_order is None


def test_json_of_before_there_were_settled_files_is_read_back() -> None:
    told = replace(report("report_settled"), boxes=None)
    values = told.to_dict()
    assert values["history"].pop("settled_files") == told.total_file_count
    read = ClusteringReport.from_json(json.dumps(values))
    assert read == replace(told, history=replace(told.history, settled_files=0))


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
