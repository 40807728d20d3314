"""Rule out data files for many conditions at once, by ranges of columns whose keys are whole numbers.

An evaluator of PyIceberg takes some 20 microseconds for a condition and a file; of thousands of both that is too much.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from pyiceberg.manifest import DataFile
from pyiceberg.schema import Schema

from iceberg_zorder.layout.columns import ClusteringColumn
from iceberg_zorder.layout.keys import VALUE
from iceberg_zorder.pyiceberg.scan.file_arrays import column_bounds
from iceberg_zorder.request.predicate import And, Comparison, Name, Predicate
from iceberg_zorder.workload.boxes.box import Box

_COMPARED = {
    "int": "integer",
    "long": "integer",
    "date": "date",
    "timestamp": "timestamp_ntz",
    "timestamptz": "timestamp",
}
"""By the type of a column, that of values which bounds are compared with as keys are."""
_LEAST, _MOST = -(1 << 63), (1 << 63) - 1
_MOST_AT_ONCE = 1_000_000
"""So many pairs of conditions and files."""
_OPERATORS = ("=", "<", "<=", ">", ">=")


@dataclass(frozen=True)
class SureRanges:
    """Ranges that conditions have of columns, so that a file beside one of them is not read."""

    columns: tuple[tuple[Name, str], ...]  # with their types
    ranges: tuple[Mapping[int, tuple[int, int]], ...]  # of each condition, by a column's place: lowest and highest key
    are_all: tuple[bool, ...]  # of each condition, whether it asks for nothing else

    @staticmethod
    def of(conditions: Sequence[tuple[Predicate, Sequence[Box]]], types: Mapping[Name, str]) -> SureRanges:
        """Take the ranges of conditions that are comparisons joined by AND, with their boxes.

        Of others a box may leave out more than bounds do: ``a IN (1, 9) AND a > 5`` is 9 alone, and a file from 1 to 8
        meets both.
        """
        columns = tuple((name, kind) for name, kind in types.items() if kind in _COMPARED)
        place_of = {name: place for place, (name, _) in enumerate(columns)}
        ranges = tuple(dict(_ranges(*each, types, place_of)) for each in conditions)
        compared = (_compared(predicate) for predicate, _ in conditions)
        are_all = tuple(
            bool(each) and len(each) == len(columns) for each, columns in zip(ranges, compared, strict=True)
        )
        return SureRanges(columns, ranges, are_all)

    def may_match(
        self, files: Sequence[DataFile], schema: Schema
    ) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """Tell which files are not ruled out."""
        found = np.ones((len(self.ranges), len(files)), np.bool_)
        has_rows = np.array([file.record_count > 0 for file in files], np.bool_)
        is_sure = np.array(self.are_all, np.bool_)[:, np.newaxis] & has_rows
        for place in sorted({place for each in self.ranges for place in each}):
            name, kind = self.columns[place]
            bounds = column_bounds(files, schema.find_field(".".join(name)), ClusteringColumn(name, kind))
            low, high = np.asarray(bounds.lower.keys), np.asarray(bounds.upper.keys)
            has_low, has_high = bounds.lower.states == VALUE, bounds.upper.states == VALUE
            asking = np.array([at for at, each in enumerate(self.ranges) if place in each])
            ends = np.array([self.ranges[at][place] for at in asking.tolist()], np.int64)
            # A partition has few files, of which many conditions are best asked at once; of many files that is memory.
            for some in np.array_split(np.arange(len(asking)), -(-len(asking) * len(files) // _MOST_AT_ONCE) or 1):
                least, most = ends[some, :1], ends[some, 1:]
                found[asking[some]] &= ~((has_high & (high < least)) | (has_low & (low > most)))
            is_sure[asking] &= bounds.bounded
        return found, is_sure | ~found


def _compared(predicate: Predicate) -> set[tuple[str, ...]]:
    """Name the columns of comparisons joined by AND, in lower case."""
    found = [each.column for each in _conjuncts(predicate) if isinstance(each, Comparison)]
    return {tuple(map(str.lower, column)) for column in found}


def _ranges(
    predicate: Predicate, boxes: Sequence[Box], types: Mapping[Name, str], place_of: Mapping[Name, int]
) -> Iterator[tuple[int, tuple[int, int]]]:
    parts = [*_conjuncts(predicate)]
    if len(boxes) != 1 or not all(isinstance(each, Comparison) and each.operator in _OPERATORS for each in parts):
        return
    compared = {(tuple(map(str.lower, each.column)), each.value.type) for each in parts if isinstance(each, Comparison)}
    for name, keys in boxes[0].ranges:
        kinds = {kind for column, kind in compared if column == tuple(map(str.lower, name))}
        if name in place_of and kinds == {_COMPARED[types[name]]}:
            least = keys.start[1] if len(keys.start) == 2 else _LEAST
            most = keys.stop[1] - 1 if len(keys.stop) == 2 and isinstance(keys.stop[1], int) else _MOST
            # No file is seen to be beyond the largest or the smallest number.
            if isinstance(least, int) and least <= _MOST and most >= _LEAST:
                yield place_of[name], (least, most)


def _conjuncts(predicate: Predicate) -> Iterator[Predicate]:
    if isinstance(predicate, And):
        for each in predicate.predicates:
            yield from _conjuncts(each)
    else:
        yield predicate
