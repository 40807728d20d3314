"""Delete the files of writes that came to no end: a maintainer was killed, or its catalog never answered."""

from __future__ import annotations

import gzip
import re
from collections.abc import Collection, Iterable, Iterator

from pyiceberg.table import Table

from iceberg_zorder.pyiceberg.catalog.renewal import RenewedIO, refresh
from iceberg_zorder.pyiceberg.compat.listing import list_files
from iceberg_zorder.pyiceberg.file_names import is_of_write

_METADATA = re.compile(r"\.metadata\.json(\.gz)?$|\.gz\.metadata\.json$")
_GZIP = b"\x1f\x8b"


def delete_abandoned_files(table: Table, write_ids: Collection[str], rolled_back: Collection[str] = ()) -> list[str]:
    """Delete what writes have left that no snapshot has.

    Files are known by the id of the write in their names, so that nobody else's are looked at, whoever shares the
    directories. Whether a snapshot has one is asked by its name alone, for a path may be written in several ways. A
    write that other metadata in the directory has a snapshot of is left: it may be that of another table, which this
    one's was copied from, or the other way round.
    """
    io = table.io.current if isinstance(table.io, RenewedIO) else table.io
    listed = [path for root in _roots(table) for path in list_files(io, root)]
    found = [path for path in listed if is_of_write(_name(path), write_ids)]
    refresh(table)
    known = set(_known(table)) if found else set()
    elsewhere = _committed_elsewhere(table, listed, set(write_ids) - set(rolled_back)) if found else set()
    gone = [path for path in found if _name(path) not in known and not is_of_write(_name(path), elsewhere)]
    for path in gone:
        table.io.delete(path)
    return gone


def _committed_elsewhere(table: Table, listed: Iterable[str], write_ids: Collection[str]) -> set[str]:
    """Find the writes whose manifest lists stand in metadata of the directory that is not the table's own."""
    own = {_name(table.metadata_location), *(_name(each.metadata_file) for each in table.metadata.metadata_log)}
    waiting, found = set(write_ids), set()
    for path in listed:
        if waiting and _METADATA.search(path) and _name(path) not in own:
            with table.io.new_input(path).open() as file:
                content = file.read()
            text = gzip.decompress(content) if content.startswith(_GZIP) else content
            found |= {each for each in waiting if f"-{each}-".encode() in text}
            waiting -= found
    return found


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
