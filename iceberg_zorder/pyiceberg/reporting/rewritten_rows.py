"""Write some rows of a table as a rewrite would, to measure their compression."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyiceberg.manifest import FileFormat
from pyiceberg.table import Table

from iceberg_zorder.advice.compression import Rewritten
from iceberg_zorder.advice.sampled_table import SampledTable
from iceberg_zorder.layout.columns import ClusteringColumn
from iceberg_zorder.layout.curve import ZORDER
from iceberg_zorder.layout.keys import joined_keys
from iceberg_zorder.layout.sample import Sample
from iceberg_zorder.pyiceberg.bounds import KeptBounds
from iceberg_zorder.pyiceberg.files import DataFileTask, FileGroup, Progress, silent
from iceberg_zorder.pyiceberg.plan.sampling import SampleContext, draw_samples, group_scans
from iceberg_zorder.pyiceberg.plan.sort_order import ResolvedSortOrder
from iceberg_zorder.pyiceberg.write.file_writer import parquet_settings, worth_a_dictionary
from iceberg_zorder.rewrite.options import ZOrderOptions
from iceberg_zorder.sort.codecs import without_views


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
        cut if cut is not None or length is None else partial(_beginning, length=length)
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


def _beginning(key: bytes, length: int) -> bytes:
    return key[:length]


_PLACES = 4
"""Number of places in the table where rows are read."""
_MOST_ROWS = 131_072
_MOST_BYTES = 256 << 20
"""Most bytes per place in memory, because wide rows are written repeatedly."""
_MOST_FILES = 32
"""Most data files per place; small files hold fewer rows than a new file."""
_MOST_MIXED = 8_192
_SEED = 7


def rewritten_rows(
    table: Table, tasks: Sequence[DataFileTask], file_rows: int, files: int, names: Collection[str]
) -> Rewritten | None:
    """Read all columns of some rows, and write them again in their order; ``names`` are the columns of the sample."""
    parquet = [task for task in tasks if task.data_file.file_format == FileFormat.PARQUET]
    # Bloom filters have a fixed size, also in today's files.
    settings = {name: value for name, value in parquet_settings(table).items() if name != "bloom_filter_options"}
    wanted = max(1, min(file_rows, _MOST_ROWS))
    today = whole = 0.0
    chance = np.random.default_rng(_SEED)
    columns, shuffled, parts, repeats = Counter[str](), Counter[str](), [], []
    for place in range(min(_PLACES, len(parquet))):
        rows, size = _read(table, parquet[place * len(parquet) // _PLACES :][:_MOST_FILES], wanted)
        if not rows.num_rows:
            continue
        if rows.nbytes > _MOST_BYTES:
            kept = max(1, rows.num_rows * _MOST_BYTES // rows.nbytes)
            rows, size = rows.slice(0, kept), size * kept / rows.num_rows
        sink = pa.BufferOutputStream()
        columns.update(_written(settings, rows, sink))
        repeats.append(_repeats(rows, names))
        today, whole = today + size, whole + sink.getvalue().size
        order = chance.permutation(rows.num_rows)
        shuffled.update(_written(settings, rows.take(pa.array(order))))
        # Rows of this place in a new file that mixes rows of the whole table.
        mixed = max(1, min(_MOST_MIXED, rows.num_rows // files))
        parts.append((rows.slice(0, _PLACES * mixed), rows.take(pa.array(np.sort(order[:mixed])))))
    if not today:
        return None
    return Rewritten(
        today,
        columns,
        whole,
        partial(_written, settings),
        {name: size / columns[name] for name, size in shuffled.items()},
        _mixed(settings, parts),
        repeats,
    )


def _repeats(rows: pa.Table, names: Collection[str]) -> dict[str, npt.NDArray[np.bool_]]:
    """Tell of each row but the first, by column, whether it equals the row before it.

    Examples
    --------
    >>> rows = pa.table({"a": [1, 1, None, None, 2], "s": [{"b": 1}, {"b": 1}, {"b": 2}, {"b": None}, None]})
    >>> {name: each.tolist() for name, each in _repeats(rows, ["a", "s.b"]).items()}
    {'a': [True, False, True, False], 's.b': [True, False, False, True]}
    """
    while any(pa.types.is_struct(each.type) for each in rows.schema):
        rows = rows.flatten()
    found = {}
    for name in names:
        if rows.column_names.count(name) == 1:
            values = rows[name].combine_chunks()
            values = values.storage if isinstance(values, pa.ExtensionArray) else values
            codes = pc.fill_null(pc.dictionary_encode(values, "encode").indices, -1).to_numpy()
            found[name] = codes[1:] == codes[:-1]
    return found


def _mixed(settings: Mapping[str, Any], parts: Sequence[tuple[pa.Table, pa.Table]]) -> dict[str, float]:
    """Return column sizes of rows mixed from all places, relative to equal numbers of rows per place.

    Places with another schema than the first are left out. The files are small, so each file's fixed bytes are
    subtracted, as measured by a file of one row.
    """
    alike = [part for part in parts if part[0].schema == parts[0][0].schema]
    once = _written(settings, parts[0][0].slice(0, 1))
    apart, count = Counter[str](), 0
    for own, _ in alike:
        apart.update(_more(_written(settings, own), once))
        count += own.num_rows
    chance = np.random.default_rng(_SEED)
    together = pa.concat_tables([drawn for _, drawn in alike])
    together = together.take(pa.array(chance.permutation(together.num_rows)))
    sizes = _more(_written(settings, together), once)
    return {name: size / together.num_rows / (apart[name] / count) for name, size in sizes.items()}


def _more(sizes: Mapping[str, int], once: Mapping[str, int]) -> dict[str, int]:
    return {name: max(1, size - once[name]) for name, size in sizes.items()}


def _read(table: Table, tasks: Sequence[DataFileTask], wanted: int) -> tuple[pa.Table, float]:
    """Read up to ``wanted`` rows of neighbouring files; return them with their bytes."""
    found: list[pa.Table] = []
    size = 0.0
    for task in tasks:
        missing = wanted - sum(each.num_rows for each in found)
        if missing <= 0:
            break
        rows = _first_rows(table, task.data_file.file_path, missing)
        if rows is None:
            continue
        if found and rows.schema != found[0].schema:
            # Rows of different schemas are not counted together.
            return found[0], size
        found.append(rows)
        size += task.data_file.file_size_in_bytes * rows.num_rows / max(1, task.data_file.record_count)
    return (pa.concat_tables(found) if found else pa.table({})), size


def _first_rows(table: Table, path: str, rows: int) -> pa.Table | None:
    with table.io.new_input(path).open() as stream, pq.ParquetFile(stream) as file:
        batch = next(file.iter_batches(batch_size=rows), None)
        # Arrow can neither take nor count values of view types.
        return None if batch is None else pa.Table.from_batches([batch]).cast(without_views(batch.schema))


def _written(settings: Mapping[str, Any], rows: pa.Table, sink: pa.BufferOutputStream | None = None) -> dict[str, int]:
    """Write rows as one row group; return the bytes of each column, with full names of struct fields."""
    dictionaries = worth_a_dictionary(rows.to_batches(), settings["dictionary_pagesize_limit"])
    with pq.ParquetWriter(
        sink or pa.BufferOutputStream(), rows.schema, **settings, use_dictionary=dictionaries
    ) as writer:
        writer.write_table(rows, row_group_size=max(1, rows.num_rows))
    group = writer.writer.metadata.row_group(0)
    chunks = [group.column(place) for place in range(group.num_columns)]
    return {each.path_in_schema: each.total_compressed_size for each in chunks}
