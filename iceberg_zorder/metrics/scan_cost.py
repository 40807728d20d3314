"""The cost of a filter: the bytes of the files that it reads, and the open cost of each.

A table has B bytes in F files, clustered by k columns. A filter on one of these columns reads about F^(-1/k) of the
bytes, and opens F^(1 - 1/k) files. With an open cost of o bytes it costs B F^(-1/k) + o F^(1 - 1/k), which is least for
files of (k - 1) o bytes. Planning looks at every file, on one core while the others wait. This adds a third term,
F o / 32, and makes the best file size grow with the table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

OPEN_COST_PROPERTY = "read.split.open-file-cost"
"""Iceberg's table property for the open cost: how many bytes are read in the time that opening a file takes."""
_DEFAULT_OPEN_COST = 4 * 1024**2
_FILES_PLANNED_PER_OPEN = 32
SMALLEST_FILE, _LARGEST_FILE = 64 * 1024, 512 * 1024**2
"""The range of automatic target file sizes."""
_COST_TOLERANCE = 1.1
_ROOT_STEPS = 64


def open_cost(properties: Mapping[str, str]) -> int:
    """Return the open cost of a table in bytes, given the table's properties.

    Examples
    --------
    >>> open_cost({}), open_cost({"read.split.open-file-cost": "65536"})
    (4194304, 65536)
    """
    text = properties.get(OPEN_COST_PROPERTY, "")
    return max(1, int(text)) if text.isascii() and text.isdecimal() and len(text) < 19 else _DEFAULT_OPEN_COST


def ideal_file_size(size: int, columns: int, open_cost: int) -> int:
    """Return the largest file size whose filter cost is at most 10% above the least: fewer files are easier to keep.

    The sizes tried are (columns - 1) open costs, at least 64 KiB, times powers of two. They end at 512 MiB unless open
    costs are higher.

    Parameters
    ----------
    size : int
        The bytes that a filter searches: of the table, or of one of its partitions.
    columns : int
        The number of clustering columns, at least 1.
    open_cost : int
        The open cost in bytes, at least 1.

    Examples
    --------
    >>> [ideal_file_size(gib * 1024**3, 2, 4 * 1024**2) // 1024**2 for gib in (0, 1, 10, 1024, 10 * 1024, 10**6)]
    [4, 8, 16, 64, 128, 512]
    >>> ideal_file_size(1024**3, 4, 4 * 1024**2) // 1024**2
    24
    """
    candidates = [max(SMALLEST_FILE, open_cost * max(1, columns - 1))]
    while candidates[-1] < size and 2 * candidates[-1] <= _LARGEST_FILE:
        candidates.append(2 * candidates[-1])
    costs = [_filter_cost(float(size), each, columns, open_cost) for each in candidates]
    return max(each for each, cost in zip(candidates, costs, strict=True) if cost <= _COST_TOLERANCE * min(costs))


def _filter_cost(size: float, file_size: int, columns: int, open_cost: int) -> float:
    files = max(1.0, size / file_size)
    share = root(1 / files, columns)
    return scan_cost(size * share, files * share, files, open_cost)


def scan_cost(read: float, files_read: float, files: float, open_cost: int) -> float:
    """Return the cost in bytes of a filter that reads ``read`` bytes in ``files_read`` of ``files`` files.

    Examples
    --------
    >>> scan_cost(1000, 2, 64, 320)
    2280.0
    """
    return read + open_cost * files_read + planning_cost(files, open_cost)


def planning_cost(files: float, open_cost: int) -> float:
    """Return the cost in bytes of planning a scan of a table with so many files."""
    return open_cost * (files / _FILES_PLANNED_PER_OPEN)


def mean_cost(costs: Sequence[float], weights: Sequence[float]) -> float:
    """Return the columns' weighted average cost; 0 if no column has a weight.

    Examples
    --------
    >>> mean_cost([20, 50], [3, 1])
    27.5
    """
    total = total_weight = 0.0
    for cost, weight in zip(costs, weights, strict=True):
        total += weight * cost
        total_weight += weight
    return total / total_weight if total_weight else 0.0


def root(share: float, degree: int) -> float:
    """Return the root of a share in (0, 1] by Newton's method, in the same steps as Java.

    Examples
    --------
    >>> root(0.25, 2)
    0.5
    """
    if share == 1 or degree < 2:
        return share
    found = 1.0
    for _ in range(_ROOT_STEPS):
        power = 1.0
        for _ in range(degree - 1):
            power *= found
        found -= (power * found - share) / (degree * power)
    return found
