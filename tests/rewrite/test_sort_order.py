"""Sort orders read back what was written; the golden file holds their texts and errors to Java."""

from hypothesis import given
from hypothesis import strategies as st

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.layout.columns import parse_name, quoted_name
from iceberg_zorder.rewrite.sort_order import PrefixColumn, SortOrder, parse_sort_order

PART = st.one_of(st.text(min_size=1, max_size=6), st.text("`. ,()a", min_size=1, max_size=6))
NAME = st.lists(PART, min_size=1, max_size=4).map(tuple)
SPACE = st.text(" \t\n", max_size=2)


@given(NAME)
def test_every_name_can_be_written_and_read(parts: tuple[str, ...]) -> None:
    assert parse_name(quoted_name(parts)) == parts


@given(st.lists(NAME, min_size=1, max_size=4), SPACE, st.sampled_from(["zorder", "ZORDER", "zOrder"]))
def test_a_list_and_zorder_of_it_are_the_same(names: list[tuple[str, ...]], space: str, word: str) -> None:
    listed = f"{space},{space}".join(quoted_name(parts) for parts in names)
    expected = SortOrder("zorder", tuple(names))
    assert parse_sort_order(f"{space}{word}{space}({space}{listed}{space}){space}") == expected
    # Unquoted, a first column named so would read as the curve.
    assert parse_sort_order(f"{space}{listed}{space}") == expected


@given(st.text("ab`.,() \u00e9z", max_size=12))
def test_other_texts_are_refused_with_their_position(text: str) -> None:
    try:
        assert parse_sort_order(text).columns
    except InvalidInputError as error:
        message = str(error)
        assert message.startswith(f"Cannot parse sort_order '{text}', because ")
        assert 0 <= int(message.rsplit(" at position ", 1)[1]) <= len(text)


DIRECTED = st.tuples(NAME, st.booleans(), st.booleans())


@given(st.lists(DIRECTED, max_size=3), NAME, st.sampled_from(["zorder", "Hilbert"]), st.sampled_from([" ", "\t\n "]))
def test_prefixes_are_read_back(
    prefix: list[tuple[tuple[str, ...], bool, bool]], name: tuple[str, ...], curve: str, space: str
) -> None:
    words = [
        space.join([quoted_name(parts), "desc" if descending else "ASC", "nulls", "First" if nulls_first else "last"])
        for parts, descending, nulls_first in prefix
    ]
    text = f"{space},".join([*words, f"{curve}({quoted_name(name)})"])
    expected = tuple(PrefixColumn(parts, descending, nulls_first) for parts, descending, nulls_first in prefix)
    assert parse_sort_order(text) == SortOrder(curve.lower(), (name,), expected)
