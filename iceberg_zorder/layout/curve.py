"""The curves: they map a row's positions to one index, by interleaving bits or along a Hilbert curve.

Sources: G. M. Morton, "A computer oriented geodetic data base and a new technique in file sequencing", IBM, 1966;
C. H. Hamilton, "Compact Hilbert indices", Dalhousie University, technical report CS-2006-07, 2006.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from iceberg_zorder.errors import InvalidInputError

ZORDER = "zorder"

HILBERT = "hilbert"

MAX_HILBERT_COLUMNS = 8

# Tables of this many bits stay in the processor's cache.
_TABLE_BITS = 12

MAX_INDEX_BITS = 63
"""An index is a non-negative long."""

MAX_POSITION_BITS = 16


def position_bits(columns: int) -> int:
    """Bits of every column's positions.

    Examples
    --------
    >>> [position_bits(columns) for columns in (0, 1, 3, 4, 63)]
    [0, 16, 16, 15, 1]
    """
    if columns > MAX_INDEX_BITS:
        raise InvalidInputError(
            f"Cannot lay out {columns} clustering columns, because the interleaved index has room for {MAX_INDEX_BITS}"
        )
    return min(MAX_POSITION_BITS, MAX_INDEX_BITS // columns) if columns else 0


def spread(positions: npt.NDArray[np.int64], column: int, columns: int, bits: int) -> npt.NDArray[np.int64]:
    """Put the bits of one column's positions where the interleaved index has them.

    Bit i of column c (0 the least significant bit, and the first column) goes to bit ``i * columns + columns - 1 - c``:
    round robin from the most significant bit, first column first.

    Examples
    --------
    >>> [format(int(share), "06b") for share in spread(np.array([0b111, 0b100]), column=0, columns=2, bits=3)]
    ['101010', '100000']
    """
    shares = np.zeros(positions.shape, np.int64)
    for bit in range(bits):
        shares |= ((positions >> bit) & 1) << (bit * columns + columns - 1 - column)
    return shares


def hilbert_index(zorder: npt.NDArray[np.int64], columns: int, bits: int) -> npt.NDArray[np.int64]:
    """Return where interleaved indexes lie on the Hilbert curve.

    Neighbours on the curve differ in one position, and there by one; the z-order curve jumps.

    Examples
    --------
    The four quarters of a square in z-order, and along the curve:

    >>> hilbert_index(np.array([0b00, 0b01, 0b10, 0b11]), columns=2, bits=1)
    array([0, 3, 1, 2])
    """
    index = np.zeros(zorder.shape, np.int64)
    state: npt.NDArray[np.int16] = np.zeros(zorder.shape, np.int16)
    level = bits
    while level > 0:
        step = min(level, max(1, _TABLE_BITS // columns))
        level -= step
        digits, states = _joined_hilbert_tables(columns, step)
        corners = (zorder >> (level * columns)) & ((1 << columns * step) - 1)
        at = state.astype(np.int64) << columns * step | corners
        index = (index << columns * step) | digits[at]
        state = states[at]
    return index


def curve_index(curve: str, positions: Sequence[npt.NDArray[np.int64]], bits: int) -> npt.NDArray[np.int64]:
    """Return the index of rows on a curve: their positions interleaved, and for ``hilbert`` the place on that curve.

    Examples
    --------
    >>> curve_index("zorder", [np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1])], bits=1)
    array([0, 2, 1, 3])
    >>> curve_index("hilbert", [np.array([0, 1, 1, 0]), np.array([0, 0, 1, 1])], bits=1)
    array([0, 1, 2, 3])
    """
    index = np.zeros(positions[0].shape, np.int64)
    for column, values in enumerate(positions):
        index |= spread(values, column, len(positions), bits)
    return hilbert_index(index, len(positions), bits) if curve == HILBERT else index


@functools.cache
def _joined_hilbert_tables(columns: int, levels: int) -> tuple[npt.NDArray[np.int16], npt.NDArray[np.int16]]:
    """Tabulate some levels at once, by state and by the corners of these levels, side by side in one number."""
    first_digits, first_states = _hilbert_tables(columns)
    digits, states = first_digits, first_states
    for _ in range(levels - 1):
        # The first level, and then the levels after it from where it leads to.
        below = digits[first_states]
        digits = ((first_digits[:, :, np.newaxis] << (digits.shape[1].bit_length() - 1)) | below).reshape(
            len(first_digits), -1
        )
        states = states[first_states].reshape(len(first_digits), -1)
    return digits.ravel().astype(np.int16), states.ravel().astype(np.int16)


@functools.cache
def _hilbert_tables(columns: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Tabulate Hamilton's algorithm: the digit and the next state, by state and corner of the cube.

    A state is the corner where the curve enters a cube, and the axis along which it leaves: entry * columns + axis.
    """
    corners = 1 << columns
    digit = np.arange(corners)
    gray = digit ^ digit >> 1
    # The sub-cube of a digit is entered at this corner, and crossed along the axis of its, or of the digit before's,
    # trailing ones.
    even = np.maximum(0, digit - 1) & ~1
    entries = even ^ even >> 1
    ones = np.where(digit & 1, digit, np.maximum(0, digit - 1))
    axes = np.log2(~ones & ones + 1).astype(np.int64)
    digits, states = np.zeros((2, corners * columns, corners), np.int64)
    for state in range(len(digits)):
        entry, axis = divmod(state, columns)
        turn = (axis + 1) % columns
        corner, child = ((each << turn | each >> columns - turn) & corners - 1 for each in (gray, entries))
        digits[state, corner ^ entry] = digit
        states[state, corner ^ entry] = (child ^ entry) * columns + (axis + axes + 1) % columns
    return digits, states
