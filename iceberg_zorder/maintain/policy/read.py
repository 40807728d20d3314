"""Read a policy: all that can be wrong with it is told at once, with line and field, before any table is looked at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from os import PathLike
from pathlib import Path as File
from typing import Any

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.maintain.policy.catalogs import catalog_of
from iceberg_zorder.maintain.policy.policy import Budget, Policy, Rule
from iceberg_zorder.maintain.policy.problems import Path, Problems, reason, unknown_key
from iceberg_zorder.maintain.policy.settings_reader import merged, names_of, settings_of
from iceberg_zorder.request.measures import duration, size

_LIBRARIES = {"yaml": "PyYAML", "jsonschema": "jsonschema", "cronsim": "cronsim"}


def read_policy(path: str | PathLike[str], environment: Mapping[str, str]) -> Policy:
    """Read a policy from a file; see :func:`parse_policy`.

    Raises
    ------
    InvalidInputError
        When the file cannot be read, or what it says cannot be honoured.

    Examples
    --------
    >>> read_policy("/no/such/policy.yaml", {})
    Traceback (most recent call last):
    iceberg_zorder.errors.InvalidInputError: Cannot use /no/such/policy.yaml, because it cannot be read: No such file \
or directory
    """
    return parse_policy(policy_text(path), str(path), environment)


def policy_text(path: str | PathLike[str]) -> str:
    """Read the text of a policy from a file, which is not looked at yet; raises InvalidInputError if it cannot be."""
    try:
        return File(path).read_text(encoding="utf-8")
    except OSError as error:
        raise InvalidInputError(f"Cannot use {path}, because it cannot be read: {error.strerror}") from error
    except UnicodeDecodeError:
        raise InvalidInputError(f"Cannot use {path}, because it is no text in UTF-8") from None


def parse_policy(text: str, name: str, environment: Mapping[str, str]) -> Policy:
    r"""Read a policy.

    Parameters
    ----------
    text : str
        The policy, in YAML.
    name : str
        The file, for messages.
    environment : mapping of str to str
        Where ``${VARIABLE}`` of catalogs is looked up.

    Returns
    -------
    Policy
        The policy, checked.

    Raises
    ------
    InvalidInputError
        When anything is wrong; it lists up to ten problems, with line and field.

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
            raise InvalidInputError(f"Cannot use {name}, because {library} is not installed: pip install '.[maintain]'")
    # Here, as they need the libraries.
    from iceberg_zorder.maintain.policy.document import read_document
    from iceberg_zorder.maintain.policy.schema import schema_problems

    document = read_document(text, name)
    problems = document.problems
    for path, problem in schema_problems(document.value):
        # A key that stands twice, or holds itself, is wrong by that alone.
        if not (path and problems.has(path)):
            problems.add(path, problem)
    raw = document.value if isinstance(document.value, Mapping) else {}
    policy = _policy(raw, name, environment, problems)
    problems.raise_any()
    return policy


def _policy(raw: Mapping[str, Any], name: str, environment: Mapping[str, str], problems: Problems) -> Policy:
    catalogs = {
        each: catalog_of(each, properties, environment, problems, ("catalogs", each))
        for each, properties in _mapping(raw, "catalogs").items()
        if isinstance(properties, Mapping)
    }
    defaults = _mapping(raw, "defaults")
    settings_of(defaults, problems, ("defaults",))
    policy = Policy(
        name,
        catalogs,
        _budget(_mapping(raw, "budget"), problems),
        _read(raw, ("interval",), duration, problems) or Policy("", {}).interval,
        defaults,
        _rules(raw, "namespaces", defaults, problems),
        _rules(raw, "tables", defaults, problems),
        _read(raw, ("polaris-policies",), names_of, problems) or (),
    )
    # Where something else is wrong, a section of tables may be meant by it.
    if not (policy.namespaces or policy.tables or policy.polaris_policies) and not problems.has(()):
        problems.add(("tables",), 'no table is named: write rules under namespaces or tables, such as "*": {} for all')
    _check_catalogs(policy, problems)
    return policy


def _mapping(raw: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = raw.get(key)
    return value if isinstance(value, Mapping) else {}


def _read(raw: Mapping[str, Any], path: Path, parse: Any, problems: Problems) -> Any:
    value = raw.get(str(path[-1]))
    if value is None or problems.has(path):
        return None
    try:
        return parse(value)
    except InvalidInputError as error:
        problems.add(path, reason(error))
        return None


def _budget(raw: Mapping[str, Any], problems: Problems) -> Budget:
    size_limit = _read(raw, ("budget", "bytes"), size, problems)
    minutes = _read(raw, ("budget", "minutes"), float, problems)
    return Budget(size_limit, minutes, _read(raw, ("budget", "tables"), int, problems))


def _rules(raw: Mapping[str, Any], section: str, defaults: Mapping[str, Any], problems: Problems) -> tuple[Rule, ...]:
    found = []
    for pattern, value in _mapping(raw, section).items():
        settings = value if isinstance(value, Mapping) else {}
        # With the defaults, as some options are wrong only together; what is wrong with those is told once.
        together = settings if problems.has(("defaults",)) else merged(defaults, settings)
        settings_of(together, problems, (section, pattern))
        found.append(Rule(pattern, settings))
    return tuple(found)


def _check_catalogs(policy: Policy, problems: Problems) -> None:
    places: list[tuple[Path, Sequence[str]]] = [(("polaris-policies",), policy.polaris_policies)]
    settings: list[tuple[Path, Mapping[str, Any]]] = [(("defaults",), policy.defaults)]
    settings += [(("namespaces", rule.pattern), rule.settings) for rule in policy.namespaces]
    settings += [(("tables", rule.pattern), rule.settings) for rule in policy.tables]
    for path, said in settings:
        if "catalog" in said and not problems.has((*path, "catalog")):
            places.append(((*path, "catalog"), names_of(said["catalog"])))
    if problems.has(("catalogs",)):
        return
    for path, names in places:
        for each in names:
            if each not in policy.catalogs:
                problems.add(path, f"catalog '{each}' {unknown_key(each, list(policy.catalogs))}")
