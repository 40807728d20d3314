"""Options of ``rewrite_data_files`` are read as the Spark engine reads them, with the same words for what is wrong."""

from __future__ import annotations

import pytest

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.rewrite.options import SMALLEST_MEMORY_LIMIT, RewriteOptions, rewrite_options


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
    ("name", "value", "words"),
    [
        ("min-input-files", "2147483648", "a whole number"),
        ("min-input-files", "1.0", "a whole number"),
        ("min-input-files", "1_0", "a whole number"),
        ("target-file-size-bytes", "9223372036854775808", "a whole number"),
        ("compression-factor", "much", "a number"),
        ("rewrite-all", "yes", "true or false"),
        ("boundaries", "0", "an integer in [1, 65536]"),
        ("memory-limit-bytes", "16777215", "an integer in [16777216, 9223372036854775807]"),
        ("memory-limit-bytes", "1g", "an integer in [16777216, 9223372036854775807]"),
    ],
)
def test_values_of_another_type_are_refused(name: str, value: str, words: str) -> None:
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
