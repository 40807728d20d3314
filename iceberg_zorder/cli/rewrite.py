"""The command ``rewrite``: check the request, have an engine carry it out, and show the result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from importlib.util import find_spec
from typing import Literal

from iceberg_zorder.cli.failure import Failure
from iceberg_zorder.cli.output import Output
from iceberg_zorder.cli.request import Engine, RewriteRequest
from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.layout.columns import quoted_name
from iceberg_zorder.pyiceberg.catalog.configuration import CatalogConfiguration, catalog_properties
from iceberg_zorder.request.arguments import name_parts
from iceberg_zorder.request.sort_order import parse_sort_order

EngineName = Literal["auto", "spark", "pyiceberg"]


def checked_request(
    table: str,
    *,
    by: str,
    where: str | None = None,
    options: Mapping[str, str],
    branch: str | None = None,
    engine: EngineName = "auto",
    catalog: str | None = None,
    uri: str | None = None,
    warehouse: str | None = None,
    conf: Mapping[str, str],
) -> RewriteRequest:
    """Check the arguments of the command line; raises InvalidInputError for wrong usage."""
    parse_sort_order(by)
    parts = tuple(name_parts(table))
    if len(parts) < 2:
        raise InvalidInputError(f"Cannot rewrite {table}, because it names no namespace: write it as db.{table}")
    found = catalog_properties(catalog, uri=uri, warehouse=warehouse)
    return RewriteRequest(
        table=quoted_name((found.name, *parts)),
        identifier=parts,
        sort_order=by.strip(),
        where=where,
        branch=branch,
        options=dict(options),
        engine=_engine(engine, found, dict(conf)),
    )


def _engine(name: EngineName, catalog: CatalogConfiguration, conf: dict[str, str]) -> Engine:
    """Prepare the engine of a name; ``auto`` is Spark where it is installed."""
    if name == "spark" or (name == "auto" and find_spec("pyspark")):
        from iceberg_zorder.cli.spark_engine import SparkEngine

        return SparkEngine.of(catalog, conf)
    from iceberg_zorder.cli.pyiceberg_engine import PyIcebergEngine

    return PyIcebergEngine.of(catalog, conf)


def run(request: RewriteRequest, output: Output, done: Callable[[], None]) -> int:
    """Carry out a request.

    Parameters
    ----------
    request : RewriteRequest
        What to do.
    output : Output
        Where to tell of it.
    done : callable
        Called as soon as the table is rewritten, and only the result is left to tell.

    Returns
    -------
    int
        The exit code: 0 if it succeeded, nothing to do included.
    """
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
