"""Which delete files apply to a data file, by Iceberg's rules.

A position delete applies to data files of its partition that are not newer than it, or, where it names one data file,
to that one only. An equality delete applies to older data files of its partition, and to those of every partition if
its own spec is unpartitioned.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from pyiceberg.manifest import DataFile, DataFileContent
from pyiceberg.schema import Schema
from pyiceberg.types import DoubleType, FloatType, NestedField, PrimitiveType

from iceberg_zorder.pyiceberg.content_files import Partition, bounds, partition_of, single_path

_Sequenced = tuple[DataFile, int]


@dataclass
class DeleteIndex:
    """The delete files of a snapshot."""

    schema: Schema  # where the types of equality fields are looked up
    unpartitioned: frozenset[int]  # the specs without fields that partition
    _positions: dict[Partition, list[_Sequenced]] = field(default_factory=dict)
    _positions_by_path: dict[str, list[_Sequenced]] = field(default_factory=dict)
    _equalities: dict[Partition, list[_Sequenced]] = field(default_factory=dict)
    _global_equalities: list[_Sequenced] = field(default_factory=list)

    def add(self, delete: DataFile, sequence_number: int) -> None:
        """Add a delete file and its data sequence number."""
        sequenced = (delete, sequence_number)
        if delete.content == DataFileContent.EQUALITY_DELETES:
            if delete.spec_id in self.unpartitioned:
                self._global_equalities.append(sequenced)
            else:
                self._equalities.setdefault(partition_of(delete), []).append(sequenced)
        elif path := single_path(delete):
            self._positions_by_path.setdefault(path, []).append(sequenced)
        else:
            self._positions.setdefault(partition_of(delete), []).append(sequenced)

    def position_deletes(self, data: DataFile, sequence_number: int) -> tuple[DataFile, ...]:
        """Find the position deletes that may name rows of a data file with this data sequence number."""
        candidates = self._of_partition(self._positions, data) + self._positions_by_path.get(data.file_path, [])
        return tuple(delete for delete, sequence in candidates if sequence >= sequence_number)

    def equality_deletes(self, data: DataFile, sequence_number: int) -> tuple[DataFile, ...]:
        """Find the equality deletes that may equal rows of a data file with this data sequence number."""
        candidates = self._global_equalities + self._of_partition(self._equalities, data)
        return tuple(
            delete for delete, sequence in candidates if sequence > sequence_number and self._may_equal(data, delete)
        )

    @staticmethod
    def _of_partition(deletes: dict[Partition, list[_Sequenced]], data: DataFile) -> list[_Sequenced]:
        return deletes.get(partition_of(data), []) if deletes else []

    def _may_equal(self, data: DataFile, delete: DataFile) -> bool:
        """Tell by counts and bounds whether a data file may hold a row that an equality delete file names."""
        fields = (self._field(field_id) for field_id in delete.equality_ids or [])
        return all(_columns_may_equal(data, delete, each) for each in fields if each is not None)

    def _field(self, field_id: int) -> NestedField | None:
        try:
            found = self.schema.find_field(field_id)
        except ValueError:
            return None
        return found if isinstance(found.field_type, PrimitiveType) else None


def _columns_may_equal(data: DataFile, delete: DataFile, column: NestedField) -> bool:
    of_data, of_delete = _nulls(data, column), _nulls(delete, column)
    if of_data != "none" and of_delete != "none" and not (of_data == "all" and of_delete == "all"):
        return True
    if of_data == "all" or of_delete == "all":
        return of_data != "none" and of_delete != "none"
    if _may_hold_nan(data, column) and _may_hold_nan(delete, column):
        return True
    (data_lower, data_upper), (delete_lower, delete_upper) = bounds(data, column), bounds(delete, column)
    if None in (data_lower, data_upper, delete_lower, delete_upper):
        return True
    return not (data_lower > delete_upper or delete_lower > data_upper)


def _nulls(file: DataFile, column: NestedField) -> str:
    """Tell how many of a file's values are NULL: ``none``, ``some`` (or not known), or ``all``."""
    if column.required:
        return "none"
    nulls = (file.null_value_counts or {}).get(column.field_id)
    if nulls is None:
        return "some"
    if nulls <= 0:
        return "none"
    return "all" if (file.value_counts or {}).get(column.field_id) == nulls else "some"


def _may_hold_nan(file: DataFile, column: NestedField) -> bool:
    """Tell whether a file may hold NaN, which no bound encloses."""
    if not isinstance(column.field_type, FloatType | DoubleType):
        return False
    return (file.nan_value_counts or {}).get(column.field_id) != 0


def rows_deleted_by_position(deletes: Iterable[DataFile]) -> int:
    """Count the rows that position deletes of one data file each delete."""
    return sum(delete.record_count for delete in deletes if single_path(delete) is not None)
