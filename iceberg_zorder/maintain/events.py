"""The events of a pass of maintenance, in order: for a log of JSON lines, and for other listeners."""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

_LOG = logging.getLogger("iceberg_zorder")

PASS_BEGAN, PASS_ENDED = "pass-began", "pass-ended"
TABLE_DECIDED, TABLE_FAILED = "table-decided", "table-failed"
REWRITE_BEGAN, REWRITE_ENDED = "rewrite-began", "rewrite-ended"


@dataclass(frozen=True)
class Event:
    """Something that has happened."""

    name: str
    """What: one of those of this module."""
    at: datetime
    """When, with a time zone."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """What is to be told of it, in what JSON has; without secrets."""


Listener = Callable[[Event], None]
"""Is told of each event, at once."""
Work = Callable[[str, int, int], None]
"""Is told of work that is done, maybe from several threads: the stage, and the rows and bytes of it."""


class JsonLog:
    """Adds a line of JSON to a file for each event; work goes on where that cannot be, after a warning.

    It is opened for each line, so that it may be moved away at any time. Raises an OSError when it cannot be written at
    the beginning.

    Examples
    --------
    >>> import tempfile
    >>> from datetime import datetime, timezone
    >>> with tempfile.TemporaryDirectory() as home:
    ...     log = JsonLog(Path(home, "log"))
    ...     log(Event(PASS_BEGAN, datetime(2026, 1, 1, tzinfo=timezone.utc), {"dry_run": False}))
    ...     line = json.loads(Path(home, "log").read_text())
    >>> line["time"], line["event"], line["dry_run"], len(line["pass"])
    ('2026-01-01T00:00:00+00:00', 'pass-began', False, 12)
    """

    def __init__(self, path: Path) -> None:
        self._path, self._pass, self._is_ill = path, "", False
        path.open("ab").close()

    def __call__(self, event: Event) -> None:
        """Write an event; those up to the next beginning have the id of their pass in common."""
        if event.name == PASS_BEGAN:
            self._pass = uuid.uuid4().hex[:12]
        line = {"time": event.at.isoformat(), "event": event.name, "pass": self._pass, **event.details}
        try:
            with self._path.open("ab") as file:
                file.write(f"{json.dumps(line)}\n".encode())
        except OSError as error:
            if not self._is_ill:
                _LOG.warning("Cannot write %s, because %s. Until then nothing is logged", self._path, error)
            self._is_ill = True
        else:
            self._is_ill = False
