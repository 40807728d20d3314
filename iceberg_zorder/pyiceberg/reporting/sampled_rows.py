"""Rows of a table for ``advise``: a sample of the filtered columns, and runs of neighbouring rows with all columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.manifest import DataFile, FileFormat
from pyiceberg.table import Table

from iceberg_zorder.advice.compression import Compression, Places, Runs
from iceberg_zorder.advice.sampled_table import SampledTable
from iceberg_zorder.layout.columns import ClusteringColumn
from iceberg_zorder.layout.curve import ZORDER
from iceberg_zorder.layout.keys import Beginning, encode, joined_keys
from iceberg_zorder.layout.sample import Sample
from iceberg_zorder.pyiceberg.bounds import KeptBounds
from iceberg_zorder.pyiceberg.files import DataFileTask, FileGroup, Progress, silent
from iceberg_zorder.pyiceberg.plan.sampling import SampleContext, draw_samples, group_scans
from iceberg_zorder.pyiceberg.plan.sort_order import ResolvedSortOrder
from iceberg_zorder.pyiceberg.read.projection import field_paths, file_fields
from iceberg_zorder.pyiceberg.read.reader import Reader
from iceberg_zorder.pyiceberg.write.file_writer import parquet_settings, worth_a_dictionary
from iceberg_zorder.rewrite.options import ZOrderOptions
from iceberg_zorder.sort.codecs import leaf


def sampled_table(
    table: Table,
    columns: Sequence[ClusteringColumn],
    groups: Sequence[FileGroup],
    options: ZOrderOptions,
    progress: Progress = silent,
) -> SampledTable | None:
    """Sample file groups; None without rows."""
    if not columns or not groups:
        return None
    schema = table.schema()
    field_ids = tuple(schema.find_field(each.path).field_id for each in columns)
    order = ResolvedSortOrder((), (), tuple(columns), (1.0,) * len(columns), ZORDER, field_ids)
    context = SampleContext(table, order, options, progress)
    scans = group_scans(groups, options)
    # No second pass for clustered row groups: clusters depend on the layout, and there are many candidates.
    scans = [scan if scan.row_groups is None else scan.of_clusters(options.sample_seed) for scan in scans]
    drawn = draw_samples(context, scans)
    parts = zip(*(each.fitted.columns for each in drawn), strict=True)
    sample = Sample(tuple(joined_keys(each) for each in parts))
    if not sample.rows:
        return None
    kept = KeptBounds.of(table, columns)
    cuts = [
        cut if cut is not None or length is None else Beginning(length, is_text=False)
        for cut, length in zip(kept.cuts, context.sampled_lengths(scans[0].most), strict=True)
    ]
    return SampledTable(
        tuple(columns),
        sample,
        tuple(cuts),
        kept.are_kept,
        np.repeat(np.arange(len(drawn)), [each.fitted.rows for each in drawn]).astype(np.int64),
        np.array([max(1, each.scan.group.rows) for each in drawn], np.int64),
        np.array([max(1, each.scan.group.input_size) for each in drawn], np.int64),
    )


_RUNS, _RUN_ROWS = 64, 131_072
"""Most runs of rows, and the rows of all runs together."""
_PLACES, _PLACE_ROWS = 4, 131_072
"""Number of places where as many rows as a new file has are written again, and the most rows of a place."""
_MOST_BYTES = 256 << 20
"""Most bytes of the runs in memory, and of a place."""
_MOST_PARTS = 32
"""Most data files or row groups per place; small ones hold fewer rows than a new file."""

_Part = tuple[int, DataFileTask, list[tuple[int, int]] | None]
"""A file group's place, a data file, and the byte range of one of its row groups; None for the whole file."""


def compression_of(table: Table, groups: Sequence[FileGroup], rows: SampledTable | None, file_rows: int) -> Compression:
    """Read all columns of runs of neighbouring rows, to predict bytes; without Parquet files they do not change.

    ``rows`` are sampled from ``groups`` and have the columns that a layout may have; a new file has ``file_rows`` rows.
    """
    parts = [
        (place, task, each)
        for place, group in enumerate(groups)
        for task in group.tasks
        if task.data_file.file_format == FileFormat.PARQUET
        for each in _row_groups(task.data_file)
    ]
    if rows is None or not parts:
        return Compression()
    # Bloom filters have a fixed size, also in today's files.
    settings = {name: value for name, value in parquet_settings(table).items() if name != "bloom_filter_options"}
    places = [parts[place : place + _MOST_PARTS] for place in _spread(len(parts), _PLACES)]
    chosen = [parts[place] for place in _spread(len(parts), _RUNS)]
    tasks = [task for of_place in (*places, chosen) for _, task, _ in of_place]
    reader = Reader(table, tasks, batch_bytes=_MOST_BYTES // _RUNS)
    try:
        today = columns = whole = 0.0
        for of_place in places:
            read = list(_read(reader, of_place, max(1, min(file_rows, _PLACE_ROWS)), _MOST_BYTES))
            if read:
                sink = pa.BufferOutputStream()
                columns += _written(settings, pa.Table.from_batches([batch for _, batch, _ in read]), sink)
                today, whole = today + sum(size for _, _, size in read), whole + sink.getvalue().size
        most, limit = -(-_RUN_ROWS // len(chosen)), _MOST_BYTES // len(chosen)
        runs = [run for part in chosen for run in _read(reader, [part], most, limit)]
    finally:
        reader.close()
    if not today or not runs:
        return Compression()
    together = pa.Table.from_batches([batch for _, batch, _ in runs]).combine_chunks()
    paths, schema = field_paths(file_fields(reader.schema, None)), table.schema()
    (batch,) = together.to_batches()
    keys = [encode(leaf(batch, paths[schema.find_field(each.path).field_id]), each.type) for each in rows.columns]
    count = [batch.num_rows for _, batch, _ in runs]
    of_runs = replace(
        rows,
        sample=Sample(tuple(keys)),
        groups=np.repeat(np.array([group for group, _, _ in runs], np.int64), count),
    )

    def written(places: Places) -> int:
        return _written(settings, together.take(pa.array(places)))

    return Compression(Runs(of_runs, columns / today, (whole - columns) / today), written)


def _row_groups(file: DataFile) -> list[list[tuple[int, int]] | None]:
    starts = file.split_offsets or []
    ends = [*starts[1:], file.file_size_in_bytes]
    return [[each] for each in zip(starts, ends, strict=True)] if len(starts) > 1 else [None]


def _spread(count: int, most: int) -> list[int]:
    """Return at most ``most`` of ``count`` places, evenly spread."""
    return [place * count // min(count, most) for place in range(min(count, most))]


def _read(
    reader: Reader, parts: Sequence[_Part], wanted: int, most_bytes: int
) -> Iterator[tuple[int, pa.RecordBatch, float]]:
    """Yield the first ``wanted`` rows of neighbouring parts, with their groups and their bytes in today's files."""
    for group, task, ranges in parts:
        for rows in reader.rows(task, ranges=ranges):
            batch = rows.batch.slice(0, wanted)
            batch = batch.slice(0, max(1, min(wanted, batch.num_rows * most_bytes // max(1, batch.nbytes))))
            yield group, batch, task.data_file.file_size_in_bytes * batch.num_rows / task.data_file.record_count
            wanted, most_bytes = wanted - batch.num_rows, most_bytes - batch.nbytes
            if wanted <= 0 or most_bytes <= 0:
                return


def _written(settings: Mapping[str, Any], rows: pa.Table, sink: pa.BufferOutputStream | None = None) -> int:
    """Write rows as one row group; return the bytes of its columns."""
    dictionaries = worth_a_dictionary(rows.to_batches(), settings["dictionary_pagesize_limit"])
    with pq.ParquetWriter(
        sink or pa.BufferOutputStream(), rows.schema, **settings, use_dictionary=dictionaries
    ) as writer:
        writer.write_table(rows, row_group_size=max(1, rows.num_rows))
    group = writer.writer.metadata.row_group(0)
    return sum(group.column(place).total_compressed_size for place in range(group.num_columns))
