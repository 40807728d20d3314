"""The catalogs of a policy; values from the environment are secrets that no message shows."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, quote, quote_plus, unquote, urlsplit

from iceberg_zorder.maintain.policy.problems import Path, Problem, inside

_VARIABLE = re.compile(r"\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)\}|\$\{")
_SECRET_NAME = re.compile(
    r"credential|token|secret|passw|passphrase|key|auth|sas|connection-string|jwt|cert", re.IGNORECASE
)
_HEADER = re.compile(r"\.header\.(.*)", re.IGNORECASE | re.DOTALL)
_HARMLESS_HEADERS = re.compile(
    r"accept(-.*)?|connection|content-.*|host|user-agent|x-client-version|x-iceberg-access-delegation", re.IGNORECASE
)
_MASK = "***"
_BEARER = re.compile(r"(bearer |access_token\W+)[\w.~+/=-]{16,}", re.IGNORECASE)
"""Tokens that only the JVM knows, and those in an answer that cannot be read."""
_SHORTEST = 4
"""Shorter texts are not masked, because they occur in ordinary words."""


@dataclass(frozen=True)
class CatalogProperties:
    """A catalog of a policy; its ``repr`` shows no secrets.

    Examples
    --------
    >>> CatalogProperties({"type": "rest", "s3.secret-access-key": "abcd"})
    CatalogProperties()
    """

    properties: Mapping[str, object] = field(default_factory=dict, repr=False)
    """PyIceberg's properties: texts or mappings; empty if PyIceberg's configuration defines the catalog."""
    secrets: frozenset[str] = field(default=frozenset(), repr=False)
    """Texts to mask: values from the environment, and properties named like credentials."""


def masked(text: str, secrets: Iterable[str]) -> str:
    """Return a text with its secrets masked."""
    forms = {form for secret in secrets for form in _forms(secret) if len(form) >= _SHORTEST}
    # Longer secrets first, because shorter ones may be part of them.
    for form in sorted(forms, key=len, reverse=True):
        text = text.replace(form, _MASK)
    return _BEARER.sub(rf"\1{_MASK}", text)


def _forms(secret: str) -> Iterator[str]:
    """Yield the forms of a secret in messages: plain, quoted for Python, JSON or a URI, and its parts."""
    stripped = secret.strip()
    # "id:secret" or "user:password".
    for each in (secret, stripped, stripped.partition(":")[2]):
        yield each
        yield repr(each)[1:-1]
        yield repr(each.encode())[2:-1]
        yield repr(each.encode("latin-1", "backslashreplace"))[2:-1]
        yield json.dumps(each)[1:-1]
        yield quote(each, safe="")
        yield quote_plus(each)
        yield unquote(each)


def secrets_of(properties: Mapping[str, object]) -> frozenset[str]:
    """Return a catalog's secrets: properties named like credentials, headers, and passwords in URIs."""
    return frozenset({*_named_secrets(properties, "")} - {""})


def catalog_of(raw: Mapping[str, object], environment: Mapping[str, str]) -> CatalogProperties:
    """Read the properties of a catalog; raises pydantic's ValidationError with the problems of properties.

    Examples
    --------
    >>> found = catalog_of({"uri": "http://${HOST}/"}, {"HOST": "lake.example"})
    >>> found.properties["uri"], found.secrets
    ('http://lake.example/', frozenset({'lake.example'}))
    """
    secrets: set[str] = set()
    problems: list[Problem] = []

    def value_of(value: object, path: Path) -> object:
        if isinstance(value, Mapping):
            return {key: value_of(each, (*path, key)) for key, each in value.items()}
        if isinstance(value, str):
            return _VARIABLE.sub(lambda match: variable(match, path), value)
        problems.append((path, "the value is not a text, or a mapping of properties"))
        return None

    def variable(match: re.Match[str], path: Path) -> str:
        name = match[1]
        if match[0] == "$${":
            return "${"
        if name is None:
            problems.append((path, "has ${ without a name and }: write ${VARIABLE}, or $${ for ${ itself"))
        elif name not in environment:
            problems.append((path, f"the environment has no variable {name}"))
        secrets.add(environment.get(name or "", ""))
        return environment.get(name or "", "")

    properties = {key: value_of(each, (key,)) for key, each in raw.items()}
    if problems:
        raise inside(problems)
    for value in tuple(secrets):
        secrets.update(_passwords(value))
    return CatalogProperties(properties, frozenset(secrets - {""}) | secrets_of(properties))


def _named_secrets(properties: Mapping[str, object], around: str) -> Iterator[str]:
    for key, value in properties.items():
        name = f"{around}.{key}"
        if isinstance(value, Mapping):
            yield from _named_secrets(value, name)
        elif header := _HEADER.fullmatch(name):
            yield from () if _HARMLESS_HEADERS.fullmatch(header[1]) else _header_secrets(str(value))
        elif _SECRET_NAME.search(name) and not name.endswith(".type") and str(value).lower() not in ("true", "false"):
            yield str(value)
        else:
            yield from _passwords(str(value))


def _header_secrets(value: str) -> Iterator[str]:
    """Yield what follows the scheme of an Authorization header, or the value, and the values of cookies."""
    yield value.partition(" ")[2] or value
    yield from re.findall(r"=([^;,\s]+)", value)


def _passwords(text: str) -> Iterator[str]:
    """Yield the password in a URI, and its pieces, which libraries that end it early show as a host, port or path."""
    authority = text.partition("://")[2]
    password = authority.rpartition("@")[0].partition(":")[2]
    yield password
    # An @ may also be in a path after a port.
    yield from () if re.match(r"[^:/?#@]*:\d+[/?#]", authority) else re.split("[@:/?#]", password)
    if "://" in text:
        query = urlsplit(text).query
        yield from (value for key, value in parse_qsl(query) if _SECRET_NAME.search(key))
