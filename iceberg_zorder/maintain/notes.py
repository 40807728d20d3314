"""Notes that maintenance keeps in a property of a table, so that passes on other machines read them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from pydantic import AwareDatetime, TypeAdapter, ValidationError

NOTES = "zorder.maintenance"
"""The table property, as JSON."""


@dataclass(frozen=True)
class AbandonedWrite:
    """A write that nobody waits for any more.

    What it had asked the catalog for may still be granted, until something else is committed: it is harmless then.
    """

    since: AwareDatetime
    """When that was noted, with a time zone."""
    commit: int | None = None
    """How far the table's commits had come when it could ask for nothing more; None where nobody has looked since."""

    def seen(self, commit: int) -> AbandonedWrite:
        """Note how far the table's commits have come, if nobody has."""
        return self if self.commit is not None else replace(self, commit=commit)


@dataclass(frozen=True)
class Conflicts:
    """Conflicts with writers."""

    count: int
    until: AwareDatetime
    """Until when the table is left in peace, with a time zone."""


@dataclass(frozen=True)
class Notes:
    """What a table remembers of its maintenance.

    Examples
    --------
    >>> notes = Notes.of({"zorder.maintenance": '{"conflicts": {"count": 2, "until": "2026-11-23T12:00:00Z"}}'})
    >>> notes.conflicts.count, notes.text
    (2, '{"conflicts":{"count":2,"until":"2026-11-23T12:00:00Z"}}')
    >>> Notes.of({"zorder.maintenance": "nonsense"}) == Notes(), Notes().text
    (True, '')
    """

    abandoned: dict[str, AbandonedWrite] = field(default_factory=dict)
    """Writes that may have left files, by their ids."""
    conflicts: Conflicts | None = None
    last_rewrite_ms: int | None = None
    """When maintenance has rewritten the table last, for when its snapshot has expired; in milliseconds since 1970."""
    advised_ms: int | None = None
    """When ``advise`` was last asked."""

    @staticmethod
    def of(properties: Mapping[str, str]) -> Notes:
        """Read the property; what cannot be read is nothing."""
        try:
            return _NOTES.validate_json(properties.get(NOTES, "{}"))
        except ValidationError:
            return Notes()

    @property
    def text(self) -> str:
        """The property; empty where there is nothing to remember."""
        return "" if self == Notes() else _NOTES.dump_json(self, exclude_defaults=True).decode()


_NOTES = TypeAdapter(Notes)
