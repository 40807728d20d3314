"""Order-preserving keys: two values of a column compare as their keys do.

That is the order in which Iceberg compares the lower/upper bounds of the type. A key is a signed 64-bit integer (domain
``long``) or bytes in unsigned lexicographic order (domain ``bytes``):

============================  ========  ===================================================================
Iceberg type                  domain    key
============================  ========  ===================================================================
boolean                       long      0, 1
int, long                     long      the value
float, double                 long      -0.0 becomes 0.0; bits if bits >= 0 else bits ^ (2^63 - 1)
date                          long      days since 1970-01-01
time                          long      microseconds since midnight
timestamp, timestamptz        long      microseconds since 1970-01-01
timestamp_ns, timestamptz_ns  long      nanoseconds since 1970-01-01
decimal(p, s), p <= 18        long      the unscaled value
decimal(p, s), p > 18         bytes     the unscaled value, 16 bytes, big endian, two's complement, top bit flipped
string                        bytes     UTF-8 in full length
uuid                          bytes     its 16 bytes, most significant first
fixed[n], binary              bytes     its bytes
============================  ========  ===================================================================

NaN and NULL have no key: they are states of a row, and come after all values, in that order.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from iceberg_zorder.errors import InvalidInputError

VALUE, NAN, NULL = 0, 1, 2
"""States of a row of a column."""

Domain = Literal["long", "bytes"]

_LONGS = frozenset(
    "boolean int long float double date time timestamp timestamptz timestamp_ns timestamptz_ns".split()  # noqa: SIM905
)
_BYTES = frozenset({"string", "uuid", "binary"})
_DECIMAL = re.compile(r"decimal\((\d{1,2}), ?\d+\)")
_FIXED = re.compile(r"fixed\[\d+]")
_MAX_LONG_PRECISION = 18
_TIMES = {
    "date": pa.date32(),
    "time": pa.time64("us"),
    "timestamp": pa.timestamp("us"),
    "timestamptz": pa.timestamp("us"),
    "timestamp_ns": pa.timestamp("ns"),
    "timestamptz_ns": pa.timestamp("ns"),
}
_TOP_BIT = np.uint64(1 << 63)


@dataclass(frozen=True)
class Beginning:
    """How much of a string or binary key truncated lower/upper bounds keep; ``Beginning.java`` is the same.

    Examples
    --------
    >>> Beginning(2, is_text=True).of("größe".encode()), Beginning(2, is_text=False).of(b"abc")
    (b'gr', b'ab')
    """

    length: int  # characters of a text, or bytes of a binary
    is_text: bool

    def of(self, key: bytes) -> bytes:
        """Return the beginning of a key; a sampled key may end inside a character."""
        return key.decode(errors="replace")[: self.length].encode() if self.is_text else key[: self.length]


@dataclass(frozen=True, eq=False)
class KeyColumn:
    """The keys and states of one column's sampled rows; keys of NaN and NULL rows are undefined.

    Examples
    --------
    >>> column = KeyColumn(np.array([3, 1, 0]), np.array([VALUE, VALUE, NULL], np.uint8))
    >>> column.rows, column.values.tolist()
    (3, [3, 1])
    """

    keys: npt.NDArray[np.int64] | pa.LargeBinaryArray
    states: npt.NDArray[np.uint8]

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.states)

    @property
    def values(self) -> npt.NDArray[np.int64] | pa.LargeBinaryArray:
        """The keys of the rows that are values."""
        return self.take(np.flatnonzero(self.states == VALUE)).keys

    def take(self, rows: npt.NDArray[np.int64]) -> KeyColumn:
        """Return the rows at these places."""
        keys = self.keys[rows] if isinstance(self.keys, np.ndarray) else self.keys.take(pa.array(rows))
        return KeyColumn(keys, self.states[rows])


def key_at(keys: npt.NDArray[np.int64] | pa.LargeBinaryArray, place: int) -> int | bytes:
    """Return one of some keys.

    Examples
    --------
    >>> key_at(np.array([3, 5]), 1)
    5
    """
    return int(keys[place]) if isinstance(keys, np.ndarray) else keys[place].as_py()


def joined_keys(columns: Sequence[KeyColumn]) -> KeyColumn:
    """Join the keys of one column in several samples, one or more.

    Examples
    --------
    >>> parts = [encode(pa.array(values), "long") for values in ([3, None], [1])]
    >>> joined_keys(parts).values.tolist(), joined_keys(parts).states.tolist()
    ([3, 1], [0, 2, 0])
    """
    states = np.concatenate([column.states for column in columns])
    if all(isinstance(column.keys, np.ndarray) for column in columns):
        return KeyColumn(np.concatenate([column.keys for column in columns]), states)
    return KeyColumn(pa.concat_arrays([column.keys for column in columns]), states)


def domain(type_name: str) -> Domain:
    """Return the domain of a type's keys; types without comparable lower/upper bounds are refused.

    Examples
    --------
    >>> domain("decimal(18, 2)"), domain("decimal(19, 2)")
    ('long', 'bytes')
    """
    if type_name in _LONGS:
        return "long"
    if type_name in _BYTES or _FIXED.fullmatch(type_name):
        return "bytes"
    decimal = _DECIMAL.fullmatch(type_name)
    if decimal:
        return "long" if int(decimal[1]) <= _MAX_LONG_PRECISION else "bytes"
    raise InvalidInputError(
        f"Cannot cluster by a column of type '{type_name}', because Iceberg keeps no comparable lower/upper bounds for "
        "this type"
    )


def encode(array: pa.Array | pa.ChunkedArray, type_name: str) -> KeyColumn:
    """Convert the values of a column to keys.

    Times of another unit and decimals of another scale are converted if that is lossless. Dictionaries and extension
    types are decoded; integers are the numbers of the table above.

    Examples
    --------
    >>> encode(pa.array([1.5, None, float("nan"), -1.5]), "double").states.tolist()
    [0, 2, 1, 0]
    >>> encode(pa.array(["b", "a", None]), "string").keys.to_pylist()[:2]
    [b'b', b'a']
    """
    kind = domain(type_name)
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks() if array.num_chunks != 1 else array.chunk(0)
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    states = np.where(array.is_null().to_numpy(zero_copy_only=False), np.uint8(NULL), np.uint8(VALUE))
    if type_name in ("float", "double"):
        return _floating(array, states)
    if type_name.startswith("decimal"):
        return _decimal(array, states, type_name)
    if kind == "long":
        return KeyColumn(_integers(array, type_name), states)
    return KeyColumn(_bytes(array), states)


def _integers(array: pa.Array, type_name: str) -> npt.NDArray[np.int64]:
    """Numbers of any integer-like type, with 0 for NULL."""
    if type_name == "boolean":
        array = array.cast(pa.int8())
    elif type_name in _TIMES and not pa.types.is_integer(array.type):
        stored = _TIMES[type_name]
        if pa.types.is_timestamp(array.type):
            # Keeping the zone converts only the unit, never the instant.
            stored = pa.timestamp(stored.unit, array.type.tz)
        # A view returns the stored numbers of days, micro- or nanoseconds.
        array = array.cast(stored).view(pa.int32() if type_name == "date" else pa.int64())
    integers: npt.NDArray[np.int64] = pc.fill_null(array.cast(pa.int64()), 0).to_numpy(zero_copy_only=False)
    return integers


def _floating(array: pa.Array, states: npt.NDArray[np.uint8]) -> KeyColumn:
    values = pc.fill_null(array.cast(pa.float64()), 0.0).to_numpy(zero_copy_only=False)
    nan = np.isnan(values)
    # Adding 0.0 turns -0.0 into 0.0 and changes nothing else.
    bits = (np.where(nan, 0.0, values) + 0.0).view(np.int64)
    keys = np.where(bits >= 0, bits, bits ^ np.int64(np.iinfo(np.int64).max))
    return KeyColumn(keys, np.where(nan, np.uint8(NAN), states))


def _decimal(array: pa.Array, states: npt.NDArray[np.uint8], type_name: str) -> KeyColumn:
    """Take the two 64-bit words of every unscaled value from Arrow's little-endian buffer."""
    precision, scale = (int(number) for number in re.findall(r"\d+", type_name))
    array = array.cast(pa.decimal128(precision, scale))
    words = np.frombuffer(array.buffers()[1], np.uint64)[2 * array.offset : 2 * (array.offset + len(array))]
    low, high = words[0::2], words[1::2]
    if precision <= _MAX_LONG_PRECISION:
        return KeyColumn(np.where(states == NULL, np.int64(0), low.view(np.int64)), states)
    key = np.empty((len(array), 2), ">u8")
    key[:, 0] = high ^ _TOP_BIT
    key[:, 1] = low
    fixed = pa.FixedSizeBinaryArray.from_buffers(pa.binary(16), len(array), [None, pa.py_buffer(key.tobytes())])
    return KeyColumn(fixed.cast(pa.large_binary()), states)


def _bytes(array: pa.Array) -> pa.LargeBinaryArray:
    if pa.types.is_string_view(array.type):
        array = array.cast(pa.large_string())
    elif pa.types.is_binary_view(array.type) or pa.types.is_fixed_size_binary(array.type):
        array = array.cast(pa.binary())
    return pc.fill_null(array.cast(pa.large_binary()), b"")
