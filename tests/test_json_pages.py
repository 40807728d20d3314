"""The pages on JSON are those of the schemas, and the schemas know every reason."""

import json
import re

import pytest

from docs.json_pages import REFERENCE, SCHEMAS, WRITERS, pages, schema
from tests.json_schemas import OF_COMMAND, check_output
from tests.pages import PAGES, REPOSITORY, blocks


def test_every_schema_has_its_place() -> None:
    assert {path.stem for path in SCHEMAS.iterdir()} == set(WRITERS) == {*OF_COMMAND.values(), "workload", "error"}
    assert {path.name for path in (REFERENCE / "json").iterdir()} == set(pages())


@pytest.mark.parametrize(("file", "text"), pages().items())
def test_pages_are_as_written_from_the_schemas(file: str, text: str) -> None:
    assert PAGES[f"docs/reference/json/{file}"] == text, "python -m docs.json_pages writes it"


def test_reasons_are_those_of_the_code() -> None:
    codes = set(schema("plan")["$defs"]["reason"]["properties"]["code"]["enum"])
    java = (REPOSITORY / "spark_jars/core/src/main/java/io/icebergzorder/core/Reason.java").read_text(encoding="utf-8")
    assert codes == set(re.findall(r'public static final String \w+ = "([\w-]+)"', java))


def test_the_example_is_right() -> None:
    (example,) = blocks(PAGES["docs/reference/json.md"], "json")
    check_output("check", json.loads(example))
