"""The golden files of reports, which JUnit reads too: Python and Java report the same of the same files, bit for bit."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from iceberg_zorder.report.clustering_report import ClusteringReport
from tests.golden.generate import DIRECTORY
from tests.golden.report_cases import report_cases, report_document, report_of

CASES = {case.name: case for case in report_cases()}


def test_no_file_is_missing_or_extra() -> None:
    assert {file.stem for file in DIRECTORY.glob("report_*.json")} == set(CASES)


@pytest.mark.parametrize("name", CASES)
def test_reports(name: str) -> None:
    golden = json.loads((DIRECTORY / f"{name}.json").read_text(encoding="utf-8"))
    # By way of JSON, which has lists for tuples.
    assert json.loads(json.dumps(report_document(CASES[name]))) == golden


def test_the_cases_are_of_every_finding_that_files_alone_show() -> None:
    found = {finding.code for case in CASES.values() for finding in report_of(case).findings}
    assert found == {
        "badly-sized-files", "bounds-alike", "bounds-missing", "bounds-not-kept", "delete-files", "layout-undone",
        "loose-layout", "never-laid-out", "newer-files", "old-partition-specs",
    }  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_report_is_read_back_from_its_json(name: str) -> None:
    report = replace(report_of(CASES[name]), boxes=None)
    assert ClusteringReport.from_json(report.to_json()) == report
