"""The layout: boundaries, curve and cuts, everything needed to send a row to its file and its place in it."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from iceberg_zorder.boundaries import Boundaries, find_boundaries
from iceberg_zorder.columns import ClusteringColumn
from iceberg_zorder.curve import ZORDER, position_bits, spread
from iceberg_zorder.cuts import EVEN, EvenCuts, even_cuts
from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.keys import NAN, NULL, VALUE, KeyColumn, domain
from iceberg_zorder.positions import bucket_positions
from iceberg_zorder.sample import Sample
from iceberg_zorder.sort_order import parse_name

VERSION = 1


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


@dataclass(frozen=True, eq=False)
class Layout:
    """Boundaries, curve and cuts. Immutable, serialisable, and the same in Python and Java for the same sample.

    Parameters
    ----------
    columns : tuple of LayoutColumn
        The active clustering columns, in order.
    left_out : tuple of str
        Names of the columns that separate nothing: constant, or NULL only, in the sample.
    bits : int
        Bits of every position.
    curve : str
        Name of the curve.
    cuts : EvenCuts
        How the curve is cut into files.
    """

    columns: tuple[LayoutColumn, ...]
    left_out: tuple[str, ...]
    bits: int
    curve: str
    cuts: EvenCuts

    @property
    def files(self) -> int:
        """Number of files."""
        return self.cuts.files

    def index(self, sample: Sample) -> npt.NDArray[np.int64]:
        """Find the index of every row.

        Parameters
        ----------
        sample : Sample
            Rows with the columns that the layout was fitted to, in the same order.

        Returns
        -------
        ndarray of int64, shape (rows,)
            Non-negative indexes.
        """
        index = np.zeros(sample.rows, np.int64)
        for place, column in enumerate(self.columns):
            shares = spread(column.positions, place, len(self.columns), self.bits)
            index |= shares[column.boundaries.bucket_of(sample.columns[column.ordinal])]
        return index

    def file(self, sample: Sample) -> npt.NDArray[np.int64]:
        """Find the file of every row, in [0, files)."""
        return self.cuts.file(self.index(sample))

    def to_json(self) -> str:
        """Write the canonical JSON: keys sorted, no spaces, integers and texts only."""
        return json.dumps(
            {
                "bits": self.bits,
                "columns": [
                    {
                        "boundaries": _boundaries_to_json(column.boundaries),
                        "name": column.column.name,
                        "positions": column.positions.tolist(),
                        "type": column.column.type,
                    }
                    for column in self.columns
                ],
                "curve": self.curve,
                "cuts": {"kind": EVEN, "starts": list(self.cuts.starts)},
                "left_out": list(self.left_out),
                "version": VERSION,
            },
            ensure_ascii=False,
            sort_keys=True,
            separators=(",", ":"),
        )

    @property
    def hash(self) -> str:
        """SHA-256 of the canonical JSON in UTF-8, in lower-case hexadecimal digits."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()


def fit(columns: Sequence[ClusteringColumn], sample: Sample, files: int, max_boundaries: int) -> Layout:
    """Fit a layout to a sample.

    Parameters
    ----------
    columns : sequence of ClusteringColumn
        The clustering columns, between 1 and 63.
    sample : Sample
        Their sampled keys, in the same order.
    files : int
        Wanted number of files, at least 1.
    max_boundaries : int
        Wanted boundaries per column, in [1, 65536].

    Returns
    -------
    Layout
        At most ``files`` files.

    Raises
    ------
    InvalidInputError
        When an argument lies outside its domain, or the sample does not fit the columns.

    Examples
    --------
    >>> from iceberg_zorder.keys import encode
    >>> x, y = np.meshgrid(np.arange(8), np.arange(8))
    >>> sample = Sample((encode(pa.array(x.ravel()), "long"), encode(pa.array(y.ravel()), "long")))
    >>> layout = fit([ClusteringColumn(("x",), "long"), ClusteringColumn(("y",), "long")], sample, 4, 4096)
    >>> layout.file(sample).reshape(8, 8)[::4, ::4]
    array([[0, 2],
           [1, 3]])
    """
    _check(columns, sample, files)
    found = [find_boundaries(keys, max_boundaries) for keys in sample.columns]
    active = [place for place, keys in enumerate(sample.columns) if _separates(keys)]
    bits = position_bits(len(active))
    layout_columns = tuple(
        LayoutColumn(
            place,
            columns[place],
            found[place],
            bucket_positions(found[place].bucket_of(sample.columns[place]), found[place].buckets, bits),
        )
        for place in active
    )
    left_out = tuple(column.name for place, column in enumerate(columns) if place not in active)
    uncut = Layout(layout_columns, left_out, bits, ZORDER, EvenCuts(()))
    return Layout(layout_columns, left_out, bits, ZORDER, even_cuts(np.sort(uncut.index(sample)), files))


def from_json(text: str) -> Layout:
    """Read a layout back.

    Parameters
    ----------
    text : str
        What :meth:`Layout.to_json` wrote.

    Returns
    -------
    Layout
        An equal layout; its columns' ordinals are their places among the active columns.

    Raises
    ------
    InvalidInputError
        When the text is not the JSON of a layout of this version.

    Examples
    --------
    >>> text = Layout((), ("x",), 0, ZORDER, EvenCuts(())).to_json()
    >>> from_json(text).to_json() == text
    True
    """
    try:
        raw = json.loads(text)
        bits = position_bits(len(raw["columns"]))
        _expect(raw, "version", VERSION)
        _expect(raw, "curve", ZORDER)
        _expect(raw["cuts"], "kind", EVEN)
        _expect(raw, "bits", bits)
        columns = tuple(_column_from_json(place, column, bits) for place, column in enumerate(raw["columns"]))
        starts = _increasing(_longs(raw["cuts"]["starts"]).tolist(), "the starts of its files")
        return Layout(columns, tuple(raw["left_out"]), bits, ZORDER, EvenCuts(tuple(starts)))
    except InvalidInputError:
        raise
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise InvalidInputError(f"Cannot read a layout, because it is not the JSON of one: {error!r}") from error


def _check(columns: Sequence[ClusteringColumn], sample: Sample, files: int) -> None:
    if not columns:
        raise InvalidInputError("Cannot lay out rows, because there are no clustering columns")
    if files < 1:
        raise InvalidInputError(f"Cannot lay out rows in {files} files, because there must be at least 1")
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


def _boundaries_to_json(boundaries: Boundaries) -> list[int] | list[str]:
    if isinstance(boundaries.keys, np.ndarray):
        integers: list[int] = boundaries.keys.tolist()
        return integers
    return [key.hex() for key in boundaries.keys.to_pylist()]


def _column_from_json(place: int, raw: dict[str, Any], bits: int) -> LayoutColumn:
    column = ClusteringColumn(parse_name(raw["name"]), raw["type"])
    what = f"the boundaries of column '{raw['name']}'"
    if domain(column.type) == "long":
        boundaries = Boundaries(_longs(_increasing(raw["boundaries"], what)))
    else:
        keys = _increasing([bytes.fromhex(key) for key in raw["boundaries"]], what)
        boundaries = Boundaries(pa.array(keys, pa.large_binary()))
    positions = _longs(raw["positions"])
    if len(positions) != boundaries.buckets or positions.min() < 0 or positions.max() >= 1 << bits:
        raise InvalidInputError(
            f"Cannot read a layout, because column '{raw['name']}' must have {boundaries.buckets} positions "
            f"in [0, {1 << bits})"
        )
    return LayoutColumn(place, column, boundaries, positions)


def _expect(raw: dict[str, Any], name: str, value: int | str) -> None:
    if raw[name] != value:
        raise InvalidInputError(f"Cannot read a layout, because '{name}' must be {value} and is '{raw[name]}'")


def _increasing(values: list[Any], what: str) -> list[Any]:
    if any(a >= b for a, b in itertools.pairwise(values)):
        raise InvalidInputError(f"Cannot read a layout, because {what} must strictly increase")
    return values


def _longs(values: list[Any]) -> npt.NDArray[np.int64]:
    """Make an array of integers; numpy alone would round other numbers silently."""
    if not all(type(value) is int for value in values):
        raise TypeError("integers are expected")
    return np.array(values, np.int64)
