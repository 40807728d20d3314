"""Write position delete files and deletion vectors, each for one data file."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.conversions import to_bytes
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.table import Table
from pyiceberg.types import LongType, StringType

from iceberg_zorder.pyiceberg.compat import new_file
from iceberg_zorder.pyiceberg.deletion_vectors import encoded, puffin
from iceberg_zorder.pyiceberg.files import PATH_FIELD
from iceberg_zorder.pyiceberg.row_lineage import has_row_ids
from iceberg_zorder.pyiceberg.write.file_writer import parquet_settings

_POSITION_FIELD = 2147483545
_SCHEMA = pa.schema(
    [
        pa.field(name, kind, nullable=False, metadata={"PARQUET:field_id": str(field_id)})
        for name, kind, field_id in (("file_path", pa.string(), PATH_FIELD), ("pos", pa.int64(), _POSITION_FIELD))
    ]
)


def write_position_deletes(table: Table, path: str, file: DataFile, positions: npt.NDArray[np.int64]) -> DataFile:
    """Write a file to ``path`` that deletes rows of a data file at sorted positions, at least one.

    From format version 3, it has a deletion vector.
    """
    output = table.io.new_output(path)
    with output.create(overwrite=True) as stream:  # its name is new: to look for it would take a right to list
        if has_row_ids(table):
            blob = encoded(positions)
            content, offset = puffin(blob, file.file_path, len(positions))
            stream.write(content)
            found = {"file_format": FileFormat.PUFFIN, "content_offset": offset, "content_size_in_bytes": len(blob)}
        else:
            rows = pa.table([pa.repeat(pa.scalar(file.file_path), len(positions)), positions], schema=_SCHEMA)
            pq.write_table(rows, stream, compression=parquet_settings(table)["compression"], store_schema=False)
            # Equal bounds of the path tell readers that the file applies to one data file only.
            lower, upper = (
                {PATH_FIELD: to_bytes(StringType(), file.file_path), _POSITION_FIELD: to_bytes(LongType(), int(each))}
                for each in (positions[0], positions[-1])
            )
            found = {"file_format": FileFormat.PARQUET, "lower_bounds": lower, "upper_bounds": upper}
    deletes = new_file(
        referenced_data_file=file.file_path,
        content=DataFileContent.POSITION_DELETES,
        file_path=path,
        partition=file.partition,
        record_count=len(positions),
        file_size_in_bytes=len(output.to_input_file()),
        sort_order_id=None,
        equality_ids=None,
        key_metadata=None,
        **found,
    )
    deletes.spec_id = file.spec_id
    return deletes
