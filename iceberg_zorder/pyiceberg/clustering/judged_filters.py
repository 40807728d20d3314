"""What the queries of a workload ask for, for advice, and what they read of data files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from pyiceberg.table import Table

from iceberg_zorder.advice.facts import QueriesToday
from iceberg_zorder.advice.judged_queries import JudgedQuery
from iceberg_zorder.pyiceberg.file_groups import DataFileTask
from iceberg_zorder.pyiceberg.scan.requested_workload import RequestedWorkload
from iceberg_zorder.pyiceberg.scan.scanned_table import scanned_table
from iceberg_zorder.request.predicate import Name, Predicate
from iceberg_zorder.workload.filtered_columns import filtered_columns
from iceberg_zorder.workload.normal_form import normal_form
from iceberg_zorder.workload.workload import Workload

_MOST_QUERIES = 1_000
"""Of so many different filters the data files of today are looked at; each takes a while."""
_MOST_BOXES = 256


def queries_today(
    table: Table, workload: Workload, tasks: Sequence[DataFileTask], *, per_day: float | None = None
) -> QueriesToday:
    """Find what the queries of a workload ask for, and what they read of data files, by manifests.

    Of more than 1,000 as many are taken as stand for all. Raises InvalidInputError for filters of other tables.
    """
    queries = workload.sampled(_MOST_QUERIES).queries
    asked = RequestedWorkload.of_queries(table, queries, most_boxes=_MOST_BOXES)
    types = scanned_table(table, table.name()).columns
    files = [task.data_file for task in tasks]
    left = asked.may_match(files)
    return QueriesToday(
        tuple(
            JudgedQuery(query.filter, query.weight, boxes, _kinds(condition, types))
            for query, boxes, condition in zip(queries, asked.boxes, asked.conditions, strict=True)
        ),
        np.asarray(left @ np.array([file.file_size_in_bytes for file in files], np.float64), np.float64),
        left.sum(axis=1),
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
