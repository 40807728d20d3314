"""The memory that a process may have, over made-up trees of control groups."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from iceberg_zorder.rewrite import options as module
from iceberg_zorder.rewrite.options import SMALLEST_MEMORY_LIMIT, available_memory, rewrite_options

MACHINE = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
MIB = 1024 * 1024


def made(root: Path, own: str, files: Mapping[str, str]) -> Path:
    contents = {"proc/self/cgroup": own, **files}
    for name, content in contents.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return root


@pytest.mark.parametrize(
    ("own", "files", "wanted"),
    [
        ("0::/\n", {"sys/fs/cgroup/memory.max": f"{64 * MIB}\n"}, 64 * MIB),
        # The smallest on the path counts, wherever it is, and a group beside it does not.
        (
            "0::/pod/app/task\n",
            {
                "sys/fs/cgroup/pod/memory.max": f"{32 * MIB}\n",
                "sys/fs/cgroup/pod/app/memory.max": "max\n",
                "sys/fs/cgroup/pod/app/task/memory.max": f"{48 * MIB}\n",
                "sys/fs/cgroup/pod/other/memory.max": f"{1 * MIB}\n",
            },
            32 * MIB,
        ),
        ("0::/app\n", {"sys/fs/cgroup/app/memory.max": "max\n"}, MACHINE),
        # A container without a namespace of its own for control groups: its group is mounted as the root.
        ("0::/docker/abc\n", {"sys/fs/cgroup/memory.max": f"{20 * MIB}\n"}, 20 * MIB),
        ("0::/../../other\n", {"sys/fs/cgroup/memory.max": f"{24 * MIB}\n"}, 24 * MIB),
        ("4:memory:/docker/abc\n", {"sys/fs/cgroup/memory/memory.limit_in_bytes": f"{40 * MIB}\n"}, 40 * MIB),
        ("4:memory:/\n", {"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, MACHINE),
        ("", {}, MACHINE),
        ("nonsense\n", {}, MACHINE),
        ("0::/\n", {"sys/fs/cgroup/memory.max": "0\n"}, MACHINE),
        ("0::/\n", {"sys/fs/cgroup/memory.max": "much\n"}, MACHINE),
    ],
)
def test_the_smallest_limit_counts(tmp_path: Path, own: str, files: Mapping[str, str], wanted: int) -> None:
    assert available_memory(made(tmp_path, own, files)) == wanted


def test_without_proc_there_is_the_machine(tmp_path: Path) -> None:
    assert available_memory(tmp_path) == MACHINE


def test_the_default_of_the_memory_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = made(tmp_path, "0::/\n", {"sys/fs/cgroup/memory.max": f"{128 * MIB}\n"})
    monkeypatch.setattr(module, "available_memory", lambda: available_memory(root))
    assert rewrite_options({}).memory_limit == 32 * MIB
    assert rewrite_options({"memory-limit-bytes": str(512 * MIB)}).memory_limit == 512 * MIB
    (root / "sys/fs/cgroup/memory.max").write_text("1000\n")
    assert rewrite_options({}).memory_limit == SMALLEST_MEMORY_LIMIT
