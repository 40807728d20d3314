"""The Spark SQL statement and the command that make an advised layout."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from iceberg_zorder.advice.advice import JudgedLayout
from iceberg_zorder.advice.facts import TableFacts
from iceberg_zorder.advice.judged_queries import JudgedQuery
from iceberg_zorder.layout.columns import quoted_name, quoted_text

TARGET_SIZE = "target-file-size-bytes"
_ALL = {"rewrite-all": "true"}
_LONGEST_INLINE = 1_000
"""Longest workload, in characters, that is written into the statement itself: about a dozen filters."""


@dataclass(frozen=True)
class NamedWorkload:
    """A workload as a statement names it."""

    option: str  # value of option ``workload``
    preparation: str | None  # command or line of Python that writes the named file; None if the file exists


def named_workload(table: TableFacts, queries: Sequence[JudgedQuery]) -> NamedWorkload:
    """Return the workload's JSON file, the workload itself if it is short, or else a file to be written.

    Examples
    --------
    >>> from iceberg_zorder.advice.facts import WorkloadFiles
    >>> table = TableFacts("lake", ("db", "t"), 1, 9, 99, 11, workload=WorkloadFiles(("q.sql",), "/w/workload.json"))
    >>> named_workload(table, [JudgedQuery("a = 1", 2.0, (), ())])
    NamedWorkload(option='{"version": 1, "queries": [{"filter": "a = 1", "weight": 2.0}]}', preparation=None)
    >>> found = named_workload(table, [JudgedQuery(f"a = {number}", 2.0, (), ()) for number in range(50)])
    >>> found.option, found.preparation
    ('/w/workload.json', 'iceberg-zorder workload db.t --from q.sql --to /w/workload.json --catalog lake')
    """
    read = table.workload
    if read.is_json:
        return NamedWorkload(read.files[0], None)
    listed = [{"filter": each.filter, "weight": each.weight} for each in queries]
    content = json.dumps({"version": 1, "queries": listed}, ensure_ascii=False)
    if len(content) <= _LONGEST_INLINE:
        return NamedWorkload(content, None)
    if not read.files:
        written = "iceberg_zorder.workload.workload_json.to_json(workload)"
        return NamedWorkload(read.to, f"pathlib.Path({read.to!r}).write_text({written}, encoding='utf-8')")
    files = [word for each in read.files for word in ("--from", each)]
    how = [word for name, value in read.options.items() for word in (f"--{name}", value)]
    words = ["iceberg-zorder", "workload", quoted_name(table.identifier), *files, *how, "--to", read.to]
    return NamedWorkload(read.to, shlex.join([*words, "--catalog", table.catalog]))


def rewrite_statement(table: TableFacts, sort_order: str, workload: str | None = None) -> str:
    """Return the CALL that rewrites a table by a sort order, with cuts for a workload if one is given.

    Examples
    --------
    >>> print(rewrite_statement(TableFacts("lake", ("db", "t"), 1, 9, 99, 11), "zorder(a, b)"))
    CALL lake.system.rewrite_data_files(
      table => 'db.t', strategy => 'zorder', sort_order => 'zorder(a, b)',
      options => map('rewrite-all', 'true')
    )
    """
    how = f", strategy => 'zorder', sort_order => {quoted_text(sort_order)}"
    return _call(table, how, options_of(table, workload))


def partition_statement(table: TableFacts, field: str) -> str:
    """Return the statements that add a partition field to a table and rewrite its files.

    The CALL is Iceberg's own rewrite, so the target file size is the only option passed on.

    Examples
    --------
    >>> print(partition_statement(TableFacts("lake", ("db", "t"), 1, 9, 99, 11), "day(ts)"))
    ALTER TABLE lake.db.t ADD PARTITION FIELD day(ts);
    CALL lake.system.rewrite_data_files(
      table => 'db.t',
      options => map('rewrite-all', 'true', 'target-file-size-bytes', '11')
    )
    """
    name = quoted_name((table.catalog, *table.identifier))
    options = {**_ALL, TARGET_SIZE: str(table.target_file_size)}
    return f"ALTER TABLE {name} ADD PARTITION FIELD {field};\n{_call(table, '', options)}"


def rewrite_command(table: TableFacts, sort_order: str, workload: str | None = None) -> str:
    """Return the shell command equivalent to :func:`rewrite_statement`.

    Examples
    --------
    >>> rewrite_command(TableFacts("lake", ("db", "t"), 1, 9, 99, 11), "zorder(a, b)")
    "iceberg-zorder rewrite db.t --by 'zorder(a, b)' --option rewrite-all=true --catalog lake"
    >>> rewrite_command(TableFacts("lake", ("db", "t"), 1, 9, 99, 11, branch="audit"), "zorder(a, b)")
    "iceberg-zorder rewrite db.t --by 'zorder(a, b)' --option rewrite-all=true --branch audit --catalog lake"
    """
    options = [word for name, value in options_of(table, workload).items() for word in ("--option", f"{name}={value}")]
    branch = ["--branch", table.branch] if table.branch else []
    words = ["iceberg-zorder", "rewrite", quoted_name(table.identifier), "--by", sort_order, *options, *branch]
    return shlex.join([*words, "--catalog", table.catalog])


def _call(table: TableFacts, how: str, options: Mapping[str, str]) -> str:
    catalog = quoted_name((table.catalog,))
    pairs = ", ".join(f"{quoted_text(name)}, {quoted_text(value)}" for name, value in options.items())
    branch = f",\n  branch => {quoted_text(table.branch)}" if table.branch else ""
    return (
        f"CALL {catalog}.system.rewrite_data_files(\n  table => {quoted_text(quoted_name(table.identifier))}{how},\n"
        f"  options => map({pairs}){branch}\n)"
    )


def options_of(table: TableFacts, workload: str | None) -> Mapping[str, str]:
    """Return the options of the CALL and of the command."""
    # An empty workload overrides the one in the table's properties.
    wanted = "" if workload is None and table.remembers_workload else workload
    return {**_ALL, **({} if wanted is None else {"workload": wanted}), **table.options}


def with_size(table: TableFacts, layout: JudgedLayout) -> TableFacts:
    """Return the facts with the option of a layout's file size, if it needs another one than a rewrite would take."""
    size = layout.target_file_size_bytes
    return table if size is None else replace(table, options={**table.options, TARGET_SIZE: str(size)})


def bloom_filter_statement(table: TableFacts, column: str) -> str:
    """Return the statement that gives new files a bloom filter of a column.

    Examples
    --------
    >>> bloom_filter_statement(TableFacts("lake", ("db", "t"), 1, 9, 99, 11), "id")
    "ALTER TABLE lake.db.t SET TBLPROPERTIES ('write.parquet.bloom-filter-enabled.column.id' = 'true')"
    """
    name = quoted_name((table.catalog, *table.identifier))
    return f"ALTER TABLE {name} SET TBLPROPERTIES ({quoted_text(_BLOOM + column)} = 'true')"


_BLOOM = "write.parquet.bloom-filter-enabled.column."
