"""What new data files keep of clustering columns in lower/upper bounds, and whether that tells their values apart."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.table import Table

from iceberg_zorder.layout.boundaries import Boundaries
from iceberg_zorder.layout.columns import ClusteringColumn
from iceberg_zorder.layout.keys import VALUE, KeyColumn
from iceberg_zorder.layout.sample import is_cut, sampled_bytes
from iceberg_zorder.pyiceberg.catalog.renewal import refresh
from iceberg_zorder.pyiceberg.commit.table_properties import change_properties
from iceberg_zorder.pyiceberg.display import display_name, sql_name
from iceberg_zorder.pyiceberg.metrics_config import MetricsMode, metrics_config
from iceberg_zorder.request.metrics_check import KeyPool, WeakBounds, beginning, is_truncated, separation

_FULL = MetricsMode("full")


@dataclass(frozen=True)
class KeptBounds:
    """What is kept of each of some columns, by their metrics modes.

    Examples
    --------
    >>> url, number = ClusteringColumn(("url",), "string"), ClusteringColumn(("number",), "long")
    >>> kept = KeptBounds((url, number), (MetricsMode("truncate", 20), MetricsMode("counts")))
    >>> kept.lengths, kept.are_kept, kept.sampled_lengths(1_000_000)
    ((20, None), (True, False), (84, None))
    >>> kept.missing, kept.mended.missing, kept.mended.lengths
    ({'number': 'counts'}, {}, (20, None))
    """

    columns: tuple[ClusteringColumn, ...]
    modes: tuple[MetricsMode, ...]

    @staticmethod
    def of(table: Table, columns: Sequence[ClusteringColumn]) -> KeptBounds:
        """Read what the table's properties say now."""
        config = metrics_config(table)
        return KeptBounds(tuple(columns), tuple(config.mode(_full_name(each)) for each in columns))

    def fixed(self, weak: Sequence[WeakBounds]) -> KeptBounds:
        """Tell what is kept once some columns have the modes that they want."""
        wanted = {each.field: MetricsMode.of(each.wanted or "") for each in weak}
        pairs = zip(self.columns, self.modes, strict=True)
        return replace(self, modes=tuple(wanted.get(_full_name(column)) or mode for column, mode in pairs))

    @property
    def in_full(self) -> KeptBounds:
        """What would be kept if it were all."""
        return replace(self, modes=(_FULL,) * len(self.columns))

    @property
    def mended(self) -> KeptBounds:
        """What would be kept if all were of columns of which nothing is."""
        return replace(self, modes=tuple(mode if mode.keeps_bounds else _FULL for mode in self.modes))

    @property
    def missing(self) -> dict[str, str]:
        """The columns of which no bounds are kept, by their names in messages, and their modes."""
        pairs = zip(self.columns, self.modes, strict=True)
        return {column.name: str(mode) for column, mode in pairs if not mode.keeps_bounds}

    @property
    def are_kept(self) -> tuple[bool, ...]:
        """Whether there are bounds."""
        return tuple(mode.keeps_bounds for mode in self.modes)

    @property
    def lengths(self) -> tuple[int | None, ...]:
        """The characters of strings, or bytes of binaries, that are kept; None where nothing is cut."""
        pairs = zip(self.columns, self.modes, strict=True)
        return tuple(mode.length if is_truncated(column.type) else None for column, mode in pairs)

    @property
    def cuts(self) -> list[Callable[[bytes], bytes] | None]:
        """What cuts a key to what is kept of it; None where nothing is cut."""
        pairs = zip(self.columns, self.lengths, strict=True)
        return [
            None if length is None else partial(beginning, length=length, type_name=column.type)
            for column, length in pairs
        ]

    def sampled_lengths(self, rows: int) -> tuple[int | None, ...]:
        """Tell the bytes to which keys are cut in samples of at most so many rows; None for types of short keys."""
        pairs = zip(self.columns, self.lengths, strict=True)
        return tuple(sampled_bytes(length, rows) if is_cut(column.type) else None for column, length in pairs)

    def weak(self, table: Table, pools: Callable[[int], Iterable[KeyPool]]) -> Iterator[WeakBounds]:
        """Find the columns of which no bounds are kept, or whose bounds do not tell apart what layouts do."""
        for place, (column, mode) in enumerate(zip(self.columns, self.modes, strict=True)):
            weak = WeakBounds(
                *(display_name(table), sql_name(table)),
                *(column.name, _full_name(column), column.type, str(mode)),
                wanted=str(_FULL),
            )
            kept = mode.length if mode.keeps_bounds else 0
            if not is_truncated(column.type):
                if not mode.keeps_bounds:
                    yield weak
            elif kept is not None:
                found = separation(column.type, kept, pools(place))
                wanted = None if found.wanted is None else str(MetricsMode("truncate", found.wanted))
                if not kept:
                    yield replace(weak, wanted=wanted)
                elif not found.is_enough:
                    yield replace(weak, wanted=wanted, kept=kept, share=found.share)


def fix_metrics(table: Table, weak: Sequence[WeakBounds]) -> list[WeakBounds]:
    """Set the metrics modes that columns want, in one commit, unless columns have become good enough meanwhile."""
    now = copy(table)
    refresh(now)
    config = metrics_config(now)
    missing = [each for each in weak if not serves(config.mode(each.field), each)]
    if missing:
        change_properties(now, {each.key: each.wanted for each in missing if each.wanted})
    # What others changed of the schema meanwhile is for the commit of the files to judge.
    table.metadata = table.metadata.model_copy(update={"properties": dict(now.metadata.properties)})
    return missing


def serves(mode: MetricsMode, weak: WeakBounds) -> bool:
    """Tell whether a mode keeps as much of a column as is wanted."""
    if not mode.keeps_bounds or mode.length is None or not is_truncated(weak.type):
        return mode.keeps_bounds
    wanted = MetricsMode.of(weak.wanted or "")
    return wanted is not None and wanted.length is not None and mode.length >= wanted.length


def key_pool(column: KeyColumn, tails: npt.NDArray[np.int64], boundaries: Boundaries | None) -> KeyPool:
    """Count the sampled rows of a file group by the buckets of a column of strings or binaries.

    Where several values are cut to one key that has a bucket of its own, the bucket is that of the most frequent one,
    and the rows of the others are unseen.

    Examples
    --------
    >>> from iceberg_zorder.layout.boundaries import find_boundaries
    >>> from iceberg_zorder.layout.keys import encode
    >>> from iceberg_zorder.layout.sample import cut, tails
    >>> values = pa.array(["a", "b", "long 1", "long 1", "long 2", None])
    >>> column = encode(cut(values, 4), "string")
    >>> key_pool(column, tails(values, 4), find_boundaries(column, 9))
    KeyPool(keys=[b'a', b'b', b'long'], rows=[1, 1, 2], unseen=1)
    """
    present = column.states == VALUE
    keys = pc.filter(column.keys, pa.array(present))
    smallest = pc.min(keys).as_py()
    if smallest is None:
        return KeyPool([], [])
    begins, buckets = [smallest], np.zeros(len(keys), np.int64)
    if boundaries is not None:
        begins += boundaries.keys.tolist()
        buckets = boundaries.bucket_of(column)[present]
    rows = np.bincount(buckets, minlength=len(begins))
    seen = _seen(begins, rows, buckets, keys, tails[present])
    return KeyPool(begins, seen.tolist(), int((rows - seen).sum()))


def _seen(
    begins: Sequence[bytes],
    rows: npt.NDArray[np.int64],
    buckets: npt.NDArray[np.int64],
    keys: pa.LargeBinaryArray,
    tails: npt.NDArray[np.int64],
) -> npt.NDArray[np.int64]:
    """Count the rows of each bucket, but where all of them have one key, which was cut, only those of one value."""
    of_cut = np.bincount(buckets[tails != 0], minlength=len(begins)) > 0
    same = np.flatnonzero(of_cut[buckets])
    first = np.array(begins, dtype=object)[buckets[same]]
    same = same[first == keys.take(pa.array(same)).to_numpy(zero_copy_only=False)]
    # A value may be exactly as long as keys are cut to: it has no tail, and is one more.
    same = same[np.lexsort((tails[same], buckets[same]))]
    starts = np.flatnonzero((np.diff(buckets[same], prepend=-1) != 0) | (np.diff(tails[same], prepend=0) != 0))
    most = np.zeros(len(begins), np.int64)
    np.maximum.at(most, buckets[same[starts]], np.diff(starts, append=len(same)))
    return np.where(of_cut & (np.bincount(buckets[same], minlength=len(begins)) == rows), most, rows)


def _full_name(column: ClusteringColumn) -> str:
    return ".".join(column.parts)
