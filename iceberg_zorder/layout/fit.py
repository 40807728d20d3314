"""Fit a layout to a sample."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow.compute as pc

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.layout.boundaries import find_boundaries
from iceberg_zorder.layout.box_tree import ADAPTIVE
from iceberg_zorder.layout.columns import ClusteringColumn
from iceberg_zorder.layout.curve import HILBERT, MAX_HILBERT_COLUMNS, ZORDER, position_bits
from iceberg_zorder.layout.cuts import EvenCuts, even_cuts
from iceberg_zorder.layout.grow import WORKLOAD_SHARE, grow, tighter_curve
from iceberg_zorder.layout.growth.query_boxes import QueryBoxes
from iceberg_zorder.layout.keys import NAN, NULL, VALUE, KeyColumn, domain
from iceberg_zorder.layout.layout import Layout, LayoutColumn, global_index
from iceberg_zorder.layout.positions import bucket_positions
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
    """Fit a layout to a sample.

    Parameters
    ----------
    columns : sequence of ClusteringColumn
        The leading columns and the clustering columns, between 1 and 63 in all.
    sample : Sample
        Their sampled keys, in the same order.
    request : LayoutRequest
        What the layout is to be like.
    workload : callable, optional
        Puts what queries want into the positions of a layout that has no cuts yet, by its columns in their order, for
        adaptive cuts that have these queries read least.
    workload_share : float, optional
        The share of the queries that the workload knows, in [0, 1].

    Returns
    -------
    Layout
        With adaptive cuts, ``request.files`` files; with even cuts at most as many.

    Raises
    ------
    InvalidInputError
        When an argument lies outside its domain, or the sample does not fit the columns.

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
    _check(columns, sample, request)
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
    positions = bucket_positions(
        boundaries.bucket_of(keys), boundaries.buckets, bits, descending=descending, nulls_first=nulls_first
    )
    return LayoutColumn(place, column, boundaries, positions)


def _check(columns: Sequence[ClusteringColumn], sample: Sample, request: LayoutRequest) -> None:
    clustering = len(columns) - len(request.leading_orders)
    if clustering < 1:
        raise InvalidInputError("Cannot lay out rows, because there are no clustering columns")
    if request.files < 1:
        raise InvalidInputError(f"Cannot lay out rows in {request.files} files, because there must be at least 1")
    if request.curve == HILBERT and clustering > MAX_HILBERT_COLUMNS:
        raise InvalidInputError(
            f"Cannot lay out {clustering} columns along a Hilbert curve, because it takes at most {MAX_HILBERT_COLUMNS}"
        )
    if len(columns) != len(sample.columns):
        raise InvalidInputError(
            f"Cannot lay out {len(columns)} clustering columns, because the sample has {len(sample.columns)}"
        )
    position_bits(len(columns))
    for column, keys in zip(columns, sample.columns, strict=True):
        if domain(column.type) != keys.domain:
            raise InvalidInputError(
                f"Cannot lay out column '{column.name}' of type '{column.type}', because its keys are "
                f"{domain(column.type)} and the sample has {keys.domain}"
            )


def _separates(keys: KeyColumn) -> bool:
    """Tell whether the sampled rows show two different things, NaN and NULL being one each."""
    present = [state for state in (VALUE, NAN, NULL) if (keys.states == state).any()]
    values = keys.values
    if len(present) != 1 or len(values) == 0:
        return len(present) > 1
    if isinstance(values, np.ndarray):
        return bool((values != values[0]).any())
    return bool(pc.any(pc.not_equal(values, values[0])).as_py())
