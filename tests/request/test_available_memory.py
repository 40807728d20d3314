"""The memory that a process may have, over made-up trees of control groups."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from iceberg_zorder.request import rewrite_options as module
from iceberg_zorder.request.available_memory import available_memory
from iceberg_zorder.request.rewrite_options import SMALLEST_MEMORY_LIMIT, rewrite_options

MACHINE = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
NO_LIMIT = "9223372036854771712\n"
MIB = 1024 * 1024
V2 = "31 23 0:28 / /sys/fs/cgroup rw,relatime shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
V1 = (
    "30 23 0:27 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"
    "33 30 0:30 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
    "35 30 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
)


def made(root: Path, own: str, mounts: str, files: Mapping[str, str]) -> Path:
    contents = {"proc/self/cgroup": own, "proc/self/mountinfo": mounts, **files}
    for name, content in contents.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return root


@pytest.mark.parametrize(
    ("own", "mounts", "files", "wanted"),
    [
        ("0::/\n", V2, {"sys/fs/cgroup/memory.max": f"{64 * MIB}\n"}, 64 * MIB),
        # The smallest on the path counts, wherever it is, and a group beside it does not.
        (
            "0::/pod/app/task\n",
            V2,
            {
                "sys/fs/cgroup/pod/memory.max": f"{32 * MIB}\n",
                "sys/fs/cgroup/pod/app/memory.max": "max\n",
                "sys/fs/cgroup/pod/app/task/memory.max": f"{48 * MIB}\n",
                "sys/fs/cgroup/pod/other/memory.max": f"{1 * MIB}\n",
            },
            32 * MIB,
        ),
        ("0::/app\n", V2, {"sys/fs/cgroup/app/memory.max": "max\n"}, MACHINE),
        # A container without a namespace of its own for control groups: its group is mounted as the root.
        (
            "0::/docker/abc\n",
            V2.replace(" / /sys", " /docker/abc /sys"),
            {"sys/fs/cgroup/memory.max": f"{20 * MIB}\n"},
            20 * MIB,
        ),
        ("0::/../../other\n", V2, {"sys/fs/cgroup/memory.max": f"{24 * MIB}\n"}, 24 * MIB),
        (
            "4:memory:/app\n3:cpuset:/\n",
            V1,
            {
                "sys/fs/cgroup/memory/memory.limit_in_bytes": NO_LIMIT,
                "sys/fs/cgroup/memory/app/memory.limit_in_bytes": f"{40 * MIB}\n",
            },
            40 * MIB,
        ),
        ("4:memory:/\n", V1, {"sys/fs/cgroup/memory/memory.limit_in_bytes": NO_LIMIT}, MACHINE),
        # What limits a group around the one that is mounted, only this file tells.
        (
            "4:memory:/docker/abc\n",
            V1.replace("0:32 /", "0:32 /docker/abc"),
            {
                "sys/fs/cgroup/memory/memory.limit_in_bytes": NO_LIMIT,
                "sys/fs/cgroup/memory/memory.stat": f"cache 1\nhierarchical_memory_limit {28 * MIB}\nrss 2\n",
            },
            28 * MIB,
        ),
        # Both versions side by side: the memory is version 1's.
        (
            "4:memory:/app\n0::/app\n",
            V1 + V2.replace("/sys/fs/cgroup ", "/sys/fs/cgroup/unified "),
            {"sys/fs/cgroup/memory/app/memory.limit_in_bytes": f"{44 * MIB}\n"},
            44 * MIB,
        ),
        (
            "0::/a b\n",
            V2.replace("/sys/fs/cgroup", "/sys/fs/c\\040group"),
            {"sys/fs/c group/a b/memory.max": f"{52 * MIB}\n"},
            52 * MIB,
        ),
        ("0::/app\n", V2, {}, MACHINE),
        ("", "", {}, MACHINE),
        ("nonsense\n", "nonsense - \n - cgroup2\n", {}, MACHINE),
        ("0::/\n", V2, {"sys/fs/cgroup/memory.max": "0\n"}, MACHINE),
        ("0::/\n", V2, {"sys/fs/cgroup/memory.max": "much\n"}, MACHINE),
    ],
)
def test_the_smallest_limit_counts(
    tmp_path: Path, own: str, mounts: str, files: Mapping[str, str], wanted: int
) -> None:
    assert available_memory(made(tmp_path, own, mounts, files)) == wanted


def test_without_proc_there_is_the_machine(tmp_path: Path) -> None:
    assert available_memory(tmp_path) == MACHINE


def test_the_default_of_the_memory_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = made(tmp_path, "0::/\n", V2, {"sys/fs/cgroup/memory.max": f"{128 * MIB}\n"})
    monkeypatch.setattr(module, "available_memory", lambda: available_memory(root))
    assert rewrite_options({}).memory_limit == 32 * MIB
    assert rewrite_options({"memory-limit-bytes": str(512 * MIB)}).memory_limit == 512 * MIB
    (root / "sys/fs/cgroup/memory.max").write_text("1000\n")
    assert rewrite_options({}).memory_limit == SMALLEST_MEMORY_LIMIT
