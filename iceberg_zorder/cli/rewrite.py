"""The command ``rewrite``: have an engine carry out the request, and show the result."""

from __future__ import annotations

from dataclasses import asdict

from iceberg_zorder.cli.output import Output
from iceberg_zorder.cli.request import EngineError, RewriteRequest


def run(request: RewriteRequest, output: Output) -> bool:
    """Carry out a request.

    Parameters
    ----------
    request : RewriteRequest
        What to do.
    output : Output
        Where to tell of it.

    Returns
    -------
    bool
        Whether it succeeded, nothing to do included.
    """
    try:
        result = request.engine.rewrite(request, output)
    except EngineError as error:
        output.failure(str(error))
        return False
    output.rewritten(request.table, request.sort_order, asdict(result))
    if result.failed_data_files_count:
        output.failure(f"{result.failed_data_files_count} data files of {request.table} could not be rewritten")
        return False
    return True
