"""Find the columns that a workload may choose from."""

from __future__ import annotations

import math

from pyiceberg.partitioning import PartitionSpec
from pyiceberg.table import Table
from pyiceberg.types import NestedField

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.layout.choice.workload_columns import MOST_CANDIDATES
from iceberg_zorder.layout.keys import domain
from iceberg_zorder.pyiceberg.metrics_config import metrics_config
from iceberg_zorder.pyiceberg.nested_fields import named_fields
from iceberg_zorder.pyiceberg.partitions import identity_sources
from iceberg_zorder.pyiceberg.scan.requested_workload import RequestedWorkload
from iceberg_zorder.request.predicate import Name


def candidate_columns(
    table: Table, workload: RequestedWorkload, output_spec: PartitionSpec, *, needs_bounds: bool
) -> tuple[Name, ...]:
    """Find the columns that queries filter by, and that files could be skipped by.

    Parameters
    ----------
    table : pyiceberg.table.Table
        The table, whose schema and metrics configuration are consulted.
    workload : RequestedWorkload
        The queries.
    output_spec : pyiceberg.partitioning.PartitionSpec
        The spec of the files to be written, whose identity columns are constant in a file.
    needs_bounds : bool
        Whether columns of which the table keeps no lower/upper bounds are left out.

    Returns
    -------
    tuple of tuple of str
        The parts of the names of 12 columns at most: those first that queries of the most weight limit, and of equal
        ones that which comes first in the schema, structs before their fields.
    """
    weights: dict[Name, list[float]] = {}
    for boxes, query in zip(workload.filters.boxes, workload.queries, strict=True):
        for name in {name for box in boxes for name, _ in box.ranges}:
            weights.setdefault(name, []).append(query.weight)
    config, schema = metrics_config(table), table.schema()
    identity = identity_sources(output_spec)

    def serves(field: NestedField) -> bool:
        mode = config.mode(schema.find_column_name(field.field_id) or "")
        return _has_domain(field) and field.field_id not in identity and (mode.keeps_bounds or not needs_bounds)

    usable = [name for name, field in named_fields(schema.as_struct()) if name in weights and serves(field)]
    return tuple(sorted(usable, key=lambda name: -math.fsum(weights[name]))[:MOST_CANDIDATES])


def _has_domain(field: NestedField) -> bool:
    try:
        domain(str(field.field_type))
    except InvalidInputError:
        return False
    return True
