"""An obviously right reference for the kernels: plain loops over plain values, no numpy."""


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
