"""Each file in ``bad`` is a wrong policy; the comments that it begins with are what is said of it, word by word."""

import itertools
import traceback
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.maintain.policy.policy import Policy
from iceberg_zorder.maintain.policy.read import parse_policy, read_policy
from tests.maintain.policy.policies import ENVIRONMENT, FULL, HERE

BAD = sorted((HERE / "bad").glob("*.yaml"))


@pytest.mark.parametrize("file", BAD, ids=lambda file: file.stem)
def test_a_bad_policy_is_refused_with_line_and_field(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    said = [line[2:] for line in itertools.takewhile(lambda line: line.startswith("# "), text.splitlines())]
    if file.stem == "empty":
        said = said[:1]
    with pytest.raises(InvalidInputError) as error:
        parse_policy(text, "policy.yaml", {})
    assert str(error.value).split("\n") == said
    assert "hunter2" not in "".join(traceback.format_exception(error.value))


def test_a_file_that_is_not_there_or_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "latin.yaml").write_bytes(b"# gr\xfc\xdfe")
    for name, why in (("latin.yaml", "it is not UTF-8 text"), ("no.yaml", "it cannot be read: No such file")):
        with pytest.raises(InvalidInputError, match=why) as error:
            read_policy(tmp_path / name, {})
        assert str(error.value).startswith(f"Cannot use {tmp_path / name}, because ")


def test_a_bomb_of_aliases_is_refused() -> None:
    bomb = "a0: &a0 [x]\n" + "".join(
        f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]\n" for level in range(1, 10)
    )
    with pytest.raises(InvalidInputError, match="more than 100,000 values"):
        parse_policy(bomb, "policy.yaml", {})


def test_what_is_nested_deeply_is_refused() -> None:
    for depth in (60, 300, 5_000):
        nested = "{a: " * depth + "b" + "}" * depth
        with pytest.raises(InvalidInputError, match="nested too deeply"):
            parse_policy(f"version: 1\ncatalogs: {{lake: {nested}}}\ntables: {{'*': {{}}}}", "policy.yaml", {})


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**12), 10**20)
    | st.floats()
    | st.sampled_from(["", "*", "a", "1 h", "0 3 * * *", "22:00-06:00", "${A}", "now()", "zorder(a)", "0 0 30 2 *"])
    | st.text(max_size=5),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.text(max_size=5), inside, max_size=3),
    max_leaves=5,
)
DEFAULTS = yaml.safe_load(FULL)["defaults"]
PLACES = [
    *[(section,) for section in ("defaults", "tables", "catalogs", "budget", "interval", "version")],
    *[("defaults", key) for key in DEFAULTS],
    *[("defaults", section, key) for section in ("triggers", "follow-ups", "options") for key in DEFAULTS[section]],
    *[("catalogs", "lake", "uri"), ("tables", "sales.orders")],
]


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(PLACES), VALUES)
def test_whatever_stands_in_a_policy_it_is_read_or_refused(path: tuple[str, ...], value: object) -> None:
    raw = yaml.safe_load(FULL)
    around = raw
    for key in path[:-1]:
        around = around[key]
    around[path[-1]] = value
    found = read_or_refused(yaml.safe_dump(raw))
    if isinstance(found, Policy):
        found.settings("lake", ["sales"], "orders")
    else:
        assert found.startswith("Cannot use policy.yaml, because ")


def read_or_refused(text: str) -> Policy | str:
    try:
        return parse_policy(text, "policy.yaml", ENVIRONMENT)
    except InvalidInputError as error:
        return str(error)
