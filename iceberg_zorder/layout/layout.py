"""The layout: boundaries, curve and cuts, everything needed to send a row to its file and its place in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.layout.boundaries import Boundaries, find_boundaries
from iceberg_zorder.layout.box_tree import ADAPTIVE, BoxTree
from iceberg_zorder.layout.columns import ClusteringColumn
from iceberg_zorder.layout.curve import HILBERT, MAX_HILBERT_COLUMNS, ZORDER, curve_index, position_bits
from iceberg_zorder.layout.cuts import EvenCuts, even_cuts
from iceberg_zorder.layout.grow import grow, tighter_curve
from iceberg_zorder.layout.keys import NAN, NULL, VALUE, KeyColumn, domain
from iceberg_zorder.layout.positions import bucket_positions
from iceberg_zorder.layout.sample import Sample


@dataclass(frozen=True, eq=False)
class LayoutColumn:
    """An active clustering column of a layout.

    Parameters
    ----------
    ordinal : int
        Its place among the columns that the layout was fitted to.
    column : ClusteringColumn
        Name and type.
    boundaries : Boundaries
        Its boundaries.
    positions : ndarray of int64, shape (boundaries.buckets,)
        The position of every bucket.
    """

    ordinal: int
    column: ClusteringColumn
    boundaries: Boundaries
    positions: npt.NDArray[np.int64]


@dataclass(frozen=True)
class Wish:
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
    prefix : tuple of (bool, bool)
        For each leading column that rows are sorted by before the curve: whether larger values, and whether NULL, come
        first.
    boundaries : int
        Wanted boundaries per column, in [1, 65536].
    size_tolerance : float
        How far a file's share of the sampled rows may lie from the mean with adaptive cuts, in [0, 1).
    weights : tuple of float
        Positive weights of the columns after the prefix; empty for equal ones.
    """

    files: int
    cuts: str = ADAPTIVE
    curve: str = ZORDER
    prefix: tuple[tuple[bool, bool], ...] = ()
    boundaries: int = 4096
    size_tolerance: float = 0.25
    weights: tuple[float, ...] = ()


@dataclass(frozen=True, eq=False)
class Layout:
    """Boundaries, curve and cuts. Immutable, serialisable, and the same in Python and Java for the same sample.

    Parameters
    ----------
    columns : tuple of LayoutColumn
        The active columns, in order, those of the prefix first.
    prefix : int
        How many of them are of the prefix.
    left_out : tuple of str
        Names of the columns that separate nothing: constant, or NULL only, in the sample.
    bits : int
        Bits of every position.
    curve : str
        Name of the curve that orders the rows.
    cuts : EvenCuts or BoxTree
        How rows are cut into files.
    """

    columns: tuple[LayoutColumn, ...]
    prefix: int
    left_out: tuple[str, ...]
    bits: int
    curve: str
    cuts: EvenCuts | BoxTree

    @property
    def files(self) -> int:
        """Number of files."""
        return self.cuts.files

    def positions(self, sample: Sample) -> list[npt.NDArray[np.int64]]:
        """Find the positions of every row.

        Parameters
        ----------
        sample : Sample
            Rows with the columns that the layout was fitted to, in the same order.

        Returns
        -------
        list of ndarray of int64, shape (rows,)
            One array for every active column.
        """
        return [
            column.positions[column.boundaries.bucket_of(sample.columns[column.ordinal])] for column in self.columns
        ]

    def index(self, sample: Sample) -> npt.NDArray[np.int64]:
        """Find the index of every row: its place among the rows of its file, after the values of the prefix.

        Parameters
        ----------
        sample : Sample
            Rows with the columns that the layout was fitted to, in the same order.

        Returns
        -------
        ndarray of int64, shape (rows,)
            Non-negative indexes.
        """
        positions = self.positions(sample)
        if isinstance(self.cuts, EvenCuts):
            return _global_index(positions, sample.rows, self.prefix, self.curve, self.bits)
        if len(positions) == self.prefix:
            return np.zeros(sample.rows, np.int64)
        stretched = self.cuts.rescaled(positions, self.cuts.leaf(positions), self.prefix, self.bits)
        return curve_index(self.curve, stretched, self.bits)

    def file(self, sample: Sample, tie_breakers: npt.NDArray[np.int64] | None = None) -> npt.NDArray[np.int64]:
        """Find the file of every row, in [0, files).

        Parameters
        ----------
        sample : Sample
            Rows with the columns that the layout was fitted to, in the same order.
        tie_breakers : ndarray of int64, shape (rows,), optional
            Numbers that depend on the row alone. Rows that nothing tells apart are spread over the files of their box
            by them; without, all go to its first file.

        Returns
        -------
        ndarray of int64, shape (rows,)
            Files.
        """
        if isinstance(self.cuts, EvenCuts):
            return self.cuts.file(self.index(sample))
        positions = self.positions(sample)
        leaf = self.cuts.leaf(positions) if positions else np.zeros(sample.rows, np.int64)
        return self.cuts.file(leaf, np.zeros(sample.rows, np.int64) if tie_breakers is None else tie_breakers)


def fit(columns: Sequence[ClusteringColumn], sample: Sample, wish: Wish) -> Layout:
    """Fit a layout to a sample.

    Parameters
    ----------
    columns : sequence of ClusteringColumn
        The columns of the prefix and the clustering columns, between 1 and 63 in all.
    sample : Sample
        Their sampled keys, in the same order.
    wish : Wish
        What the layout is to be like.

    Returns
    -------
    Layout
        With adaptive cuts, ``wish.files`` files; with even cuts at most as many.

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
    >>> layout = fit([ClusteringColumn(("x",), "long"), ClusteringColumn(("y",), "long")], sample, Wish(files=4))
    >>> layout.file(sample).reshape(8, 8)[::4, ::4]
    array([[0, 2],
           [1, 3]])
    """
    _check(columns, sample, wish)
    active = [place for place, keys in enumerate(sample.columns) if _separates(keys)]
    bits = position_bits(len(active))
    prefix = sum(place < len(wish.prefix) for place in active)
    uncut = Layout(
        tuple(_fitted(place, columns[place], sample.columns[place], bits, wish) for place in active),
        prefix,
        tuple(column.name for place, column in enumerate(columns) if place not in active),
        bits,
        wish.curve,
        EvenCuts(()),
    )
    positions = uncut.positions(sample)
    if wish.cuts != ADAPTIVE:
        index = _global_index(positions, sample.rows, prefix, wish.curve, bits)
        return replace(uncut, cuts=even_cuts(np.sort(index), wish.files))
    weights = [1.0] * len(wish.prefix) + list(wish.weights or [1.0] * len(columns))
    tree = grow(
        positions,
        bits,
        wish.files,
        tolerance=wish.size_tolerance,
        weights=[weights[place] for place in active],
        prefix=prefix,
    )
    curve = wish.curve if wish.curve == HILBERT else tighter_curve(tree, positions, bits, prefix)
    return replace(uncut, curve=curve, cuts=tree)


def _fitted(place: int, column: ClusteringColumn, keys: KeyColumn, bits: int, wish: Wish) -> LayoutColumn:
    boundaries = find_boundaries(keys, wish.boundaries)
    descending, nulls_first = wish.prefix[place] if place < len(wish.prefix) else (False, False)
    positions = bucket_positions(
        boundaries.bucket_of(keys), boundaries.buckets, bits, descending=descending, nulls_first=nulls_first
    )
    return LayoutColumn(place, column, boundaries, positions)


def _global_index(
    positions: Sequence[npt.NDArray[np.int64]], rows: int, prefix: int, curve: str, bits: int
) -> npt.NDArray[np.int64]:
    """Join the positions of the prefix, one after the other, and then the index on the curve."""
    index = np.zeros(rows, np.int64)
    for column in positions[:prefix]:
        index = index << bits | column
    if len(positions) == prefix:
        return index
    return index << bits * (len(positions) - prefix) | curve_index(curve, positions[prefix:], bits)


def _check(columns: Sequence[ClusteringColumn], sample: Sample, wish: Wish) -> None:
    clustering = len(columns) - len(wish.prefix)
    if clustering < 1:
        raise InvalidInputError("Cannot lay out rows, because there are no clustering columns")
    if wish.files < 1:
        raise InvalidInputError(f"Cannot lay out rows in {wish.files} files, because there must be at least 1")
    if wish.curve == HILBERT and clustering > MAX_HILBERT_COLUMNS:
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
