"""State that maintenance keeps in a table property, so that passes on other machines can read it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import AwareDatetime, TypeAdapter, ValidationError

NOTES = "zorder.maintenance"
"""The table property, as JSON."""


@dataclass(frozen=True)
class Conflicts:
    """Conflicts with writers in a row."""

    count: int
    until: AwareDatetime
    """End of the back-off, with a time zone."""


@dataclass(frozen=True)
class Notes:
    """The maintenance state of a table.

    Examples
    --------
    >>> notes = Notes.of({"zorder.maintenance": '{"conflicts": {"count": 2, "until": "2026-11-23T12:00:00Z"}}'})
    >>> notes.conflicts.count, notes.text
    (2, '{"conflicts":{"count":2,"until":"2026-11-23T12:00:00Z"}}')
    >>> Notes.of({"zorder.maintenance": "nonsense"}) == Notes(), Notes().text
    (True, '')
    """

    conflicts: Conflicts | None = None
    last_rewrite_ms: int | None = None
    """Time of the last rewrite by maintenance, in milliseconds since 1970; outlives the expiry of its snapshot."""
    advised_ms: int | None = None
    """Time of the last advice."""

    @staticmethod
    def of(properties: Mapping[str, str]) -> Notes:
        """Read the property; invalid parts are ignored."""
        try:
            return _NOTES.validate_json(properties.get(NOTES, "{}"))
        except ValidationError:
            return Notes()

    @property
    def text(self) -> str:
        """The property's value; empty without notes."""
        return "" if self == Notes() else _NOTES.dump_json(self, exclude_defaults=True).decode()


_NOTES = TypeAdapter(Notes)
