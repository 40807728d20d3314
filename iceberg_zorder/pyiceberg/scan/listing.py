"""List the data files of a snapshot that a filter leaves, with the deletes that apply to them."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property

from pyiceberg.expressions import BooleanExpression
from pyiceberg.manifest import DataFile, ManifestContent, ManifestEntry
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.types import NestedField

from iceberg_zorder.pyiceberg.compat.expressions import (
    file_may_match,
    filtered_fields,
    manifest_may_match,
    partition_may_match,
)
from iceberg_zorder.pyiceberg.compat.manifests import read_entries
from iceberg_zorder.pyiceberg.content_files import is_unpartitioned, joined_file, sequence_number
from iceberg_zorder.pyiceberg.file_groups import DataFileTask
from iceberg_zorder.pyiceberg.metrics_config import metrics_config
from iceberg_zorder.pyiceberg.scan.delete_index import DeleteIndex
from iceberg_zorder.pyiceberg.scan.predicates import file_filter


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Keep Python from looking for garbage among entries of manifests: again and again, and among more each time.

    That takes a quarter of the time of 100,000 files. In the other threads of the process it waits for as long.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class Listing:
    """Lists the data files that may hold rows for which a filter is true; no data file is opened.

    Raises InvalidInputError when the filter cannot be honoured.
    """

    def __init__(
        self, table: Table, where: str | BooleanExpression | None = None, *, case_sensitive: bool = False
    ) -> None:
        self._table = table
        self._case_sensitive = case_sensitive
        self._filter = file_filter(table, where, case_sensitive=case_sensitive)

    @without_garbage_collection()
    def tasks(self, snapshot: Snapshot) -> list[DataFileTask]:
        """List the data files of a snapshot; its manifests are read."""
        table, io = self._table, self._table.io
        specs, schema = table.specs(), table.schema()
        manifest_filters = {
            each: manifest_may_match(spec, schema, self._filter, self._case_sensitive) for each, spec in specs.items()
        }
        unpartitioned = frozenset(each for each, spec in specs.items() if is_unpartitioned(spec))
        deletes = DeleteIndex(schema, unpartitioned)
        entries: list[ManifestEntry] = []
        for manifest in snapshot.manifests(io):
            if manifest.content == ManifestContent.DELETES:
                for entry in read_entries(manifest, io):
                    deletes.add(entry.data_file, sequence_number(entry))
            elif manifest_filters[manifest.partition_spec_id](manifest):
                entries += [entry for entry in read_entries(manifest, io) if self.may_match(entry.data_file)]
        return [
            DataFileTask(
                entry.data_file,
                number,
                deletes.position_deletes(entry.data_file, number),
                deletes.equality_deletes(entry.data_file, number),
                entry.snapshot_id,
            )
            for entry in entries
            for number in [sequence_number(entry)]
        ]

    def may_match(self, file: DataFile) -> bool:
        """Tell whether a data file may hold a matching row, by its partition and its metrics."""
        return self.partition_may_match(file) and self.values_may_match(file)

    def partition_may_match(self, file: DataFile) -> bool:
        """Tell the same by its partition alone."""
        return self._partition_filters[file.spec_id](file)

    def values_may_match(self, file: DataFile) -> bool:
        """Tell the same by its metrics alone."""
        return self._metrics_filter(file)

    def new_values_may_match(self, files: Sequence[DataFile]) -> bool:
        """Tell the same of files that are made of the rows of data files: what these hold together, those hold."""
        return self.values_may_match(joined_file(files, self.kept_fields))

    @cached_property
    def kept_fields(self) -> list[NestedField]:
        """The columns that it looks at, but for those of which new files keep no bounds."""
        schema, config = self._table.schema(), metrics_config(self._table)
        found = filtered_fields(schema, self._filter, self._case_sensitive)
        return [
            schema.find_field(each) for each in found if config.mode(schema.find_column_name(each) or "").keeps_bounds
        ]

    @cached_property
    def _partition_filters(self) -> dict[int, Callable[[DataFile], bool]]:
        schema = self._table.schema()
        return {
            each: partition_may_match(spec, schema, self._filter, self._case_sensitive)
            for each, spec in self._table.specs().items()
        }

    @cached_property
    def _metrics_filter(self) -> Callable[[DataFile], bool]:
        return file_may_match(self._table.schema(), self._filter, self._case_sensitive)
