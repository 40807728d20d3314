"""The events of a maintenance pass, in order, for a JSON log and other listeners."""

from __future__ import annotations

import json
import logging
import os
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO

_LOG = logging.getLogger("iceberg_zorder")

PASS_BEGAN, PASS_ENDED = "pass-began", "pass-ended"
TABLE_DECIDED, TABLE_FAILED = "table-decided", "table-failed"
REWRITE_BEGAN, REWRITE_ENDED = "rewrite-began", "rewrite-ended"


@dataclass(frozen=True)
class Event:
    """An event of a pass."""

    name: str
    """One of this module's names."""
    at: datetime
    """Time, with a time zone."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """Details in JSON types, without secrets."""


Listener = Callable[[Event], None]
"""Called with each event as it happens."""
Work = Callable[[str, int, int], None]
"""Called with finished work: stage, rows, bytes. Several threads may call it."""


class JsonLog:
    """Appends each event to a file as a line of JSON.

    The file is opened for each line, so that log rotation can move it at any time. A new file has mode 0600. Raises
    OSError if the file cannot be written at the start; later failures are logged as warnings.

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
        self._opened().close()

    def __call__(self, event: Event) -> None:
        """Write an event with the id of its pass."""
        if event.name == PASS_BEGAN:
            self._pass = uuid.uuid4().hex[:12]
        line = {"time": event.at.isoformat(), "event": event.name, "pass": self._pass, **event.details}
        try:
            with self._opened() as file:
                file.write(f"{json.dumps(line)}\n".encode())
        except OSError as error:
            if not self._is_ill:
                _LOG.warning("Cannot write %s, because %s. Events are lost until it can be written", self._path, error)
            self._is_ill = True
        else:
            self._is_ill = False

    def _opened(self) -> BinaryIO:
        return os.fdopen(os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "ab")
