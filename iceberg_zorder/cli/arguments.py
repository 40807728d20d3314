"""Check the arguments that the commands share, and choose the engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from iceberg_zorder.cli.parameters import FileKind
from iceberg_zorder.cli.request import (
    AdviceRequest,
    DefaultsRequest,
    Engine,
    HistoryRequest,
    ReportRequest,
    RewriteRequest,
    WorkloadRequest,
)
from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.layout.columns import quoted_name
from iceberg_zorder.pyiceberg.catalog.configuration import CatalogConfiguration, catalog_properties, has_tables
from iceberg_zorder.request.arguments import name_parts
from iceberg_zorder.request.predicate_values import as_timestamp
from iceberg_zorder.request.sort_order import parse_sort_order

EngineName = Literal["auto", "spark", "pyiceberg"]


def checked_request(
    table: str,
    *,
    by: str | None = None,
    where: str | None = None,
    options: Mapping[str, str],
    branch: str | None = None,
    engine: EngineName = "auto",
    catalog: str | None = None,
    uri: str | None = None,
    warehouse: str | None = None,
    conf: Mapping[str, str],
    predicates: Sequence[str] = (),
) -> RewriteRequest:
    """Check the arguments of the command line; raises InvalidInputError for wrong usage."""
    if by is not None:
        parse_sort_order(by)
    found = catalog_properties(catalog, uri=uri, warehouse=warehouse)
    parts = _identifier(table, "rewrite", found)
    return RewriteRequest(
        table=quoted_name((found.name, *parts)),
        identifier=parts,
        sort_order=None if by is None else by.strip(),
        where=where,
        branch=branch,
        options=dict(options),
        engine=_engine(engine, found, dict(conf)),
        predicates=tuple(predicates),
    )


def checked_report_request(
    table: str,
    *,
    by: str | None = None,
    where: str | None = None,
    branch: str | None = None,
    predicates: Sequence[str] = (),
    compared: int | None = None,
    page: Path | None = None,
    workload: str | None = None,
    engine: EngineName = "pyiceberg",
    catalog: str | None = None,
    uri: str | None = None,
    warehouse: str | None = None,
    conf: Mapping[str, str],
) -> ReportRequest:
    """Check the arguments of ``report``; raises InvalidInputError for wrong usage."""
    if page is not None:
        _check_page(page)
    if by is not None:
        parse_sort_order(by)
    found = catalog_properties(catalog, uri=uri, warehouse=warehouse)
    parts = _identifier(table, "report on", found)
    return ReportRequest(
        table=quoted_name((found.name, *parts)),
        identifier=parts,
        sort_order=by,
        where=where,
        branch=branch,
        predicates=tuple(predicates),
        compared=compared,
        page=page,
        engine=_engine(engine, found, dict(conf)),
        workload=workload,
    )


def checked_defaults(
    table: str,
    *,
    by: str,
    options: Mapping[str, str],
    catalog: str | None = None,
    uri: str | None = None,
    warehouse: str | None = None,
) -> DefaultsRequest:
    """Check the arguments of ``set``; raises InvalidInputError for wrong usage."""
    parse_sort_order(by)
    found = catalog_properties(catalog, uri=uri, warehouse=warehouse)
    parts = _identifier(table, "change", found)
    return DefaultsRequest(quoted_name((found.name, *parts)), parts, by.strip(), dict(options), found)


def checked_history(
    table: str,
    branch: str | None,
    limit: int,
    *,
    catalog: str | None = None,
    uri: str | None = None,
    warehouse: str | None = None,
) -> HistoryRequest:
    """Check the arguments of ``history``; raises InvalidInputError for wrong usage."""
    if limit < 1:
        raise InvalidInputError(f"Cannot use --limit {limit}, because it must be at least 1")
    found = catalog_properties(catalog, uri=uri, warehouse=warehouse)
    parts = _identifier(table, "read the history of", found)
    return HistoryRequest(quoted_name((found.name, *parts)), parts, branch or "main", limit, found)


def checked_workload(
    table: str,
    files: Sequence[Path],
    to: Path | None,
    *,
    dialect: str | None = None,
    as_of: str | None = None,
    kind: FileKind | None = None,
    catalog: str | None = None,
    uri: str | None = None,
    warehouse: str | None = None,
) -> WorkloadRequest:
    """Check the arguments of ``workload``; raises InvalidInputError for wrong usage."""
    if to is not None and not to.parent.is_dir():
        raise InvalidInputError(f"Cannot write --to {to}, because there is no directory {to.parent}")
    moment = None if as_of is None else as_timestamp(as_of, has_zone=True)
    if as_of is not None and moment is None:
        raise InvalidInputError(
            f"Cannot use --as-of {as_of}, because it is no date or timestamp: write 2024-05-17 10:30:00Z"
        )
    found = catalog_properties(catalog, uri=uri, warehouse=warehouse)
    parts = _identifier(table, "read the workload of", found)
    name = quoted_name((found.name, *parts))
    return WorkloadRequest(name, parts, tuple(files), to, dialect, moment, kind, found)


def checked_advice_request(
    workload: WorkloadRequest,
    *,
    options: Mapping[str, str],
    branch: str | None,
    days: float | None,
    least_saving: float,
    page: Path | None,
) -> AdviceRequest:
    """Check the arguments of ``advise``; raises InvalidInputError for wrong usage."""
    if page is not None:
        _check_page(page)
    if days is not None and not days > 0:
        raise InvalidInputError(f"Cannot use --days {days:g}, because it must be more than 0")
    if not 0 <= least_saving <= 1:
        raise InvalidInputError(f"Cannot use --least-saving {least_saving:g}, because it must be in [0, 1]")
    return AdviceRequest(workload, dict(options), branch, days, least_saving, page)


def predicates_of(texts: Sequence[str], file: Path | None) -> list[str]:
    """Join predicates with those of a file: one a line, without empty lines and those that begin with #."""
    if file is None:
        return list(texts)
    try:
        lines = [line.strip() for line in file.read_text(encoding="utf-8").splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInputError(f"Cannot read --predicates {file}, because {error}") from error
    return [*texts, *(line for line in lines if line and not line.startswith("#"))]


def _check_page(page: Path) -> None:
    for needed in ("jinja2", "matplotlib"):
        if not find_spec(needed):
            raise InvalidInputError(
                f"Cannot write --html {page}, because {needed} is not installed: pip install '.[html]'"
            )
    if not page.parent.is_dir():
        raise InvalidInputError(f"Cannot write --html {page}, because there is no directory {page.parent}")


def _identifier(table: str, act: str, catalog: CatalogConfiguration) -> tuple[str, ...]:
    """Split a table's name, which may begin with the catalog's, as all output prints it."""
    parts = tuple(name_parts(table))
    if len(parts) > 2 and parts[0] == catalog.name:
        if has_tables(catalog, parts, parts[1:]):
            raise InvalidInputError(
                f"Cannot {act} {table}, because catalog {catalog.name} has a table of that name, and one of the name "
                f"{'.'.join(parts[1:])}: write {catalog.name}.{table} or {'.'.join(parts[1:])}"
            )
        parts = parts[1:]
    if len(parts) < 2:
        raise InvalidInputError(f"Cannot {act} {table}, because it names no namespace: write it as db.{table}")
    return parts


def _engine(name: EngineName, catalog: CatalogConfiguration, conf: dict[str, str]) -> Engine:
    """Prepare the engine of a name; ``auto`` is Spark where it is installed."""
    if name == "spark" or (name == "auto" and find_spec("pyspark")):
        from iceberg_zorder.cli.spark_engine import SparkEngine

        return SparkEngine.of(catalog, conf)
    from iceberg_zorder.cli.pyiceberg_engine import PyIcebergEngine

    return PyIcebergEngine.of(catalog, conf)
