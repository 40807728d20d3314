"""The command ``workload``: read files of queries, and tell which filters they have on a table."""

from __future__ import annotations

from iceberg_zorder.cli.failure import Failure
from iceberg_zorder.cli.files import replace_text
from iceberg_zorder.cli.output import Output
from iceberg_zorder.cli.pyiceberg_engine import failures, warnings
from iceberg_zorder.cli.request import WorkloadRequest
from iceberg_zorder.pyiceberg.catalog.configuration import load_table
from iceberg_zorder.pyiceberg.scan.scanned_table import scanned_table
from iceberg_zorder.workload.read import read_workload
from iceberg_zorder.workload.summary import summary
from iceberg_zorder.workload.workload_json import to_json


def run(request: WorkloadRequest, output: Output) -> int:
    """Read the workload of a table; of the table only its schema is read."""
    try:
        with failures(f"read the workload of {request.table}"), warnings(output):
            table = load_table(request.catalog, request.identifier)
            with output.progress() as say:
                say(f"Reading {len(request.files)} files of queries on {request.table}")
                found = read_workload(
                    request.files,
                    scanned_table(table, request.identifier),
                    dialect=request.dialect,
                    as_of=request.as_of,
                    kind=request.kind,
                )
        if request.to is not None:
            replace_text(request.to, to_json(found), flag="--to")
    except Exception as error:  # whatever it is, it ends in a message and an exit code
        failure = Failure.of(error)
        output.failure(failure)
        return failure.exit_code
    written = None if request.to is None else str(request.to)
    output.workload({"table": request.table, "written": written, **summary(found)})
    return 0
