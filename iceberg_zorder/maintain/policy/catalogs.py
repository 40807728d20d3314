"""Catalogs of a policy: properties with values from the environment, none of which is ever shown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from iceberg_zorder.maintain.policy.problems import Path, Problems

_VARIABLE = re.compile(r"\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)\}|\$\{")
_SECRET_NAME = re.compile(
    r"credential|token|secret|passw|passphrase|key|auth|sas|connection-string|jwt|cert", re.IGNORECASE
)
_PASSWORD = re.compile(r"://[^/@\s]*:([^/@\s]+)@")
_MASK = "***"
_SHORTEST = 4
"""Shorter texts are no secrets, and stand in many others."""


@dataclass(frozen=True, repr=False)
class CatalogProperties:
    """A catalog as a policy has it.

    Parameters
    ----------
    name : str
        Its name.
    properties : mapping of str to object
        PyIceberg's properties: texts, or mappings of these; none where PyIceberg's configuration has the catalog.
    secrets : frozenset of str
        What is not to be shown: values from the environment, and those of properties named like credentials.

    Examples
    --------
    >>> CatalogProperties("lake", {"type": "rest", "s3.secret-access-key": "abcd"})
    CatalogProperties(name='lake', properties={'type': 'rest', 's3.secret-access-key': '***'})
    """

    name: str
    properties: Mapping[str, object] = field(default_factory=dict)
    secrets: frozenset[str] = frozenset()

    def __repr__(self) -> str:
        shown = _shown(self.properties, self.secrets, "")
        return f"CatalogProperties(name={self.name!r}, properties={shown!r})"


def masked(text: str, secrets: Iterable[str]) -> str:
    """Write a text without secrets.

    Examples
    --------
    >>> masked("cannot connect to postgresql://me:hunter2@db/x", ["hunter2"])
    'cannot connect to postgresql://me:***@db/x'
    """
    # Longer ones first, of which others may be parts.
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= _SHORTEST:
            text = text.replace(secret, _MASK)
    return text


def catalog_of(
    name: str, raw: Mapping[str, object], environment: Mapping[str, str], problems: Problems, path: Path
) -> CatalogProperties:
    """Read the properties of a catalog.

    Parameters
    ----------
    name : str
        The catalog's name.
    raw : mapping of str to object
        The properties as written, with ``${VARIABLE}`` for a variable and ``$${`` for ``${`` itself.
    environment : mapping of str to str
        The variables.
    problems : Problems
        Where variables that are not there are noted.
    path : path
        Where the catalog stands in the policy.

    Returns
    -------
    CatalogProperties
        The properties, with values in the place of variables.

    Examples
    --------
    >>> found = catalog_of("lake", {"uri": "http://${HOST}/"}, {"HOST": "lake.example"}, Problems("p"), ("catalogs",))
    >>> found.properties["uri"], found
    ('http://lake.example/', CatalogProperties(name='lake', properties={'uri': '***'}))
    """
    secrets: set[str] = set()
    properties = _substituted(raw, environment, problems, path, secrets)
    secrets.update(_named_secrets(properties, ""))
    return CatalogProperties(name, properties, frozenset(secrets - {""}))


def _substituted(
    raw: Mapping[str, object], environment: Mapping[str, str], problems: Problems, path: Path, secrets: set[str]
) -> dict[str, object]:
    found: dict[str, object] = {}
    for key, value in raw.items():
        inside = (*path, key)
        if problems.has(inside):
            continue
        if isinstance(value, Mapping):
            found[key] = _substituted(value, environment, problems, inside, secrets)
        else:
            found[key] = _value(str(value), environment, problems, inside, secrets)
    return found


def _value(text: str, environment: Mapping[str, str], problems: Problems, path: Path, secrets: set[str]) -> str:
    def of_variable(match: re.Match[str]) -> str:
        variable = match[1]
        if match[0] == "$${":
            return "${"
        if variable is None:
            problems.add(path, "has ${ without a name and }: write ${VARIABLE}, or $${ for ${ itself")
            return ""
        if variable not in environment:
            problems.add(path, f"the environment has no variable {variable}")
        secrets.add(environment.get(variable, ""))
        return environment.get(variable, "")

    return _VARIABLE.sub(of_variable, text)


def _named_secrets(properties: Mapping[str, object], around: str) -> Iterator[str]:
    for key, value in properties.items():
        name = f"{around}.{key}"
        if isinstance(value, Mapping):
            yield from _named_secrets(value, name)
        elif _SECRET_NAME.search(name):
            yield str(value)
        else:
            yield from _PASSWORD.findall(str(value))


def _shown(properties: Mapping[str, object], secrets: frozenset[str], around: str) -> dict[str, object]:
    found: dict[str, object] = {}
    for key, value in properties.items():
        name = f"{around}.{key}"
        if isinstance(value, Mapping):
            found[key] = _shown(value, secrets, name)
        else:
            text = str(value)
            hidden = _SECRET_NAME.search(name) or _PASSWORD.search(text) or any(each in text for each in secrets)
            found[key] = _MASK if hidden else value
    return found
