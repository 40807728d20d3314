"""Read a policy; report all its problems together, with line and field, before any table is read."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from importlib.util import find_spec
from os import PathLike
from pathlib import Path as File
from typing import Any, cast

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.maintain.policy.catalogs import catalog_of
from iceberg_zorder.maintain.policy.policy import Policy, Rule
from iceberg_zorder.maintain.policy.problems import Path, Problems
from iceberg_zorder.maintain.policy.settings import PolicyFile
from iceberg_zorder.maintain.policy.settings_reader import check_options, merged, policy_file, read_settings
from iceberg_zorder.rewrite.options import spelled_alike

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

    document = read_document(text, name)
    problems = document.problems
    raw = document.value if isinstance(document.value, Mapping) else {}
    found = policy_file(document.value, problems)
    catalogs = {
        each: catalog_of(each, properties, environment, problems, ("catalogs", each))
        for each, properties in _mapping(raw, "catalogs").items()
        if isinstance(properties, Mapping)
    }
    defaults = _mapping(raw, "defaults")
    check_options(defaults, problems, ("defaults",))
    namespaces, tables = (_rules(raw, section, defaults, problems) for section in ("namespaces", "tables"))
    # Another problem may be a misspelled section of tables.
    if not (namespaces or tables) and not problems.has(()):
        problems.add(("tables",), 'there is no rule: write rules under namespaces or tables, such as "*": {} for all')
    _check_catalogs(raw, catalogs, problems)
    problems.raise_any()
    # None only with problems.
    read = cast("PolicyFile", found)
    return Policy(name, catalogs, read.budget, read.interval, defaults, namespaces, tables)


def _mapping(raw: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = raw.get(key)
    return value if isinstance(value, Mapping) else {}


def _rules(raw: Mapping[str, Any], section: str, defaults: Mapping[str, Any], problems: Problems) -> tuple[Rule, ...]:
    rules = tuple(Rule(pattern, _mapping(raw[section], pattern)) for pattern in _mapping(raw, section))
    for rule in rules:
        # Merged with the defaults, because some settings are valid only together; problems of defaults appear once.
        together = rule.settings if problems.has(("defaults",)) else merged(defaults, rule.settings)
        read_settings(together, problems, (section, rule.pattern))
    return rules


def _check_catalogs(raw: Mapping[str, Any], catalogs: Collection[str], problems: Problems) -> None:
    places: list[Path] = [("defaults",)]
    places += [(section, each) for section in ("namespaces", "tables") for each in _mapping(raw, section)]
    for path in places:
        settings: Mapping[str, Any] = raw
        for key in path:
            settings = _mapping(settings, str(key))
        inside = (*path, "catalog")
        named = settings.get("catalog", ())
        if problems.has(inside) or problems.has(("catalogs",)):
            continue
        for each in [named] if isinstance(named, str) else named:
            if each not in catalogs:
                near = spelled_alike(each, list(catalogs), f"known are {', '.join(catalogs)}")
                problems.add(inside, f"catalog '{each}' is unknown{near}")
