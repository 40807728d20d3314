"""A layout: boundaries, curve and cuts, which give each row its file and its place; with JSON and hash."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from iceberg_zorder.layout.boundaries import Boundaries
from iceberg_zorder.layout.box_tree import ADAPTIVE, EVEN, BoxTree, EvenCuts, Split
from iceberg_zorder.layout.columns import ClusteringColumn
from iceberg_zorder.layout.curve import curve_index
from iceberg_zorder.layout.sample import Sample


@dataclass(frozen=True, eq=False)
class LayoutColumn:
    """An active clustering column: its place among all fitted columns, and its buckets' positions."""

    ordinal: int
    column: ClusteringColumn
    boundaries: Boundaries
    positions: npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Layout:
    """Boundaries, curve and cuts; equal in Python and Java for equal samples.

    Parameters
    ----------
    columns : tuple of LayoutColumn
        The active columns, in order, the leading ones first.
    leading : int
        Number of leading columns, which are split and sorted by before the curve.
    left_out : tuple of str
        Names of the columns that are constant, or only NULL, in the sample.
    bits : int
        Bits of every position.
    curve : str
        Name of the curve that orders the rows.
    cuts : EvenCuts or BoxTree
        How rows are cut into files.
    """

    columns: tuple[LayoutColumn, ...]
    leading: int
    left_out: tuple[str, ...]
    bits: int
    curve: str
    cuts: EvenCuts | BoxTree

    @property
    def files(self) -> int:
        """Number of files."""
        return self.cuts.files

    def positions(self, sample: Sample) -> list[npt.NDArray[np.int64]]:
        """Return the positions of every row."""
        return [
            column.positions[column.boundaries.bucket_of(sample.columns[column.ordinal])] for column in self.columns
        ]

    def index(self, sample: Sample) -> npt.NDArray[np.int64]:
        """Return the index of every row: its place in its file, after the values of the leading columns."""
        positions = self.positions(sample)
        if isinstance(self.cuts, EvenCuts):
            return global_index(positions, sample.rows, self.leading, self.curve, self.bits)
        if len(positions) == self.leading:
            return np.zeros(sample.rows, np.int64)
        leaf = self.cuts.leaf(positions)
        stretched = [
            self.cuts.rescaled(column, positions[column], leaf, self.bits)
            for column in range(self.leading, len(positions))
        ]
        return curve_index(self.curve, stretched, self.bits)

    def file(self, sample: Sample, tie_breakers: npt.NDArray[np.int64] | None = None) -> npt.NDArray[np.int64]:
        """Return the file of every row.

        Tie breakers, numbers that depend only on the row, spread rows over the files of a box that cannot be split;
        without them, all rows go to the first file.
        """
        if isinstance(self.cuts, EvenCuts):
            return self.cuts.file(self.index(sample))
        positions = self.positions(sample)
        leaf = self.cuts.leaf(positions) if positions else np.zeros(sample.rows, np.int64)
        return self.cuts.file(leaf, np.zeros(sample.rows, np.int64) if tie_breakers is None else tie_breakers)


def global_index(
    positions: Sequence[npt.NDArray[np.int64]], rows: int, leading: int, curve: str, bits: int
) -> npt.NDArray[np.int64]:
    """Return the index of rows: the positions of the leading columns, then the index on the curve.

    Examples
    --------
    >>> global_index([np.array([1]), np.array([3])], 1, leading=1, curve="zorder", bits=2)
    array([7])
    """
    index = np.zeros(rows, np.int64)
    for column in positions[:leading]:
        index = index << bits | column
    if len(positions) == leading:
        return index
    return index << bits * (len(positions) - leading) | curve_index(curve, positions[leading:], bits)


VERSION = 1


def to_json(layout: Layout) -> str:
    """Return the canonical JSON: keys sorted, no spaces, only integers and texts.

    Examples
    --------
    >>> to_json(Layout((), 0, ("x",), 0, "zorder", EvenCuts(())))
    '{"bits":0,"columns":[],"curve":"zorder","cuts":{"kind":"even","starts":[]},"left_out":["x"],"prefix":0,"version":1}'
    """
    if isinstance(layout.cuts, EvenCuts):
        cuts: dict[str, Any] = {"kind": EVEN, "starts": list(layout.cuts.starts)}
    else:
        cuts = {
            "boxes": [list(itertools.chain(*zip(leaf.lower, leaf.upper, strict=True))) for leaf in layout.cuts.leaves],
            "kind": ADAPTIVE,
            "tree": [
                [node.column, node.start] if isinstance(node, Split) else node.files for node in layout.cuts.nodes
            ],
        }
    keys = [column.boundaries.keys for column in layout.columns]
    return json.dumps(
        {
            "bits": layout.bits,
            "columns": [
                {
                    "boundaries": of.tolist() if isinstance(of, np.ndarray) else [key.hex() for key in of.to_pylist()],
                    "name": column.column.name,
                    "positions": column.positions.tolist(),
                    "type": column.column.type,
                }
                for column, of in zip(layout.columns, keys, strict=True)
            ],
            "curve": layout.curve,
            "cuts": cuts,
            "left_out": list(layout.left_out),
            "prefix": layout.leading,
            "version": VERSION,
        },
        ensure_ascii=False,
        sort_keys=True,
        separators=(",", ":"),
    )


def layout_hash(layout: Layout) -> str:
    """SHA-256 of the canonical JSON in UTF-8, as 64 lower-case hexadecimal digits.

    Examples
    --------
    >>> layout_hash(Layout((), 0, ("x",), 0, "zorder", EvenCuts(())))[:8]
    'd0271cb8'
    """
    return hashlib.sha256(to_json(layout).encode()).hexdigest()
