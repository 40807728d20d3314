"""JSON as commands write it, held against the schemas in ``docs/reference/schemas``."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator

from docs.json_pages import schema

OF_COMMAND = {
    "rewrite": "result",
    "execute": "result",
    "plan": "plan",
    "report": "report",
    "advise": "advice",
    "workload": "workload-summary",
    "maintain": "pass",
    "history": "history",
    "append": "append",
    "undo": "undo",
    "check": "check",
    "set": "properties",
    "init": "policy",
}
"""The schema of what each command writes."""


def check_json(document: Mapping[str, Any], name: str) -> None:
    """Fail if a document breaks a schema, or has keys that the schema does not have."""
    broken = [f"{error.json_path}: {error.message}" for error in _strict(name).iter_errors(document)]
    assert broken == [], f"{name}.json: {broken}"


def check_output(command: str, document: Mapping[str, Any]) -> None:
    """Fail if a command should not have written a document."""
    check_json(document, "error" if set(document) == {"version", "error"} else OF_COMMAND[command])


@cache
def _strict(name: str) -> Draft202012Validator:
    found = schema(name)
    Draft202012Validator.check_schema(found)
    return Draft202012Validator(_closed(found))


def _closed(part: Any) -> Any:
    """A schema whose objects have no other keys than it names."""
    if isinstance(part, list):
        return [_closed(each) for each in part]
    if not isinstance(part, dict):
        return part
    closed = {key: _closed(value) for key, value in part.items()}
    return {**closed, "additionalProperties": False} if isinstance(part.get("required"), list) else closed
