"""Read a policy; report all its problems together, with line and field, before any table is read."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from os import PathLike
from pathlib import Path as File
from typing import Any

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.maintain.policy.policy import Policy, Rule
from iceberg_zorder.maintain.policy.settings_reader import FILE, merged, validated

_SECTIONS = ("namespaces", "tables")
_LIBRARIES = {"yaml": "PyYAML", "cronsim": "cronsim"}


def read_policy(path: str | PathLike[str], environment: Mapping[str, str]) -> Policy:
    """Read a policy from a YAML file.

    Parameters
    ----------
    path : str or path-like
        The file.
    environment : mapping of str to str
        Values for ``${VARIABLE}`` in the policy's catalogs, such as ``os.environ``.

    Returns
    -------
    Policy
        The policy, for :func:`iceberg_zorder.passes.run_pass`.

    Raises
    ------
    InvalidInputError
        When the file cannot be read, or the policy is invalid. The message lists the problems with their lines.

    Examples
    --------
    >>> read_policy("/no/such/policy.yaml", {})
    Traceback (most recent call last):
    iceberg_zorder.errors.InvalidInputError: Cannot use /no/such/policy.yaml, because it cannot be read: No such file \
or directory
    """
    return parse_policy(policy_text(path), str(path), environment)


def policy_text(path: str | PathLike[str]) -> str:
    """Read a policy file without parsing it; raises InvalidInputError."""
    try:
        return File(path).read_text(encoding="utf-8")
    except OSError as error:
        raise InvalidInputError(f"Cannot use {path}, because it cannot be read: {error.strerror}") from error
    except UnicodeDecodeError:
        raise InvalidInputError(f"Cannot use {path}, because it is not UTF-8 text") from None


def parse_policy(text: str, name: str, environment: Mapping[str, str]) -> Policy:
    r"""Parse a policy.

    Examples
    --------
    >>> text = "version: 1\ncatalogs: {lake: {}}\ntables: {sales.orders: {where: ts < now() - interval '1' day}}"
    >>> policy = parse_policy(text, "policy.yaml", {})
    >>> policy.settings("lake", ["sales"], "orders").engine
    'auto'
    >>> parse_policy("", "policy.yaml", {})
    Traceback (most recent call last):
    iceberg_zorder.errors.InvalidInputError: Cannot use policy.yaml, because it is empty
    """
    for module, library in _LIBRARIES.items():
        if not find_spec(module):
            raise InvalidInputError(
                f"Cannot use {name}, because {library} is not installed: pip install '.[maintain]' in a clone"
            )
    # Imported here, because they need the libraries.
    from iceberg_zorder.maintain.policy.document import read_document

    raw, lines = read_document(text, name)
    context = {"environment": environment, "catalogs": _mapping(raw, "catalogs")}
    found = validated(FILE, _with_defaults(raw), name, lines, context)
    namespaces, tables = (
        tuple(Rule(pattern, settings or {}) for pattern, settings in _mapping(raw, section).items())
        for section in _SECTIONS
    )
    return Policy(name, found.catalogs, found.budget, found.interval, _mapping(raw, "defaults"), namespaces, tables)


def _mapping(raw: object, key: str) -> Mapping[str, Any]:
    value = raw.get(key) if isinstance(raw, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def _with_defaults(raw: object) -> object:
    """Merge the defaults into each rule, because some settings are valid only together."""
    defaults, rules = _mapping(raw, "defaults"), {each: _mapping(raw, each) for each in _SECTIONS}
    if not isinstance(raw, Mapping):
        return raw
    return dict(raw) | {
        section: {
            pattern: merged(defaults, settings or {}) if isinstance(settings, Mapping | None) else settings
            for pattern, settings in of_section.items()
        }
        for section, of_section in rules.items()
        if of_section
    }
