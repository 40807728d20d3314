"""Rewrite no more data files than are asked for at a time."""

from __future__ import annotations

import math
from dataclasses import replace

from iceberg_zorder.pyiceberg.plan.selection.left_groups import LeavingStep
from iceberg_zorder.pyiceberg.plan.selection.selection import Selected, SelectedFiles
from iceberg_zorder.upkeep.left_groups import WHY


def limited(
    selected: Selected, limit: int | None, most: float = math.inf, leaving: LeavingStep | None = None
) -> Selected:
    """Take the first of the files that were chosen, and leave the others.

    Parameters
    ----------
    selected : Selected
        What was chosen.
    limit : int or None
        The option ``max-files-to-rewrite``; without it there is room for all.
    most : float, optional
        How many files there is room for besides.
    leaving : LeavingStep, optional
        Tells of the part of a file group that there is room for whether it is left, so that its room is for others.

    Returns
    -------
    Selected
        The same files, those past the limit left.
    """
    if limit is None:
        return selected
    room = int(min(limit, most))
    chosen: list[SelectedFiles] = []
    left: list[SelectedFiles] = []
    for files in selected.chosen:
        part, rest = files.tasks[:room], files.tasks[room:]
        is_left = bool(part and rest) and leaving is not None and leaving.leaves(part)
        if part:
            (left if is_left else chosen).append(replace(files, tasks=part, reason=WHY if is_left else files.reason))
        if rest:
            left.append(SelectedFiles(files.key, rest, f"max-files-to-rewrite is {limit:,}"))
        room -= 0 if is_left else len(part)
    if leaving is not None:
        return leaving.taken(selected, chosen, left)
    return replace(selected, chosen=tuple(chosen), left=(*selected.left, *left))
