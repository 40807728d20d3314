"""Bounds that were cut before the values had begun to differ, so that no file can be skipped by them."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import numpy.typing as npt

from iceberg_zorder.report.data_files import ColumnBounds

_TRUNCATED = re.compile(r"truncate\((\d+)\)")


def bounds_that_are_alike(bounds: ColumnBounds, metrics_mode: str) -> npt.NDArray[np.bool_]:
    """Find the files whose lower and upper bound begin alike as far as bounds are kept, and as those of another file.

    Parameters
    ----------
    bounds : ColumnBounds
        The bounds.
    metrics_mode : str
        What the table keeps of the column, such as ``truncate(16)``.

    Returns
    -------
    ndarray of bool, shape (files,)
        Those files; none of a column that is kept in full, or is neither text nor binary.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from iceberg_zorder.layout.columns import ClusteringColumn
    >>> from iceberg_zorder.layout.keys import encode
    >>> lower, upper = (encode(pa.array(each), "string") for each in (["http", "http", "a"], ["httq", "httq", "b"]))
    >>> bounds = ColumnBounds(ClusteringColumn(("url",), "string"), lower, upper, np.ones(3))
    >>> bounds_that_are_alike(bounds, "truncate(4)").tolist()
    [True, True, False]
    """
    found = np.zeros(len(bounds.valued), np.bool_)
    truncated = _TRUNCATED.fullmatch(metrics_mode)
    if not truncated or bounds.column.type not in ("string", "binary"):
        return found
    coding = "utf-8" if bounds.column.type == "string" else "latin-1"
    length = int(truncated[1])
    places = np.flatnonzero(bounds.bounded).tolist()
    pairs = {
        place: tuple(
            keys[place].as_py().decode(coding, errors="replace") for keys in (bounds.lower.keys, bounds.upper.keys)
        )
        for place in places
    }
    alike = {place: pair for place, pair in pairs.items() if _is_cut(pair[0], pair[1], length)}
    files_of = Counter(alike.values())
    for place, pair in alike.items():
        found[place] = files_of[pair] > 1
    return found


def _is_cut(lower: str, upper: str, length: int) -> bool:
    """Tell whether an upper bound is a lower bound of full length with its last character counted up."""
    common = len(upper) - 1
    return len(lower) == length and lower[:common] == upper[:common] and upper[common:] == _next(lower[common:])


def _next(text: str) -> str:
    """Count a character up; those after it were the last ones there are, and are left out."""
    return chr(min(ord(text[0]) + 1, 0x10FFFF)) if text else ""
