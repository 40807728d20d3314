"""Append a DataFrame in files that lie in few boxes of the table, from PySpark, classic or Spark Connect.

::

    sample    some rows' clustering and partition columns, read by Spark
    fit       a layout for each partition that is worth several files, as the PyIceberg engine fits it
    shuffle   an expression gives each row its file, and each file is a task
    write     Spark's own append, without a distribution of its own
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import cast

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql.functions import col, expr, rand
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from iceberg_zorder.errors import RewriteFailedError, UnknownOutcomeError
from iceberg_zorder.layout.columns import ClusteringColumn, quoted_identifier, quoted_name
from iceberg_zorder.pyiceberg.append_routing import RoutedField, routed_fields, routed_partitions
from iceberg_zorder.pyiceberg.catalog import GivenTable
from iceberg_zorder.pyiceberg.plan.append_plan import OPTIONS, AppendSpec, append_spec
from iceberg_zorder.rewrite.append_result import AppendResult
from iceberg_zorder.rewrite.options import PYICEBERG_ONLY, OptionValue, name_parts
from iceberg_zorder.rewrite.snapshot_keys import APPEND_ID
from iceberg_zorder.spark.call import catalog_of, failure_message, rewrite_error
from iceberg_zorder.spark.clustering import read_table
from iceberg_zorder.spark.routing_sql import compared, file_of_row, keys_of_tasks, literal

_SPARK_OPTIONS = tuple(name for name in OPTIONS if name not in PYICEBERG_ONLY)
_MEASURED_ROWS = 1_000
_SAMPLED_LENGTH = 2_700  # a sample of 50,000 rows keeps at most 2,684 bytes of a value


def append(
    df: DataFrame,
    table: str,
    columns: Sequence[str] | str | None = None,
    *,
    options: Mapping[str, OptionValue] | None = None,
    branch: str | None = None,
    file_bytes: int | None = None,
    write_options: Mapping[str, str] | None = None,
) -> AppendResult:
    """Append a DataFrame to a table in files that lie in few boxes of the files that are there.

    Filters then skip most of the new files, and a later rewrite merges each with its neighbours only. In a table that
    is not clustered, the new files are clustered among themselves. Rows that fill less than two files are appended as
    Spark does it. The DataFrame is evaluated twice, first for a sample of its clustering columns: cache it if that is
    dear. It works in ``foreachBatch``, too.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        The rows, with columns as ``df.writeTo(table).append()`` takes them.
    table : str
        Table name, with a catalog or in the current catalog.
    columns : sequence of str, or str, optional
        The clustering columns, or a sort order, as for :func:`rewrite_data_files`. The default is the table's property
        ``zorder.columns``, then the columns of its last rewrite.
    options : mapping of str to bool, int, float, str or mapping, optional
        The options of a rewrite that concern layouts: ``boundaries``, ``column-weights``, ``sample-rows``,
        ``sample-seed``, ``size-tolerance`` and ``target-file-size-bytes``. They override the table's property
        ``zorder.options``.
    branch : str, optional
        The branch to append to.
    file_bytes : int, optional
        The least bytes of a new file, at least 1, where its partition has as many: n times as many bytes become n
        files. The default is 8 MiB, or the target size if that is smaller.
    write_options : mapping of str to str, optional
        Iceberg's options of a write, such as ``mergeSchema``.

    Returns
    -------
    AppendResult
        Counts of files, rows and bytes.

    Raises
    ------
    InvalidInputError
        When an argument is invalid, or Spark refuses the rows; nothing was written.
    UnknownOutcomeError
        When the catalog gave no clear answer to the commit. Nothing is deleted.
    RewriteFailedError
        When the append failed; nothing was committed. The error above is a subclass.

    Examples
    --------
    >>> append(spark.table("incoming"), "lake.db.events").added_data_files_count  # doctest: +SKIP
    5
    """
    spark = df.sparkSession
    given = read_table(spark, table, "append to")
    by_case = spark.conf.get("spark.sql.caseSensitive", "false") == "true"
    spec = append_spec(given, columns, options, branch, file_bytes, known=_SPARK_OPTIONS, case_sensitive=by_case)
    append_id = uuid.uuid4().hex
    try:
        routed, clustered = _routed(df, spark.table(table).schema, catalog_of(spark, table, "append to"), given, spec)
        name = quoted_name((*name_parts(table), *((f"branch_{branch}",) if branch else ())))
        writer = routed.writeTo(name)
        written = {**(write_options or {}), f"snapshot-property.{APPEND_ID}": append_id}
        if spec.options.target_file_size is not None:
            written.setdefault("target-file-size-bytes", str(spec.target))
        if clustered:
            written["distribution-mode"] = "none"
        for option, value in written.items():
            writer = writer.option(option, value)
        writer.append()
    except (PySparkException, Py4JError) as error:
        if "CommitStateUnknown" in str(error):
            raise UnknownOutcomeError(
                f"Cannot tell whether the append to {table} was committed, because the catalog gave no clear answer: "
                f"look for a snapshot whose summary has {APPEND_ID} = {append_id}"
            ) from error
        raise rewrite_error(error) from error
    try:
        snapshots = spark.table(quoted_name((*name_parts(table), "snapshots")))
        found = snapshots.where(col("summary")[APPEND_ID] == append_id).select("summary").collect()
    except (PySparkException, Py4JError) as error:
        raise RewriteFailedError(
            f"Cannot tell what the append to {table} added, because {failure_message(error)}. It was committed."
        ) from error
    files, rows, size = (
        int(found[0]["summary"].get(key, "0")) if found else 0
        for key in ("added-data-files", "added-records", "added-files-size")
    )
    return AppendResult(files, rows, size, clustered)


def _routed(
    df: DataFrame, schema: StructType, catalog: str, table: GivenTable, spec: AppendSpec
) -> tuple[DataFrame, int]:
    """Return the rows, shuffled so that each task has one file's, with the number of partitions that are clustered."""
    columns = [_stored(each, schema) for each in spec.order.named]
    fields = [(each, _stored(each.column, schema)) for each in routed_fields(table)]
    read = [_bytes(_cut(value, of.type), of.type) for of, value in zip(spec.order.named, columns, strict=True)]
    read += [_bytes(value, of.column.type) for of, value in fields]
    sample, rows = _sampled(df, read, spec)
    if not rows:
        return df, 0
    found = routed_partitions(table, spec, sample, rows, lambda: arrow(df.limit(_MEASURED_ROWS)))
    if not found:
        return df, 0
    spread = f"xxhash64({', '.join(quoted_identifier(each) for each in df.columns if _is_hashable(df, each))})"
    transformed = [_transformed(catalog, each, value) for each, value in fields]
    tasks, cases = 0, []
    for each in found:
        parts = zip(transformed, each.keys, fields, strict=True)
        is_in = " AND ".join(
            f"{compared(value, of.type)} <=> {'NULL' if key is None else literal(key, of.type)}"
            for value, key, (of, _) in parts
        )
        cases.append(f"WHEN {is_in or 'true'} THEN {tasks} + {file_of_row(each.layout, columns, spread)}")
        tasks += each.layout.files
    others = f"pmod(hash({', '.join(transformed)}), {tasks})" if transformed else "0"
    task = f"CASE {' '.join(cases)} ELSE {others} END"
    keys = ", ".join(map(str, keys_of_tasks(tasks)))
    return df.repartition(tasks, expr(f"element_at(array({keys}), 1 + {task})")), len(found)


def _sampled(df: DataFrame, values: Sequence[str], spec: AppendSpec) -> tuple[pa.Table, int]:
    """Return some rows of expressions, each as likely as any other, and the number of all rows.

    The rows have the smallest of random numbers in [0, 1): if the k-th smallest is r, there are about k / r. The number
    is exact if all rows are returned.
    """
    wanted = spec.options.layout.sample_rows_for(1)
    columns = [expr(value).alias(f"c{place}") for place, value in enumerate(values)]
    drawn = df.select(*columns, rand(spec.options.layout.sample_seed).alias("place"))
    table = arrow(drawn.orderBy("place").limit(wanted))
    rows, places = table.num_rows, table.column("place")
    return table.drop_columns(["place"]), round(rows / places[rows - 1].as_py()) if rows == wanted else rows


def arrow(df: DataFrame) -> pa.Table:
    """Collect rows as Arrow."""
    if hasattr(df, "toArrow"):
        return df.toArrow()
    batches: list[pa.RecordBatch] = df._collect_as_arrow()  # type: ignore[operator]
    return pa.Table.from_batches(batches) if batches else pa.table({name: pa.nulls(0) for name in df.columns})


def _stored(column: ClusteringColumn, schema: StructType) -> str:
    """Return the expression of a column with the table's type, as the append will store it."""
    kind: DataType = schema
    for part in column.parts:
        kind = cast("StructType", kind)[part].dataType
    return f"CAST({'.'.join(map(quoted_identifier, column.parts))} AS {kind.simpleString()})"


def _cut(value: str, kind: str) -> str:
    """Return an expression for the beginning of a long value, which is all that a sample keeps of it."""
    if kind == "string":
        return f"left({value}, {_SAMPLED_LENGTH})"
    return f"substring({value}, 1, {_SAMPLED_LENGTH})" if kind == "binary" else value


def _bytes(value: str, kind: str) -> str:
    """Return the expression by which Arrow gets a value of an Iceberg type: UUIDs are strings in Spark."""
    return f"unhex(replace({value}, '-', ''))" if kind == "uuid" else value


def _is_hashable(df: DataFrame, column: str) -> bool:
    """Return whether Spark has a hash of a column: maps have none."""

    def has_map(kind: DataType) -> bool:
        inner = [each.dataType for each in kind.fields] if isinstance(kind, StructType) else []
        inner += [kind.elementType] if isinstance(kind, ArrayType) else []
        return isinstance(kind, MapType) or any(map(has_map, inner))

    return not has_map(df.schema[column].dataType)


def _transformed(catalog: str, field: RoutedField, value: str) -> str:
    """Return the expression of a partition field, given that of its source."""
    if field.transform == "identity":
        return value
    function, _, width = field.transform.rstrip("]").partition("[")
    arguments = f"{width}, {value}" if width else value
    return f"{quoted_identifier(catalog)}.system.{function if width else f'{function}s'}({arguments})"
