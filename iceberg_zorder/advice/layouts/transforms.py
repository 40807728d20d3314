"""Partition transforms of sampled rows, and which of them may serve a table."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from iceberg_zorder.advice.sampled_table import SampledTable
from iceberg_zorder.layout.keys import NAN, VALUE

IDENTITY = "identity"
_TIMES = {"year": "Y", "month": "M", "day": "D", "hour": "h"}
_MOST_VALUES = 1_000
"""Of more different values nobody makes partitions."""
_NULLS, _NANS = -(2**63), -(2**63) + 1
"""No transform comes to these."""


def transforms(table: SampledTable, place: int) -> Iterator[str]:
    """List the transforms by which a column may be partitioned, as Iceberg writes them."""
    kind = table.columns[place].type
    distinct = len(table.ranked[place].distinct)
    if kind.startswith("timestamp") or kind == "date":
        yield from (each for each in _TIMES if kind != "date" or each != "hour")
    elif distinct <= _MOST_VALUES and kind not in ("float", "double"):
        yield IDENTITY


def partitions_of(table: SampledTable, place: int, transform: str) -> npt.NDArray[np.int64]:
    """Find the partitions of rows, as numbers.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from iceberg_zorder.layout.columns import ClusteringColumn
    >>> from iceberg_zorder.layout.keys import encode
    >>> from iceberg_zorder.layout.sample import Sample
    >>> sample = Sample((encode(pa.array([-1, 0, 40, None]), "date"),))
    >>> one = np.array([100])
    >>> table = SampledTable(
    ...     (ClusteringColumn(("d",), "date"),), sample, (None,), (True,), np.zeros(4, np.int64), one, one
    ... )
    >>> partitions_of(table, 0, "month").tolist()
    [-1, 0, 1, -9223372036854775808]
    """
    column = table.ranked[place]
    found = np.full(len(column.ranks), _NULLS, np.int64)
    found[column.states == NAN] = _NANS
    valued = column.states == VALUE
    found[valued] = _of_distinct(table, place, transform)[column.ranks[valued]]
    return found


def _of_distinct(table: SampledTable, place: int, transform: str) -> npt.NDArray[np.int64]:
    distinct = table.ranked[place].distinct
    if transform == IDENTITY:
        return np.arange(len(distinct), dtype=np.int64)
    kind = table.columns[place].type
    unit = "D" if kind == "date" else "ns" if kind.endswith("_ns") else "us"
    moments = np.array(distinct, np.int64).view(f"datetime64[{unit}]")
    return moments.astype(f"datetime64[{_TIMES[transform]}]").astype(np.int64)
