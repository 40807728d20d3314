"""The command ``rewrite``: check the request, start Spark with the catalog, issue the CALL, show the result."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from iceberg_zorder.cli.output import Output
from iceberg_zorder.columns import quoted_name
from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.pyiceberg.catalog import catalog_properties
from iceberg_zorder.rewrite_request import RewriteResult, name_parts
from iceberg_zorder.sort_order import parse_sort_order
from iceberg_zorder.spark.catalogs import SparkCatalog, spark_catalog
from iceberg_zorder.spark.failures import failure_message
from iceberg_zorder.spark.local import local_session, plugin_lines
from iceberg_zorder.spark.rewrite import rewrite_data_files


@dataclass(frozen=True)
class RewriteRequest:
    """A checked request.

    Parameters
    ----------
    table : str
        The table's full name, the catalog in front.
    sort_order : str
        The clustering columns, or a whole sort order.
    where, branch : str or None
        As :func:`iceberg_zorder.spark.rewrite_data_files` takes them.
    options, conf : dict of str to str
        Options of the rewrite, and settings of Spark.
    catalog : SparkCatalog
        The catalog.
    """

    table: str
    sort_order: str
    where: str | None
    branch: str | None
    options: dict[str, str]
    conf: dict[str, str]
    catalog: SparkCatalog

    @staticmethod
    def of(
        table: str,
        *,
        by: str,
        where: str | None = None,
        options: Mapping[str, str],
        branch: str | None = None,
        catalog: str | None = None,
        uri: str | None = None,
        warehouse: str | None = None,
        conf: Mapping[str, str],
    ) -> RewriteRequest:
        """Check the arguments of the command line; raises InvalidInputError for wrong usage."""
        parse_sort_order(by)
        parts = name_parts(table)
        if len(parts) < 2:
            raise InvalidInputError(f"Cannot rewrite {table}, because it names no namespace: write it as db.{table}")
        for name in conf:
            if not name.startswith("spark."):
                raise InvalidInputError(f"Cannot set --conf {name}, because Spark's settings start with 'spark.'")
        found = catalog_properties(catalog, uri=uri, warehouse=warehouse)
        return RewriteRequest(
            table=quoted_name((found.name, *parts)),
            sort_order=by.strip(),
            where=where,
            branch=branch,
            options=dict(options),
            conf=dict(conf),
            catalog=spark_catalog(found.name, found.properties),
        )


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
    with tempfile.TemporaryDirectory(prefix="iceberg-zorder-") as temporary:
        directory = Path(temporary)
        try:
            result = _rewrite(request, output, directory)
        except Exception as error:  # whatever the engine raises ends in a message and exit code 1
            message = failure_message(error)
            _warn(output, directory, said=message)
            output.failure(message)
            return False
        _warn(output, directory, said=result.message)
    output.rewritten(request.table, request.sort_order, asdict(result))
    if result.failed_data_files_count:
        output.failure(f"{result.failed_data_files_count} data files of {request.table} could not be rewritten")
        return False
    return True


def _rewrite(request: RewriteRequest, output: Output, directory: Path) -> RewriteResult:
    with output.progress() as say:
        say("Starting Spark (the first time it downloads Iceberg)")
        with local_session(
            request.conf,
            session_settings=request.catalog.settings,
            packages=request.catalog.packages,
            directory=directory,
        ) as spark:
            say(f"Rewriting {request.table} by {request.sort_order}")
            return rewrite_data_files(
                spark,
                request.table,
                request.sort_order,
                where=request.where,
                options=request.options,
                branch=request.branch,
            )


def _warn(output: Output, directory: Path, *, said: str | None) -> None:
    """Pass on what the plugin warned of, less what is said anyway."""
    for line in plugin_lines(directory):
        if line != said:
            output.warning(line)
