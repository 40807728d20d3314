"""The command ``advise``: judge layouts of a table by its queries, and tell which is worth a rewrite."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from iceberg_zorder.advice.advice import Advice
from iceberg_zorder.advice.facts import WorkloadFiles
from iceberg_zorder.cli.failure import Failure
from iceberg_zorder.cli.files import replace_text
from iceberg_zorder.cli.output import Output
from iceberg_zorder.cli.pyiceberg_engine import failures, warnings
from iceberg_zorder.cli.request import AdviceRequest, pasted
from iceberg_zorder.pyiceberg import advise
from iceberg_zorder.pyiceberg.catalog.configuration import load_table
from iceberg_zorder.pyiceberg.scan.scanned_table import scanned_table
from iceberg_zorder.workload.read import read_workload


def run(request: AdviceRequest, output: Output) -> int:
    """Advise on a table; a sample of it is read, and nothing is written to it."""
    try:
        found = _advice(request, output)
        if request.page is not None:
            _write_page(request.page, found)
    except Exception as error:  # whatever it is, it ends in a message and an exit code
        failure = Failure.of(error)
        output.failure(failure)
        return failure.exit_code
    output.advised(found.to_dict())
    if request.page is not None:
        output.told(f"Wrote {request.page}")
    return 0


def _advice(request: AdviceRequest, output: Output) -> Advice:
    queries = request.workload
    with failures(f"advise on {request.table}"), warnings(output):
        table = load_table(queries.catalog, request.identifier)
        with output.progress() as say, output.work() as work:
            say(f"Reading {len(queries.files)} files of queries on {request.table}")
            workload = read_workload(
                queries.files,
                scanned_table(table, request.identifier),
                dialect=queries.dialect,
                as_of=queries.as_of,
                kind=queries.kind,
            )
            say(f"Simulating layouts of {request.table}")
            found = advise(
                table,
                workload,
                options=request.options,
                branch=request.branch,
                days=request.days,
                least_saving=request.least_saving,
                progress=work,
                files=WorkloadFiles.of(
                    queries.files,
                    queries.kind,
                    **{"dialect": queries.dialect, "as-of": queries.as_of.isoformat(" ") if queries.as_of else None},
                ),
            )
    catalog = queries.catalog
    return replace(found, command=pasted(found.command, catalog), preparation=pasted(found.preparation, catalog))


def _write_page(path: Path, advice: Advice) -> None:
    # They are an extra, and take a while to import.
    from iceberg_zorder.render.advice_page import advice_page

    replace_text(path, advice_page(advice.to_dict()), flag="--html")
