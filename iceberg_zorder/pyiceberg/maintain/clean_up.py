"""Delete the files of abandoned writes, once that is safe."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator
from dataclasses import replace
from datetime import datetime, timedelta

from pyiceberg.table import Table

from iceberg_zorder.maintain.notes import Notes
from iceberg_zorder.pyiceberg.catalog import RenewedIO, refresh
from iceberg_zorder.pyiceberg.compat import list_files
from iceberg_zorder.pyiceberg.files import display_name, is_of_write, is_written_at
from iceberg_zorder.pyiceberg.maintain.lease import change_notes, last_commit, table_address

_LOG = logging.getLogger("iceberg_zorder")


def clean_up(table: Table, now: datetime, older_than: timedelta) -> None:
    """Delete files of abandoned writes that are old enough; keep the notes of the others."""
    noted, commit = Notes.of(table.properties).abandoned, last_commit(table.metadata)
    writes = {key: each.seen(commit) for key, each in noted.items()}
    over = {key for key, each in writes.items() if each.since <= now - older_than and (each.commit or 0) < commit}
    # Writes with another address came with copied metadata; their files belong to the original table.
    due = {key for key in over if is_written_at(key, table_address(table))}
    if due:
        deleted = delete_files_of(table, due)
        _LOG.info("Deleted %s files of %s that no snapshot refers to", len(deleted), display_name(table))
    if due or writes != noted:
        change_notes(
            table,
            lambda notes: replace(
                notes, abandoned={key: each for key, each in {**notes.abandoned, **writes}.items() if key not in due}
            ),
        )


def delete_files_of(table: Table, write_ids: Collection[str]) -> list[str]:
    """Delete the files of these writes that no snapshot refers to; returns their paths.

    File names contain the id of their write, so files of others in the same directories are safe. Files are compared
    with snapshots by name, because one path has several spellings.
    """
    io = table.io.current if isinstance(table.io, RenewedIO) else table.io
    found = [path for root in _roots(table) for path in list_files(io, root) if is_of_write(_name(path), write_ids)]
    refresh(table)
    known = set(_known(table)) if found else set()
    gone = [path for path in found if _name(path) not in known]
    for path in gone:
        table.io.delete(path)
    return gone


def _roots(table: Table) -> list[str]:
    """Return the directories that files are written to, without nested ones."""
    provider = table.location_provider()
    roots = {provider.data_path.rstrip("/"), provider.metadata_path.rstrip("/")}
    return sorted(root for root in roots if not any(root.startswith(f"{other}/") for other in roots))


def _known(table: Table) -> Iterator[str]:
    """Yield the names of all snapshots' data files, manifests and manifest lists."""
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
