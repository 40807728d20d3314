"""Loads a table again, and keeps the credentials of its files fresh while a rewrite runs.

A REST catalog vends credentials with the table, which expire, often within an hour. PyIceberg keeps those of the last
load, so a rewrite has its FileIO here, which asks the catalog again in time. What is open already, keeps what it was
opened with.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from pyiceberg.io import FileIO, InputFile, OutputFile
from pyiceberg.table import StaticTable, Table

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.pyiceberg.catalog.retry import load
from iceberg_zorder.pyiceberg.display import display_name

logger = logging.getLogger("iceberg_zorder")

_now = time.time
_AHEAD_SECONDS = 300.0
"""How long before they expire credentials are renewed, if they last twice as long: as Iceberg for Java does."""
_UNKNOWN_SECONDS = 300.0
"""How often credentials are renewed that do not say when they expire."""
_LEAST_SECONDS = 1.0
"""From one renewal to the next, where a catalog gives credentials that have expired, or the same again."""
_EXPIRES = "expires-at"
"""A part of the names of properties that say so, in milliseconds since 1970: ``s3.session-token-expires-at-ms``, ..."""
_TEMPORARY = ("s3.session-token", "client.session-token", "gcs.oauth2.token", "adls.sas-token", "adls.token")
"""What the names of properties begin with that are credentials for a time."""


def refresh(table: Table) -> None:
    """Make a table what its catalog has now; a catalog that fails is asked again."""
    if isinstance(table, StaticTable):
        raise InvalidInputError(
            f"Cannot use {table.metadata_location}, because a table that is loaded from its metadata file has no "
            "catalog: load it from one"
        )
    fresh = load(table)
    if fresh.metadata.table_uuid != table.metadata.table_uuid:
        raise InvalidInputError(
            f"Cannot rewrite {display_name(table)}, because it was dropped and another table has its name: load it"
        )
    adopt(table, fresh)


def adopt(table: Table, fresh: Table) -> None:
    """Take over what a fresh load of the same table brought."""
    table.metadata = fresh.metadata
    table.metadata_location = fresh.metadata_location
    table.config = fresh.config
    if isinstance(table.io, RenewedIO):
        table.io.adopt(fresh.io)
    else:
        table.io = fresh.io


@contextmanager
def renewed(table: Table) -> Iterator[None]:
    """Renew a table's credentials while a block runs."""
    renewing = RenewedIO(table)
    table.io = renewing
    try:
        yield
    finally:
        table.io = renewing.current


class RenewedIO(FileIO):
    """A table's FileIO, whose credentials are renewed before they expire."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._lock = Lock()
        self.adopt(table.io)

    def adopt(self, io: FileIO) -> None:
        """Go on with another FileIO, whose credentials are new."""
        # A catalog may hand out a table that it knows already.
        self.current: FileIO = io.current if isinstance(io, RenewedIO) else io
        self.properties = self.current.properties
        self._expires = _expiry(self.current)
        self._renew_at = self._renewal()

    def _renewal(self) -> float | None:
        """Tell when to ask the catalog for other credentials; never if they are not the catalog's, or last."""
        now = _now()
        if self._expires is not None:
            left = self._expires - now
            return now + max(_LEAST_SECONDS, left - _AHEAD_SECONDS, left / 2)
        own = self._table.catalog.properties
        is_vended = any(
            name.startswith(_TEMPORARY) and own.get(name) != value for name, value in self.properties.items()
        )
        return now + _UNKNOWN_SECONDS if is_vended else None

    def _fresh(self) -> FileIO:
        with self._lock:
            if self._renew_at is not None and _now() >= self._renew_at:
                self._renew()
            return self.current

    def _renew(self) -> None:
        try:
            fresh = load(self._table)
        except Exception:
            if self._expires is None or _now() < self._expires:
                logger.warning(
                    "Cannot renew the credentials of %s, and use those that are there",
                    display_name(self._table),
                    exc_info=True,
                )
                self._renew_at = self._renewal()
                return
            raise
        self.adopt(fresh.io)

    def new_input(self, location: str) -> InputFile:
        """Find a file to read."""
        return self._fresh().new_input(location)

    def new_output(self, location: str) -> OutputFile:
        """Find a file to write."""
        return self._fresh().new_output(location)

    def delete(self, location: str | InputFile | OutputFile) -> None:
        """Delete a file."""
        self._fresh().delete(location)


def _expiry(io: FileIO) -> float | None:
    """Tell when the first of a FileIO's credentials expires, in seconds since 1970."""
    times = [
        int(value) / 1000
        for name, value in io.properties.items()
        if _EXPIRES in name and str(value).strip().isdecimal()
    ]
    return min(times, default=None)
