"""The options of a layout: defaults, domains, and what is said outside of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.rewrite.options import ZOrderOptions, zorder_options


def test_defaults() -> None:
    assert zorder_options({}) == ZOrderOptions(
        cuts="adaptive", column_weights=(), size_tolerance=0.25, sample_rows=None, sample_seed=0, boundaries=4096
    )


def test_options_of_iceberg_are_not_looked_at() -> None:
    assert zorder_options({"target-file-size-bytes": "no number"}) == ZOrderOptions()


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
    assert zorder_options({name: value}) == expected


@pytest.mark.parametrize(
    ("name", "value", "domain"),
    [
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
def test_what_lies_outside_is_refused(name: str, value: str, domain: str) -> None:
    with pytest.raises(InvalidInputError) as refusal:
        zorder_options({name: value})
    assert str(refusal.value) == f"Cannot set {name} to '{value}', because it must be {domain}"


@given(st.integers(1, 10**6), st.one_of(st.none(), st.integers(1, 2**31 - 1)))
def test_rows_to_sample(files: int, wanted: int | None) -> None:
    rows = ZOrderOptions(sample_rows=wanted).sample_rows_for(files)
    assert rows == (wanted or sorted((50_000, 1_000 * files, 1_000_000))[1])
