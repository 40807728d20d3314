"""The lease of a table: one maintainer at a time rewrites it.

A lease is a table property, so schedulers need no other shared state. Concurrent rewrites are safe without a lease,
which only avoids wasted work. A catalog may let the later of two writers win, so a lease counts only if it is still
there a moment later.
"""

from __future__ import annotations

import hashlib
import logging
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import astuple, dataclass, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot, ancestors_of

from iceberg_zorder.maintain.maintenance_pass import LeftForNowError
from iceberg_zorder.maintain.notes import NOTES, Notes
from iceberg_zorder.pyiceberg.catalog import load, refresh
from iceberg_zorder.pyiceberg.commit.replacement import change_properties
from iceberg_zorder.pyiceberg.commit.snapshot import LEASE
from iceberg_zorder.pyiceberg.files import display_name, new_write_id
from iceberg_zorder.rewrite.snapshot_keys import REWRITE_ID

_LOG = logging.getLogger("iceberg_zorder")
_PROCESS = uuid.uuid4().hex[:8]
_SPAN = timedelta(minutes=15)
_LEAST_PAUSE = 0.2
_TIME = "%Y-%m-%dT%H:%M:%SZ"


@dataclass(frozen=True)
class Maintainer:
    """A process that maintains tables.

    Examples
    --------
    >>> one, before = Maintainer("a", 1, "e4", "f0", "1"), Maintainer("a", 1, "e4", "07", "1")
    >>> beside, elsewhere = Maintainer("a", 1, "e4", "f0", "2"), Maintainer("a", 1, "b6", "07", "1")
    >>> [one.knows_is_gone(other) for other in (before, beside, elsewhere, one)]
    [True, False, False, False]
    """

    host: str
    process: int
    place: str
    """Scope of the process number: a boot of a machine, and a process namespace."""
    run: str
    """Distinguishes the process from earlier ones with the same number."""
    own: str
    """Distinguishes maintainers within a process."""

    @classmethod
    def here(cls) -> Maintainer:
        """Return a maintainer for this process."""
        host = "".join(socket.gethostname().split()) or "-"
        return cls(host, os.getpid(), _place(), _PROCESS, uuid.uuid4().hex[:8])

    def knows_is_gone(self, other: Maintainer) -> bool:
        """Return whether another maintainer has certainly ended; False for other machines and containers."""
        if (other.host, other.place) != (self.host, self.place):
            return False
        return other.run != self.run if other.process == self.process else not _is_running(other.process)


def _place() -> str:
    # Containers may share a host name.
    try:
        known = Path("/proc/sys/kernel/random/boot_id").read_text() + str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        known = f"{uuid.getnode():x}"
    return hashlib.sha256(known.encode()).hexdigest()[:8]


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (OSError, OverflowError) as error:
        return not isinstance(error, ProcessLookupError)
    return True


@dataclass(frozen=True)
class Lease:
    """A lease, as its table property holds it.

    Examples
    --------
    >>> lease = Lease.of({"zorder.maintained-by": "worker-1 17 e4 f0 1 w77 2026-11-23T12:00:00Z"})
    >>> lease.holder.process, str(lease)
    (17, 'worker-1 17 e4 f0 1 w77 2026-11-23T12:00:00Z')
    >>> Lease.of({"zorder.maintained-by": "nonsense"}), Lease.of({})
    (None, None)
    """

    holder: Maintainer
    write_id: str
    """Id of its rewrite, also in the summaries of its snapshots."""
    until: datetime
    """End of the lease in UTC, to the second."""

    @classmethod
    def of(cls, properties: Mapping[str, str]) -> Lease | None:
        """Read the property; None if it is missing or invalid."""
        with suppress(ValueError):
            host, process, place, run, own, write_id, until = properties.get(LEASE, "").split()
            at = datetime.strptime(until, _TIME).replace(tzinfo=timezone.utc)
            return cls(Maintainer(host, int(process), place, run, own), write_id, at)
        return None

    def __str__(self) -> str:
        return " ".join([*map(str, astuple(self.holder)), self.write_id, f"{self.until:{_TIME}}"])


class Leases:
    """Takes and releases leases for a maintainer; ``clock`` returns the time with a time zone."""

    def __init__(
        self, holder: Maintainer, clock: Callable[[], datetime], sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._holder, self._clock, self._sleep = holder, clock, sleep

    def take(self, table: Table) -> Lease:
        """Take the lease of a table; raises LeftForNowError if another maintainer has it."""
        began = time.monotonic()
        refresh(table)
        found, now = Lease.of(table.properties), self._clock().astimezone(timezone.utc)
        self._check_is_free(found, now)
        mine = Lease(self._holder, new_write_id(), (now + _SPAN).replace(microsecond=0))
        change_properties(table, {LEASE: str(mine)})
        # A maintainer that saw the table before has written its lease by now.
        self._sleep(max(_LEAST_PAUSE, 2 * (time.monotonic() - began)))
        refresh(table)
        there = Lease.of(table.properties)
        if there != mine:
            self._check_is_free(there, now)
            raise LeftForNowError("another maintainer took and released the table at the same time")
        return mine

    @contextmanager
    def kept(self, table: Table, lease: Lease) -> Iterator[None]:
        """Prolong a lease during long work, unless it has expired."""
        is_done = threading.Event()

        def prolong() -> None:
            while not is_done.wait(_SPAN.total_seconds() / 3):
                self._prolong(table, lease)

        keeper = threading.Thread(target=prolong, name="iceberg-zorder-lease", daemon=True)
        keeper.start()
        try:
            yield
        finally:
            is_done.set()
            keeper.join()

    def _prolong(self, table: Table, lease: Lease) -> None:
        try:
            fresh, now = load(table), self._clock().astimezone(timezone.utc)
            there = Lease.of(fresh.properties)
            if there is not None and there.write_id == lease.write_id and now < there.until:
                change_properties(fresh, {LEASE: str(replace(there, until=(now + _SPAN).replace(microsecond=0)))})
        except Exception:
            # The next attempt may succeed.
            _LOG.warning("Cannot prolong the lease of %s", display_name(table), exc_info=True)

    def give_back(self, table: Table, lease: Lease) -> None:
        """Release the lease of a table, if it is still held."""
        refresh(table)
        there = Lease.of(table.properties)
        is_still_there = there is not None and there.write_id == lease.write_id
        history = ancestors_of(table.current_snapshot(), table.metadata)
        own = [each.timestamp_ms for each in history if _write_of(each) == lease.write_id]
        change_notes(
            table,
            lambda notes: replace(notes, last_rewrite_ms=max(own, default=notes.last_rewrite_ms)),
            [LEASE] if is_still_there else [],
        )

    def _check_is_free(self, found: Lease | None, now: datetime) -> None:
        if found is None or found.holder == self._holder or found.until <= now:
            return
        if not self._holder.knows_is_gone(found.holder):
            raise LeftForNowError(
                f"another maintainer is rewriting it (process {found.holder.process} on {found.holder.host}), until "
                f"{found.until:%Y-%m-%d %H:%M:%SZ} at the latest"
            )


def _write_of(snapshot: Snapshot) -> str | None:
    return snapshot.summary.additional_properties.get(REWRITE_ID) if snapshot.summary else None


def change_notes(table: Table, change: Callable[[Notes], Notes], removed: Collection[str] = ()) -> None:
    """Change a table's notes, and remove other properties in the same commit.

    One of two concurrent changes may be lost. That is safe: a back-off or a time is missing.
    """
    refresh(table)
    text = change(Notes.of(table.properties)).text
    change_properties(table, {NOTES: text} if text else {}, [*removed, *([] if text else [NOTES])])
