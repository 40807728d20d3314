"""Fit a layout to a sample."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow.compute as pc

from iceberg_zorder.layout.boundaries import find_boundaries
from iceberg_zorder.layout.box_tree import ADAPTIVE
from iceberg_zorder.layout.columns import ClusteringColumn
from iceberg_zorder.layout.curve import HILBERT, ZORDER, position_bits
from iceberg_zorder.layout.cuts import EvenCuts, even_cuts
from iceberg_zorder.layout.grow import WORKLOAD_SHARE, grow, tighter_curve
from iceberg_zorder.layout.growth.query_boxes import QueryBoxes
from iceberg_zorder.layout.keys import NAN, NULL, VALUE, KeyColumn
from iceberg_zorder.layout.layout import Layout, LayoutColumn, global_index
from iceberg_zorder.layout.sample import Sample


@dataclass(frozen=True)
class LayoutRequest:
    """What a layout is to be like.

    Parameters
    ----------
    files : int
        Wanted number of files, at least 1.
    cuts : str
        How rows are cut into files: ``"adaptive"`` or ``"even"``.
    curve : str
        ``"zorder"`` or ``"hilbert"``, the latter for at most 8 columns. With adaptive cuts the curve orders the rows
        inside each file only, and for ``"zorder"`` the tighter one of the two on the sample is taken.
    leading_orders : tuple of (bool, bool)
        For each leading column that rows are sorted by before the curve: whether larger values, and whether NULL, come
        first.
    boundaries : int
        Wanted boundaries per column, in [1, 65536].
    size_tolerance : float
        How far a file's share of the sampled rows may lie from the mean with adaptive cuts, in [0, 1).
    weights : tuple of float
        Positive weights of the columns after the leading ones; empty for equal ones.
    """

    files: int
    cuts: str = ADAPTIVE
    curve: str = ZORDER
    leading_orders: tuple[tuple[bool, bool], ...] = ()
    boundaries: int = 4096
    size_tolerance: float = 0.25
    weights: tuple[float, ...] = ()


def fit(
    columns: Sequence[ClusteringColumn],
    sample: Sample,
    request: LayoutRequest,
    workload: Callable[[Layout], QueryBoxes] | None = None,
    workload_share: float = WORKLOAD_SHARE,
) -> Layout:
    """Fit a layout to a sample of the leading and the clustering columns, 63 at most.

    Adaptive cuts have the queries of a workload read least: ``workload`` puts what they want into the positions of a
    layout without cuts, and ``workload_share`` of all queries are among them.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from iceberg_zorder.layout.keys import encode
    >>> x, y = np.meshgrid(np.arange(8), np.arange(8))
    >>> sample = Sample((encode(pa.array(x.ravel()), "long"), encode(pa.array(y.ravel()), "long")))
    >>> columns = [ClusteringColumn(("x",), "long"), ClusteringColumn(("y",), "long")]
    >>> layout = fit(columns, sample, LayoutRequest(files=4))
    >>> layout.file(sample).reshape(8, 8)[::4, ::4]
    array([[0, 2],
           [1, 3]])
    """
    position_bits(len(columns))  # refuses too many
    active = [place for place, keys in enumerate(sample.columns) if _separates(keys)]
    bits = position_bits(len(active))
    leading = sum(place < len(request.leading_orders) for place in active)
    uncut = Layout(
        tuple(_fitted(place, columns[place], sample.columns[place], bits, request) for place in active),
        leading,
        tuple(column.name for place, column in enumerate(columns) if place not in active),
        bits,
        request.curve,
        EvenCuts(()),
    )
    positions = uncut.positions(sample)
    if request.cuts != ADAPTIVE:
        index = global_index(positions, sample.rows, leading, request.curve, bits)
        return replace(uncut, cuts=even_cuts(np.sort(index), request.files))
    weights = [1.0] * len(request.leading_orders) + list(request.weights or [1.0] * len(columns))
    tree = grow(
        positions,
        bits,
        request.files,
        tolerance=request.size_tolerance,
        weights=[weights[place] for place in active],
        leading=leading,
        workload=workload(uncut) if workload else None,
        workload_share=workload_share,
    )
    curve = request.curve if request.curve == HILBERT else tighter_curve(tree, positions, bits, leading)
    return replace(uncut, curve=curve, cuts=tree)


def _fitted(place: int, column: ClusteringColumn, keys: KeyColumn, bits: int, request: LayoutRequest) -> LayoutColumn:
    boundaries = find_boundaries(keys, request.boundaries)
    descending, nulls_first = request.leading_orders[place] if place < len(request.leading_orders) else (False, False)
    positions = boundaries.positions(keys, bits, descending=descending, nulls_first=nulls_first)
    return LayoutColumn(place, column, boundaries, positions)


def _separates(keys: KeyColumn) -> bool:
    """Tell whether the sampled rows show two different things, NaN and NULL being one each."""
    present = [state for state in (VALUE, NAN, NULL) if (keys.states == state).any()]
    values = keys.values
    if len(present) != 1 or len(values) == 0:
        return len(present) > 1
    if isinstance(values, np.ndarray):
        return bool((values != values[0]).any())
    return bool(pc.any(pc.not_equal(values, values[0])).as_py())
