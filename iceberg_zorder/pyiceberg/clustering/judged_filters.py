"""The filters of a workload on a table, and what they read of its data files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from pyiceberg.table import Table

from iceberg_zorder.advice.facts import QueriesToday
from iceberg_zorder.advice.judged_queries import JudgedQuery
from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.pyiceberg.display import display_name
from iceberg_zorder.pyiceberg.file_groups import DataFileTask
from iceberg_zorder.pyiceberg.scan.listing import Listing
from iceberg_zorder.pyiceberg.scan.scanned_table import scanned_table
from iceberg_zorder.request.predicate import parse_predicate
from iceberg_zorder.workload.boxes.boxes import boxes_of
from iceberg_zorder.workload.filtered_columns import filtered_columns
from iceberg_zorder.workload.normal_form import normal_form
from iceberg_zorder.workload.workload import Workload

_MOST_QUERIES = 1_000
"""Of so many different filters, the heaviest, the data files of today are looked at; each takes a while."""
_MOST_BOXES = 256


@dataclass(frozen=True)
class _Filter:
    query: JudgedQuery
    listing: Listing


def queries_today(
    table: Table, workload: Workload, tasks: Sequence[DataFileTask], *, per_day: float | None = None
) -> QueriesToday:
    """Find what the queries of a workload ask for, and what they read of data files, by manifests.

    Parameters
    ----------
    table : pyiceberg.table.Table
        The table.
    workload : Workload
        Its workload.
    tasks : sequence of DataFileTask
        Its data files.
    per_day : float, optional
        How many scans with filters there are a day.

    Returns
    -------
    QueriesToday
        The heaviest 1,000 filters.

    Raises
    ------
    InvalidInputError
        When a filter cannot be parsed, or is no filter of this table.
    """
    types = scanned_table(table, table.name()).columns
    queries = [each for each in workload.queries if each.weight > 0]
    filters = [_filter(table, each.filter, each.weight, types) for each in queries[:_MOST_QUERIES]]
    sizes = np.array([task.data_file.file_size_in_bytes for task in tasks], np.float64)
    read = [_files_read(each.listing, tasks) for each in filters]
    return QueriesToday(
        tuple(each.query for each in filters),
        np.array([float(sizes[each].sum()) for each in read]),
        np.array([int(each.sum()) for each in read], np.int64),
        sum(each.weight for each in workload.columns_only),
        sum(each.weight for each in workload.not_understood) + sum(each.weight for each in queries[_MOST_QUERIES:]),
        per_day,
    )


def _filter(table: Table, text: str, weight: float, types: Mapping[tuple[str, ...], str]) -> _Filter:
    listing = Listing(table, text)
    try:
        predicate = normal_form(parse_predicate(text))
        boxes = boxes_of(predicate, types, _MOST_BOXES)
    except InvalidInputError as error:
        raise InvalidInputError(
            f"Cannot judge by the filter '{text}' on {display_name(table)}, because {error}"
        ) from error
    # As the schema writes the names, whatever the filter does.
    names = {tuple(part.lower() for part in name): name for name in types}
    kinds = {
        name if name in types else names[tuple(part.lower() for part in name)]: kind
        for name, kind in filtered_columns(predicate).items()
    }
    return _Filter(JudgedQuery(text, weight, boxes, tuple(sorted(kinds.items()))), listing)


def _files_read(listing: Listing, tasks: Sequence[DataFileTask]) -> npt.NDArray[np.bool_]:
    return np.array([listing.may_match(task.data_file) for task in tasks], np.bool_)
