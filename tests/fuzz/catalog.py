"""A catalog that is a dictionary, because a table is made, changed and read some fifty times for one seed."""

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock

from pyiceberg.catalog import Catalog
from pyiceberg.catalog.noop import NoopCatalog
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.io import FileIO, load_file_io
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import CommitTableResponse, Table
from pyiceberg.table.metadata import TableMetadata, TableMetadataUtil, new_table_metadata
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER
from pyiceberg.table.update import TableRequirement, TableUpdate, update_table_metadata
from pyiceberg.typedef import Identifier

from tests.fuzz.model import local


@dataclass
class Store:
    """What the catalogs of several processes share."""

    io: FileIO = field(default_factory=lambda: load_file_io({}))
    heads: dict[Identifier, str] = field(default_factory=dict)
    known: dict[str, TableMetadata] = field(default_factory=dict)
    lock: Lock = field(default_factory=Lock)

    def write(self, metadata: TableMetadata, version: int) -> str:
        """Write metadata to a new file, and remember what is read back from there."""
        path = f"{metadata.location}/metadata/{version:05d}-{uuid.uuid4()}.metadata.json"
        text = metadata.model_dump_json()
        local(path).parent.mkdir(parents=True, exist_ok=True)
        local(path).write_text(text)
        self.known[path] = TableMetadataUtil.parse_raw(text)
        return path

    def adopt(self, table: Table) -> None:
        """Take the metadata of a table that another catalog had meanwhile."""
        self.known[table.metadata_location] = table.metadata
        (name,) = self.heads
        self.heads[name] = table.metadata_location


class StoreCatalog(NoopCatalog):
    """One process's catalog."""

    def __init__(self, store: Store, pass_by: Callable[[str], None] = lambda point: None) -> None:
        super().__init__("lake")
        self.store = store
        self.pass_by = pass_by

    def make(self, name: str, schema: Schema, spec: PartitionSpec, location: str, properties: dict[str, str]) -> Table:
        """Create a table."""
        metadata = new_table_metadata(schema, spec, UNSORTED_SORT_ORDER, location, dict(properties))
        self.store.heads[Catalog.identifier_to_tuple(name)] = self.store.write(metadata, 0)
        return self.load_table(name)

    def load_table(self, identifier: str | Identifier) -> Table:
        """Load a table's newest metadata."""
        self.pass_by("load")
        return self._load(Catalog.identifier_to_tuple(identifier))

    def _load(self, identifier: Identifier) -> Table:
        location = self.store.heads[identifier]
        return Table(identifier, self.store.known[location], location, self.store.io, self)

    def commit_table(
        self, table: Table, requirements: tuple[TableRequirement, ...], updates: tuple[TableUpdate, ...]
    ) -> CommitTableResponse:
        """Commit, unless another was faster."""
        self.pass_by("commit")
        current = self._load(table.name())
        for requirement in requirements:
            requirement.validate(current.metadata)
        new = update_table_metadata(current.metadata, updates, metadata_location=current.metadata_location)
        if new == current.metadata:
            return CommitTableResponse.model_validate({"metadata": new, "metadata-location": current.metadata_location})
        version = int(current.metadata_location.rpartition("/")[2][:5]) + 1
        location = self.store.write(new, version)
        with self.store.lock:
            if self.store.heads[table.name()] != current.metadata_location:
                raise CommitFailedException("Table has been updated by another process")
            self.store.heads[table.name()] = location
        return CommitTableResponse.model_validate(
            {"metadata": self.store.known[location], "metadata-location": location}
        )
