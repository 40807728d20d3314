"""A table of which another engine has read the metadata, because it has the catalog and the credentials."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from typing import NoReturn

from pyiceberg.catalog.noop import NoopCatalog
from pyiceberg.io import FileIO, InputFile, InputStream, load_file_io
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadataUtil


def given_table(
    catalog: str,
    name: tuple[str, ...],
    metadata: tuple[str, bytes],
    read_manifests: Callable[[int], Mapping[str, bytes]],
) -> Table:
    """Make a table that can be read, and neither refreshed nor written."""
    location, content = metadata
    parsed = TableMetadataUtil.parse_raw(content.decode())
    snapshots = {each.manifest_list: each.snapshot_id for each in parsed.snapshots}
    return Table(name, parsed, location, _Manifests(snapshots, read_manifests), NoopCatalog(catalog))


class _Manifests(FileIO):
    """Has the manifests of a snapshot read all at once."""

    def __init__(self, snapshots: Mapping[str, int], read: Callable[[int], Mapping[str, bytes]]) -> None:
        super().__init__()
        self._snapshots, self._read = snapshots, read
        self._files: Mapping[str, bytes] = {}

    def new_input(self, location: str) -> InputFile:
        """Find a file to read."""
        if location in self._snapshots:
            self._files = self._read(self._snapshots[location])
        if location in self._files:
            return _Content(location, self._files[location])
        return load_file_io(location=location).new_input(location)

    def new_output(self, location: str) -> NoReturn:
        """Refuse to write."""
        raise NotImplementedError

    def delete(self, location: object) -> NoReturn:
        """Refuse to delete."""
        raise NotImplementedError


class _Content(InputFile):
    def __init__(self, location: str, content: bytes) -> None:
        super().__init__(location)
        self._content = content

    def __len__(self) -> int:
        return len(self._content)

    def exists(self) -> bool:
        """Tell that it does."""
        return True

    def open(self, seekable: bool = True) -> InputStream:  # noqa: ARG002
        """Open it."""
        return io.BytesIO(self._content)
