"""Tables of keys as tables of a catalog have them, and queries as conditions of Spark SQL."""

from __future__ import annotations

import pyarrow as pa

from benchmarks.workloads.tables import LEAST, MOST, NULL, Keys, Query
from iceberg_zorder.layout.columns import quoted_identifier


def arrow_table(keys: dict[str, Keys]) -> pa.Table:
    """Make a table of longs.

    Examples
    --------
    >>> import numpy as np
    >>> arrow_table({"a": np.array([3, NULL])}).to_pydict()
    {'a': [3, None]}
    """
    return pa.table({name: pa.array(column, pa.int64(), mask=column == NULL) for name, column in keys.items()})


def condition(query: Query) -> str:
    """Write a query.

    Examples
    --------
    >>> condition(({"a": (3, 3), "b": (LEAST, 9)}, {"c": (NULL, NULL)}))
    '(`a` = 3 AND `b` <= 9) OR (`c` IS NULL)'
    >>> condition(({"a": (LEAST, MOST), "b": (2, 5)},))
    '`a` IS NOT NULL AND `b` >= 2 AND `b` <= 5'
    """
    boxes = [" AND ".join(_range(quoted_identifier(name), *edges) for name, edges in box.items()) for box in query]
    return boxes[0] if len(boxes) == 1 else " OR ".join(f"({each})" for each in boxes)


def _range(name: str, low: int, high: int) -> str:
    if low == NULL:
        return f"{name} IS NULL"
    if low == high:
        return f"{name} = {low}"
    edges = [f"{name} >= {low}"] * (low > LEAST) + [f"{name} <= {high}"] * (high < MOST)
    return " AND ".join(edges) if edges else f"{name} IS NOT NULL"
