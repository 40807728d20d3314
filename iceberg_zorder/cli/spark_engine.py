"""The Spark engine behind the command ``rewrite``: start Spark with the catalog, and issue the CALL."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from iceberg_zorder.cli.output import Output
from iceberg_zorder.cli.request import EngineError, RewriteRequest
from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.pyiceberg.catalog import CatalogConfiguration
from iceberg_zorder.rewrite_request import RewriteResult
from iceberg_zorder.spark.catalogs import SparkCatalog, spark_catalog
from iceberg_zorder.spark.failures import failure_message
from iceberg_zorder.spark.local import local_session, plugin_lines
from iceberg_zorder.spark.rewrite import rewrite_data_files


@dataclass(frozen=True)
class SparkEngine:
    """Rewrites through a Spark session of its own.

    Parameters
    ----------
    catalog : SparkCatalog
        The catalog, as Spark takes it.
    conf : dict of str to str
        Settings of Spark.
    """

    catalog: SparkCatalog
    conf: dict[str, str]

    @staticmethod
    def of(catalog: CatalogConfiguration, conf: dict[str, str]) -> SparkEngine:
        """Prepare the engine; raises InvalidInputError for wrong usage."""
        for name in conf:
            if not name.startswith("spark."):
                raise InvalidInputError(f"Cannot set --conf {name}, because Spark's settings start with 'spark.'")
        return SparkEngine(spark_catalog(catalog.name, catalog.properties), conf)

    def rewrite(self, request: RewriteRequest, output: Output) -> RewriteResult:
        """Carry out a request; raises EngineError with the cause."""
        with tempfile.TemporaryDirectory(prefix="iceberg-zorder-") as temporary:
            directory = Path(temporary)
            try:
                result = self._rewrite(request, output, directory)
            except Exception as error:  # whatever Spark raises ends in a message
                message = failure_message(error)
                _warn(output, directory, said=message)
                raise EngineError(message) from error
            _warn(output, directory, said=result.message)
        return result

    def _rewrite(self, request: RewriteRequest, output: Output, directory: Path) -> RewriteResult:
        with output.progress() as say:
            say("Starting Spark (the first time it downloads Iceberg)")
            with local_session(
                self.conf,
                session_settings=self.catalog.settings,
                packages=self.catalog.packages,
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
