"""What bounds of a column tell apart: the golden file, which JUnit reads too, and a count that is done one by one."""

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.rewrite.metrics_check import KeyPool, MetricsFindings, WeakBounds, separation
from tests.golden.cases import golden
from tests.golden.generate import renewed

POOLS = st.tuples(
    st.dictionaries(st.text(st.sampled_from("aé€😀"), max_size=24), st.sampled_from([1, 1, 2, 7, 100]), max_size=12),
    st.sampled_from([0, 0, 0, 1, 50]),
)
Pools = Sequence[tuple[Mapping[str, int], int]]


def apart(length: int, pools: Pools) -> int:
    """The rows that are told apart, by putting together what begins alike."""
    found = 0
    for buckets, _ in pools:
        largest: dict[str, int] = {}
        for text, rows in buckets.items():
            largest[text[:length]] = max(rows, largest.get(text[:length], 0))
        found += sum(largest.values()) - max(buckets.values(), default=0)
    return found


def naive(kept: int, pools: Pools) -> tuple[int, int, int | None]:
    """The same, for text, by trying every length."""
    rows = sum(sum(buckets.values()) - max(buckets.values(), default=0) + unseen for buckets, unseen in pools)
    enough = (length for length in range(kept + 1, 257) if 100 * apart(length, pools) >= 95 * rows)
    wanted = next(enough, None)
    return rows, apart(kept, pools), max(16, wanted) if wanted and not kept else wanted


def test_the_golden_file() -> None:
    assert renewed("metrics_check") == golden("metrics_check")


@given(st.integers(0, 30), st.lists(POOLS, max_size=4))
def test_what_is_wanted_is_the_shortest_that_is_enough(kept: int, pools: Pools) -> None:
    # Texts of such characters are in the order of their bytes.
    keys = [
        KeyPool([text.encode() for text in sorted(of)], [of[text] for text in sorted(of)], more) for of, more in pools
    ]
    found = separation("string", kept, keys)
    assert (found.rows, found.apart, found.wanted) == naive(kept, pools)


def test_what_is_said_of_a_column_without_bounds() -> None:
    weak = WeakBounds("lake.db.t", "lake.db.`t t`", "p.`q q`", "p.q q", "string", "counts", "full")
    assert weak.warning == (
        "lake.db.t keeps no lower/upper bounds of clustering column p.`q q` (metrics mode counts): filters on it skip no "
        "file. ALTER TABLE lake.db.`t t` SET TBLPROPERTIES ('write.metadata.metrics.column.p.q q' = 'full') and rewrite again "
        "with option rewrite-all, or set option metrics-check to fix beside it."
    )
    assert weak.setting() == (
        "Set write.metadata.metrics.column.p.q q = 'full' on lake.db.t: lake.db.t keeps no lower/upper bounds of clustering "
        "column p.`q q` (metrics mode counts): filters on it skip no file."
    )


def test_what_is_said_of_a_column_that_no_short_bounds_serve() -> None:
    weak = WeakBounds("lake.db.t", "lake.db.t", "doc", "doc", "string", "truncate(16)", None, 16, 0)
    told = (
        "lake.db.t cuts lower/upper bounds of clustering column doc to 16 characters, which distinguish 0% of the sampled "
        "rows: filters on it skip fewer files than they could. No metrics mode would help, because no prefix of up to 256 "
        "characters is known to distinguish enough rows: choose another column"
    )
    assert weak.warning == f"{told}, or set option metrics-check to fix, which samples longer prefixes."
    fixed = MetricsFindings("fix", (weak,))
    assert (fixed.fixes, fixed.intended, fixed.warnings) == ((), [], [f"{told}."])
    assert fixed.without_fixes() == fixed
    with pytest.raises(InvalidInputError, match="rows, and no prefix of up to 256 characters is known to distinguish"):
        MetricsFindings("fail", (weak,)).check()
