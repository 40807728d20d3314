"""Find the catalog of a table, and issue CALLs of its procedures."""

from __future__ import annotations

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import Row, SparkSession

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.request.arguments import name_parts
from iceberg_zorder.spark.failures import rewrite_error

SESSION_CATALOG = "spark_catalog"


def rows_of(spark: SparkSession, call: str) -> list[Row]:
    """Run a CALL, and return the rows that it gives."""
    try:
        return spark.sql(call).collect()
    except (PySparkException, Py4JError) as error:
        raise rewrite_error(error) from error


def catalog_of(spark: SparkSession, table: str, act: str = "rewrite") -> str:
    """Find the catalog of a table: the first part of its name if that is one, else the current catalog."""
    first, *rest = name_parts(table)
    if rest and (first == SESSION_CATALOG or spark.conf.get(f"spark.sql.catalog.{first}", None) is not None):
        catalog = first
    else:
        catalog = spark.catalog.currentCatalog()
    if catalog == SESSION_CATALOG and spark.conf.get(f"spark.sql.catalog.{catalog}", "builtin") == "builtin":
        raise InvalidInputError(
            f"Cannot {act} {table}, because its catalog would be Spark's built-in one, which is no Iceberg catalog: "
            "put the name of a configured catalog in front"
        )
    return catalog


def escapes_string_literals(spark: SparkSession) -> bool:
    """Tell whether the session's parser takes a backslash in a literal for itself."""
    return spark.conf.get("spark.sql.parser.escapedStringLiterals", "false") == "true"
