"""How much memory a process may have: the machine's, or less where its control groups (Linux) limit it.

A control group's limit holds for it and all groups inside it, so the smallest limit on the path from the process's own
group up to the root counts. Version 2 writes it to ``memory.max``, version 1 to ``memory.limit_in_bytes``, and says in
``memory.stat`` what is the smallest up to the root, including groups that a container does not see. Where there is no
limit, the word ``max`` stands, or a number larger than any machine's memory.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

_ESCAPED = re.compile(r"\\([0-7]{3})")
_HIERARCHICAL = "hierarchical_memory_limit "


def available_memory(root: Path = Path("/")) -> int:
    """Tell how many bytes of memory this process may have.

    Examples
    --------
    >>> 0 < available_memory() <= available_memory(Path("/no/such/directory"))
    True
    """
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    # A limit of 0 would leave the process dead, so it is none that can be read.
    return min([machine, *(limit for limit in _limits(root) if limit > 0)])


@dataclass(frozen=True)
class _Mount:
    """A hierarchy of control groups: which of its groups is mounted, and where."""

    group: PurePosixPath
    point: PurePosixPath
    version: int


def _limits(root: Path) -> Iterator[int]:
    groups = dict(_own_groups(root))
    for mount in _mounts(root):
        if mount.version in groups:
            for directory in _directories(mount, groups[mount.version]):
                yield from _limits_in(root / directory.relative_to("/"), mount.version)


def _own_groups(root: Path) -> Iterator[tuple[int, PurePosixPath]]:
    """Find the process's own group by the version of the hierarchy."""
    for line in _lines(root / "proc/self/cgroup"):
        number, _, rest = line.partition(":")
        controllers, _, group = rest.partition(":")
        if "memory" in controllers.split(","):
            yield 1, PurePosixPath(group)
        elif number == "0" and not controllers:
            yield 2, PurePosixPath(group)


def _mounts(root: Path) -> Iterator[_Mount]:
    for line in _lines(root / "proc/self/mountinfo"):
        before, _, after = line.partition(" - ")
        fields, described = before.split(), after.split()
        if len(fields) < 5 or not described:
            continue
        group, point = (PurePosixPath(_unescaped(field)) for field in fields[3:5])
        if described[0] == "cgroup2":
            yield _Mount(group, point, 2)
        elif described[0] == "cgroup" and "memory" in described[-1].split(","):
            yield _Mount(group, point, 1)


def _directories(mount: _Mount, own: PurePosixPath) -> Iterator[PurePosixPath]:
    """List the directories of a group and of those around it, as far as they are mounted."""
    try:
        inside = own.relative_to(mount.group)
    except ValueError:
        # A container has its own group mounted, and may know it by a path of the world outside.
        inside = PurePosixPath()
    if ".." in inside.parts:
        inside = PurePosixPath()
    directory = mount.point / inside
    yield directory
    yield from (mount.point.joinpath(*inside.parts[:depth]) for depth in range(len(inside.parts)))


def _limits_in(directory: Path, version: int) -> Iterator[int]:
    for line in _lines(directory / ("memory.max" if version == 2 else "memory.limit_in_bytes")):
        if line.strip().isdecimal():
            yield int(line)
    if version == 1:
        for line in _lines(directory / "memory.stat"):
            if line.startswith(_HIERARCHICAL) and line[len(_HIERARCHICAL) :].strip().isdecimal():
                yield int(line[len(_HIERARCHICAL) :])


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def _unescaped(field: str) -> str:
    r"""Read a field of ``mountinfo``, which has spaces as ``\040``."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 8)), field)
