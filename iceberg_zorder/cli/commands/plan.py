"""The command ``plan``: have an engine plan the request, and show the plan."""

from __future__ import annotations

from iceberg_zorder.cli.failure import Failure
from iceberg_zorder.cli.output import Output
from iceberg_zorder.cli.request import RewriteRequest


def run(request: RewriteRequest, output: Output, *, sampled: bool) -> int:
    """Plan a request; nothing is written."""
    try:
        plan = request.engine.plan(request, output, sampled=sampled)
    except Exception as error:  # whatever it is, it ends in a message and an exit code
        failure = Failure.of(error)
        output.failure(failure)
        return failure.exit_code
    output.planned(plan)
    return 0
