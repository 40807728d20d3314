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


class BoxTree:
    """A box tree, by trying every candidate with plain loops."""

    def __init__(self, rows: list[list[int]], files: int, tolerance: float, weights: Any, prefix: int) -> None:
        self.rows, self.files, self.weights, self.prefix = rows, files, weights, prefix
        per_file = len(rows) / files
        self.least, self.most = (1.0 - tolerance) * per_file, (1.0 + tolerance) * per_file
        self.preorder = self.node(rows, files)

    def node(self, inside: list[list[int]], files: int) -> list[Any]:
        best = self.best(inside, files) if files > 1 else None
        if best is None:
            return [files]
        _, column, start, share = best
        below = [row for row in inside if row[column] < start]
        above = [row for row in inside if row[column] >= start]
        return [(column, start), *self.node(below, share), *self.node(above, files - share)]

    def best(self, inside: list[list[int]], files: int) -> Any:
        varied = [column for column in range(self.prefix) if self.runs(inside, column)]
        clustering = list(range(self.prefix, len(inside[0])))
        return (
            (varied and self.between_values(inside, files, varied[0]))
            or self.within(inside, files, clustering)
            or self.most_even(inside, files)
        )

    def within(self, inside: list[list[int]], files: int, columns: list[int]) -> Any:
        best = None
        for column in columns:
            ordered = sorted(inside, key=lambda row: row[column])
            for share in (files // 2 - max(1, files // 4), files // 2, files // 2 + max(1, files // 4)):
                for place in self.places(inside, column, share, files):
                    left = place * self.cost(ordered[:place], share, columns)
                    right = (len(inside) - place) * self.cost(ordered[place:], files - share, columns)
                    if best is None or left + right < best[0]:
                        best = (left + right, column, ordered[place][column], share)
        return best

    def places(self, inside: list[list[int]], column: int, share: int, files: int) -> list[int]:
        if not 1 <= share < files:
            return []
        low = max(share * self.least, len(inside) - (files - share) * self.most)
        high = min(share * self.most, len(inside) - (files - share) * self.least)
        allowed = [place for place in self.runs(inside, column) if low <= place <= high]
        if len(allowed) <= 9:
            return allowed
        targets = [low + (high - low) * k / 10.0 for k in range(1, 10)]
        return sorted({min(allowed, key=lambda place: (abs(place - target), place)) for target in targets})

    def cost(self, inside: list[list[int]], files: int, columns: list[int]) -> float:
        extents = []
        for column in columns:
            low, high = min(row[column] for row in inside), max(row[column] for row in inside)
            extents.append(self.weights[column] * sum(low <= row[column] <= high for row in self.rows))
        left = float(files)
        while left >= 2:
            extents[extents.index(max(extents))] /= 2
            left /= 2
        extents[extents.index(max(extents))] /= left
        return float(sum(extents))

    @staticmethod
    def share(place: int, rows: int, files: int) -> int:
        return min(files - 1, max(1, (2 * files * place + rows) // (2 * rows)))

    def between_values(self, inside: list[list[int]], files: int, column: int) -> Any:
        best = None
        ordered = sorted(row[column] for row in inside)
        mean = len(self.rows) / self.files
        for place in self.runs(inside, column):
            share = self.share(place, len(inside), files)
            sides = ((place, share), (len(inside) - place, files - share))
            if all(f * self.least <= rows <= f * self.most for rows, f in sides):
                uneven = int(max(abs(rows / f - mean) for rows, f in sides) / mean * 16.0)
                score = (uneven, abs(2 * share - files))
                if best is None or score < best[0]:
                    best = (score, column, ordered[place], share)
        return best

    def most_even(self, inside: list[list[int]], files: int) -> Any:
        best = None
        for column in range(len(inside[0])):
            ordered = sorted(row[column] for row in inside)
            for place in self.runs(inside, column):
                share = self.share(place, len(inside), files)
                uneven = abs(place * files - share * len(inside)) / min(share, files - share)
                if best is None or uneven < best[0]:
                    best = (uneven, column, ordered[place], share)
        return best

    @staticmethod
    def runs(inside: list[list[int]], column: int) -> list[int]:
        ordered = sorted(row[column] for row in inside)
        return [place for place in range(1, len(ordered)) if ordered[place] != ordered[place - 1]]
