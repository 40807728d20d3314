"""Rewrite no more data files than are asked for at a time, and first what matters most."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from iceberg_zorder.pyiceberg.file_groups import DataFileTask
from iceberg_zorder.pyiceberg.plan.selection.left_groups import LeavingStep
from iceberg_zorder.pyiceberg.plan.selection.selection import Selected, SelectedFiles
from iceberg_zorder.pyiceberg.plan.selection.sizes import SizeRules
from iceberg_zorder.upkeep.left_groups import WHY
from iceberg_zorder.upkeep.limit_messages import of_cut_group, why_later, why_limited


@dataclass(frozen=True, eq=False)
class Limited:
    """What there is room for.

    Parameters
    ----------
    selected : Selected
        The same files, those past the limit left.
    waiting : int
        How many of the files that were chosen there is no room for.
    is_cut : bool
        Whether a file group is rewritten, or was tried, in parts.
    message : str
        What is to be said of the limit should nothing be rewritten; may be empty.
    """

    selected: Selected
    waiting: int = 0
    is_cut: bool = False
    message: str = ""


class FileLimit:
    """Takes as many of the files that were chosen as there is room for.

    File groups that are due come first, then those that save most for their bytes, where that is known. Within a file
    group that is cut due files come first, so that the part is due.

    Parameters
    ----------
    limit : int or None
        The option ``max-files-to-rewrite``; without it there is room for all.
    most : float
        How many files there is room for besides.
    rules : SizeRules
        Which files are to be rewritten whatever it brings.
    leaving : LeavingStep or None
        Tells of the part of a file group that there is room for whether it is left, so that its room is for others.
    """

    def __init__(self, limit: int | None, most: float, rules: SizeRules, leaving: LeavingStep | None) -> None:
        self._limit, self._rules, self._leaving = limit, rules, leaving
        self.room = math.inf if limit is None else min(limit, most)
        """How many files are rewritten at most."""

    def taken(self, selected: Selected, tried: Sequence[SelectedFiles] = (), times: int = 1) -> Limited:
        """Take what there is room for."""
        limit = self._limit
        if limit is None:
            return Limited(selected)
        room, waiting = int(self.room) * times, 0
        chosen: list[SelectedFiles] = []
        left = list(tried)
        for files, part in self._parts(selected, {_path(task) for each in tried for task in each.tasks}, room):
            if room == 0:
                left.append(replace(part, reason=why_later(limit)))
                waiting += len(part.tasks)
            elif part.reason == WHY:
                left.append(part)
            else:
                is_part = len(part.tasks) < len(files.tasks)
                of_part = of_cut_group(len(part.tasks), len(files.tasks), limit) if is_part else ""
                chosen.append(replace(part, reason=part.reason + of_part))
                room -= len(part.tasks)
        is_cut = _are_cut(selected, [*chosen, *left], waiting)
        taken = replace(selected, chosen=tuple(chosen), left=(*selected.left, *left))
        if self._leaving is not None:
            taken = self._leaving.taken(selected, chosen, left)
        message = why_limited(waiting, limit, in_parts=is_cut)
        if taken.message and not chosen:
            taken = replace(taken, message=taken.message + message)
        return Limited(taken, waiting, is_cut, message)

    def _parts(self, selected: Selected, tried: set[str], room: int) -> Iterator[tuple[SelectedFiles, SelectedFiles]]:
        """Cut file groups where the room ends: each, and its next part; what is remembered takes no room."""
        for files in self._in_order(selected.chosen):
            tasks = tuple(task for task in files.tasks if _path(task) not in tried)
            if 0 < room < len(tasks):
                tasks = tuple(sorted(tasks, key=lambda task: not self._rules.is_due(task)))
            while tasks:
                # Past the limit all that is left of a file group has one fate.
                count = min(room, len(tasks)) or len(tasks)
                part, tasks = replace(files, tasks=tasks[:count]), tasks[count:]
                is_part = count < len(files.tasks)
                if room and is_part and self._leaving is not None and self._leaving.leaves(part.tasks):
                    part = replace(part, reason=WHY)
                else:
                    room -= min(room, count)
                yield files, part

    def _in_order(self, groups: Sequence[SelectedFiles]) -> list[SelectedFiles]:
        if sum(len(files.tasks) for files in groups) <= self.room:
            return [*groups]
        return sorted(groups, key=lambda files: (not any(map(self._rules.is_due, files.tasks)), -files.worth))


def _are_cut(selected: Selected, parts: Sequence[SelectedFiles], waiting: int) -> bool:
    """Tell whether file groups are not taken, tried or left as a whole."""
    if not waiting and len(parts) == len(selected.chosen):
        return False
    sizes = {_path(task): len(files.tasks) for files in selected.chosen for task in files.tasks}
    return any(len(part.tasks) < sizes[_path(part.tasks[0])] for part in parts)


def _path(task: DataFileTask) -> str:
    return task.data_file.file_path
