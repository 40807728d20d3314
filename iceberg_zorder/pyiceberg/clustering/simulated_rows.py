"""Sample the columns that filters use, for candidates to be simulated on."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from pyiceberg.table import Table

from iceberg_zorder.advice.sampled_table import SampledTable
from iceberg_zorder.layout.columns import ClusteringColumn
from iceberg_zorder.layout.curve import ZORDER
from iceberg_zorder.layout.keys import joined_keys
from iceberg_zorder.layout.sample import Sample
from iceberg_zorder.pyiceberg.file_groups import FileGroup
from iceberg_zorder.pyiceberg.kept_bounds import KeptBounds
from iceberg_zorder.pyiceberg.plan.row_order import RowOrder
from iceberg_zorder.pyiceberg.plan.sampling import SampleContext, draw_samples, group_scans
from iceberg_zorder.pyiceberg.progress import Progress, silent
from iceberg_zorder.request.layout_options import ZOrderOptions


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
    parts = zip(*(each.fitted.columns for each in drawn), strict=True)
    sample = Sample(tuple(joined_keys(each) for each in parts))
    if not sample.rows:
        return None
    kept = KeptBounds.of(table, columns)
    cuts = [
        cut if cut is not None or length is None else partial(_beginning, length=length)
        for cut, length in zip(kept.cuts, context.kept_of_samples.sampled_lengths(scans[0].most), strict=True)
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
