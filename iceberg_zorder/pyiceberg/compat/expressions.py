"""PyIceberg's names that are not public, and nothing else: only this module may break when PyIceberg changes.

Tried with PyIceberg 0.12.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pyiceberg.exceptions import NotInstalledError
from pyiceberg.expressions import AlwaysTrue, BooleanExpression
from pyiceberg.expressions.visitors import (
    _InclusiveMetricsEvaluator,
    expression_evaluator,
    inclusive_projection,
    manifest_evaluator,
)
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.manifest import DataFile, ManifestFile
from pyiceberg.partitioning import PartitionKey, PartitionSpec
from pyiceberg.schema import Schema, sanitize_column_names
from pyiceberg.table import Table
from pyiceberg.table.name_mapping import MappedField, NameMapping
from pyiceberg.transforms import Transform
from pyiceberg.typedef import Record

__all__ = [
    "MappedField",
    "NameMapping",
    "arrow_transform",
    "display_name",
    "file_may_match",
    "manifest_may_match",
    "partition_may_match",
    "partition_path",
    "sanitize_column_names",
    "schema_to_pyarrow",
]


def display_name(table: Table) -> str:
    """Name a table as Iceberg for Java does: the catalog's name, the namespace, the table."""
    return ".".join((table.catalog.name, *table.name()))


def manifest_may_match(
    spec: PartitionSpec, schema: Schema, row_filter: BooleanExpression, case_sensitive: bool
) -> Callable[[ManifestFile], bool]:
    """Tell which manifests of a spec may hold files with rows that match, by their partition summaries."""
    projected = inclusive_projection(schema, spec, case_sensitive)(row_filter)
    found: Callable[[ManifestFile], bool] = manifest_evaluator(spec, schema, projected, case_sensitive)
    return found


def partition_may_match(
    spec: PartitionSpec, schema: Schema, row_filter: BooleanExpression, case_sensitive: bool
) -> Callable[[DataFile], bool]:
    """Tell which files of a spec may hold rows that match, by their partition."""
    projected = inclusive_projection(schema, spec, case_sensitive)(row_filter)
    evaluate = expression_evaluator(Schema(*spec.partition_type(schema).fields), projected, case_sensitive)
    return lambda file: evaluate(file.partition)


def file_may_match(schema: Schema, row_filter: BooleanExpression, case_sensitive: bool) -> Callable[[DataFile], bool]:
    """Tell which files may hold rows that match, by their metrics; a file without rows may not, but for no filter."""
    if isinstance(row_filter, AlwaysTrue):
        return lambda _: True
    found: Callable[[DataFile], bool] = _InclusiveMetricsEvaluator(schema, row_filter, case_sensitive).eval
    return found


def arrow_transform(transform: Transform[Any, Any], source_type: Any) -> Callable[[Any], Any] | None:
    """Find a transform over Arrow arrays, or nothing where the optional package pyiceberg-core is missing."""
    try:
        found: Callable[[Any], Any] = transform.pyarrow_transform(source_type)
    except (NotInstalledError, NotImplementedError):
        return None
    return found


def partition_path(spec: PartitionSpec, partition: Record, schema: Schema) -> PartitionKey:
    """Make a key whose path is that of a partition's values as a manifest has them."""
    return _RecordedPartition([], spec, schema, partition)


@dataclass(frozen=True)
class _RecordedPartition(PartitionKey):
    """A partition whose values are transformed already; PyIceberg's own refuses two transforms of one column."""

    record: Record

    @cached_property
    def partition(self) -> Record:
        return self.record
