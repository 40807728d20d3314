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

from pyiceberg.expressions import AlwaysTrue, BooleanExpression, BoundTerm
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


_Visitor = BoundBooleanExpressionVisitor[bool]
_Evaluation = Callable[[_Visitor], bool]


def _evaluation(bound: BooleanExpression) -> _Evaluation:
    """Go through a bound expression once: the function asks a visitor what going through it by that visitor would."""
    found: _Evaluation = visit(bound, _Evaluations())
    return found


class _Evaluations(BoundBooleanExpressionVisitor[_Evaluation]):
    def visit_in(self, term: BoundTerm, literals: set[Any]) -> _Evaluation:
        return methodcaller("visit_in", term, literals)

    def visit_not_in(self, term: BoundTerm, literals: set[Any]) -> _Evaluation:
        return methodcaller("visit_not_in", term, literals)

    def visit_is_nan(self, term: BoundTerm) -> _Evaluation:
        return methodcaller("visit_is_nan", term)

    def visit_not_nan(self, term: BoundTerm) -> _Evaluation:
        return methodcaller("visit_not_nan", term)

    def visit_is_null(self, term: BoundTerm) -> _Evaluation:
        return methodcaller("visit_is_null", term)

    def visit_not_null(self, term: BoundTerm) -> _Evaluation:
        return methodcaller("visit_not_null", term)

    def visit_equal(self, term: BoundTerm, literal: Any) -> _Evaluation:
        return methodcaller("visit_equal", term, literal)

    def visit_not_equal(self, term: BoundTerm, literal: Any) -> _Evaluation:
        return methodcaller("visit_not_equal", term, literal)

    def visit_greater_than_or_equal(self, term: BoundTerm, literal: Any) -> _Evaluation:
        return methodcaller("visit_greater_than_or_equal", term, literal)

    def visit_greater_than(self, term: BoundTerm, literal: Any) -> _Evaluation:
        return methodcaller("visit_greater_than", term, literal)

    def visit_less_than(self, term: BoundTerm, literal: Any) -> _Evaluation:
        return methodcaller("visit_less_than", term, literal)

    def visit_less_than_or_equal(self, term: BoundTerm, literal: Any) -> _Evaluation:
        return methodcaller("visit_less_than_or_equal", term, literal)

    def visit_starts_with(self, term: BoundTerm, literal: Any) -> _Evaluation:
        return methodcaller("visit_starts_with", term, literal)

    def visit_not_starts_with(self, term: BoundTerm, literal: Any) -> _Evaluation:
        return methodcaller("visit_not_starts_with", term, literal)

    def visit_true(self) -> _Evaluation:
        return methodcaller("visit_true")

    def visit_false(self) -> _Evaluation:
        return methodcaller("visit_false")

    def visit_not(self, child_result: _Evaluation) -> _Evaluation:
        return lambda visitor: visitor.visit_not(child_result(visitor))

    def visit_and(self, left_result: _Evaluation, right_result: _Evaluation) -> _Evaluation:
        return lambda visitor: left_result(visitor) and right_result(visitor)

    def visit_or(self, left_result: _Evaluation, right_result: _Evaluation) -> _Evaluation:
        return lambda visitor: left_result(visitor) or right_result(visitor)
