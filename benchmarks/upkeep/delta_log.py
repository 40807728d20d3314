"""The data files of a Delta table, from its log: what every version added and removed, with the statistics of files."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.upkeep.figures import Files

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MILLISECOND = 1000


def delta_files(table: Path, columns: tuple[str, ...]) -> Files:
    """Replay the log of a table that has no checkpoints.

    Parameters
    ----------
    table : Path
        Its directory.
    columns : tuple of str
        Whose bounds are wanted.

    Returns
    -------
    Files
        Those of the newest version; its deletion vectors count as delete files.
    """
    live: dict[str, dict[str, Any]] = {}
    for version in sorted((table / "_delta_log").glob("[0-9]*.json")):
        actions = [json.loads(line) for line in version.read_text(encoding="utf-8").splitlines()]
        for removed in (action["remove"] for action in actions if "remove" in action):
            live.pop(removed["path"], None)
        for added in (action["add"] for action in actions if "add" in action):
            live[added["path"]] = added
    statistics = [json.loads(each["stats"]) for each in live.values()]
    return Files(
        {path: each["size"] for path, each in live.items()},
        {name: np.array([_bound(each["minValues"][name]) for each in statistics]) for name in columns},
        {name: np.array([_bound(each["maxValues"][name], upper=True) for each in statistics]) for name in columns},
        sum("deletionVector" in each for each in live.values()),
    )


def _bound(value: int | str, *, upper: bool = False) -> int:
    if isinstance(value, int):
        return value
    micros = (datetime.fromisoformat(value.replace("Z", "+00:00")) - _EPOCH) // timedelta(microseconds=1)
    # Statistics of timestamps are cut to milliseconds.
    return micros + (_MILLISECOND - 1 if upper else 0)
