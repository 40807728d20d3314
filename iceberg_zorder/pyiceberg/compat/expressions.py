"""Which manifests and data files may hold rows that match a filter.

``inclusive_projection`` and the evaluators are what ``DataScan.plan_files`` is made of. It cannot be called itself: it
raises for equality deletes. When a release moves them, look at what its scan calls in their place; when it plans
equality deletes, look whether its scan can be asked.
"""

from __future__ import annotations

from collections.abc import Callable

from pyiceberg.expressions import AlwaysTrue, BooleanExpression
from pyiceberg.expressions.visitors import (
    _InclusiveMetricsEvaluator,
    expression_evaluator,
    inclusive_projection,
    manifest_evaluator,
)
from pyiceberg.manifest import DataFile, ManifestFile
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema


def _projected(
    spec: PartitionSpec, schema: Schema, row_filter: BooleanExpression, case_sensitive: bool
) -> BooleanExpression:
    """Make of a filter of rows one of partitions, which leaves all where PyIceberg leaves the range of dates."""
    try:
        return inclusive_projection(schema, spec, case_sensitive)(row_filter)
    except OverflowError:
        return AlwaysTrue()


def manifest_may_match(
    spec: PartitionSpec, schema: Schema, row_filter: BooleanExpression, case_sensitive: bool
) -> Callable[[ManifestFile], bool]:
    """Tell which manifests of a spec may hold files with rows that match, by their partition summaries."""
    projected = _projected(spec, schema, row_filter, case_sensitive)
    found: Callable[[ManifestFile], bool] = manifest_evaluator(spec, schema, projected, case_sensitive)
    return found


def partition_may_match(
    spec: PartitionSpec, schema: Schema, row_filter: BooleanExpression, case_sensitive: bool
) -> Callable[[DataFile], bool]:
    """Tell which files of a spec may hold rows that match, by their partition."""
    projected = _projected(spec, schema, row_filter, case_sensitive)
    if isinstance(projected, AlwaysTrue):
        return lambda _: True
    evaluate = expression_evaluator(Schema(*spec.partition_type(schema).fields), projected, case_sensitive)
    return lambda file: evaluate(file.partition)


def file_may_match(schema: Schema, row_filter: BooleanExpression, case_sensitive: bool) -> Callable[[DataFile], bool]:
    """Tell which files may hold rows that match, by their metrics; a file without rows may not, but for no filter."""
    if isinstance(row_filter, AlwaysTrue):
        return lambda _: True
    found: Callable[[DataFile], bool] = _InclusiveMetricsEvaluator(schema, row_filter, case_sensitive).eval
    return found
