"""The command ``report``: read the table's metadata, and show how well it is clustered."""

from __future__ import annotations

from iceberg_zorder.cli.failure import Failure
from iceberg_zorder.cli.output import Output
from iceberg_zorder.cli.pyiceberg_engine import failures, warnings
from iceberg_zorder.cli.request import ReportRequest
from iceberg_zorder.pyiceberg.catalog.configuration import load_table
from iceberg_zorder.pyiceberg.clustering.report import report


def run(request: ReportRequest, output: Output) -> int:
    """Report on a table; only its metadata is read.

    Parameters
    ----------
    request : ReportRequest
        What to report on.
    output : Output
        Where to tell of it.

    Returns
    -------
    int
        The exit code: 0 if there is a report, whatever it finds.
    """
    try:
        with failures(f"report on {request.table}"), output.progress() as say, warnings(output):
            say(f"Reading the metadata of {request.table}")
            table = load_table(request.catalog, request.identifier)
            found = report(
                table,
                request.sort_order,
                where=request.where,
                branch=request.branch,
                predicates=request.predicates,
            ).to_dict()
    except Exception as error:  # whatever it is, it ends in a message and an exit code
        failure = Failure.of(error)
        output.failure(failure)
        return failure.exit_code
    output.reported(found)
    return 0
