"""Each file in ``bad`` is a wrong policy; the comments that it begins with are what is said of it, word by word."""

from __future__ import annotations

import itertools
import traceback
from pathlib import Path
from unittest.mock import patch

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.maintain.policy import read
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


def test_there_are_bad_policies() -> None:
    assert len(BAD) > 40


def test_a_file_that_is_not_there_or_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "latin.yaml").write_bytes(b"# gr\xfc\xdfe")
    for name, why in (("latin.yaml", "it is no text in UTF-8"), ("no.yaml", "it cannot be read: No such file")):
        with pytest.raises(InvalidInputError, match=why) as error:
            read_policy(tmp_path / name, {})
        assert str(error.value).startswith(f"Cannot use {tmp_path / name}, because ")


@pytest.mark.parametrize("missing", ["yaml", "cronsim"])
def test_a_missing_library_is_told_with_the_way_to_install_it(missing: str) -> None:
    with (
        patch.object(read, "find_spec", lambda name: None if name == missing else object()),
        pytest.raises(InvalidInputError, match=r"not installed: pip install '.\[maintain]'$"),
    ):
        parse_policy(FULL, "policy.yaml", ENVIRONMENT)


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("2026-13-45", "'2026-13-45' is not a number of at least 1"),
        ("!!bool perhaps", "'perhaps' is not a number of at least 1"),
        ("!!int many", "'many' is not a number of at least 1"),
        ("9" * 5000, f"'{'9' * 57}...' is not a number of at least 1"),
        ("9" * 50, f"'{'9' * 50}' is not a number of at least 1"),
        ("1:30", "'1:30' is not a number of at least 1"),
        ("-.inf", "'-.inf' is not a number of at least 1"),
        ("!!binary aGk=", "is tagged tag:yaml.org,2002:binary: write plain values, mappings and lists"),
        ("!own 4", "is tagged !own: write plain values, mappings and lists"),
        ("!!set {a, b}", "is tagged tag:yaml.org,2002:set: write plain values, mappings and lists"),
    ],
)
def test_values_of_yaml_that_are_none_here_are_refused(value: str, why: str) -> None:
    text = f"version: 1\ncatalogs: {{lake: {{}}}}\ndefaults:\n  triggers:\n    depth: {value}\ntables: {{'*': {{}}}}"
    with pytest.raises(InvalidInputError) as error:
        parse_policy(text, "policy.yaml", {})
    assert str(error.value) == f"Cannot use policy.yaml, because line 5, defaults.triggers.depth: {why}"


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


@settings(max_examples=100, deadline=None)
@given(st.text())
def test_whatever_text_is_no_policy(text: str) -> None:
    with pytest.raises(InvalidInputError, match="^Cannot use policy.yaml, because "):
        parse_policy(text, "policy.yaml", {})
