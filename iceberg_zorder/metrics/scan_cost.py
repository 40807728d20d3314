"""The cost of a filter: the bytes of the files that it reads, and the open cost of each.

A filter on one of k clustering columns reads about F^(-1/k) of the B bytes of F files, and opens F^(1 - 1/k) of them.
With an open cost of o bytes it costs B F^(-1/k) + o F^(1 - 1/k), which is least for files of (k - 1) o bytes. Planning
looks at every file, on one core while the others wait: the sum has a third term, F o / 32, by which files grow with the
table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

OPEN_COST_PROPERTY = "read.split.open-file-cost"
"""Iceberg's table property: so many bytes are read in the time that it takes to open a file."""
_OPEN_COST = 4 * 1024**2
_PLANNED_PER_OPENED = 32
_SMALLEST, _LARGEST = 64 * 1024, 512 * 1024**2
_NEARLY_LEAST = 1.1
_ROOT_STEPS = 64
LOSS_FACTOR = 4.0
"""What a column loses must be made up for by others four times over, unless weights or a workload say otherwise."""


def open_cost(properties: Mapping[str, str]) -> int:
    """Return the open cost of a table in bytes, by its properties.

    Examples
    --------
    >>> open_cost({}), open_cost({"read.split.open-file-cost": "65536"})
    (4194304, 65536)
    """
    text = properties.get(OPEN_COST_PROPERTY, "")
    return max(1, int(text)) if text.isdecimal() and len(text) < 19 else _OPEN_COST


def ideal_file_size(size: int, columns: int, open_cost: int) -> int:
    """Return the file size for which a filter costs least: (columns - 1) open costs, times a power of two.

    Of sizes that cost at most a tenth more, it is the largest, because fewer files are easier to keep. It is at least
    64 KiB, and at most 512 MiB unless open costs are higher.

    Parameters
    ----------
    size : int
        Bytes of what a filter searches: the table, or one of its partitions.
    columns : int
        The number of clustering columns, at least 1.
    open_cost : int
        In bytes, at least 1.

    Examples
    --------
    >>> [ideal_file_size(gib * 1024**3, 2, 4 * 1024**2) // 1024**2 for gib in (0, 1, 10, 1024, 10 * 1024, 10**6)]
    [4, 8, 16, 64, 128, 512]
    >>> ideal_file_size(1024**3, 4, 4 * 1024**2) // 1024**2
    24
    """
    candidates = [max(_SMALLEST, open_cost * max(1, columns - 1))]
    while candidates[-1] < size and 2 * candidates[-1] <= _LARGEST:
        candidates.append(2 * candidates[-1])
    costs = [_filter_cost(float(size), each, columns, open_cost) for each in candidates]
    return max(each for each, cost in zip(candidates, costs, strict=True) if cost <= _NEARLY_LEAST * min(costs))


def _filter_cost(size: float, file_size: int, columns: int, open_cost: int) -> float:
    files = max(1.0, size / file_size)
    share = root(1 / files, columns)
    return scan_cost(size * share, files * share, files, open_cost)


def scan_cost(read: float, files_read: float, files: float, open_cost: int) -> float:
    """Return what a filter costs that reads so many bytes of some files among all, in bytes.

    Examples
    --------
    >>> scan_cost(1000, 2, 64, 320)
    2280.0
    """
    return read + open_cost * files_read + planning_cost(files, open_cost)


def planning_cost(files: float, open_cost: int) -> float:
    """Return what it costs to plan a scan of so many files, in bytes."""
    return open_cost * (files / _PLANNED_PER_OPENED)


def judged_cost(before: Sequence[float], after: Sequence[float], weights: Sequence[float], loss_factor: float) -> float:
    """Average costs after a rewrite over columns by weight; what a column loses counts ``loss_factor`` times.

    Examples
    --------
    >>> judged_cost([10, 100], [20, 50], [1, 1], LOSS_FACTOR), judged_cost([10, 100], [20, 50], [1, 1], 1)
    (50.0, 35.0)
    """
    total = weight_of_all = 0.0
    for was, becomes, weight in zip(before, after, weights, strict=True):
        total += weight * (becomes if becomes <= was else was + loss_factor * (becomes - was))
        weight_of_all += weight
    return total / weight_of_all if weight_of_all else 0.0


def root(share: float, degree: int) -> float:
    """Compute the root of a share in (0, 1] by Newton's method, which Java computes alike.

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
