"""The joint row sample of the clustering columns, and the length of its keys."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from iceberg_zorder.layout.keys import KeyColumn

_PAGE_INDEX_BYTES = 64
_CHARACTER_BYTES = 4
_SAMPLE_BYTES = 1 << 27


@dataclass(frozen=True, eq=False)
class Sample:
    """Keys of sampled rows, one column of equal length per clustering column.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from iceberg_zorder.layout.keys import encode
    >>> sample = Sample((encode(pa.array([1, 2]), "long"), encode(pa.array(["a", None]), "string")))
    >>> sample.rows, sample.take(np.array([1, 0])).columns[0].keys
    (2, array([2, 1]))
    """

    columns: tuple[KeyColumn, ...]

    @property
    def rows(self) -> int:
        """Number of sampled rows."""
        return self.columns[0].rows if self.columns else 0

    def take(self, rows: npt.NDArray[np.int64]) -> Sample:
        """Return the rows at these places."""
        return Sample(tuple(column.take(rows) for column in self.columns))


def is_cut(type_name: str) -> bool:
    """Return whether a sample cuts the keys of a type.

    Examples
    --------
    >>> is_cut("string"), is_cut("fixed[900]"), is_cut("uuid")
    (True, True, False)
    """
    return type_name in ("string", "binary") or type_name.startswith("fixed[")


def sampled_bytes(kept: int | None, rows: int) -> int:
    """Return the length to which a sample cuts the keys of a string, binary or fixed column.

    Bounds cannot distinguish values with equal kept prefixes, so the sample need not either; one more character shows
    that a value is longer. Parquet's page index keeps 64 bytes by default, which may be more than file bounds keep. For
    full bounds, keys are as long as 128 MiB allow for ``rows`` rows.

    Only the sample is cut, and the boundaries with it. A full key k is at or above a boundary b of at most n bytes
    exactly if its first n bytes are. If: k is at or above its own prefix. Only if: a prefix below b differs from b at a
    byte that both have, because b is not longer, so k is below b.

    Examples
    --------
    >>> sampled_bytes(16, 1_000_000), sampled_bytes(None, 50_000), sampled_bytes(None, 1_000_000), sampled_bytes(1, 1)
    (68, 2684, 134, 64)
    """
    of_bounds = 2**31 - 1 if kept is None else _CHARACTER_BYTES * (kept + 1)
    return max(_PAGE_INDEX_BYTES, min(of_bounds, _SAMPLE_BYTES // rows))


def cut(array: pa.Array, length: int) -> pa.LargeBinaryArray:
    r"""Cut strings or binaries to their first bytes.

    Bytes, not characters: prefixes of bytes are ordered as the values.

    Examples
    --------
    >>> cut(pa.array(["naïve", "n", None]), 3).to_pylist()
    [b'na\xc3', b'n', None]
    """
    return pc.binary_slice(_whole(array), 0, length)


def tails(array: pa.Array, length: int) -> npt.NDArray[np.int64]:
    """Return numbers that distinguish values with equal cut keys: 0 if uncut, else a hash valid in this process.

    Examples
    --------
    >>> found = tails(pa.array(["abc", "abd", "ab", None, "abc"]), 2)
    >>> (found != 0).tolist(), bool(found[0] == found[4] != found[1])
    ([True, True, False, False, True], True)
    """
    array = _whole(array)
    found = np.zeros(len(array), np.int64)
    long = pc.fill_null(pc.greater(pc.binary_length(array), length), False)
    # Odd, so never 0.
    found[long.to_numpy(zero_copy_only=False)] = [hash(value) | 1 for value in array.filter(long).to_pylist()]
    return found


def _whole(array: pa.Array) -> pa.LargeBinaryArray:
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_fixed_size_binary(array.type):
        array = array.cast(pa.binary())
    return array.cast(pa.large_binary())
