"""Spark's ``xxhash64`` of a data file's path, a row's position and a seed, for many positions at once.

Spark hashes one column after the other, the hash of each being the seed of the next; the first seed is 42.
Source: the specification of XXH64, Y. Collet, https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md.
"""

from __future__ import annotations

import functools

import numpy as np
import numpy.typing as npt

_PRIME_1 = 0x9E3779B185EBCA87
_PRIME_2 = 0xC2B2AE3D27D4EB4F
_PRIME_3 = 0x165667B19E3779F9
_PRIME_4 = 0x85EBCA77C2B2AE63
_PRIME_5 = 0x27D4EB2F165667C5
_MASK = (1 << 64) - 1
_SPARK_SEED = 42


def row_hashes(file_path: str, positions: npt.NDArray[np.int64], seed: int | None = None) -> npt.NDArray[np.int64]:
    """Hash rows as Spark's ``xxhash64(file_path, position, seed)``, the last argument only where it is given.

    Examples
    --------
    >>> row_hashes("file:/a.parquet", np.array([0, 1]), seed=0).shape
    (2,)
    """
    with np.errstate(over="ignore"):
        hashes = _hash_long(positions.astype(np.int64).view(np.uint64), np.uint64(_path_hash(file_path)))
        if seed is not None:
            hashes = _hash_long(np.uint64(seed & _MASK), hashes)
    return hashes.view(np.int64)


@functools.lru_cache(maxsize=64)
def _path_hash(file_path: str) -> int:
    """Hash a path, of which the rows of a file ask batch after batch."""
    return hash_bytes(file_path.encode())


def hash_bytes(value: bytes, seed: int = _SPARK_SEED) -> int:
    """Hash bytes by XXH64.

    Examples
    --------
    >>> hex(hash_bytes(b"", seed=0))
    '0xef46db3751d8e999'
    """
    length, at = len(value), 0
    if length >= 32:
        lanes = [seed + _PRIME_1 + _PRIME_2, seed + _PRIME_2, seed, seed - _PRIME_1]
        while at <= length - 32:
            for lane in range(4):
                lanes[lane] = _round(lanes[lane], int.from_bytes(value[at : at + 8], "little"))
                at += 8
        found = sum(_rotated(lane & _MASK, turn) for lane, turn in zip(lanes, (1, 7, 12, 18), strict=True))
        for lane in lanes:
            found = (found ^ _round(0, lane)) * _PRIME_1 + _PRIME_4 & _MASK
    else:
        found = seed + _PRIME_5
    found = found + length & _MASK
    for width, first, turn, then, plus in ((8, None, 27, _PRIME_1, _PRIME_4), (4, _PRIME_1, 23, _PRIME_2, _PRIME_3)):
        while at <= length - width:
            word = int.from_bytes(value[at : at + width], "little")
            found ^= _round(0, word) if first is None else word * first & _MASK
            found = _rotated(found, turn) * then + plus & _MASK
            at += width
    for byte in value[at:]:
        found = _rotated(found ^ (byte * _PRIME_5 & _MASK), 11) * _PRIME_1 & _MASK
    return _avalanche(found)


def _round(lane: int, word: int) -> int:
    return _rotated(lane + word * _PRIME_2 & _MASK, 31) * _PRIME_1 & _MASK


def _rotated(value: int, left: int) -> int:
    return (value << left | value >> 64 - left) & _MASK


def _avalanche(value: int) -> int:
    value = (value ^ value >> 33) * _PRIME_2 & _MASK
    value = (value ^ value >> 29) * _PRIME_3 & _MASK
    return value ^ value >> 32


def _hash_long(
    words: npt.NDArray[np.uint64] | np.uint64, seeds: npt.NDArray[np.uint64] | np.uint64
) -> npt.NDArray[np.uint64]:
    """Hash 64-bit words, each as eight bytes, by their seeds; sums and products wrap around."""
    lanes = _turned(words * np.uint64(_PRIME_2), 31) * np.uint64(_PRIME_1)
    found = (seeds + np.uint64(_PRIME_5) + np.uint64(8)) ^ lanes
    found = _turned(found, 27) * np.uint64(_PRIME_1) + np.uint64(_PRIME_4)
    found = (found ^ found >> np.uint64(33)) * np.uint64(_PRIME_2)
    found = (found ^ found >> np.uint64(29)) * np.uint64(_PRIME_3)
    hashed: npt.NDArray[np.uint64] = found ^ found >> np.uint64(32)
    return hashed


def _turned(values: npt.NDArray[np.uint64] | np.uint64, left: int) -> npt.NDArray[np.uint64]:
    turned: npt.NDArray[np.uint64] = values << np.uint64(left) | values >> np.uint64(64 - left)
    return turned
