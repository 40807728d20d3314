"""The golden files of reports, which JUnit reads too: Python and Java report the same of the same files, bit for bit."""

from functools import cache

import pytest

from iceberg_zorder.metrics.clustering_report import ClusteringReport
from tests.golden.cases import golden
from tests.golden.generate import names, renewed
from tests.golden.report_cases import report_of

CASES = names(reports=True)


@cache
def report(name: str) -> ClusteringReport:
    """Measure the files of a case once for all tests."""
    return report_of(golden(name))


@pytest.mark.parametrize("name", CASES)
def test_reports(name: str) -> None:
    assert renewed(name) == golden(name)


def test_the_cases_are_of_every_finding_that_files_alone_show() -> None:
    found = {finding.code for name in CASES for finding in report(name).findings}
    assert found == {
        "bounds-alike", "bounds-missing", "bounds-not-kept", "delete-files", "layout-undone",
        "never-laid-out", "newer-files", "old-partition-specs", "rewrite-pays",
    }  # fmt: skip
