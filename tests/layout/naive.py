"""An obviously right reference for the kernels: plain loops over plain values, no numpy."""

from __future__ import annotations

from typing import Any

VALUE, NAN, NULL = 0, 1, 2


def boundaries(values: list[Any], maximum: int) -> list[Any]:
    """Boundaries by their definition."""
    ordered = sorted(values)
    distinct = sorted(set(values))
    if len(distinct) <= maximum:
        return distinct[1:]
    chosen = set()
    for place, value in enumerate(distinct):
        if values.count(value) * maximum >= len(values):
            chosen.add(value)
            if place + 1 < len(distinct):
                chosen.add(distinct[place + 1])
    chosen.discard(distinct[0])
    ranks = max(0, maximum - len(chosen))
    chosen |= {ordered[i * len(ordered) // (ranks + 1)] for i in range(1, ranks + 1)}
    chosen.discard(distinct[0])
    return sorted(chosen)


def bucket(value: Any, state: int, of: list[Any]) -> int:
    """The bucket of one row."""
    if state == NAN:
        return len(of) + 1
    if state == NULL:
        return len(of) + 2
    return sum(boundary <= value for boundary in of)


def positions(buckets: list[int], count: int, bits: int) -> list[int]:
    """The position of every bucket."""
    return [min(2**bits - 1, 2**bits * sum(b < k for b in buckets) // len(buckets)) for k in range(count)]


def interleave(row: list[int], bits: int) -> int:
    """The index of one row, bit by bit."""
    text = "".join(format(position, f"0{bits}b")[bit] for bit in range(bits) for position in row)
    return int(text, 2) if text else 0


def even_cuts(index: list[int], files: int) -> list[int]:
    """Starts of files."""
    ordered = sorted(index)
    rows = len(ordered)
    starts: list[int] = []
    for i in range(1, files):
        if not rows:
            break
        rank = i * rows // files
        low = ordered.index(ordered[rank])
        high = next((r for r in range(rank, rows) if ordered[r] > ordered[rank]), rows)
        if low > 0 and (high == rows or rank - low <= high - rank):
            candidate = ordered[low]
        elif high < rows:
            candidate = ordered[high]
        else:
            continue
        if not starts or candidate > starts[-1]:
            starts.append(candidate)
    return starts


def hilbert(row: list[int], bits: int) -> int:
    """The Hilbert index of one row, by reflecting and exchanging axes from the most significant bit.

    Source: J. Skilling, "Programming the Hilbert curve", AIP Conference Proceedings 707, 2004.
    """
    x = list(row)
    top = 1 << (bits - 1)
    q = top
    while q > 1:
        low = q - 1
        for i in range(len(x)):
            if x[i] & q:
                x[0] ^= low
            else:
                swapped = (x[0] ^ x[i]) & low
                x[0] ^= swapped
                x[i] ^= swapped
        q >>= 1
    for i in range(1, len(x)):
        x[i] ^= x[i - 1]
    flip = 0
    q = top
    while q > 1:
        if x[-1] & q:
            flip ^= q - 1
        q >>= 1
    return interleave([value ^ flip for value in x], bits)
