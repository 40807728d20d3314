"""Options of ``rewrite_data_files`` are read as the Spark engine reads them, with the same words for what is wrong."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.rewrite import options as module
from iceberg_zorder.rewrite.options import (
    SMALLEST_MEMORY_LIMIT,
    RewriteOptions,
    ZOrderOptions,
    available_memory,
    rewrite_options,
)

MACHINE = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
MIB = 1024 * 1024


def test_defaults_are_icebergs() -> None:
    read = rewrite_options({})
    assert read == RewriteOptions(memory_limit=read.memory_limit)
    assert read.memory_limit >= SMALLEST_MEMORY_LIMIT


def test_values_are_read_by_their_type() -> None:
    read = rewrite_options(
        {
            "target-file-size-bytes": "+100",
            "delete-ratio-threshold": " .5e0f",
            "rewrite-all": "TRUE",
            "partial-progress.enabled": "true",
            "partial-progress.max-commits": "3",
            "boundaries": "7",
            "memory-limit-bytes": "16777216",
        }
    )
    assert (read.target_file_size, read.delete_ratio_threshold, read.rewrite_all) == (100, 0.5, True)
    assert (read.max_commits, read.max_failed_commits, read.layout.boundaries) == (3, 3, 7)
    assert read.memory_limit == 16 * 1024 * 1024


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("cuts", "even", ZOrderOptions(cuts="even")),
        ("cuts", "adaptive", ZOrderOptions()),
        ("size-tolerance", "0", ZOrderOptions(size_tolerance=0.0)),
        ("size-tolerance", "0.999", ZOrderOptions(size_tolerance=0.999)),
        ("column-weights", "a=3,b.c=0.5", ZOrderOptions(column_weights=((("a",), 3.0), (("b", "c"), 0.5)))),
        ("sample-rows", "1", ZOrderOptions(sample_rows=1)),
        ("sample-rows", "2147483647", ZOrderOptions(sample_rows=2**31 - 1)),
        ("sample-seed", "-9223372036854775808", ZOrderOptions(sample_seed=-(2**63))),
        ("sample-seed", "+7", ZOrderOptions(sample_seed=7)),
        ("boundaries", "1", ZOrderOptions(boundaries=1)),
        ("boundaries", "65536", ZOrderOptions(boundaries=65536)),
        ("metrics-check", "warn", ZOrderOptions()),
        ("metrics-check", "FAIL", ZOrderOptions(metrics_check="fail")),
        ("metrics-check", "Fix", ZOrderOptions(metrics_check="fix")),
    ],
)
def test_the_ends_of_domains_are_taken(name: str, value: str, expected: ZOrderOptions) -> None:
    assert rewrite_options({name: value}).layout == expected


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("min-input-files", "2147483648", "a whole number"),
        ("min-input-files", "1.0", "a whole number"),
        ("min-input-files", "1_0", "a whole number"),
        ("target-file-size-bytes", "9223372036854775808", "a whole number"),
        ("compression-factor", "much", "a number"),
        ("rewrite-all", "yes", "true or false"),
        ("memory-limit-bytes", "16777215", "an integer in [16777216, 9223372036854775807]"),
        ("memory-limit-bytes", "1g", "an integer in [16777216, 9223372036854775807]"),
        ("cuts", "EVEN", "'adaptive' or 'even'"),
        ("size-tolerance", "1", "a number in [0, 1)"),
        ("size-tolerance", "-0.1", "a number in [0, 1)"),
        ("size-tolerance", "1e-1", "a number in [0, 1)"),
        ("size-tolerance", "NaN", "a number in [0, 1)"),
        ("size-tolerance", "", "a number in [0, 1)"),
        ("sample-rows", "0", "an integer in [1, 2147483647]"),
        ("sample-rows", "2147483648", "an integer in [1, 2147483647]"),
        ("sample-rows", "1_000", "an integer in [1, 2147483647]"),
        ("sample-seed", "9223372036854775808", "an integer in [-9223372036854775808, 9223372036854775807]"),
        ("sample-seed", "", "an integer in [-9223372036854775808, 9223372036854775807]"),
        ("metrics-check", "mend", "'warn', 'fail' or 'fix'"),
        ("metrics-check", "", "'warn', 'fail' or 'fix'"),
        ("boundaries", "0", "an integer in [1, 65536]"),
        ("boundaries", "65537", "an integer in [1, 65536]"),
        ("boundaries", "1.0", "an integer in [1, 65536]"),
        ("boundaries", " 1", "an integer in [1, 65536]"),
        pytest.param("sample-rows", "9" * 5000, "an integer in [1, 2147483647]", id="very long"),
    ],
)
def test_values_of_another_type_or_domain_are_refused(name: str, value: str, words: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        rewrite_options({name: value})
    assert str(refused.value) == f"Cannot set {name} to '{value}', because it must be {words}"


def test_unknown_options_are_refused() -> None:
    with pytest.raises(InvalidInputError) as refused:
        rewrite_options({"z": "1", "colour": "1", "cuts": "even"})
    assert str(refused.value).startswith(
        "Cannot use options [colour, z], because they are not supported by the action or the rewriter zorder: "
        "known are [boundaries, column-weights, compression-factor, cuts, delete-file-threshold, "
    )


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (
            {"max-concurrent-file-group-rewrites": "0"},
            "Cannot set max-concurrent-file-group-rewrites to 0, because the value must be positive.",
        ),
        (
            {"partial-progress.enabled": "true", "partial-progress.max-commits": "0"},
            "Cannot set partial-progress.max-commits to 0, because the value must be positive when "
            "partial-progress.enabled is true.",
        ),
    ],
)
def test_numbers_that_must_be_positive(options: dict[str, str], text: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        rewrite_options(options)
    assert str(refused.value) == text


@given(st.integers(1, 10**6), st.one_of(st.none(), st.integers(1, 2**31 - 1)))
def test_rows_to_sample(files: int, wanted: int | None) -> None:
    rows = ZOrderOptions(sample_rows=wanted).sample_rows_for(files)
    assert rows == (wanted or sorted((50_000, 1_000 * files, 1_000_000))[1])


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
