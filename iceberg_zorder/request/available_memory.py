"""How much memory a process may use: the machine's, or less if its control groups (Linux) limit it."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path, PurePosixPath

_V1 = "memory/memory.limit_in_bytes"


def available_memory(root: Path = Path("/")) -> int:
    """Return how many bytes of memory this process may use.

    A control group's limit also holds for the groups inside it, so that the smallest limit on the path to the root
    counts. Of version 1 only the limit of the root counts, which is a container's own group.

    Examples
    --------
    >>> 0 < available_memory() <= available_memory(Path("/no/such/directory"))
    True
    """
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    lines = _text(root / "proc/self/cgroup").splitlines()
    own = next((line.removeprefix("0::") for line in lines if line.startswith("0::/")), "/")
    # A container may see its group by a path of the host, although its own root is that group.
    groups = [group.relative_to("/") for group in (PurePosixPath(own), *PurePosixPath(own).parents)]
    files = [*(group / "memory.max" for group in groups if ".." not in group.parts), PurePosixPath(_V1)]
    limits = [_text(root / "sys/fs/cgroup" / file).strip() for file in files]
    # No process runs with a limit of 0, so that 0 is no limit.
    return min([machine, *(int(limit) for limit in limits if limit.isdecimal() and int(limit))])


def _text(path: Path) -> str:
    with suppress(OSError):
        return path.read_text(encoding="utf-8", errors="replace")
    return ""
