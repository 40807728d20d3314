"""Row lineage of format version 3: the id of every row, and the sequence number of its last change.

Source: the specification's "Row Lineage". A value that a file lacks, or has as NULL, is inherited: the id from the
file's first row id and the row's position, the number from the file.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import LongType, NestedField, UnknownType

from iceberg_zorder.pyiceberg.compat import ROW_IDS_SINCE, first_row_id
from iceberg_zorder.pyiceberg.files import DataFileTask

ROW_ID = NestedField(2147483540, "_row_id", LongType(), required=False)
_CHANGED = NestedField(2147483539, "_last_updated_sequence_number", LongType(), required=False)
LINEAGE = (ROW_ID, _CHANGED)
"""The columns of new files that the table's schema does not have."""


def has_row_ids(table: Table) -> bool:
    """Return whether rows of a table's format version have ids."""
    return table.format_version >= ROW_IDS_SINCE


def stored_schema(table: Table) -> Schema:
    """Return the schema of a rewrite's new files: the table's, with the lineage of rows where they have one.

    Columns of type ``unknown``, whose values are all NULL, are in no file.
    """
    stored = (field for field in table.schema().fields if not isinstance(field.field_type, UnknownType))
    return Schema(*stored, *(LINEAGE if has_row_ids(table) else ()))


def with_lineage(
    batch: pa.RecordBatch, wanted: Schema, task: DataFileTask, positions: npt.NDArray[np.int64]
) -> pa.RecordBatch:
    """Return rows of a data file with the lineage that they inherit, in columns that have been read with it."""
    first = first_row_id(task.data_file)
    if first is None:  # a file of before the upgrade to version 3, whose rows have no ids yet
        return batch
    changed = pa.scalar(task.data_sequence_number, pa.int64())
    inherited = {ROW_ID.field_id: pa.array(positions + first), _CHANGED.field_id: changed}
    for place, field in enumerate(wanted.fields):
        column = batch.column(place)
        if field.field_id in inherited and column.null_count:
            column = pc.coalesce(column, inherited[field.field_id])
            batch = batch.set_column(place, batch.schema.field(place), column)
    return batch
