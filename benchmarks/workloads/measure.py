"""What queries read of a table that lies in files: by the bounds of all columns, by brute force."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from benchmarks.workloads.tables import MOST, NULL, Keys, Query

Files = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Bounds:
    """The bounds of files by column: the least and largest value, and whether there is a NULL."""

    rows: npt.NDArray[np.int64]
    lower: dict[str, Keys]
    upper: dict[str, Keys]
    has_null: dict[str, npt.NDArray[np.bool_]]


def bounds(keys: dict[str, Keys], file: Files, files: int) -> Bounds:
    """Find the bounds of all columns.

    Examples
    --------
    >>> found = bounds({"a": np.array([5, 3, NULL, 4])}, np.array([0, 0, 1, 1]), files=2)
    >>> found.lower["a"].tolist(), found.upper["a"].tolist(), found.has_null["a"].tolist()
    ([3, 4], [5, 4], [False, True])
    """
    order = np.argsort(file.astype(np.uint16), kind="stable")
    rows = np.bincount(file, minlength=files)
    filled = np.flatnonzero(rows)
    starts = np.searchsorted(file[order], filled)
    lower, upper, has_null = {}, {}, {}
    for name, column in keys.items():
        ordered = column[order]
        lower[name], upper[name] = np.full(files, MOST + 1), np.full(files, -MOST - 1)
        has_null[name] = np.zeros(files, np.bool_)
        has_null[name][filled] = np.maximum.reduceat(ordered, starts) == NULL
        lower[name][filled] = np.minimum.reduceat(ordered, starts)
        upper[name][filled] = np.maximum.reduceat(np.where(ordered == NULL, -MOST - 1, ordered), starts)
    return Bounds(rows, lower, upper, has_null)


def is_read(of: Bounds, query: Query) -> npt.NDArray[np.bool_]:
    """Find the files that a query reads: those that any of its boxes overlaps."""
    read = np.zeros(len(of.rows), np.bool_)
    for box in query:
        overlaps = of.rows > 0
        for name, (low, high) in box.items():
            overlaps &= of.has_null[name] if low == NULL else (of.lower[name] <= high) & (of.upper[name] >= low)
        read |= overlaps
    return read


def scan_fraction(of: Bounds, queries: Sequence[Query]) -> float:
    """Average over queries the share of the rows in files that they read, in percent."""
    total = int(of.rows.sum())
    return float(np.mean([of.rows[is_read(of, query)].sum() / total for query in queries])) * 100


def matching(keys: dict[str, Keys], queries: Sequence[Query]) -> float:
    """Average over queries the share of the rows that match, in percent."""
    rows = len(next(iter(keys.values())))
    return float(np.mean([matches(keys, query).sum() / rows for query in queries])) * 100


def matches(keys: dict[str, Keys], query: Query) -> npt.NDArray[np.bool_]:
    """Find the rows that a query wants."""
    found = np.zeros(len(next(iter(keys.values()))), np.bool_)
    for box in query:
        inside = np.ones(len(found), np.bool_)
        for name, (low, high) in box.items():
            inside &= (keys[name] >= low) & (keys[name] <= high)
        found |= inside
    return found
