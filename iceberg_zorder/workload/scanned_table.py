"""The table whose workload is read: its name, the types of its columns, and its scans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from sqlglot import exp

from iceberg_zorder.rewrite.predicate import Name


@dataclass(frozen=True)
class ScannedTable:
    """A table as queries name it.

    Examples
    --------
    >>> table = ScannedTable(("db", "t"), {("a",): "long"})
    >>> [table.is_named(name) for name in (("t",), ("lake", "DB", "t"), ("other", "t"), ("db", "t", "files"))]
    [True, True, False, False]
    """

    identifier: tuple[str, ...]  # the namespace's parts, and its own name
    # The type of each column as Iceberg writes it, in the table's order; a struct is followed by its fields, named by
    # the parts down to them.
    columns: Mapping[Name, str]
    location: str | None = None  # the table's location, as DuckDB's ``iceberg_scan`` takes it

    def is_named(self, parts: Sequence[str], namespace: Sequence[str] = ()) -> bool:
        """Return whether a name in a query is the table's.

        The catalog does not count, because each engine has its own name for it. Spark's names of branches and tags,
        such as ``db.t.branch_x``, are the table's.
        """
        given = self._given(parts, namespace)
        shared = min(len(given), len(self._own))
        return bool(given) and given[-shared:] == self._own[-shared:]

    def catalog_of(self, parts: Sequence[str], namespace: Sequence[str] = ()) -> str | None:
        """Return what a query calls the table's catalog, in small letters; None if the name is another or has none.

        Examples
        --------
        >>> table = ScannedTable(("db", "t"), {})
        >>> [table.catalog_of(name, ("hive", "db")) for name in (("Lake", "db", "t"), ("t",), ("lake", "db", "u"))]
        ['lake', 'hive', None]
        """
        given = self._given(with_namespace(parts, namespace, len(self._own) - 1), ())
        return given[-len(self._own) - 1] if len(given) > len(self._own) and self.is_named(given) else None

    def _given(self, parts: Sequence[str], namespace: Sequence[str]) -> Name:
        given = tuple(part.lower() for part in parts)
        if len(given) > 1 and given[-1].startswith(("branch_", "tag_")):
            given = given[:-1]
        return (*(part.lower() for part in namespace), *given) if len(given) < len(self._own) else given

    def is_at(self, path: str) -> bool:
        """Return whether a path is that of the table, or of its metadata."""
        if self.location is None:
            return False
        own, given = (_without_scheme(each) for each in (self.location, path))
        return given == own or given.startswith(f"{own}/metadata/")

    def column(self, name: Sequence[str]) -> tuple[Name, str] | None:
        """Return the name and the type of a column; the case of the name does not count."""
        exact = tuple(name)
        if exact in self.columns:
            return exact, self.columns[exact]
        found = self._by_lower.get(tuple(part.lower() for part in name))
        return None if found is None else (found, self.columns[found])

    @cached_property
    def top_level(self) -> tuple[str, ...]:
        """The names of its columns, in small letters."""
        return tuple(name[0].lower() for name in self.columns if len(name) == 1)

    @cached_property
    def _own(self) -> tuple[str, ...]:
        return tuple(part.lower() for part in self.identifier)

    @cached_property
    def _by_lower(self) -> dict[Name, Name]:
        return {tuple(part.lower() for part in name): name for name in self.columns}


@dataclass(frozen=True)
class Scan:
    """A scan of the table."""

    node: exp.Table  # the table in the qualified statement
    # Conditions that its rows have to meet, qualified by the names of the scope's sources.
    facts: tuple[exp.Expr, ...]
    # By the id of a fact that is a join, why the keys of its dimension are not known.
    unknown_keys: Mapping[int, str] = field(default_factory=dict)


def with_namespace(name: Sequence[str], namespace: Sequence[str], levels: int) -> Name:
    """Return a name with the namespace that a query uses, or with its catalog; a catalog's namespaces have ``levels``.

    Examples
    --------
    >>> [with_namespace(name, ("hive", "db"), 1) for name in (("t",), ("public", "t"), ("lake", "public", "t"))]
    [('hive', 'db', 't'), ('hive', 'public', 't'), ('lake', 'public', 't')]
    """
    if len(name) == 1:
        return (*namespace, *name)
    catalog = namespace[:-levels] if len(name) == levels + 1 else ()
    return (*catalog, *name)


def _without_scheme(path: str) -> str:
    rest = path.partition("://")[2] or path.partition(":")[2] or path
    return rest.strip("/").lower() if path.startswith("file:") or "://" not in path else rest.rstrip("/").lower()
