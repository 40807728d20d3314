"""An obviously right reference for cuts from a workload: plain loops over plain values, in the order that is promised."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.layout import naive

Range = tuple[int, int]


@dataclass(frozen=True)
class Query:
    """Boxes, each with a range for some columns, and how often they are asked for."""

    boxes: tuple[dict[int, Range], ...]
    weight: float


@dataclass(frozen=True)
class Wanted:
    """A box with its weight; None stands for a value that is drawn from the rows."""

    ranges: tuple[Range | None, ...]
    weight: float


def folded(terms: list[float]) -> float:
    """Add up every eighth one, and then the later half of the sums onto the earlier one."""
    sums = [0.0] * 8
    for place, term in enumerate(terms):
        sums[place % 8] += term
    while len(sums) > 1:
        half = len(sums) // 2
        sums = [a + b for a, b in zip(sums[:half], sums[half:], strict=True)]
    return sums[0]


class BoxTree(naive.BoxTree):
    """A box tree for queries, by trying every candidate with plain loops."""

    def __init__(
        self,
        rows: list[list[int]],
        files: int,
        tolerance: float,
        weights: Any,
        prefix: int,
        queries: list[Query],
        share: float,
        top: int,
    ) -> None:
        self.known, self.top = share, top
        self.rows, self.prefix = rows, prefix
        self.everything = tuple((min(c), max(c)) for c in zip(*rows, strict=True))
        found = self.merged(self.drawn(self.counted(queries)))
        total = 0.0
        for each in found:
            total += each.weight
        self.wanted = [Wanted(each.ranges, each.weight * (share / total)) for each in found]
        super().__init__(rows, files, tolerance, weights, prefix)

    def counted(self, queries: list[Query]) -> list[tuple[Wanted, int]]:
        found = []
        for number, query in enumerate(queries):
            for box in query.boxes:
                ranges = tuple(box.get(column, (0, self.top)) for column in range(len(self.rows[0])))
                each = Wanted(ranges, query.weight / len(query.boxes))
                some = all(self.mass(r, column) > 0 for column, r in enumerate(ranges))
                everything = all(self.mass(r, c) == len(self.rows) for c, r in enumerate(ranges) if c >= self.prefix)
                if each.weight > 0 and some and not everything:
                    found.append((each, number))
        self.asked = [query.weight for query in queries]
        return found

    def drawn(self, found: list[tuple[Wanted, int]]) -> list[Wanted]:
        least = min((self.asked[number] for _, number in found), default=0.0)

        def is_drawn(column: int, wanted: Range, number: int) -> bool:
            others = {n for each, n in found if each.ranges[column] == wanted}
            single = column >= self.prefix and wanted[0] == wanted[1]
            return single and others == {number} and self.asked[number] < 2 * least

        return [
            Wanted(tuple(None if is_drawn(c, r, n) else r for c, r in enumerate(each.ranges) if r), each.weight)
            for each, n in found
        ]

    def merged(self, found: list[Wanted]) -> list[Wanted]:
        weights: dict[Any, float] = {}
        ranges: dict[Any, Any] = {}
        for each in found:
            key = tuple(None if r is None else self.interval(r, column) for column, r in enumerate(each.ranges))
            weights[key] = weights.get(key, 0.0) + each.weight
            ranges.setdefault(key, each.ranges)
        return [Wanted(ranges[key], weight) for key, weight in weights.items()]

    def interval(self, of: Range, column: int) -> Range:
        """How many rows lie below a range, and below its end."""
        return sum(row[column] < of[0] for row in self.rows), sum(row[column] <= of[1] for row in self.rows)

    def mass(self, of: Range, column: int) -> int:
        return sum(of[0] <= row[column] <= of[1] for row in self.rows)

    def common(self, one: Range, other: Range, column: int) -> int:
        return self.mass((max(one[0], other[0]), min(one[1], other[1])), column)

    def alive(self, box: tuple[Range, ...]) -> list[Wanted]:
        """The queries whose cost depends on how a box is cut."""
        return [
            each
            for each in self.wanted
            if all(r is None or self.common(r, box[c], c) for c, r in enumerate(each.ranges))
            and any(self.is_cut(each, box, c) for c in range(self.prefix, len(box)))
        ]

    def is_cut(self, wanted: Wanted, box: tuple[Range, ...], column: int) -> bool:
        of = wanted.ranges[column]
        return of is None or self.common(of, box[column], column) < self.mass(box[column], column)

    def within(self, inside: list[list[int]], files: int, columns: list[int]) -> Any:
        if not self.wanted:
            return super().within(inside, files, columns)
        node = tuple((min(c), max(c)) for c in zip(*inside, strict=True))
        self.node_box, self.of_node = node, self.alive(node)
        best = None
        for column in columns:
            ordered = sorted(inside, key=lambda row: row[column])
            shares = (files // 2 - max(1, files // 4), files // 2, files // 2 + max(1, files // 4))
            tried = [(share, place) for share in shares for place in self.places(inside, column, share, files)]
            for share, place in tried + self.at_ends(ordered, column, files):
                left = place * self.cost(ordered[:place], share, columns)
                right = (len(inside) - place) * self.cost(ordered[place:], files - share, columns)
                if best is None or left + right < best[0]:
                    best = (left + right, column, ordered[place][column], share)
        return best

    def at_ends(self, ordered: list[list[int]], column: int, files: int) -> list[tuple[int, int]]:
        ranged = [each for each in self.of_node if each.ranges[column] and self.is_cut(each, self.node_box, column)]
        weights: dict[int, float] = {}
        for side in (0, 1):
            for each in ranged:
                of = each.ranges[column]
                assert of is not None
                place = sum(row[column] < of[side] + side for row in ordered)
                weights[place] = weights.get(place, 0.0) + each.weight
        found = []
        for place in sorted(weights, key=lambda place: (-weights[place], place)):
            if not 0 < place < len(ordered):
                continue
            share = self.share(place, len(ordered), files)
            sides = ((place, share), (len(ordered) - place, files - share))
            if all(f * self.least <= rows <= f * self.most for rows, f in sides):
                found.append((share, place))
        return sorted(found[:12], key=lambda each: each[1])

    def cost(self, inside: list[list[int]], files: int, columns: list[int]) -> float:
        extents = super().cost(inside, files, columns)
        if not self.wanted:
            return extents
        return self.read(inside, files, columns) + (1 - self.known) / (len(self.rows) * len(columns)) * extents

    def read(self, inside: list[list[int]], files: int, columns: list[int]) -> float:
        box = tuple((min(c), max(c)) for c in zip(*inside, strict=True))
        cut = {c: [i for i, each in enumerate(self.of_node) if self.is_cut(each, self.node_box, c)] for c in columns}
        cut = {column: boxes for column, boxes in cut.items() if boxes}
        reads = [each.weight for each in self.of_node]
        shares: dict[tuple[int, int], float] = {}
        for column, boxes in cut.items():
            extent = self.mass(box[column], column)
            for i in boxes:
                of = self.of_node[i].ranges[column]
                common = 0 if of is None else self.common(of, box[column], column)
                reads[i] *= extent * (1.0 / len(self.rows)) if of is None else float(common > 0)
                shares[column, i] = common * (1.0 / extent)
        slices = dict.fromkeys(cut, 1.0)
        of_column = dict.fromkeys(shares, 1.0)
        left = float(files)
        while cut and left > 1.0:
            step = min(left, 2.0)
            best = None
            for column, boxes in cut.items():
                then = {i: min(1.0, shares[column, i] + slices[column] / step) for i in boxes}
                after = {i: reads[i] / of_column[column, i] * then[i] for i in boxes}
                saved = folded([reads[i] - after[i] for i in boxes])
                if best is None or saved > best[0]:
                    best = saved, column, then, after
            assert best is not None
            _, column, then, after = best
            slices[column] /= step
            for i in cut[column]:
                of_column[column, i], reads[i] = then[i], after[i]
            left /= step
        return folded(reads)
