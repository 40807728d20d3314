"""Report how well a table is clustered, from PySpark, classic or Spark Connect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import SparkSession

from iceberg_zorder.layout.columns import quoted_name
from iceberg_zorder.metrics.clustering_report import ClusteringReport
from iceberg_zorder.pyiceberg.catalog import GivenTable, given_table
from iceberg_zorder.pyiceberg.reporting.report import CommandArguments, report_of
from iceberg_zorder.rewrite.options import name_parts
from iceberg_zorder.spark.call import catalog_of, escapes_string_literals, procedure_call, rows_of, string_literal
from iceberg_zorder.spark.rewrite import RewriteCall, rewrite_statement


def report(
    spark: SparkSession,
    table: str,
    columns: Sequence[str] | str | None = None,
    *,
    where: str | None = None,
    branch: str | None = None,
    snapshot_id: int | None = None,
    predicates: Sequence[str] = (),
    workload: str | Mapping[str, object] | None = None,
) -> ClusteringReport:
    """Report how well a table is clustered by some columns, from its metadata alone.

    Spark reads the table's metadata, and this process computes the figures, as :func:`iceberg_zorder.pyiceberg.report`
    does. Timestamps without a zone are in UTC.

    Parameters
    ----------
    spark : SparkSession
        A session with the plugin, see :func:`iceberg_zorder.spark.configure_spark`; Spark Connect works too.
    table : str
        Table name, with a catalog or in the current catalog.
    columns, where, branch, snapshot_id, predicates, workload
        As for :func:`iceberg_zorder.pyiceberg.report`.

    Returns
    -------
    ClusteringReport
        The report of :func:`iceberg_zorder.pyiceberg.report`; the commands in its findings are CALL statements.

    Raises
    ------
    InvalidInputError
        As for :func:`iceberg_zorder.pyiceberg.report`.
    RewriteFailedError
        When a manifest cannot be read.

    Examples
    --------
    >>> found = report(spark, "lake.db.events", ["user_id", "ts"], predicates=["ts >= '2026-01-01'"])  # doctest: +SKIP
    >>> {column.name: round(column.scan_fraction, 2) for column in found.columns}  # doctest: +SKIP
    {'user_id': 1.0, 'ts': 0.25}
    """
    given = read_table(spark, table, "report on")

    def command(arguments: CommandArguments, options: Mapping[str, str]) -> str:
        asked = RewriteCall(
            quoted_name(given.name()), arguments.sort_order, arguments.where, dict(options), arguments.branch
        )
        return rewrite_statement(asked, given.catalog.name)

    return report_of(
        given,
        columns,
        where=where,
        branch=branch,
        snapshot_id=snapshot_id,
        predicates=predicates,
        workload=workload,
        case_sensitive=spark.conf.get("spark.sql.caseSensitive", "false") == "true",
        write_command=command,
    )


def read_table(spark: SparkSession, table: str, act: str) -> GivenTable:
    """Return a table as Spark reads its metadata and manifests; it cannot be written or refreshed.

    ``act`` is what cannot be done without the table, for messages.
    """
    catalog = catalog_of(spark, table, act)
    name = tuple(name_parts(table))
    if name[0] == catalog and len(name) > 1:
        name = name[1:]
    elif len(name) == 1:
        name = (*name_parts(spark.catalog.currentDatabase()), *name)
    text = string_literal(quoted_name(name), escaped_string_literals=escapes_string_literals(spark))

    def files(**arguments: str) -> dict[str, bytes]:
        call = procedure_call(catalog, "zorder_metadata", {"table": text, **arguments})
        return {row["location"]: bytes(row["content"]) for row in rows_of(spark, call)}

    (metadata,) = files().items()
    return given_table(catalog, name, metadata, lambda snapshot: files(snapshot_id=str(snapshot)))
