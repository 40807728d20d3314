"""The filters of a workload on a table, and what they read of its data files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table

from iceberg_zorder.advice.facts import QueriesToday
from iceberg_zorder.advice.judged_queries import JudgedQuery
from iceberg_zorder.pyiceberg.file_groups import DataFileTask
from iceberg_zorder.pyiceberg.scan.scanned_table import scanned_table
from iceberg_zorder.pyiceberg.scan.workload_filters import WorkloadFilters
from iceberg_zorder.request.predicate import Name, Predicate
from iceberg_zorder.workload.filtered_columns import filtered_columns
from iceberg_zorder.workload.normal_form import normal_form
from iceberg_zorder.workload.workload import Workload

_MOST_QUERIES = 1_000
"""Of so many different filters the data files of today are looked at; each takes a while."""
_MOST_BOXES = 256


@dataclass(frozen=True, eq=False)
class JudgedFilters:
    """The filters of a workload on a table.

    Parameters
    ----------
    queries : tuple of JudgedQuery
        What they ask for: of more than 1,000 as many as stand for all.
    filters : WorkloadFilters
        What they leave of data files.
    """

    queries: tuple[JudgedQuery, ...]
    filters: WorkloadFilters

    @staticmethod
    def of(table: Table, workload: Workload) -> JudgedFilters:
        """Read filters; raises InvalidInputError for what is none of this table."""
        queries = workload.sampled(_MOST_QUERIES).queries
        filters = WorkloadFilters.of(table, [each.filter for each in queries], most_boxes=_MOST_BOXES)
        types = scanned_table(table, table.name()).columns
        judged = (
            JudgedQuery(query.filter, query.weight, boxes, _kinds(condition, types))
            for query, boxes, condition in zip(queries, filters.boxes, filters.conditions, strict=True)
        )
        return JudgedFilters(tuple(judged), filters)

    def read(self, files: Sequence[DataFile]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
        """Find what each query reads of data files, by manifests: the bytes, and the number of files."""
        sizes = np.array([file.file_size_in_bytes for file in files], np.float64)
        left = self.filters.may_match(files)
        return left @ sizes, left.sum(axis=1)


def queries_today(
    table: Table, workload: Workload, tasks: Sequence[DataFileTask], *, per_day: float | None = None
) -> QueriesToday:
    """Find what the queries of a workload ask for, and what they read of data files, by manifests."""
    judged = JudgedFilters.of(table, workload)
    return QueriesToday(
        judged.queries,
        *judged.read([task.data_file for task in tasks]),
        sum(each.weight for each in workload.columns_only),
        tuple(each for each in workload.not_understood if each.weight > 0),
        per_day,
    )


def _kinds(condition: Predicate, types: Mapping[Name, str]) -> tuple[tuple[Name, str], ...]:
    """Find how a condition filters by columns, as the schema writes their names, whatever the filter does."""
    names = {tuple(part.lower() for part in name): name for name in types}
    kinds = {
        name if name in types else names[tuple(part.lower() for part in name)]: kind
        for name, kind in filtered_columns(normal_form(condition)).items()
    }
    return tuple(sorted(kinds.items()))
