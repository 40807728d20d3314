"""What maintenance notes in the properties of a table, so that passes elsewhere know it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timezone

from pyiceberg.table.metadata import TableMetadata, TableMetadataV1

from iceberg_zorder.maintain.observation import Conflicts

ABANDONED = "zorder.abandoned-writes"
"""The table property: writes that may have left files, as ``id@time`` or ``id@time@commit``, with blanks between."""
CONFLICTS = "zorder.conflicts"
"""The table property: how many conflicts there were in a row, and until when the table is left in peace."""
LAST_REWRITE = "zorder.last-rewrite"
"""The table property: when maintenance has rewritten the table last, for when its snapshot has expired."""

_ROLLED_BACK = "rolled-back"
_TIME = "%Y-%m-%dT%H:%M:%SZ"


@dataclass(frozen=True)
class AbandonedWrite:
    """A write that nobody waits for any more.

    What it had asked the catalog for may still be granted, until something else is committed: it is harmless then.

    Parameters
    ----------
    since : datetime.datetime
        When that was noted, to the second.
    commit : int or None
        How far the table's commits had come when it could ask for nothing more, as :func:`last_commit` tells; None
        where nobody has looked since.
    was_rolled_back : bool
        Whether the catalog had granted it, and has rolled it back for a writer.
    """

    since: datetime
    commit: int | None = None
    was_rolled_back: bool = False

    def is_over(self, latest: datetime, metadata: TableMetadata) -> bool:
        """Tell whether it was noted early enough, and what it had asked for can no longer be granted."""
        return self.since <= latest and self.commit is not None and last_commit(metadata) > self.commit

    def seen(self, metadata: TableMetadata) -> AbandonedWrite:
        """Note how far the table's commits have come, if nobody has."""
        return self if self.commit is not None else replace(self, commit=last_commit(metadata))


def last_commit(metadata: TableMetadata) -> int:
    """Tell how far the commits of a table have come: no request that was made before a higher figure is granted.

    That is a sequence number, or in format version 1, where the head must be as it was, the time of the head.
    """
    if not isinstance(metadata, TableMetadataV1):
        return metadata.last_sequence_number
    head = metadata.current_snapshot()
    return 0 if head is None else head.timestamp_ms


def abandoned_writes(properties: Mapping[str, str]) -> dict[str, AbandonedWrite]:
    """Read which writes are abandoned, by their ids; what cannot be read is none.

    Examples
    --------
    >>> text = "w1@2026-11-23T12:00:00Z w2@2026-11-23T12:00:00Z@7@rolled-back"
    >>> found = abandoned_writes({"zorder.abandoned-writes": f"{text} nonsense"})
    >>> abandoned_text(found) == text, found["w1"].commit, found["w2"].commit
    (True, None, 7)
    """
    found = {}
    for each in properties.get(ABANDONED, "").split():
        write_id, _, rest = each.partition("@")
        since, _, rest = rest.partition("@")
        commit, _, how = rest.partition("@")
        with suppress(ValueError):
            found[write_id] = AbandonedWrite(time_of(since), int(commit) if commit else None, how == _ROLLED_BACK)
    return found


def abandoned_text(writes: Mapping[str, AbandonedWrite]) -> str:
    """Write the property that :func:`abandoned_writes` reads."""
    return " ".join(
        f"{write_id}@{time_text(each.since)}"
        + ("" if each.commit is None else f"@{each.commit}")
        + (f"@{_ROLLED_BACK}" if each.was_rolled_back else "")
        for write_id, each in writes.items()
    )


def last_rewrite_ms(properties: Mapping[str, str], now: datetime) -> int | None:
    """Read when a table was rewritten last, in milliseconds since 1970; None if it does not say, or what is to come.

    Examples
    --------
    >>> now = datetime(2026, 11, 23, tzinfo=timezone.utc)
    >>> last_rewrite_ms({"zorder.last-rewrite": "1970-01-01T00:00:07.123Z"}, now), last_rewrite_ms({}, now)
    (7123, None)
    >>> last_rewrite_ms({"zorder.last-rewrite": last_rewrite_text(7123)}, datetime.fromtimestamp(7, timezone.utc))
    """
    with suppress(ValueError):
        at = datetime.strptime(properties.get(LAST_REWRITE, ""), "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=timezone.utc)
        return round(1000 * at.timestamp()) if at <= now else None
    return None


def last_rewrite_text(timestamp_ms: int) -> str:
    """Write the property that :func:`last_rewrite_ms` reads."""
    seconds, rest = divmod(timestamp_ms, 1000)
    return f"{datetime.fromtimestamp(seconds, timezone.utc):%Y-%m-%dT%H:%M:%S}.{rest:03}Z"


def conflicts_of(properties: Mapping[str, str]) -> Conflicts | None:
    """Read what a table remembers of conflicts; None if that is nothing, or cannot be read.

    Examples
    --------
    >>> conflicts_of({"zorder.conflicts": "2 2026-11-23T12:00:00Z"}).count, conflicts_of({"zorder.conflicts": "2"})
    (2, None)
    """
    with suppress(ValueError):
        count, until = properties.get(CONFLICTS, "").split()
        return Conflicts(int(count), time_of(until))
    return None


def conflicts_text(conflicts: Conflicts) -> str:
    """Write the property that :func:`conflicts_of` reads."""
    return f"{conflicts.count} {time_text(conflicts.until)}"


def time_text(at: datetime) -> str:
    """Write a time as notes have it: to the second, in UTC.

    Examples
    --------
    >>> time_text(time_of("2026-11-23T12:00:00Z"))
    '2026-11-23T12:00:00Z'
    """
    return f"{at.astimezone(timezone.utc):{_TIME}}"


def time_of(text: str) -> datetime:
    """Read a time of a note; raises ValueError of what is none."""
    return datetime.strptime(text, _TIME).replace(tzinfo=timezone.utc)
