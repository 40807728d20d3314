"""Files are ruled out by an expression exactly where PyIceberg's own evaluators rule them out."""

import math
import struct
from typing import Any

import pytest
from pyiceberg import expressions as ex
from pyiceberg.expressions.visitors import _InclusiveMetricsEvaluator, expression_evaluator, inclusive_projection
from pyiceberg.manifest import DataFile
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.typedef import Record
from pyiceberg.types import DoubleType, NestedField, StringType

from iceberg_zorder.pyiceberg.compat import file_may_match, partition_may_match

SCHEMA = Schema(NestedField(1, "x", DoubleType()), NestedField(2, "s", StringType()))
SPEC = PartitionSpec(
    PartitionField(1, 1000, IdentityTransform(), "x"), PartitionField(2, 1001, IdentityTransform(), "s")
)


def made(kind: Any, *arguments: Any) -> ex.BooleanExpression:
    """Make an expression of names, as PyIceberg takes them and does not say so."""
    found: ex.BooleanExpression = kind(*arguments)
    return found


COMPARISONS = (ex.EqualTo, ex.NotEqualTo, ex.LessThan, ex.LessThanOrEqual, ex.GreaterThan, ex.GreaterThanOrEqual)
EXPRESSIONS = [
    *(made(kind, "x", 2.0) for kind in COMPARISONS),
    *(made(kind, name) for kind in (ex.IsNull, ex.NotNull) for name in ("x", "s")),
    *(made(kind, "s", {"b", "c"}) for kind in (ex.In, ex.NotIn)),
    *(made(kind, "s", "b") for kind in (ex.StartsWith, ex.NotStartsWith)),
    *(made(kind, "x") for kind in (ex.IsNaN, ex.NotNaN)),
]
JOINED = [
    *(made(ex.Not, each) for each in EXPRESSIONS),
    *(made(kind, one, other) for kind in (ex.And, ex.Or) for one in EXPRESSIONS[:8] for other in EXPRESSIONS[5:]),
    ex.And(ex.Or(EXPRESSIONS[0], EXPRESSIONS[-1]), ex.Not(ex.Or(EXPRESSIONS[3], EXPRESSIONS[11]))),
]
VALUES = [(1.0, "a"), (2.0, "b"), (2.5, "bb"), (math.nan, "c"), (None, None)]


def file(rows: int, lower: tuple[float | None, str | None], upper: tuple[float | None, str | None]) -> DataFile:
    nulls = {place: rows if value is None else 0 for place, value in enumerate(lower, 1)}
    return DataFile.from_args(
        partition=Record(*lower),
        record_count=rows,
        value_counts={1: rows, 2: rows},
        null_value_counts=nulls,
        nan_value_counts={1: rows if lower[0] != lower[0] else 0},
        lower_bounds=encoded(*lower),
        upper_bounds=encoded(*upper),
    )


def encoded(x: float | None, s: str | None) -> dict[int, bytes]:
    return {
        **({} if x is None else {1: struct.pack("<d", x)}),
        **({} if s is None else {2: s.encode()}),
    }


FILES = [file(rows, lower, upper) for rows in (-1, 0, 3) for lower in VALUES for upper in VALUES]


@pytest.mark.parametrize("expression", [*EXPRESSIONS, *JOINED, ex.AlwaysFalse()], ids=str)
def test_files_are_ruled_out_as_by_pyiceberg(expression: ex.BooleanExpression) -> None:
    ours, theirs = file_may_match(SCHEMA, expression, True), _InclusiveMetricsEvaluator(SCHEMA, expression, True).eval
    assert [ours(each) for each in FILES] == [theirs(each) for each in FILES]
    projected = inclusive_projection(SCHEMA, SPEC, True)(expression)
    of_partitions = Schema(*SPEC.partition_type(SCHEMA).fields)
    in_partition = partition_may_match(SPEC, SCHEMA, expression, True)
    expected = expression_evaluator(of_partitions, projected, True)
    assert [in_partition(each) for each in FILES] == [expected(each.partition) for each in FILES]


def test_nothing_is_ruled_out_without_a_filter() -> None:
    assert all(map(file_may_match(SCHEMA, ex.AlwaysTrue(), True), FILES))
    assert all(map(partition_may_match(SPEC, SCHEMA, ex.AlwaysTrue(), True), FILES))
