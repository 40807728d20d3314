"""The command ``report``: read the table's metadata, and show how well it is clustered."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from iceberg_zorder.cli.failure import Failure
from iceberg_zorder.cli.files import replace_text
from iceberg_zorder.cli.output import Output
from iceberg_zorder.cli.request import ReportRequest
from iceberg_zorder.report.clustering_report import ClusteringReport


def run(request: ReportRequest, output: Output) -> int:
    """Report on a table; only its metadata is read."""
    try:
        found, before = request.engine.report(request, output)
        if request.page is not None:
            _write_page(request.page, [before, found] if before else [found])
    except Exception as error:  # whatever it is, it ends in a message and an exit code
        failure = Failure.of(error)
        output.failure(failure)
        return failure.exit_code
    output.reported(found.to_dict(), None if before is None else before.to_dict())
    if request.page is not None:
        output.told(f"Wrote {request.page}")
    return 0


def _write_page(path: Path, reports: Sequence[ClusteringReport]) -> None:
    # They are an extra, and take a while to import.
    from iceberg_zorder.render.report_page import report_page

    page = report_page([(each.to_dict(), each.boxes) for each in reports])
    replace_text(path, page, flag="--html")
