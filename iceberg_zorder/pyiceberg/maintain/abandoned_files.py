"""Delete the files of writes that came to no end: a maintainer was killed, or its catalog never answered."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from pyiceberg.table import Table

from iceberg_zorder.pyiceberg.catalog.renewal import RenewedIO, refresh
from iceberg_zorder.pyiceberg.compat.listing import list_files
from iceberg_zorder.pyiceberg.file_names import is_of_write


def delete_abandoned_files(table: Table, write_ids: Collection[str]) -> list[str]:
    """Delete what writes have left that no snapshot has.

    Files are known by the id of the write in their names, so that nobody else's are looked at, whoever shares the
    directories. Whether a snapshot has one is asked by its name alone, for a path may be written in several ways.

    Parameters
    ----------
    table : pyiceberg.table.Table
        The table; it has the newest metadata afterwards.
    write_ids : collection of str
        The writes, none of which may be under way.

    Returns
    -------
    list of str
        The paths of what was deleted.

    Raises
    ------
    InvalidInputError
        When the table's FileIO lists no files.
    """
    io = table.io.current if isinstance(table.io, RenewedIO) else table.io
    listed = (path for root in _roots(table) for path in list_files(io, root))
    found = [path for path in listed if is_of_write(_name(path), write_ids)]
    refresh(table)
    known = set(_known(table)) if found else set()
    gone = [path for path in found if _name(path) not in known]
    for path in gone:
        table.io.delete(path)
    return gone


def _roots(table: Table) -> list[str]:
    """Name the directories that files are written to, but for those inside others."""
    provider = table.location_provider()
    roots = {provider.data_path.rstrip("/"), provider.metadata_path.rstrip("/")}
    return sorted(root for root in roots if not any(root.startswith(f"{other}/") for other in roots))


def _known(table: Table) -> Iterator[str]:
    """Name all data files and manifests of all snapshots, and their lists."""
    seen = set()
    for snapshot in table.metadata.snapshots:
        yield _name(snapshot.manifest_list)
        for manifest in snapshot.manifests(table.io):
            if manifest.manifest_path in seen:
                continue
            seen.add(manifest.manifest_path)
            yield _name(manifest.manifest_path)
            for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=False):
                yield _name(entry.data_file.file_path)


def _name(path: str) -> str:
    return path.rpartition("/")[2]
