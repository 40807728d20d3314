"""Have one maintainer at a time rewrite a table, and remember what killed ones may have left.

A lease is a property of the table, so that schedulers need nothing else in common. It saves work and guards nothing:
commits are safe without it. A catalog may let the later of two writers win, so that a lease counts once it is still
there a moment after it was taken.
"""

from __future__ import annotations

import os
import socket
import time
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

from pyiceberg.table import Table

from iceberg_zorder.maintain.maintenance_pass import HeldByAnotherError
from iceberg_zorder.pyiceberg.catalog.renewal import refresh
from iceberg_zorder.pyiceberg.commit.table_properties import change_properties
from iceberg_zorder.pyiceberg.file_names import new_write_id

LEASE = "zorder.maintained-by"
"""The table property: host, process, instance, id of the write, and until when, with blanks between them."""
ABANDONED = "zorder.abandoned-writes"
"""The table property: writes that may have left files, each as ``id@time``, with blanks between them."""

_LEAST = timedelta(minutes=2)
_BYTES_A_SECOND = 4_000_000
_LEAST_PAUSE = 0.2
_TIME = "%Y-%m-%dT%H:%M:%SZ"


@dataclass(frozen=True)
class Maintainer:
    """A process that maintains tables.

    Parameters
    ----------
    host : str
        Its machine.
    process : int
        Its number there.
    instance : str
        What tells it from others that have had the same number.

    Examples
    --------
    >>> one, other = Maintainer("a", 1, "f0"), Maintainer("a", 1, "07")
    >>> one.knows_is_gone(other), one.knows_is_gone(Maintainer("b", 1, "07")), one.knows_is_gone(one)
    (True, False, False)
    """

    host: str
    process: int
    instance: str

    @classmethod
    def here(cls) -> Maintainer:
        """Make that of this process."""
        return cls("".join(socket.gethostname().split()) or "-", os.getpid(), uuid.uuid4().hex[:8])

    def knows_is_gone(self, other: Maintainer) -> bool:
        """Tell whether another maintainer is known to have ended; of other machines it is not known."""
        if other.host != self.host or other == self:
            return False
        return other.process == self.process or not _is_running(other.process)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


@dataclass(frozen=True)
class Lease:
    """What the property of a table says.

    Parameters
    ----------
    holder : Maintainer
        Who rewrites the table.
    write_id : str
        What the names of the files that it writes have in common.
    until : datetime.datetime
        When the lease ends, to the second, in UTC.

    Examples
    --------
    >>> lease = Lease.of({"zorder.maintained-by": "worker-1 17 f00ba4 w77 2026-11-23T12:00:00Z"})
    >>> lease.holder.process, str(lease)
    (17, 'worker-1 17 f00ba4 w77 2026-11-23T12:00:00Z')
    >>> Lease.of({"zorder.maintained-by": "nonsense"}), Lease.of({})
    (None, None)
    """

    holder: Maintainer
    write_id: str
    until: datetime

    @classmethod
    def of(cls, properties: Mapping[str, str]) -> Lease | None:
        """Read it; None where there is none, or nothing that is to be read."""
        with suppress(ValueError):
            host, process, instance, write_id, until = properties.get(LEASE, "").split()
            return cls(Maintainer(host, int(process), instance), write_id, _time(until))
        return None

    def __str__(self) -> str:
        holder = self.holder
        return f"{holder.host} {holder.process} {holder.instance} {self.write_id} {self.until:{_TIME}}"


def abandoned_writes(properties: Mapping[str, str]) -> dict[str, datetime]:
    """Read since when which writes are abandoned; what cannot be read is none.

    Examples
    --------
    >>> abandoned_writes({"zorder.abandoned-writes": "w1@2026-11-23T12:00:00Z nonsense"})
    {'w1': datetime.datetime(2026, 11, 23, 12, 0, tzinfo=datetime.timezone.utc)}
    """
    found = {}
    for each in properties.get(ABANDONED, "").split():
        write_id, _, since = each.partition("@")
        with suppress(ValueError):
            found[write_id] = _time(since)
    return found


def abandoned_text(writes: Mapping[str, datetime]) -> str:
    """Write the property that :func:`abandoned_writes` reads."""
    return " ".join(f"{write_id}@{since.astimezone(timezone.utc):{_TIME}}" for write_id, since in writes.items())


def _time(text: str) -> datetime:
    return datetime.strptime(text, _TIME).replace(tzinfo=timezone.utc)


class Leases:
    """Takes leases of tables and gives them back.

    Parameters
    ----------
    holder : Maintainer
        For whom.
    clock : callable
        Tells the time, with a time zone.
    sleep : callable, optional
        Waits for so many seconds.
    """

    def __init__(
        self, holder: Maintainer, clock: Callable[[], datetime], sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._holder, self._clock, self._sleep = holder, clock, sleep

    def take(self, table: Table, size: int) -> Lease:
        """Take the lease of a table.

        Parameters
        ----------
        table : pyiceberg.table.Table
            The table; it has the newest metadata afterwards.
        size : int
            Bytes that are to be rewritten: for so long the lease is.

        Returns
        -------
        Lease
            The lease.

        Raises
        ------
        HeldByAnotherError
            When another maintainer has it.
        RewriteFailedError
            When the table's properties cannot be changed.
        """
        began = time.monotonic()
        refresh(table)
        found, now = Lease.of(table.properties), self._clock().astimezone(timezone.utc)
        self._check_is_free(found, now)
        until = now + max(_LEAST, timedelta(seconds=size / _BYTES_A_SECOND))
        mine = Lease(self._holder, new_write_id(), until.replace(microsecond=0))
        changes = {LEASE: str(mine)}
        if found is not None:
            # Nobody has given it back.
            changes[ABANDONED] = abandoned_text({**abandoned_writes(table.properties), found.write_id: now})
        change_properties(table, changes)
        # Who has looked before that has written by then.
        self._sleep(max(_LEAST_PAUSE, 2 * (time.monotonic() - began)))
        refresh(table)
        there = Lease.of(table.properties)
        if there != mine:
            self._check_is_free(there, now)
            raise HeldByAnotherError("another maintainer has taken it and given it back at the same time")
        return mine

    def give_back(self, table: Table, lease: Lease, *, is_clean: bool) -> None:
        """Give the lease of a table back, if it is still there.

        Parameters
        ----------
        table : pyiceberg.table.Table
            The table; it has the newest metadata afterwards.
        lease : Lease
            The lease.
        is_clean : bool
            Whether all files that were written are known to be the table's, or deleted.

        Raises
        ------
        RewriteFailedError
            When the table's properties cannot be changed.
        """
        refresh(table)
        changes = {}
        if not is_clean:
            changes[ABANDONED] = abandoned_text({**abandoned_writes(table.properties), lease.write_id: self._clock()})
        change_properties(table, changes, [LEASE] if Lease.of(table.properties) == lease else [])

    def _check_is_free(self, found: Lease | None, now: datetime) -> None:
        if found is None or found.holder == self._holder or found.until <= now:
            return
        if not self._holder.knows_is_gone(found.holder):
            raise HeldByAnotherError(
                f"another maintainer rewrites it, process {found.holder.process} on {found.holder.host}, until "
                f"{found.until:%Y-%m-%d %H:%M:%SZ} at the latest"
            )
