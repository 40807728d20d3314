"""Sample the columns that filters use, for candidates to be simulated on."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyiceberg.conversions import from_bytes
from pyiceberg.table import Table
from pyiceberg.transforms import BucketTransform
from pyiceberg.types import IntegerType, LongType, PrimitiveType, StringType, UUIDType

from iceberg_zorder.advice.sampled_table import Hashes, SampledTable
from iceberg_zorder.layout.columns import ClusteringColumn
from iceberg_zorder.layout.curve import ZORDER
from iceberg_zorder.layout.keys import KeyColumn
from iceberg_zorder.layout.sample import Sample
from iceberg_zorder.pyiceberg.file_groups import FileGroup
from iceberg_zorder.pyiceberg.kept_bounds import KeptBounds
from iceberg_zorder.pyiceberg.plan.group_scans import group_scans
from iceberg_zorder.pyiceberg.plan.row_order import RowOrder
from iceberg_zorder.pyiceberg.plan.sampling import SampleContext, draw_samples
from iceberg_zorder.pyiceberg.progress import Progress, silent
from iceberg_zorder.pyiceberg.scan.file_arrays import bound
from iceberg_zorder.report.ranks import Kept
from iceberg_zorder.request.layout_options import ZOrderOptions

_ALL_HASHES = 1 << 31
"""Of so many buckets each hash has its own."""


def sampled_table(
    table: Table,
    columns: Sequence[ClusteringColumn],
    groups: Sequence[FileGroup],
    options: ZOrderOptions,
    progress: Progress = silent,
) -> SampledTable | None:
    """Sample file groups."""
    if not columns or not groups:
        return None
    schema = table.schema()
    field_ids = tuple(schema.find_field(".".join(each.parts)).field_id for each in columns)
    order = RowOrder((), (), tuple(columns), (1.0,) * len(columns), ZORDER, field_ids)
    context = SampleContext(table, order, options, progress)
    scans = group_scans(groups, options)
    # Whether row groups are clusters of rows that are alike depends on the layout, and there are many of them.
    scans = [scan if scan.row_groups is None else scan.of_clusters(options.sample_seed) for scan in scans]
    drawn = draw_samples(context, scans)
    sample = _joined([each.fitted for each in drawn])
    if not sample.rows:
        return None
    kept = KeptBounds.of(table, columns)
    cuts = [
        cut if cut is not None or length is None else partial(_beginning, length=length)
        for cut, length in zip(kept.cuts, context.kept_of_samples.sampled_lengths(scans[0].most), strict=True)
    ]
    kinds = [schema.find_type(field_id) for field_id in field_ids]
    hashes = {
        place: found
        for place, kind in enumerate(kinds)
        for found in [_hashes(kind, sample.columns[place], cuts[place])]
        if found is not None
    }
    return SampledTable(
        tuple(columns),
        sample,
        tuple(cuts),
        kept.are_kept,
        np.repeat(np.arange(len(drawn)), [each.fitted.rows for each in drawn]).astype(np.int64),
        np.array([max(1, each.scan.group.rows) for each in drawn], np.int64),
        np.array([max(1, each.scan.group.input_size) for each in drawn], np.int64),
        hashes,
    )


def _beginning(key: bytes, length: int) -> bytes:
    return key[:length]


def _joined(samples: Sequence[Sample]) -> Sample:
    columns = []
    for parts in zip(*(sample.columns for sample in samples), strict=True):
        keys = [part.keys for part in parts]
        states = np.concatenate([part.states for part in parts])
        columns.append(
            KeyColumn(np.concatenate(keys) if isinstance(keys[0], np.ndarray) else pa.concat_arrays(keys), states)
        )
    return Sample(tuple(columns))


def _hashes(kind: object, column: KeyColumn, kept: Kept | None) -> Hashes | None:
    """Find the hashes of a column by which Iceberg makes buckets; None where keys are cut, or rarely bucketed by."""
    if not isinstance(kind, IntegerType | LongType | UUIDType | StringType):
        return None
    if isinstance(kind, StringType) and kept is not None:
        values = column.values
        if any(kept(key) != key for key in pa.array(values).unique().to_pylist()):
            return None
    return partial(_hashed, kind)


def _hashed(kind: PrimitiveType, keys: Sequence[int | bytes]) -> npt.NDArray[np.int64]:
    transform = BucketTransform(_ALL_HASHES).transform(kind)
    return np.array([transform(from_bytes(kind, bound(key, kind))) for key in keys], np.int64)
