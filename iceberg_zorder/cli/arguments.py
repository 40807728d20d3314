"""Check the arguments that the commands share, and choose the engine."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Literal

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
