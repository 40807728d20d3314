"""How large data files are to be: as an option or the table says, as they were the last time, or as the data asks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from pyiceberg.table import Table

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.pyiceberg.display import display_name
from iceberg_zorder.report.history import SnapshotFacts
from iceberg_zorder.request.rewrite_options import RewriteOptions

OPTION, PROPERTY, LAST_LAYOUT, DATA = "option", "property", "last layout", "data"

_PROPERTY_NAME = "write.target-file-size-bytes"
_SMALLEST, _LARGEST = 16 * 1024**2, 512 * 1024**2
_FILES_OF_A_PARTITION = 32
_FAR_OFF = 4


@dataclass(frozen=True)
class TargetSize:
    """The size that data files are to have."""

    size: int  # bytes
    source: str  # where it is from: OPTION, PROPERTY, LAST_LAYOUT or DATA
    origin: str  # where the last layout's is from, else the same

    @property
    def is_given(self) -> bool:
        """Whether a user has set it."""
        return self.source in (OPTION, PROPERTY)


def given_target(table: Table, options: RewriteOptions) -> TargetSize | None:
    """Find the target that the option or the table's property sets; raises InvalidInputError if it is no number."""
    if options.target_file_size is not None:
        return TargetSize(options.target_file_size, OPTION, OPTION)
    text = table.properties.get(_PROPERTY_NAME)
    try:
        return None if text is None else TargetSize(int(text), PROPERTY, PROPERTY)
    except ValueError as error:
        raise InvalidInputError(
            f"Cannot rewrite data files of {display_name(table)}, because its property {_PROPERTY_NAME} = '{text}' is "
            "no whole number"
        ) from error


def found_target(
    options: RewriteOptions,
    snapshots: Sequence[SnapshotFacts],
    partition_sizes: Iterable[int],
    *,
    is_filtered: bool = False,
) -> TargetSize:
    """Find the target where none is given.

    Examples
    --------
    >>> found_target(RewriteOptions(), [], [2 * 1024**3, 3 * 1024**3, 100])
    TargetSize(size=100663296, source='data', origin='data')
    >>> set_by_hand = [SnapshotFacts(1, 0, "replace", {"zorder.target-file-size": "20000000 option"})]
    >>> found_target(RewriteOptions(), set_by_hand, [30 * 1024**3])
    TargetSize(size=20000000, source='last layout', origin='option')
    >>> found_target(RewriteOptions(min_file_size=30_000_000), [], [100])
    TargetSize(size=40000000, source='data', origin='data')
    """
    size, origin = next((each.target for each in reversed(snapshots) if each.target), (0, DATA))
    asked = _target_of_data(partition_sizes) if origin == DATA else size
    is_far_off = not is_filtered and max(asked, size) >= _FAR_OFF * min(asked, size)
    if not size or is_far_off:
        return TargetSize(_between(asked, options), DATA, DATA)
    return TargetSize(_between(size, options), LAST_LAYOUT, origin)


def _target_of_data(partition_sizes: Iterable[int]) -> int:
    """Return a 32nd of the partition that half of all bytes are in, or in smaller ones."""
    sizes = sorted(size for size in partition_sizes if size > 0)
    half = sum(sizes) / 2
    median = next((size for size, seen in zip(sizes, accumulate(sizes), strict=True) if seen >= half), None)
    return _LARGEST if median is None else min(_LARGEST, max(_SMALLEST, median // _FILES_OF_A_PARTITION))


def _between(target: int, options: RewriteOptions) -> int:
    """Move a target to where Iceberg's default shares put it around a given smallest or largest size."""
    least, most = options.min_file_size, options.max_file_size
    if least is not None and target <= least:
        target = max(least + 1, int(least / 0.75))
    if most is not None and target >= most:
        target = max(1, int(most / 1.8))
    return target
