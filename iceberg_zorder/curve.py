"""The z-order curve: the bits of the positions interleaved into one index.

Source: G. M. Morton, "A computer oriented geodetic data base and a new technique in file sequencing", IBM, 1966.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from iceberg_zorder.errors import InvalidInputError

ZORDER = "zorder"

MAX_INDEX_BITS = 63
"""An index is a non-negative long."""

MAX_POSITION_BITS = 16


def position_bits(columns: int) -> int:
    """Bits of every column's positions.

    Parameters
    ----------
    columns : int
        Number of active clustering columns, in [0, 63].

    Returns
    -------
    int
        min(16, floor(63 / columns)), and 0 without columns.

    Raises
    ------
    InvalidInputError
        When there are more columns than the index has bits.

    Examples
    --------
    >>> [position_bits(columns) for columns in (0, 1, 3, 4, 63)]
    [0, 16, 16, 15, 1]
    """
    if columns > MAX_INDEX_BITS:
        raise InvalidInputError(
            f"Cannot lay out {columns} clustering columns, because the index has room for {MAX_INDEX_BITS}"
        )
    return min(MAX_POSITION_BITS, MAX_INDEX_BITS // columns) if columns else 0


def spread(positions: npt.NDArray[np.int64], column: int, columns: int, bits: int) -> npt.NDArray[np.int64]:
    """Put the bits of one column's positions where the interleaved index has them.

    Bit i of column c (0 the least significant bit, and the first column) goes to bit ``i * columns + columns - 1 - c``:
    round robin from the most significant bit, first column first.

    Parameters
    ----------
    positions : ndarray of int64
        Positions in [0, 2^bits).
    column : int
        The column's place, in [0, columns).
    columns : int
        Number of columns.
    bits : int
        Bits of each position; ``bits * columns`` is at most 63.

    Returns
    -------
    ndarray of int64
        The column's share; the index is the OR of all columns' shares.

    Examples
    --------
    >>> [format(int(share), "06b") for share in spread(np.array([0b111, 0b100]), column=0, columns=2, bits=3)]
    ['101010', '100000']
    """
    shares = np.zeros(positions.shape, np.int64)
    for bit in range(bits):
        shares |= ((positions >> bit) & 1) << (bit * columns + columns - 1 - column)
    return shares


def zorder_index(positions: Sequence[npt.NDArray[np.int64]], bits: int) -> npt.NDArray[np.int64]:
    """Interleave the positions of rows.

    Parameters
    ----------
    positions : sequence of ndarray of int64
        One array per column, first column first; each has one position per row, in [0, 2^bits).
    bits : int
        Bits of each position.

    Returns
    -------
    ndarray of int64
        One index per row, in [0, 2^(bits * columns)).

    Examples
    --------
    >>> zorder_index([np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1])], bits=1)
    array([0, 2, 1, 3])
    """
    index = np.zeros(positions[0].shape, np.int64)
    for column, values in enumerate(positions):
        index |= spread(values, column, len(positions), bits)
    return index
