"""The policy, and a table's settings: defaults, then rules of namespaces, then rules of tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from fnmatch import fnmatchcase
from typing import Any

from iceberg_zorder.maintain.policy.catalogs import CatalogProperties, masked
from iceberg_zorder.maintain.policy.settings import Budget, TableSettings
from iceberg_zorder.maintain.policy.settings_reader import SETTINGS, merged, validated

_WILD = re.compile(r"[*?[]")


@dataclass(frozen=True)
class Rule:
    """Settings of the tables whose names match a glob.

    Examples
    --------
    >>> rule = Rule("logs.*_daily", {"catalog": ["lake", "sea"]})
    >>> rule.matches("lake", "logs.eu.http_daily"), rule.matches("pond", "logs.http_daily")
    (True, False)
    """

    pattern: str
    """Glob: ``*`` matches any characters including dots, ``?`` one character, ``[ab]`` one of these."""
    settings: Mapping[str, Any] = field(default_factory=dict)

    def matches(self, catalog: str, name: str, default: Any = None) -> bool:
        """Return whether a name in a catalog matches; ``default`` is the catalog setting of the policy's defaults."""
        return self.is_of(catalog, default) and fnmatchcase(name, self.pattern)

    def is_of(self, catalog: str, default: Any = None) -> bool:
        """Return whether the rule covers a catalog; ``default`` is the catalog setting of the policy's defaults."""
        named = self.settings.get("catalog", default)
        return named is None or catalog in ([named] if isinstance(named, str) else named)


@dataclass(frozen=True)
class Policy:
    """A policy of scheduled maintenance.

    Examples
    --------
    >>> policy = Policy("policy.yaml", {"lake": CatalogProperties()}, namespaces=(Rule("sales", {"by": "a, b"}),))
    >>> policy.settings("lake", ("sales",), "orders").by
    'a, b'
    >>> policy.settings("lake", ("hr",), "people") is None
    True
    """

    name: str
    """The policy's file, for messages."""
    catalogs: Mapping[str, CatalogProperties]
    budget: Budget = field(default_factory=Budget)
    interval: timedelta = timedelta(minutes=5)
    """Time between the starts of two passes."""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """Settings for all tables, as written."""
    namespaces: tuple[Rule, ...] = ()
    tables: tuple[Rule, ...] = ()
    """Rules by dotted namespace, and by namespace and table."""

    def settings(self, catalog: str, namespace: Sequence[str], table: str) -> TableSettings | None:
        """Return a table's settings; None if no rule matches it."""
        parts = (namespace,) if isinstance(namespace, str) else tuple(namespace)
        of_namespace, of_table = ".".join(parts), ".".join((*parts, table))
        default = self.defaults.get("catalog")
        matching = [
            *(rule for rule in self.namespaces if rule.matches(catalog, of_namespace, default)),
            *(rule for rule in self.tables if rule.matches(catalog, of_table, default)),
        ]
        if not matching:
            return None
        found = dict(self.defaults)
        for rule in matching:
            found = merged(found, rule.settings)
        return validated(SETTINGS, found, f"{self.name} for {catalog}.{of_table}")

    def may_be_for(self, catalog: str, namespace: Sequence[str]) -> bool:
        """Return whether a rule may match a table in a namespace or below; if not, it need not be listed.

        Examples
        --------
        >>> policy = Policy("policy.yaml", {}, namespaces=(Rule("sales"),), tables=(Rule("logs.*_daily"),))
        >>> [policy.may_be_for("lake", namespace) for namespace in (("sales", "eu"), ("logs",), ("tmp",))]
        [True, True, False]
        """
        inside, default = f"{'.'.join(namespace)}.", self.defaults.get("catalog")
        rules = (rule for rule in (*self.namespaces, *self.tables) if rule.is_of(catalog, default))
        beginnings = (_WILD.split(rule.pattern, maxsplit=1)[0] for rule in rules)
        return any(each.startswith(inside) or inside.startswith(each) for each in beginnings)

    def unmatched(self, tables: Iterable[tuple[str, Sequence[str], str]]) -> list[str]:
        """Return a message for each rule without a glob that matches no table.

        A table is given as its catalog, the parts of its namespace, and its name.

        Examples
        --------
        >>> policy = Policy("policy.yaml", {"lake": CatalogProperties()}, tables=(Rule("db.evnts"), Rule("x.*")))
        >>> policy.unmatched([("lake", ("db",), "events")])
        ['Cannot apply rule tables.db.evnts of policy.yaml, because no catalog of the rule has such a table']
        """
        listed = [(catalog, ".".join(namespace), name) for catalog, namespace, name in tables]
        found = (
            ("namespaces", self.namespaces, "a table in this namespace", {each[:2] for each in listed}),
            ("tables", self.tables, "such a table", {(each[0], f"{each[1]}.{each[2]}") for each in listed}),
        )
        default = self.defaults.get("catalog")
        return [
            f"Cannot apply rule {section}.{rule.pattern} of {self.name}, because no catalog of the rule has {what}"
            for section, rules, what, names in found
            for rule in rules
            if not _WILD.search(rule.pattern)
            and not any(rule.is_of(each, default) and (each, rule.pattern) in names for each in self.catalogs)
        ]

    def masked(self, text: str) -> str:
        """Mask the catalogs' secrets in a text, such as an error of a library."""
        return masked(text, {secret for catalog in self.catalogs.values() for secret in catalog.secrets})
