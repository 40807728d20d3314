"""Report how well a table is clustered from PySpark, classic or Spark Connect, by a CALL of ``zorder_report``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import SparkSession

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.layout.columns import quoted_name
from iceberg_zorder.report.clustering_report import ClusteringReport
from iceberg_zorder.request.arguments import name_parts, option_text, sort_order_text
from iceberg_zorder.spark.procedures import catalog_of, escapes_string_literals, first_row
from iceberg_zorder.spark.sql_text import procedure_call, string_literal

_LONGS = 2**63


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
    boxes: bool = False,
) -> ClusteringReport:
    """Report how well a table is clustered by columns; only its metadata is read.

    Parameters
    ----------
    spark : SparkSession
        A session with the plugin, see :func:`iceberg_zorder.spark.configure_spark`; Spark Connect works too.
    table : str
        Its name, with the catalog in front or in the current catalog.
    columns : sequence of str, or str, optional
        The clustering columns, or a sort order, as for :func:`iceberg_zorder.spark.rewrite_data_files`; by default what
        the table's property ``zorder.columns`` says, else those of the newest rewrite in the branch's snapshots.
    where : str, optional
        Report only on data files that may hold rows for which this condition is true.
    branch : str, optional
        The branch, by default main.
    snapshot_id : int, optional
        One of the table's snapshots, by default the branch's newest.
    predicates : sequence of str, optional
        Conditions whose scan fractions are to be reported, too.
    workload : str or mapping, optional
        Queries of which is to be told what they read on average, as option ``workload`` of rewrites takes them, empty
        for none; by default those that the table's property ``zorder.workload`` names, if it does.
    boxes : bool, optional
        Have the report's ``boxes``, too, which the page with pictures needs.

    Returns
    -------
    ClusteringReport
        What :func:`iceberg_zorder.pyiceberg.report` gives of the same table, but that commands are CALLs.

    Raises
    ------
    InvalidInputError
        When an argument cannot be honoured, or no columns are named and no snapshot tells of any.
    RewriteFailedError
        When a manifest cannot be read.

    Examples
    --------
    >>> found = report(spark, "lake.db.events", ["user_id", "ts"], predicates=["ts >= '2026-01-01'"])  # doctest: +SKIP
    >>> {column.name: round(column.scan_fraction, 2) for column in found.columns}  # doctest: +SKIP
    {'user_id': 1.0, 'ts': 0.25}
    """
    escaped = escapes_string_literals(spark)
    given = {
        "table": quoted_name(tuple(name_parts(table))),
        "columns": None if columns is None else sort_order_text(table, columns),
        "where": where,
        "branch": branch,
        "workload": None if workload is None else option_text("workload", workload),
    }
    arguments = {
        name: string_literal(text, escaped_string_literals=escaped) for name, text in given.items() if text is not None
    }
    if predicates:
        texts = ", ".join(string_literal(each, escaped_string_literals=escaped) for each in predicates)
        arguments["predicates"] = f"array({texts})"
    if snapshot_id is not None:
        if not -_LONGS <= snapshot_id < _LONGS:
            # Spark would say that it cannot cast it.
            raise InvalidInputError(f"Cannot report on snapshot {snapshot_id}, because {table} has no such snapshot")
        arguments["snapshot_id"] = str(snapshot_id)
    if boxes:
        arguments["boxes"] = "true"
    call = procedure_call(catalog_of(spark, table, "report on"), "zorder_report", arguments)
    return ClusteringReport.from_json(first_row(spark, call)["report"])
