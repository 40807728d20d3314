"""The command ``history``: what rewrites have done to a table, as its snapshots tell."""

from __future__ import annotations

from iceberg_zorder.cli.failure import Failure
from iceberg_zorder.cli.output import Output
from iceberg_zorder.cli.pyiceberg_engine import failures, warnings
from iceberg_zorder.cli.request import HistoryRequest
from iceberg_zorder.maintain.past_rewrites import rewrites_of
from iceberg_zorder.pyiceberg.catalog.configuration import load_table
from iceberg_zorder.pyiceberg.plan.plan_request import branch_snapshot
from iceberg_zorder.pyiceberg.scan.history import snapshots_to


def run(request: HistoryRequest, output: Output) -> int:
    """Show the rewrites of a table; only its metadata is read."""
    try:
        with failures(f"read the history of {request.table}"), warnings(output):
            table = load_table(request.catalog, request.identifier)
            head = branch_snapshot(table, request.branch, "read the history")
            rewrites = rewrites_of(snapshots_to(table, head)) if head else []
    except Exception as error:  # whatever it is, it ends in a message and an exit code
        failure = Failure.of(error)
        output.failure(failure)
        return failure.exit_code
    newest = rewrites[-request.limit :]
    output.history({"table": request.table, "branch": request.branch, "rewrites": [each.to_dict() for each in newest]})
    return 0
