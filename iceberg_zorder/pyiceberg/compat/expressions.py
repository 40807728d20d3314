"""Which manifests and data files may hold rows that match a filter.

``inclusive_projection`` and the evaluators are what ``DataScan.plan_files`` is made of. It cannot be called itself: it
raises for equality deletes. When a release moves them, look at what its scan calls in their place; when it plans
equality deletes, look whether its scan can be asked.

The evaluators go through the whole expression for each file, which takes most of the time of a filter on many files.
Here that is done once, for the same visitors; where a release gives an evaluator another ``eval``, see that what is
here does the same.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import methodcaller
from typing import Any

from pyiceberg.expressions import AlwaysTrue, BooleanExpression
from pyiceberg.expressions.visitors import (
    BoundBooleanExpressionVisitor,
    _ExpressionEvaluationVisitor,
    _ExpressionEvaluator,
    _InclusiveMetricsEvaluationVisitor,
    _InclusiveMetricsEvaluator,
    bind,
    extract_field_ids,
    inclusive_projection,
    manifest_evaluator,
    visit,
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
    bound = _ExpressionEvaluator(Schema(*spec.partition_type(schema).fields), projected, case_sensitive).bound
    evaluate = _evaluation(bound)
    return lambda file: evaluate(_ExpressionEvaluationVisitor(file.partition))


def file_may_match(schema: Schema, row_filter: BooleanExpression, case_sensitive: bool) -> Callable[[DataFile], bool]:
    """Tell which files may hold rows that match, by their metrics; a file without rows may not, but for no filter."""
    if isinstance(row_filter, AlwaysTrue):
        return lambda _: True
    evaluate = _evaluation(_InclusiveMetricsEvaluator(schema, row_filter, case_sensitive).expr)

    def may_match(file: DataFile) -> bool:
        # A count below 0 is not known.
        rows = file.record_count
        return rows < 0 or (rows > 0 and evaluate(_InclusiveMetricsEvaluationVisitor(file)))

    return may_match


def filtered_fields(schema: Schema, row_filter: BooleanExpression, case_sensitive: bool) -> list[int]:
    """Find the ids of the fields that a filter looks at, increasing."""
    return sorted(extract_field_ids(bind(schema, row_filter, case_sensitive)))


_Evaluation = Callable[[BoundBooleanExpressionVisitor[bool]], bool]


def _evaluation(bound: BooleanExpression) -> _Evaluation:
    """Go through a bound expression once: the function asks a visitor what going through it by that visitor would."""
    found: _Evaluation = visit(bound, _Evaluations())
    return found


def _asked(name: str) -> Callable[..., _Evaluation]:
    return lambda _, **operands: methodcaller(name, *operands.values())


# A method for each of the visitor's, which gives back what asks another visitor by the method of the same name.
_Evaluations: Any = type(
    "_Evaluations",
    (BoundBooleanExpressionVisitor,),
    {
        **{name: _asked(name) for name in BoundBooleanExpressionVisitor.__abstractmethods__},
        "visit_not": lambda _, child_result: lambda visitor: visitor.visit_not(child_result(visitor)),
        "visit_and": lambda _, left_result, right_result: lambda of: left_result(of) and right_result(of),
        "visit_or": lambda _, left_result, right_result: lambda of: left_result(of) or right_result(of),
    },
)
