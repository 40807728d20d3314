"""The scan fractions that a full rewrite is predicted to reach, and the files that it would write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from iceberg_zorder.layout.box_tree import EvenCuts
from iceberg_zorder.layout.columns import ClusteringColumn
from iceberg_zorder.layout.curve import ZORDER
from iceberg_zorder.layout.fit import LayoutRequest, fit
from iceberg_zorder.layout.keys import NULL, VALUE, KeyColumn, joined_keys
from iceberg_zorder.layout.layout import Layout
from iceberg_zorder.layout.sample import Sample
from iceberg_zorder.metrics.data_files import ColumnBounds, DataFiles, dense_ranks
from iceberg_zorder.metrics.file_sizes import FileSizes
from iceberg_zorder.metrics.scan_fraction import LaidOutSample, coarse


def rewritten_partitions(
    files: DataFiles,
    sample: Sample,
    places: npt.NDArray[np.int64],
    columns: Sequence[ClusteringColumn],
    new_sizes: FileSizes,
    request: LayoutRequest,
) -> dict[int, LaidOutSample]:
    """Return a predicted layout of each partition, from a sample of its rows."""
    if not files.count:
        return {}
    of_row = files.partitions[places]
    order = np.argsort(of_row, kind="stable")
    rows, sizes = (np.bincount(files.partitions, each).astype(np.int64) for each in (files.rows, files.sizes))
    ends = np.searchsorted(of_row[order], np.arange(len(sizes) + 1))
    found = {}
    one_file = Layout((), 0, tuple(column.name for column in columns), 1, ZORDER, EvenCuts(()))
    for number in np.unique(files.partitions).tolist():
        mine = order[ends[number] : ends[number + 1]]
        fitted, held_out = sample.take(mine[::2]), sample.take(mine[1::2])
        expected = new_sizes.expected_files(int(sizes[number]))
        wanted = replace(request, files=coarse(expected, len(mine)))
        layout = fit(columns, fitted, wanted) if wanted.files > 1 else one_file
        found[number] = LaidOutSample(layout, fitted, held_out, int(rows[number]), int(sizes[number]), expected)
    return found


def new_files(groups: Mapping[int, LaidOutSample], columns: Sequence[ClusteringColumn]) -> DataFiles:
    """Return the data files that layouts are predicted to write, from samples of their rows."""
    parts = [(number, group, sample) for number, group in groups.items() for sample in group.samples]
    starts = dict(
        zip(groups, np.cumsum([0, *(group.layout.files for group in groups.values())]).tolist(), strict=False)
    )
    file = np.concatenate([starts[number] + group.files_of(sample) for number, group, sample in parts])
    # Of a file without a sampled row nothing is known.
    seen, file, counts = np.unique(file, return_inverse=True, return_counts=True)
    partitions, rows, sizes = np.zeros((3, len(seen)), np.int64)
    for (number, group), start in zip(groups.items(), starts.values(), strict=True):
        mine = slice(*np.searchsorted(seen, [start, start + group.layout.files]))
        partitions[mine] = number
        rows[mine], sizes[mine] = group.share(group.rows, counts[mine]), group.share(group.size, counts[mine])
    keys = [joined_keys([sample.columns[place] for _, _, sample in parts]) for place in range(len(columns))]
    return DataFiles(
        partitions,
        rows,
        sizes,
        tuple(_bounds(column, of, file, len(seen)) for column, of in zip(columns, keys, strict=True)),
    )


def _bounds(column: ClusteringColumn, keys: KeyColumn, file: npt.NDArray[np.int64], files: int) -> ColumnBounds:
    """Return the smallest and the largest key of each file."""
    (ranks,) = dense_ranks([keys])
    valued = np.flatnonzero(ranks >= 0)
    order = valued[np.lexsort((ranks[valued], file[valued]))]
    present, first, counts = np.unique(file[order], return_index=True, return_counts=True)
    places = np.zeros((2, files), np.int64)
    places[0, present], places[1, present] = order[first], order[first + counts - 1]
    states = np.full(files, NULL, np.uint8)
    states[present] = VALUE
    lower, upper = (KeyColumn(keys.take(each).keys, states) for each in places)
    rows = np.bincount(file, minlength=files)
    return ColumnBounds(column, lower, upper, np.bincount(file[valued], minlength=files) / np.maximum(rows, 1))
