"""The golden files, which JUnit reads too: Python and Java compute the same layouts, bit for bit."""

import pytest

from tests.golden.cases import golden, layout
from tests.golden.generate import names, renewed


@pytest.mark.parametrize("name", [*names(), "queries", "sort_order", "column_weights", "sampled_row_groups"])
def test_layouts(name: str) -> None:
    assert renewed(name) == golden(name)


def test_a_tampered_file_is_noticed() -> None:
    tampered = golden("shipdate_partkey")
    tampered["columns"][0]["values"][0] += 1
    assert layout(tampered) != tampered
