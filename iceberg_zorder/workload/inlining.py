"""A statement's CTEs and views in their places, and the tables that it reads, by names that no statement can write."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect

from iceberg_zorder.rewrite.predicate import MOST_NODES, TooLargeError
from iceberg_zorder.workload.dimension_keys import KeyLookup
from iceberg_zorder.workload.nodes import (
    HALF_JOINS,
    MOVED,
    ORIGIN,
    OWN_TABLE,
    SHARED_NAMES,
    columns_in,
    conjuncts,
    sql_of,
)
from iceberg_zorder.workload.scanned_table import ScannedTable

_MOST_COPIED, _MOST_WORK = 10 * MOST_NODES, 2_000_000
"""Most nodes in the copies of CTEs and views, and most nodes times tables and SELECTs: each condition is looked at for
each table. A statement at a limit takes up to 20 s. Real ones stay below 100 tables and 10,000 nodes."""


@dataclass(frozen=True)
class View:
    """A query that has a name."""

    query: exp.Query
    columns: tuple[str, ...] = ()  # names of its columns, if the view lists them


class Inliner:
    """Replaces names of CTEs and views by their queries, and those of known tables by keys of ``tables``.

    All other names become lower case.
    """

    def __init__(
        self,
        table: ScannedTable,
        dialect: Dialect,
        views: Callable[[Sequence[str]], View | None],
        namespace: Sequence[str],
        lookup: KeyLookup | None,
    ) -> None:
        self._table = table
        self._dialect = dialect
        self._views = views
        self._namespace = namespace
        self._lookup = lookup
        self._copied = 0
        self.tables: dict[str, ScannedTable] = {}
        self.has_others = False

    def inlined(self, query: exp.Query) -> exp.Query:
        """Return a query with all of that done; raises TooLargeError."""
        root = exp.Subquery(this=query)
        self._inline(root, {}, ())
        nodes = list(root.walk())
        if len(nodes) * sum(isinstance(each, exp.Select | exp.Table) for each in nodes) > _MOST_WORK:
            raise TooLargeError(f"its parts times its tables and SELECTs are more than {_MOST_WORK:,}")
        for each in nodes:
            if isinstance(each, exp.Identifier):
                each.set("this", each.name.lower())
                each.set("quoted", True)
        inlined_query = root.unnest()
        inlined_query.pop()
        assert isinstance(inlined_query, exp.Query)  # noqa: S101 - what is inside a subquery
        return inlined_query

    def _inline(self, node: exp.Expr, names: Mapping[str, View], inside: tuple[int, ...]) -> None:
        with_ = node.args.get("with_")
        if with_ is not None:
            names = self._with_ctes(with_, names, inside)
            node.set("with_", with_ if with_.args.get("recursive") else None)
        self._note_origins(node)
        # Conditions may be deep, so that only queries are gone through recursively.
        ends = (exp.Table, exp.Query, exp.With, exp.Join)
        for child in list(node.walk(prune=lambda each: each is not node and isinstance(each, ends))):
            if isinstance(child, exp.Table) and child is not node:
                self._replace(child, names, inside)
            elif isinstance(child, exp.Query | exp.Join) and child is not node:
                self._inline(child, names, inside)

    def _with_ctes(self, with_: exp.With, names: Mapping[str, View], inside: tuple[int, ...]) -> dict[str, View]:
        known = dict(names)
        if with_.args.get("recursive"):
            known |= {cte.alias.lower(): _ITSELF for cte in with_.expressions}
        for cte in with_.expressions:
            self._inline(cte.this, known, inside)
            if not with_.args.get("recursive"):
                columns = tuple(each.name for each in cte.args["alias"].columns)
                known[cte.alias.lower()] = View(cte.this, columns)
        return known

    def _note_origins(self, node: exp.Expr) -> None:
        conditions = [*conjuncts(node.args.get("on"))] if isinstance(node, exp.Join) else []
        if isinstance(node, exp.Join) and f"HALF {node.kind}" in HALF_JOINS:
            node.set("kind", f"HALF {node.kind}")
            node.set("side", None)
        if isinstance(node, exp.Select):
            _note_shared_names(node)
            where, having = (node.args.get(key) for key in ("where", "having"))
            conditions = [*conjuncts(where.this if where is not None else None)]
            aliases = {each.alias.lower() for each in node.expressions if each.alias and each.alias != each.this.name}
            for each in conjuncts(having.this if having is not None else None):
                # Dialects differ in whether a name that is a column and an alias is the one or the other.
                if not any(column.name.lower() in aliases for column in columns_in(each)):
                    conditions.append(each)
        for each in conditions:
            each.meta.setdefault(ORIGIN, sql_of(each, self._dialect))

    def _replace(self, node: exp.Table, names: Mapping[str, View], inside: tuple[int, ...]) -> None:
        self._inline(node, names, inside)
        is_named = all(isinstance(part, exp.Identifier) for part in node.parts)
        parts = [part.name for part in node.parts] if is_named else []
        view = names.get(parts[0].lower()) if len(parts) == 1 else None
        if view is _ITSELF:
            return
        if view is None and self._is_own(node, parts):
            self.tables[OWN_TABLE] = self._table
            _rename(node, parts[-1] if parts else self._table.identifier[-1], OWN_TABLE)
            return
        view = view or self._view(parts, inside)
        if view is not None:
            self._copied += sum(1 for _ in view.query.walk())
            if self._copied > _MOST_COPIED:
                raise TooLargeError(f"its CTEs and views in place have more than {_MOST_COPIED:,} parts")
            node.replace(_subquery(node, view))
            return
        dimension = self._lookup.find(tuple(parts)) if self._lookup is not None and parts else None
        if dimension is None:
            self.has_others = True
            return
        name = f"TABLE {dimension.identifier}"
        self.tables[name] = dimension
        _rename(node, parts[-1], name)

    def _view(self, parts: Sequence[str], inside: tuple[int, ...]) -> View | None:
        view = self._views(parts) if parts else None
        if view is None or id(view.query) in inside:
            return None
        holder = exp.Subquery(this=view.query.copy())
        self._inline(holder, {}, (*inside, id(view.query)))
        return View(holder.this, view.columns)

    def _is_own(self, node: exp.Table, parts: Sequence[str]) -> bool:
        function = node.this
        if isinstance(function, exp.Anonymous) and function.name.lower() == "iceberg_scan" and function.expressions:
            path = function.expressions[0]
            return isinstance(path, exp.Literal) and self._table.is_at(path.name)
        return self._table.is_named(parts, self._namespace)


def _note_shared_names(select: exp.Select) -> None:
    """Mark joins by USING and NATURAL behind an outer join: their names stand for a column of either side."""
    has_outer = False
    for join in select.args.get("joins") or ():
        if has_outer and (join.args.get("using") or join.method):
            join.meta[SHARED_NAMES] = True
        has_outer = has_outer or join.side in ("LEFT", "RIGHT", "FULL")


def _rename(node: exp.Table, alias: str, name: str) -> None:
    if not node.alias:
        node.set("alias", exp.TableAlias(this=exp.to_identifier(alias)))
    for key in ("db", "catalog"):
        node.set(key, None)
    # No statement has such a name, because it is no identifier.
    node.set("this", exp.var(name))


def _subquery(node: exp.Table, view: View) -> exp.Subquery:
    alias = node.args.get("alias")
    columns = [each.copy() for each in alias.columns] if alias is not None else []
    columns = columns or [exp.to_identifier(each) for each in view.columns]
    given = exp.TableAlias(this=exp.to_identifier(node.alias or node.name), columns=columns)
    subquery = exp.Subquery(this=view.query.copy(), alias=given)
    for key in MOVED:
        if node.args.get(key):
            subquery.set(key, node.args[key])
    return subquery


_ITSELF = View(exp.Select())
