"""Deletion vectors: the deleted rows of one data file, as a bitmap in a Puffin file.

Source: the blob type ``deletion-vector-v1`` of the Puffin specification. A bitmap has the portable 64-bit format of
Roaring bitmaps.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from pyroaring import BitMap64

_PUFFIN = b"PFA1"
_VECTOR = b"\xd1\xd3\x39\x64"
_ROW_POSITION_FIELD = 2147483645
"""Field id of the metadata column ``_pos``, which the vector has values of."""
_WORD = 4
_FOOTER_SNAPSHOT = -1
"""For the snapshot and sequence number of a blob, which are known only once it is committed."""


def decoded(blob: bytes) -> npt.NDArray[np.int64]:
    """Return the positions in the blob of a deletion vector, ascending; raises ValueError if it is damaged.

    Examples
    --------
    >>> decoded(encoded([3, 1 << 40]))
    array([            3, 1099511627776])
    """
    size = int.from_bytes(blob[:_WORD], "big")
    vector, checksum = blob[_WORD : _WORD + size], blob[_WORD + size :]
    if len(vector) != size or vector[: len(_VECTOR)] != _VECTOR:
        raise ValueError("a deletion vector is truncated or does not begin as one")
    if checksum != zlib.crc32(vector).to_bytes(_WORD, "big"):
        raise ValueError("the checksum of a deletion vector is wrong")
    return np.array(BitMap64.deserialize(vector[len(_VECTOR) :]).to_array(), np.int64)


def encoded(positions: Sequence[int] | npt.NDArray[np.int64]) -> bytes:
    """Return the blob of a deletion vector."""
    bitmap = BitMap64(positions)
    bitmap.run_optimize()
    vector = _VECTOR + bitmap.serialize()
    return len(vector).to_bytes(_WORD, "big") + vector + zlib.crc32(vector).to_bytes(_WORD, "big")


def puffin(blob: bytes, data_file: str, rows: int) -> tuple[bytes, int]:
    """Return a Puffin file with the vector of one data file, and the place of its blob."""
    start = len(_PUFFIN)
    described = {
        "type": "deletion-vector-v1",
        "fields": [_ROW_POSITION_FIELD],
        "snapshot-id": _FOOTER_SNAPSHOT,
        "sequence-number": _FOOTER_SNAPSHOT,
        "offset": start,
        "length": len(blob),
        "properties": {"referenced-data-file": data_file, "cardinality": str(rows)},
    }
    footer = json.dumps({"blobs": [described], "properties": {"created-by": "iceberg-zorder"}}).encode()
    flags = bytes(_WORD)
    ending = _PUFFIN + footer + len(footer).to_bytes(_WORD, "little") + flags + _PUFFIN
    return _PUFFIN + blob + ending, start
