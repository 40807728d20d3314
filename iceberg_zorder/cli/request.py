"""What the commands ``rewrite`` and ``plan`` are asked for, and the engine that does it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Literal, Protocol

from iceberg_zorder.cli.output import Output
from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.layout.columns import quoted_name
from iceberg_zorder.pyiceberg.catalog.configuration import CatalogConfiguration, catalog_properties
from iceberg_zorder.request.arguments import name_parts
from iceberg_zorder.request.result import RewriteResult
from iceberg_zorder.request.sort_order import parse_sort_order

EngineName = Literal["auto", "spark", "pyiceberg"]


class Engine(Protocol):
    """What carries out a request."""

    def plan(self, request: RewriteRequest, output: Output, *, sampled: bool) -> Mapping[str, Any]:
        """Plan the rewrite; nothing is written. With ``sampled`` the plan has layouts and predictions.

        Returns what :meth:`iceberg_zorder.pyiceberg.RewritePlan.to_dict` describes; raises as ``rewrite``.
        """

    def rewrite(self, request: RewriteRequest, output: Output) -> RewriteResult:
        """Rewrite the table.

        Raises
        ------
        InvalidInputError
            When the request cannot be honoured; nothing was begun then.
        RewriteFailedError
            When it failed later, or one of its subclasses.
        Exception
            Whatever else kept the engine from working; the message is for the user.
        """


@dataclass(frozen=True)
class RewriteRequest:
    """A checked request.

    Parameters
    ----------
    table : str
        The table's full name, the catalog in front.
    identifier : tuple of str
        Its name in the catalog: the namespace's parts, and its own.
    sort_order : str
        The clustering columns, or a whole sort order.
    where, branch : str or None
        As the engines' ``rewrite_data_files`` take them.
    options : dict of str to str
        Options of the rewrite.
    engine : Engine
        What is to carry it out.
    """

    table: str
    identifier: tuple[str, ...]
    sort_order: str
    where: str | None
    branch: str | None
    options: dict[str, str]
    engine: Engine


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
