"""The JSON schema of policies, ``policy.schema.json`` beside this module, and what it finds wrong, in our words."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from iceberg_zorder.maintain.policy.problems import Path, unknown_key

if TYPE_CHECKING:
    from jsonschema import ValidationError

_HIDDEN = "catalogs"
"""The section whose values are not shown: there may be passwords."""


@cache
def policy_schema() -> dict[str, Any]:
    """Load the schema, of draft 2020-12.

    The keyword ``x-form`` is ours: what a value must be, for messages.

    Examples
    --------
    >>> policy_schema()["required"]
    ['version', 'catalogs']
    """
    text = files("iceberg_zorder.maintain.policy").joinpath("policy.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def schema_problems(value: object) -> Iterator[tuple[Path, str]]:
    """Find what a policy has that the schema does not allow.

    Parameters
    ----------
    value : object
        The policy, as JSON would have it.

    Yields
    ------
    (path, str)
        Where, and what.

    Examples
    --------
    >>> list(schema_problems({"version": 1, "catalogs": {"lake": {}}, "budget": {"byte": 1, "tables": "all"}}))
    [(('budget', 'tables'), "'all' is not a whole number of at least 1"), (('budget', 'byte'), "is unknown: did you \
mean 'bytes'?")]
    """
    # It is an extra.
    from jsonschema import Draft202012Validator

    validator = Draft202012Validator(policy_schema())
    errors = sorted(validator.iter_errors(value), key=lambda error: str(error.validator), reverse=True)
    for error in errors:
        yield from _told(error)


def _told(error: ValidationError) -> Iterator[tuple[Path, str]]:
    path: Path = tuple(error.absolute_path)
    schema = error.schema if isinstance(error.schema, Mapping) else {}
    if error.validator == "anyOf":
        # One way of each choice is a constant, such as false; what the other finds wrong says more.
        yield from _told_of_choice(list(error.context or ()))
    elif error.validator == "additionalProperties" and isinstance(error.instance, Mapping):
        known = list(schema.get("properties", {}))
        if not known:
            yield path, f"{_shown(error.instance, path)} is not {schema.get('x-form')}"
            return
        for key in error.instance:
            if key not in known:
                yield (*path, key), unknown_key(key, known)
    elif error.validator == "required":
        for key in schema.get("required", ()):
            if isinstance(error.instance, Mapping) and key not in error.instance:
                yield (*path, key), "is missing"
    else:
        yield path, f"{_shown(error.instance, path)} is not {_form(schema)}"


def _told_of_choice(errors: list[ValidationError]) -> Iterator[tuple[Path, str]]:
    said = [error for error in errors if error.validator != "const" and not _is_null(error)]
    # Of a choice between a text and a mapping, what is wrong inside a mapping, and not that it is no text.
    inside = [error for error in said if error.validator != "type" or error.relative_path]
    for error in inside or said[:1]:
        yield from _told(error)


def _is_null(error: ValidationError) -> bool:
    return error.validator == "type" and error.validator_value == "null"


def _form(schema: Mapping[str, Any]) -> str:
    kinds = {"boolean": "true or false", "object": "a mapping", "string": "a text"}
    return str(schema.get("x-form") or kinds.get(str(schema.get("type")), "allowed here"))


def _shown(value: object, path: Path) -> str:
    if path[:1] == (_HIDDEN,):
        return "the value"
    if value is None:
        return "nothing"
    if isinstance(value, Mapping | list):
        return "a list" if isinstance(value, list) else "a mapping"
    text = value if isinstance(value, str) else json.dumps(value)
    short = text if len(text) <= 60 else f"{text[:57]}..."
    return f"'{short}'" if isinstance(value, str) else short
