"""Choose the row groups to read for a file group's sample: few of many, evenly spread over its rows.

Rows of one row group resemble each other, so a sample from many row groups is more informative. All rows are laid end
to end in commit order and cut into equal stretches with one point each. A point selects the row group that it falls
into, and all points stand for equal numbers of sampled rows. This happens on three levels: commits, files of a commit,
row groups of a file. The place of a point within its stretch advances by the golden ratio. With equal distances,
periodic data, such as loads that differ by weekday, could be sampled at one phase only; random places are less even.

Java's ``SampledRowGroups`` chooses the same; a golden file holds the two together.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

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
    """Hash rows as Spark's ``xxhash64(file_path, position, seed)``, without the seed if it is None.

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
    """Hash a path; cached, because each batch of a file needs it."""
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


LARGEST_CLUSTER_EFFECT = 0.1
"""Largest cluster effect at which a sample of some row groups represents the table."""
_FEWEST = 8
_AT_MOST_ONE_IN = 4
_ENOUGH = 40
_AT_LEAST_ONE_IN = 25
_PER_OUTPUT_FILE = 18
_CLUSTERS_PER_OUTPUT_FILE = 4
_DENSEST = 2
_PHASES = 1 << 16
# The fraction of the golden ratio is least close to any period (Kronecker's sequence).
_TURN_OF_POINTS = 40_503
# 1/p and 1/p^2 of the plastic number p, which spread points evenly over two dimensions (M. Roberts' R2 sequence).
_TURN_OF_FILES = 49_472
_TURN_OF_ROW_GROUPS = 37_345
_SEED_FACTOR = 0x9E3779B97F4A7C15


@dataclass(frozen=True)
class ManifestFile:
    """A data file's manifest entry: its rows, including deleted ones, and the offsets of its row groups."""

    path: str
    sequence_number: int
    rows: int
    size: int
    offsets: tuple[int, ...] = ()

    def row_groups(self) -> list[tuple[int, int]]:
        """Return the byte ranges of the row groups; the whole file if they are unknown.

        Examples
        --------
        >>> ManifestFile("a", 1, 30, 300, (4, 100)).row_groups(), ManifestFile("a", 1, 30, 300, (4, 300)).row_groups()
        ([(0, 100), (100, 300)], [(0, 300)])
        """
        ends = (*self.offsets[1:], self.size)
        if not self.offsets or not all(start < end for start, end in zip(self.offsets, ends, strict=True)):
            return [(0, self.size)]
        return list(zip((0, *self.offsets[1:]), ends, strict=True))

    def row_at(self, offset: int) -> int:
        """Return the estimated row at a byte, if all rows have equal size.

        Examples
        --------
        >>> file = ManifestFile("a", 1, 30, 900, (4, 100, 200))
        >>> [file.row_at(offset) for offset in (0, 100, 200, 290, 900)]
        [0, 10, 20, 29, 30]
        """
        end = self.end_of_rows
        return self.rows * min(offset, end) // end

    @functools.cached_property
    def end_of_rows(self) -> int:
        """Estimated byte after the last row, if the last row group is at most as large as the average."""
        start, end = self.row_groups()[-1]
        others = len(self.offsets) - 1
        return min(end, start + start // others) if start else end


@dataclass(frozen=True)
class SampledRowGroup:
    """A sampled row group, with its number among the file group's, in commit order.

    ``start`` and ``end`` are a byte range: row groups whose middle lies inside are read. ``first_position`` is the
    estimated first row position of this row group.
    """

    number: int
    start: int
    end: int
    first_position: int
    sampled_rows: int
    rows: int


def sampled_row_groups(
    files: Sequence[ManifestFile], rows: int, output_files: int, seed: int, *, are_clusters: bool = False
) -> list[tuple[SampledRowGroup, ...]] | None:
    """Return the row groups to read of each data file for ``rows`` sampled rows; None to read all.

    With ``are_clusters``, more row groups are read.

    Examples
    --------
    >>> files = [ManifestFile(f"{i:02}", i, 1000, 400, (4, 100, 200, 300)) for i in range(64)]
    >>> [[(each.start, each.end) for each in file] for file in sampled_row_groups(files, 500, 4, seed=0)][:3]
    [[(200, 300)], [(0, 100)], []]
    >>> sampled_row_groups(files[:2], 500, 4, seed=0)
    """
    total = sum(file.rows for file in files)
    if _DENSEST * rows >= total:
        return None
    row_groups = [file.row_groups() for file in files]
    sizes = [
        min(end, file.end_of_rows) - start for file, each in zip(files, row_groups, strict=True) for start, end in each
    ]
    # Row groups of equal sizes that would be as many, for the bytes of those that points fall into: with unequal
    # sizes, few hold most of the rows.
    effective = sum(sizes) ** 2 // sum(size * size for size in sizes)
    points = _points(effective, total, rows, output_files)
    if are_clusters:
        points = max(points, effective // _AT_MOST_ONE_IN, _CLUSTERS_PER_OUTPUT_FILE * output_files)
    if points >= min(effective, total):
        return None
    lengths = [
        [file.row_at(end) - file.row_at(start) for start, end in each]
        for file, each in zip(files, row_groups, strict=True)
    ]
    commits = _commits(files)
    hits = _hits(files, commits, lengths, points, seed)
    wanted = _rows_per_point(lengths, hits, rows)
    if wanted is None:
        return None
    chosen: list[tuple[SampledRowGroup, ...]] = [()] * len(files)
    first = 0
    for at in itertools.chain.from_iterable(commits):
        chosen[at] = _chosen(files[at], first, row_groups[at], lengths[at], [each * wanted for each in hits[at]])
        first += len(chosen[at])
    return chosen


def _points(row_groups: int, total: int, rows: int, output_files: int) -> int:
    of_files = math.isqrt(_PER_OUTPUT_FILE * output_files - 1) + 1
    of_rows = -(-_DENSEST * rows * row_groups // total)
    of_row_groups = max(_FEWEST, min(row_groups // _AT_MOST_ONE_IN, _ENOUGH), row_groups // _AT_LEAST_ONE_IN)
    return max(of_row_groups, of_files, of_rows)


def _commits(files: Sequence[ManifestFile]) -> list[list[int]]:
    """Return the files by commit, in order; within a commit, file names follow the writing tasks."""
    order = sorted(range(len(files)), key=lambda at: (files[at].sequence_number, files[at].path.encode()))
    return [list(each) for _, each in itertools.groupby(order, key=lambda at: files[at].sequence_number)]


def _hits(
    files: Sequence[ManifestFile],
    commits: Sequence[Sequence[int]],
    lengths: Sequence[Sequence[int]],
    points: int,
    seed: int,
) -> list[list[int]]:
    """Count the points in every row group."""
    phase = (seed * _SEED_FACTOR + (1 << 63) & _MASK) >> 48
    hits = [[0] * len(each) for each in lengths]
    commits_hit = files_hit = 0
    in_commits = _spread([sum(files[at].rows for at in commit) for commit in commits], points, phase)
    for commit, in_commit in zip(commits, in_commits, strict=True):
        if not in_commit:
            continue
        in_files = _spread([files[at].rows for at in commit], in_commit, phase + commits_hit * _TURN_OF_FILES)
        commits_hit += 1
        for at, in_file in zip(commit, in_files, strict=True):
            if in_file:
                hits[at] = _spread(lengths[at], in_file, phase + files_hit * _TURN_OF_ROW_GROUPS)
                files_hit += 1
    return hits


def _spread(lengths: Sequence[int], points: int, phase: int) -> list[int]:
    """Return the number of points in each length, with the lengths end to end and one point in each equal stretch."""
    stretch = sum(lengths) // points

    def points_below(end: int) -> int:
        place = end // stretch
        if place >= points:
            return points
        turned = (phase + place * _TURN_OF_POINTS) % _PHASES
        return place + (place * stretch + turned * stretch // _PHASES < end)

    below = [points_below(end) for end in itertools.accumulate(lengths, initial=0)]
    return [after - before for before, after in itertools.pairwise(below)]


def _rows_per_point(lengths: Sequence[Sequence[int]], hits: Sequence[Sequence[int]], rows: int) -> int | None:
    """Return the number of sampled rows per point that gives enough rows; None if impossible."""
    read = [
        (count, length)
        for each in zip(hits, lengths, strict=True)
        for count, length in zip(*each, strict=True)
        if count
    ]
    if sum(length for _, length in read) < rows:
        return None
    points = sum(count for count, _ in read)
    wanted = 0
    while (lacking := rows - sum(min(length, count * wanted) for count, length in read)) > 0:
        wanted += -(-lacking // points)
    return wanted


def _chosen(
    file: ManifestFile,
    first: int,
    row_groups: Sequence[tuple[int, int]],
    lengths: Sequence[int],
    sampled: Sequence[int],
) -> tuple[SampledRowGroup, ...]:
    chosen: list[SampledRowGroup] = []
    for (start, end), rows, of_these in zip(row_groups, lengths, sampled, strict=True):
        if of_these:
            position = file.row_at((chosen[-1].end + start) // 2) if chosen else 0
            chosen.append(SampledRowGroup(first + len(chosen), start, end, position, of_these, rows))
    return tuple(chosen)


def cluster_effect(files: npt.NDArray[np.int64], row_groups: npt.NDArray[np.int64], output_files: int) -> float:
    """Estimate how uneven output files become because rows of a row group resemble each other.

    The estimate is the variance of a file's rows over their squared mean: half the mean squared difference between
    consecutive row groups, less the expected effect of chance.

    Each file was cut to its share of the sampled rows. If consecutive row groups contribute similar numbers of rows,
    the file also has its share of the table. If they do not, the row groups between them are uncertain.

    Examples
    --------
    >>> alike, apart = np.arange(200) % 2, np.arange(200) // 100
    >>> cluster_effect(alike, apart, 2), cluster_effect(apart, apart, 2)
    (-0.01, 0.49)
    """
    pairs, counts = np.unique(np.stack([files, row_groups]).astype(np.int64), axis=1, return_counts=True)
    last = int(row_groups.max())
    # The first and the last row group have only one neighbour.
    follows = (np.diff(pairs[0]) == 0) & (np.diff(pairs[1]) == 1)
    begins = np.concatenate([[True], ~follows]) & (pairs[1] > 0)
    ends = np.concatenate([~follows, [True]]) & (pairs[1] < last)
    squares = (np.diff(counts)[follows] ** 2).sum() + (counts[begins] ** 2).sum() + (counts[ends] ** 2).sum()
    rows = len(files)
    return float(squares - 2 * rows) * output_files / (2.0 * rows * rows)
