"""How much memory a process may have: the machine's, or less where its control groups (Linux) limit it."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path, PurePosixPath

_V1 = "memory/memory.limit_in_bytes"


def available_memory(root: Path = Path("/")) -> int:
    """Tell how many bytes of memory this process may have.

    A control group's limit holds for it and all groups inside it, so the smallest limit on the path up to the root
    counts. Of version 1 the limit counts that a container finds where its own group is mounted.

    Examples
    --------
    >>> 0 < available_memory() <= available_memory(Path("/no/such/directory"))
    True
    """
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    lines = _text(root / "proc/self/cgroup").splitlines()
    own = next((line.removeprefix("0::") for line in lines if line.startswith("0::/")), "/")
    # A container may know its group by a path of the world outside, where it has the group as its root.
    groups = [group.relative_to("/") for group in (PurePosixPath(own), *PurePosixPath(own).parents)]
    files = [*(group / "memory.max" for group in groups if ".." not in group.parts), PurePosixPath(_V1)]
    limits = [_text(root / "sys/fs/cgroup" / file).strip() for file in files]
    # A limit of 0 would leave the process dead, so it is none that can be read.
    return min([machine, *(int(limit) for limit in limits if limit.isdecimal() and int(limit))])


def _text(path: Path) -> str:
    with suppress(OSError):
        return path.read_text(encoding="utf-8", errors="replace")
    return ""
