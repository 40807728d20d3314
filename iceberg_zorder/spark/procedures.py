"""Find the catalog of a table, and issue CALLs of its procedures with values that mean exactly what is given."""

from __future__ import annotations

import re
from collections.abc import Mapping

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import Row, SparkSession

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.layout.columns import quoted_identifier, quoted_text
from iceberg_zorder.request.arguments import name_parts
from iceberg_zorder.spark.failures import rewrite_error

SESSION_CATALOG = "spark_catalog"
# A dollar before a brace is split off: Spark would put the value of a variable in the place of ${...}.
_NEEDS_CHR = re.compile(r"['\\]|\$(?=\{)")


def string_literal(text: str, *, escaped_string_literals: bool = False) -> str:
    r"""Write a text as an expression of Spark SQL that has this value.

    Examples
    --------
    >>> print(string_literal("name = 'O\\Neil'"))
    'name = \'O\\Neil\''
    >>> print(string_literal("it's", escaped_string_literals=True))
    concat('it', chr(39), 's')
    """
    if not escaped_string_literals:
        return quoted_text(text)
    pieces = []
    start = 0
    for match in _NEEDS_CHR.finditer(text):
        if match.start() > start:
            pieces.append(f"'{text[start : match.start()]}'")
        pieces.append(f"chr({ord(match.group())})")
        start = match.end()
    if start < len(text) or not pieces:
        pieces.append(f"'{text[start:]}'")
    return pieces[0] if len(pieces) == 1 else f"concat({', '.join(pieces)})"


def procedure_call(catalog: str, procedure: str, arguments: Mapping[str, str]) -> str:
    """Write a CALL with named arguments."""
    named = ", ".join(f"{name} => {expression}" for name, expression in arguments.items())
    return f"CALL {quoted_identifier(catalog)}.system.{procedure}({named})"


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
