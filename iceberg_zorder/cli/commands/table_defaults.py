"""The command ``set``: have a table remember by what it is rewritten."""

from __future__ import annotations

from iceberg_zorder.cli.failure import Failure
from iceberg_zorder.cli.output import Output
from iceberg_zorder.cli.pyiceberg_engine import failures, warnings
from iceberg_zorder.cli.request import DefaultsRequest
from iceberg_zorder.pyiceberg.catalog.configuration import load_table
from iceberg_zorder.pyiceberg.plan.plan_request import remember


def run(request: DefaultsRequest, output: Output) -> int:
    """Set the table's properties, if a rewrite would take them."""
    try:
        with failures(f"change {request.table}"), warnings(output):
            table = load_table(request.catalog, request.identifier)
            properties = remember(table, request.sort_order, request.options)
    except Exception as error:  # whatever it is, it ends in a message and an exit code
        failure = Failure.of(error)
        output.failure(failure)
        return failure.exit_code
    output.remembered(request.table, properties)
    return 0
