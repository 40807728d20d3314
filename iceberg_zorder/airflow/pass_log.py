"""What a pass tells the log of a task."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from iceberg_zorder.maintain.events import Event


def log_event(logger: Any, event: Event) -> None:
    """Log what is decided of each table, and what came of it.

    Examples
    --------
    >>> import sys
    >>> from datetime import datetime, timezone
    >>> from iceberg_zorder.maintain.events import TABLE_DECIDED, Event
    >>> logger = logging.Logger("task")
    >>> logger.addHandler(logging.StreamHandler(sys.stdout))
    >>> told = {"table": "lake.db.t", "action": "leave", "reason": "no trigger is met", "error": None, "done": None}
    >>> log_event(logger, Event(TABLE_DECIDED, datetime.now(timezone.utc), told))
    lake.db.t: leave (no trigger is met)
    """
    from iceberg_zorder.maintain.events import REWRITE_ENDED, TABLE_DECIDED, TABLE_FAILED

    told = event.details
    if event.name not in (REWRITE_ENDED, TABLE_DECIDED, TABLE_FAILED):
        return
    if told["error"]:
        level = logging.WARNING if told["conflict"] else logging.ERROR
        logger.log(level, "%s", told["error"])
    elif told["done"]:
        done = told["done"]
        counts = (done["rewritten_files"], done["rewritten_bytes"], done["added_files"])
        logger.info("%s: rewrote %d data files of %d bytes to %d", told["table"], *counts)
        for each in filter(None, (done["message"], *done["follow_ups"])):
            logger.info("%s: %s", told["table"], each)
    else:
        logger.info("%s: %s (%s)", told["table"], told["action"], told["reason"])
