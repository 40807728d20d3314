"""Builds the relations of a query: what stands in its FROM."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import count

from sqlglot import exp

from iceberg_zorder.workload.scanned_table import ScannedTable
from iceberg_zorder.workload.scans.names import Names
from iceberg_zorder.workload.scans.relations import (
    Definition,
    Environment,
    Fact,
    Join,
    Relation,
    Source,
    join_kind,
    joins,
    leaves,
)

ColumnsOf = Callable[[exp.Expr, Environment, bool], tuple[str, ...] | None]


class Sources:
    """Makes sources and joins, each source with a number of its own.

    Parameters
    ----------
    table : ScannedTable
        The table.
    namespace : sequence of str
        Where names without a namespace are looked for; empty if that is not known.
    views : callable
        Finds the definition of a view by the parts of its name; None if there is none.
    columns_of : callable
        Finds the columns of a query in an environment, and inside a query or not.
    """

    def __init__(
        self,
        table: ScannedTable,
        namespace: Sequence[str],
        views: Callable[[Sequence[str]], Definition | None],
        columns_of: ColumnsOf,
    ) -> None:
        self._table = table
        self._namespace = namespace
        self._views = views
        self._columns_of = columns_of
        self._numbers = count()

    def of_select(self, select: exp.Select, environment: Environment, *, is_inside: bool) -> Relation:
        """Build what a SELECT reads from; a source without rows of its own if it has no FROM."""
        from_ = select.args.get("from_") or select.args.get("from")
        relation: Relation = (
            self._unknown(select) if from_ is None else self.of(from_.this, environment, is_inside=is_inside)
        )
        relation = self._joined(relation, select.args.get("joins") or (), environment, is_inside=is_inside)
        for lateral in select.args.get("laterals") or ():
            relation = Join(relation, self._unknown(lateral), "inner")
        return relation

    def of(self, node: exp.Expr, environment: Environment, *, is_inside: bool) -> Relation:
        """Build what a part of FROM is."""
        if isinstance(node, exp.Final):
            return self.of(node.this, environment, is_inside=is_inside)
        if isinstance(node, exp.Table):
            relation: Relation = self._of_table(node, environment, is_inside=is_inside)
        elif isinstance(node, exp.Subquery) and isinstance(node.this, exp.Table | exp.Subquery) and not node.alias:
            relation = self.of(node.this, environment, is_inside=is_inside)
        elif isinstance(node, exp.Query) and not isinstance(node, exp.Values):
            relation = self._of_query(node, environment, is_inside=is_inside)
        elif isinstance(node, exp.Lateral) and isinstance(node.this, exp.Query):
            relation = self._of_query(node, environment, is_inside=True)
        else:
            relation = self._unknown(node)
        return self._joined(relation, node.args.get("joins") or (), environment, is_inside=is_inside)

    def joined(self, left: Relation, right: Relation, kind: str, on: exp.Expr | None, *, is_inside: bool) -> Join:
        """Join two sides by a condition."""
        join = Join(left, right, kind)
        if isinstance(on, exp.Expr):  # MERGE has a flag for USING there
            names = Names(
                [*leaves(left, visible=True), *leaves(right, visible=True)], list(joins(left)), is_inside=is_inside
            )
            join.on = [Fact(names.resolve(each), each) for each in conjuncts(on)]
        return join

    def _joined(
        self, relation: Relation, found: Sequence[exp.Join], environment: Environment, *, is_inside: bool
    ) -> Relation:
        for each in found:
            right = self.of(each.this, environment, is_inside=is_inside)
            join = self.joined(relation, right, join_kind(each), each.args.get("on"), is_inside=is_inside)
            join.is_natural = str(each.args.get("method") or "").upper() == "NATURAL"
            self._use(join, [column.name.lower() for column in each.args.get("using") or ()])
            relation = join
        return relation

    def _use(self, join: Join, columns: Sequence[str]) -> None:
        """Note the columns of USING."""
        before = Names(list(leaves(join.left, visible=True)), list(joins(join.left)))
        after = Names(list(leaves(join.right, visible=True)), list(joins(join.right)))
        for name in columns:
            left, right = before.find([name]), after.find([name])
            if left is not None and right is not None:
                equal = exp.EQ(this=left.copy(), expression=right.copy())
                join.on.append(Fact(equal, exp.Var(this=f"USING ({name})")))
            chosen = {"right": right, "full": None, "other": None}.get(join.kind, left)
            join.using[name] = chosen if chosen is not None or join.kind != "inner" else right

    def _of_table(self, node: exp.Table, environment: Environment, *, is_inside: bool) -> Source:
        alias = node.args.get("alias")
        parts = (
            [part.name for part in node.parts] if all(isinstance(part, exp.Identifier) for part in node.parts) else []
        )
        names = _names_of(node, parts)
        is_blocked = any(node.args.get(key) for key in ("pivots", "sample", "changes", "match"))
        found = Source(next(self._numbers), names, node, is_blocked=is_blocked)
        definition = environment.names.get(parts[0].lower()) if len(parts) == 1 else None
        definition = definition or (self._views(parts) if parts and not self._is_table(parts) else None)
        if definition is not None:
            found.definition = definition
            if definition.query is not None and not definition.is_recursive:
                inner = self._columns_of(definition.query, definition.environment, is_inside)
                found.columns = renamed(inner, definition.columns)
            else:
                found.columns = definition.columns or None
        elif self._is_table(parts) or self._is_scan_of_path(node):
            found.is_scan, found.columns, found.structs = True, self._table.top_level, self._table.structs
        if is_blocked:
            found.columns = None
        given = tuple(each.name.lower() for each in alias.columns) if alias is not None else ()
        if given and found.columns != given:
            found.columns, found.is_renamed = renamed(found.columns, given), True
        return found

    def _of_query(self, node: exp.Expr, environment: Environment, *, is_inside: bool) -> Source:
        alias = node.args.get("alias")
        query = node.this if isinstance(node, exp.Lateral) else node
        given = tuple(each.name.lower() for each in alias.columns) if isinstance(alias, exp.TableAlias) else ()
        found = Source(next(self._numbers), _names_of(node, []), node)
        found.definition = Definition(query, given, environment)
        found.is_blocked = bool(node.args.get("pivots") or node.args.get("sample"))
        inner = self._columns_of(query, environment, is_inside)
        found.columns = None if found.is_blocked else renamed(inner, given)
        return found

    def _unknown(self, node: exp.Expr) -> Source:
        alias = node.args.get("alias")
        columns = tuple(each.name.lower() for each in alias.columns) if isinstance(alias, exp.TableAlias) else ()
        is_empty = isinstance(node, exp.Select)
        return Source(next(self._numbers), _names_of(node, []), node, () if is_empty else columns or None)

    def _is_table(self, parts: Sequence[str]) -> bool:
        return self._table.is_named(parts, self._namespace)

    def _is_scan_of_path(self, node: exp.Table) -> bool:
        function = node.this
        if (
            not isinstance(function, exp.Anonymous)
            or function.name.lower() != "iceberg_scan"
            or not function.expressions
        ):
            return False
        path = function.expressions[0]
        return isinstance(path, exp.Literal) and self._table.is_at(path.name)


def conjuncts(condition: exp.Expr) -> Iterator[exp.Expr]:
    """Split a condition at AND."""
    condition = condition.unnest()
    if isinstance(condition, exp.And):
        for each in condition.flatten():
            yield from conjuncts(each)
    else:
        yield condition


def renamed(columns: tuple[str, ...] | None, given: tuple[str, ...]) -> tuple[str, ...] | None:
    """Give columns other names, the first ones first.

    Examples
    --------
    >>> renamed(("a", "b"), ("x",))
    ('x', 'b')
    """
    return given or None if columns is None else (*given, *columns[len(given) :])


def _names_of(node: exp.Expr, parts: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    alias = node.alias
    if alias:
        return ((alias.lower(),),)
    lower = tuple(part.lower() for part in parts)
    return tuple(lower[place:] for place in range(len(lower)))
