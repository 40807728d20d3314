"""What to paste: the statement of Spark SQL, and the command, that make a layout."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from iceberg_zorder.advice.facts import TableFacts
from iceberg_zorder.layout.columns import quoted_name, quoted_text

_ALL = {"rewrite-all": "true"}


def rewrite_statement(table: TableFacts, sort_order: str) -> str:
    """Write the call that rewrites a table by a sort order.

    Examples
    --------
    >>> print(rewrite_statement(TableFacts("lake", ("db", "t"), 1, 9, 99, 11), "zorder(a, b)"))
    CALL lake.system.rewrite_data_files(
      table => 'db.t', strategy => 'zorder', sort_order => 'zorder(a, b)',
      options => map('rewrite-all', 'true')
    )
    """
    return _call(table, f", strategy => 'zorder', sort_order => {quoted_text(sort_order)}")


def partition_statement(table: TableFacts, field: str) -> str:
    """Write the statements that partition a table by one more field, and bring its files there.

    Examples
    --------
    >>> print(partition_statement(TableFacts("lake", ("db", "t"), 1, 9, 99, 11), "day(ts)"))
    ALTER TABLE lake.db.t ADD PARTITION FIELD day(ts);
    CALL lake.system.rewrite_data_files(
      table => 'db.t',
      options => map('rewrite-all', 'true')
    )
    """
    name = quoted_name((table.catalog, *table.identifier))
    return f"ALTER TABLE {name} ADD PARTITION FIELD {field};\n{_call(table, '')}"


def rewrite_command(table: TableFacts, sort_order: str) -> str:
    """Write the command that does the same as the call.

    Examples
    --------
    >>> rewrite_command(TableFacts("lake", ("db", "t"), 1, 9, 99, 11), "zorder(a, b)")
    "iceberg-zorder rewrite db.t --by 'zorder(a, b)' --option rewrite-all=true --catalog lake"
    """
    options = [word for name, value in _options(table).items() for word in ("--option", f"{name}={value}")]
    words = ["iceberg-zorder", "rewrite", quoted_name(table.identifier), "--by", sort_order, *options]
    return shlex.join([*words, "--catalog", table.catalog])


def _call(table: TableFacts, how: str) -> str:
    catalog = quoted_name((table.catalog,))
    options = ", ".join(f"{quoted_text(name)}, {quoted_text(value)}" for name, value in _options(table).items())
    return (
        f"CALL {catalog}.system.rewrite_data_files(\n  table => {quoted_text(quoted_name(table.identifier))}{how},\n"
        f"  options => map({options})\n)"
    )


def _options(table: TableFacts) -> Mapping[str, str]:
    return {**_ALL, **table.options}


def bloom_filter_statement(table: TableFacts, column: str) -> str:
    """Write the statement by which new files of a table get a bloom filter of a column.

    Examples
    --------
    >>> bloom_filter_statement(TableFacts("lake", ("db", "t"), 1, 9, 99, 11), "id")
    "ALTER TABLE lake.db.t SET TBLPROPERTIES ('write.parquet.bloom-filter-enabled.column.id' = 'true')"
    """
    name = quoted_name((table.catalog, *table.identifier))
    return f"ALTER TABLE {name} SET TBLPROPERTIES ({quoted_text(_BLOOM + column)} = 'true')"


_BLOOM = "write.parquet.bloom-filter-enabled.column."
