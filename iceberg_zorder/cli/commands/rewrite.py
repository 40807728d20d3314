"""The command ``rewrite``: have an engine carry out the request, and show the result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict

from iceberg_zorder.cli.failure import Failure
from iceberg_zorder.cli.output import Output
from iceberg_zorder.cli.request import RewriteRequest


def run(request: RewriteRequest, output: Output, done: Callable[[], None]) -> int:
    """Carry out a request."""
    try:
        result = request.engine.rewrite(request, output, done)
    except Exception as error:  # whatever it is, it ends in a message and an exit code
        failure = Failure.of(error)
        output.failure(failure)
        return failure.exit_code
    count = result.failed_data_files_count
    failed = Failure.of_data_files(count, request.table) if count else None
    output.rewritten(request.table, request.sort_order, asdict(result), failed)
    return failed.exit_code if failed else 0
