"""The scans of a table in a statement, and the conditions that their rows have to meet, from sqlglot's scopes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.dialects.oracle import Oracle
from sqlglot.dialects.tsql import TSQL
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.qualify_columns import qualify_columns
from sqlglot.optimizer.qualify_tables import qualify_tables
from sqlglot.optimizer.scope import Scope, build_scope, traverse_scope
from sqlglot.schema import MappingSchema

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.rewrite.predicate import MOST_NODES, TooLargeError
from iceberg_zorder.workload.constants import TRUNCATIONS
from iceberg_zorder.workload.nodes import ORIGIN, UNKNOWN_KEYS, columns_in, sql_of
from iceberg_zorder.workload.scanned_table import ScannedTable

_TABLE = "\ue000"
"""The table's name in a statement, whatever the statement calls it."""
_UNKNOWN = "\ue001"
_DIMENSION = "\ue002"
"""How the names of other known tables begin."""
_MOST_COPIED, _MOST_WORK = 10 * MOST_NODES, 2_000_000
"""Most nodes in the copies of CTEs and views, and most nodes times tables and SELECTs: each condition is looked at for
each table. A statement at a limit takes up to 20 s. Real ones stay below 100 tables and 10,000 nodes."""
_MOVED = ("joins", "laterals", "pivots", "sample")
_HALF, _HALF_JOIN = ("SEMI", "ANTI"), "half"
_SHARED_NAMES = "shared names"
_WEEKS_FROM_SUNDAY = {(Oracle, "DAY"), (TSQL, "WEEK")}
_PLAIN = "plain"
_AT_ANOTHER_TIME = ("changes", "when", "version")
_ONE_TABLE = ("with_", "joins", "laterals", "group", "having", "qualify")
_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between, exp.Like)


@dataclass(frozen=True)
class View:
    """A query that has a name.

    Parameters
    ----------
    query : sqlglot.exp.Query
        The query.
    columns : tuple of str, optional
        Names of its columns, if the view lists them.
    """

    query: exp.Query
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class Scan:
    """A scan of the table.

    Parameters
    ----------
    node : sqlglot.exp.Table
        The table in the qualified statement.
    facts : tuple of sqlglot.exp.Expr
        Conditions that its rows have to meet, qualified by the names of the scope's sources.
    """

    node: exp.Table
    facts: tuple[exp.Expr, ...]


class Lookup(Protocol):
    """Looks up the keys by which a table is joined."""

    def find(self, name: tuple[str, ...]) -> ScannedTable | None:
        """Return another table by its name in the statement; None if it is not known."""

    def condition(
        self, dimension: ScannedTable, scan: Scan, key: str, column: exp.Column, kind: str | None
    ) -> tuple[exp.Expr, bool] | str | None:
        """Return the condition on a column that equals a dimension's key, and whether it has all facts of its scan."""


@dataclass(frozen=True)
class _Joins:
    """The table, and the dimensions of a statement by the names that the inliner gave them."""

    lookup: Lookup
    table: ScannedTable
    dimensions: Mapping[str, ScannedTable]


def find_scans(
    statement: exp.Expr,
    table: ScannedTable,
    dialect: Dialect,
    views: Callable[[Sequence[str]], View | None] = lambda _: None,
    namespace: Sequence[str] = (),
    lookup: Lookup | None = None,
) -> list[Scan]:
    """Return the scans of a table in a statement; with a lookup, keys of joined dimensions are conditions, too.

    Examples
    --------
    >>> import sqlglot
    >>> table, dialect = ScannedTable(("db", "t"), {("a",): "long"}), Dialect.get_or_raise(None)
    >>> statement = sqlglot.parse_one("SELECT * FROM u LEFT JOIN t ON t.k = u.k AND t.a = 1 WHERE u.b = 2")
    >>> (scan,) = find_scans(statement, table, dialect)
    >>> [fact.meta["origin"] for fact in scan.facts]
    ['u.b = 2', 't.k = u.k', 't.a = 1']
    """
    statement = statement.copy()
    for node in statement.walk():
        if isinstance(node, exp.Select | exp.Table) and (node.args.get("connect") or node.args.get("match")):
            raise InvalidInputError("it has CONNECT BY or MATCH_RECOGNIZE")
        if isinstance(node, TRUNCATIONS) and (type(dialect), node.text("unit").upper()) in _WEEKS_FROM_SUNDAY:
            node.set("unit", exp.var("WEEK_FROM_SUNDAY"))
        if isinstance(node, exp.Column) and node.args.get("join_mark"):
            raise InvalidInputError("it has (+), write LEFT JOIN")
    inliner = _Inliner(table, dialect, views, namespace, lookup)
    joins = None if lookup is None else _Joins(lookup, table, inliner.dimensions)
    found: list[Scan] = []
    for query in _queries(statement):
        query = inliner.inlined(query)
        if not inliner.tables:
            continue
        columns = {_TABLE: table.top_level}
        columns |= {name: each.top_level for name, each in inliner.dimensions.items()}
        schema: dict[str, object] = {name: dict.fromkeys(each, "unknown") for name, each in columns.items()}
        try:
            query = qualify_tables(query, dialect=dialect)
            query = qualify_columns(
                _placed(query, columns),
                MappingSchema(schema, normalize=False),
                # Next to tables whose columns are not known, a name may be theirs.
                expand_alias_refs=not inliner.has_others,
                allow_partial_qualification=True,
                dialect=dialect,
            )
        except SqlglotError as error:
            raise InvalidInputError(f"its names cannot be resolved: {str(error).partition('.')[0]}") from error
        scope = build_scope(query)
        if scope is not None:
            found += _scans(scope, [], joins)
    return found


def catalogs_in(statement: exp.Expr, table: ScannedTable, namespace: Sequence[str]) -> frozenset[str]:
    """Return what a statement calls the catalog of a table that it names, in small letters."""
    names = ([part.name for part in each.parts] for each in statement.find_all(exp.Table))
    return frozenset(found for each in names if (found := table.catalog_of(each, namespace)) is not None)


def qualified_condition(condition: exp.Expr, table: ScannedTable, dialect: Dialect) -> Scan:
    """Return a bare condition as a scan; raises as ``find_scans``."""
    *namespace, name = table.identifier
    query = exp.select("*").from_(exp.Table(this=exp.to_identifier(name))).where(condition, copy=False)
    (scan,) = find_scans(query, table, dialect, namespace=namespace)
    return scan


def conjuncts(condition: exp.Expr | None) -> Iterator[exp.Expr]:
    """Split a condition at AND."""
    if condition is None:
        return
    condition = condition.unnest()
    if isinstance(condition, exp.And):
        for each in condition.flatten():
            yield from conjuncts(each)
    else:
        yield condition


def _queries(statement: exp.Expr) -> Iterator[exp.Query]:
    """Return what a statement reads, as queries."""
    with_ = statement.args.get("with_")
    if isinstance(statement, exp.Query):
        yield statement
        return
    query: exp.Select | None = None
    if isinstance(statement, exp.Merge):
        whens = statement.args["whens"].expressions
        keeps_source = any(not each.args.get("matched") and not each.args.get("source") for each in whens)
        keeps_target = any(not each.args.get("matched") and each.args.get("source") for each in whens)
        side = {(True, True): "FULL", (True, False): "RIGHT", (False, True): "LEFT"}.get((keeps_source, keeps_target))
        join = exp.Join(this=statement.args["using"], side=side)
        if isinstance(statement.args.get("on"), exp.Expr):
            join.set("on", statement.args["on"])
        query = exp.select().from_(statement.this, copy=False)
        query.set("joins", [join])
        asked: list[exp.Expr] = whens
    elif isinstance(statement, exp.Update | exp.Delete):
        # BigQuery's DELETE does without FROM.
        query = exp.select().from_(statement.this or statement.args["tables"][0], copy=False)
        from_ = statement.args.get("from_")
        using = statement.args.get("using") or ([from_.this] if from_ is not None else [])
        target = query.args["from_"].this
        joins = target.args.get("joins") or []
        target.set("joins", None)
        query.set("joins", [*joins, *(exp.Join(this=each) for each in using if isinstance(using, list))])
        query.set("where", statement.args.get("where"))
        asked = statement.expressions
    if query is not None:
        query.set(
            "expressions", [exp.Subquery(this=each) for node in asked for each in _outermost(node)] or [exp.Star()]
        )
        query.set("with_", with_)
        yield query
        return
    for found in _outermost(statement):
        if with_ is not None and found.args.get("with_") is None:
            found.set("with_", with_.copy())
        yield found


def _outermost(statement: exp.Expr) -> list[exp.Query]:
    found = statement.walk(prune=lambda each: isinstance(each, exp.Query | exp.With))
    return [each.copy() for each in found if isinstance(each, exp.Query)]


class _Inliner:
    """Replaces names of CTEs and views by their queries, and the table's by one of its own; names are lower case."""

    def __init__(
        self,
        table: ScannedTable,
        dialect: Dialect,
        views: Callable[[Sequence[str]], View | None],
        namespace: Sequence[str],
        lookup: Lookup | None,
    ) -> None:
        self._table = table
        self._dialect = dialect
        self._views = views
        self._namespace = namespace
        self._lookup = lookup
        self._copied = 0
        self.dimensions: dict[str, ScannedTable] = {}
        self.tables = 0
        self.has_others = False

    def inlined(self, query: exp.Query) -> exp.Query:
        root = exp.Subquery(this=query)
        self._inline(root, {}, ())
        nodes = list(root.walk())
        if len(nodes) * sum(isinstance(each, exp.Select | exp.Table) for each in nodes) > _MOST_WORK:
            raise TooLargeError(f"its parts times its tables and SELECTs are more than {_MOST_WORK:,}")
        for each in nodes:
            if isinstance(each, exp.Identifier):
                each.set("this", each.name.lower())
                each.set("quoted", True)
        found = root.unnest()
        found.pop()
        assert isinstance(found, exp.Query)  # noqa: S101 - what is inside a subquery
        return found

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
        conditions = [node.args.get("on")] if isinstance(node, exp.Join) else []
        if isinstance(node, exp.Join) and node.kind in _HALF:
            # Scopes leave out the right sides of these.
            node.meta[_HALF_JOIN] = node.kind
            node.set("kind", None)
            node.set("side", None)
        if isinstance(node, exp.Select):
            _note_shared_names(node)
            conditions = [node.args[key].this for key in ("where", "having") if node.args.get(key) is not None]
        for condition in conditions:
            for each in conjuncts(condition):
                each.meta.setdefault(ORIGIN, sql_of(each, self._dialect))
        having = node.args.get("having")
        aliases = {each.alias.lower() for each in node.expressions if each.alias and each.alias != each.this.name}
        for each in conjuncts(having.this) if having is not None else ():
            # Dialects differ in whether a name that is a column and an alias is the one or the other.
            each.meta[_PLAIN] = not any(column.name.lower() in aliases for column in columns_in(each))

    def _replace(self, node: exp.Table, names: Mapping[str, View], inside: tuple[int, ...]) -> None:
        self._inline(node, names, inside)
        is_named = all(isinstance(part, exp.Identifier) for part in node.parts)
        parts = [part.name for part in node.parts] if is_named else []
        view = names.get(parts[0].lower()) if len(parts) == 1 else None
        if view is _ITSELF:
            return
        if view is None and self._is_own(node, parts):
            self.tables += 1
            _rename(node, parts[-1] if parts else self._table.identifier[-1], _TABLE)
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
        else:
            # Names of the tree are in small letters; of two that differ by them, the first is known.
            name = f"{_DIMENSION}{'.'.join(dimension.identifier)}".lower()
            if self.dimensions.setdefault(name, dimension).identifier != dimension.identifier:
                self.has_others = True
                return
            _rename(node, parts[-1], name)

    def _view(self, parts: Sequence[str], inside: tuple[int, ...]) -> View | None:
        found = self._views(parts) if parts else None
        if found is None or id(found.query) in inside:
            return None
        holder = exp.Subquery(this=found.query.copy())
        self._inline(holder, {}, (*inside, id(found.query)))
        return View(holder.this, found.columns)

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
            join.meta[_SHARED_NAMES] = True
        has_outer = has_outer or join.side in ("LEFT", "RIGHT", "FULL")


def _rename(node: exp.Table, alias: str, name: str) -> None:
    if not node.alias:
        node.set("alias", exp.TableAlias(this=exp.to_identifier(alias)))
    for key in ("db", "catalog"):
        node.set(key, None)
    node.set("this", exp.to_identifier(name))


def _subquery(node: exp.Table, view: View) -> exp.Subquery:
    alias = node.args.get("alias")
    columns = [each.copy() for each in alias.columns] if alias is not None else []
    columns = columns or [exp.to_identifier(each) for each in view.columns]
    given = exp.TableAlias(this=exp.to_identifier(node.alias or node.name), columns=columns)
    found = exp.Subquery(this=view.query.copy(), alias=given)
    for key in _MOVED:
        if node.args.get(key):
            found.set(key, node.args[key])
    return found


def _placed(query: exp.Query, columns: Mapping[str, Sequence[str]]) -> exp.Query:
    """Name the sources of columns in subqueries, because sqlglot cannot without the columns of all tables."""
    for scope in traverse_scope(query):
        if not scope.can_be_correlated:
            continue
        for column in scope.unqualified_columns:
            known = [
                name for name, (_, source) in scope.selected_sources.items() if column.name in _names(source, columns)
            ]
            if len(known) < 2:
                column.set("table", exp.to_identifier(known[0] if known else _UNKNOWN, quoted=True))
    return query


def _names(source: exp.Table | Scope, columns: Mapping[str, Sequence[str]]) -> Sequence[str]:
    if isinstance(source, Scope):
        query = source.expression
        return query.named_selects if isinstance(query, exp.Query) else ()
    return columns.get(source.name, ())


_ITSELF = View(exp.Select())


def _scans(scope: Scope, above: list[exp.Expr], joins: _Joins | None) -> Iterator[Scan]:
    """Yield the scans of a scope; its rows must also meet the conditions ``above`` on its sources."""
    query = scope.expression
    for each in scope.set_operation_scopes:
        yield from _scans(each, [], joins)
    sources = scope.selected_sources.items() if isinstance(query, exp.Select) else ()
    facts_of = _facts(query, above) if isinstance(query, exp.Select) else {}
    for name, (node, source) in sources:
        if isinstance(source, exp.Table) and source.name != _TABLE:
            continue
        is_blocked = any(node.args.get(key) for key in ("pivots", "sample", "changes"))
        facts = _with_equal(facts_of.get(name, []), name) if not is_blocked else []
        if joins is not None and isinstance(query, exp.Select):
            facts = _with_keys(query, name, facts, joins)
        if isinstance(source, exp.Table):
            alias = source.args.get("alias")
            yield Scan(source, () if alias is not None and alias.columns else tuple(facts))
        elif not source.is_cte:
            yield from _pushed(source, name, facts, joins)
    for each in (*scope.cte_scopes, *scope.subquery_scopes):
        yield from _scans(each, [], joins)


def _pushed(scope: Scope, name: str, facts: Sequence[exp.Expr], joins: _Joins | None) -> Iterator[Scan]:
    """Yield the scans of a derived table, whose rows must meet conditions on its columns."""
    own = [
        each for each in facts if not each.find(exp.Query) and {column.table for column in columns_in(each)} == {name}
    ]
    query = scope.expression
    names = [each.alias_or_name for each in _leftmost(query).expressions]
    yield from _into(scope, names, own, joins)


def _into(scope: Scope, names: Sequence[str], facts: Sequence[exp.Expr], joins: _Joins | None) -> Iterator[Scan]:
    query: exp.Expr | None = scope.expression
    while query is not None and (query is scope.expression or isinstance(query, exp.Subquery)):
        if _is_cut(query):
            facts = []
        query = query.parent
    query = scope.expression
    if isinstance(query, exp.SetOperation) and scope.set_operation_scopes:
        is_known = not any(each.is_star for each in query.find_all(exp.Select)) and not query.args.get("by_name")
        for each in (*scope.cte_scopes, *scope.subquery_scopes):
            yield from _scans(each, [], joins)
        for each in scope.set_operation_scopes:
            yield from _into(each, names, facts if is_known else [], joins)
        return
    found = []
    if isinstance(query, exp.Select) and not any(_HALF_JOIN in each.meta for each in query.args.get("joins") or ()):
        values = [each.unalias() for each in query.expressions]
        by_name = {
            name: value
            for name, value in zip(names, values, strict=False)
            if name and names.count(name) == 1 and not value.is_star
        }
        keys = _keys(query)
        for fact in facts:
            columns = {each.name for each in columns_in(fact)}
            if all(each in by_name and _is_of(by_name[each], keys) for each in columns):
                found.append(_with_values(fact, by_name))
    yield from _scans(scope, found, joins)


def _with_values(fact: exp.Expr, values: Mapping[str, exp.Expr]) -> exp.Expr:
    root = exp.Paren(this=fact.copy())
    for column in list(columns_in(root)):
        value = values[column.name]
        column.replace(value.copy() if isinstance(value, exp.Column) else exp.Paren(this=value.copy()))
    found: exp.Expr = root.this
    found.pop()
    return found


def _leftmost(query: exp.Expr) -> exp.Expr:
    while isinstance(query, exp.SetOperation | exp.Subquery):
        query = query.this
    return query


def _is_cut(query: exp.Expr) -> bool:
    """Return whether a query keeps only some rows, and the choice depends on all rows, as with LIMIT."""
    distinct = query.args.get("distinct")
    is_first = isinstance(distinct, exp.Distinct) and distinct.args.get("on") is not None
    if is_first or any(query.args.get(key) for key in ("limit", "offset", "sample", "pivots")):
        return True
    # Queries inside are asked for themselves.
    own = query.walk(prune=lambda each: each is not query and isinstance(each, exp.Query))
    return any(isinstance(each, exp.Column) and each.name.lower() == "rownum" for each in own)


def _keys(select: exp.Select) -> list[list[exp.Expr]]:
    """Return the expressions of GROUP BY and of PARTITION BY: conditions on these keep or drop whole groups."""
    found = []
    group = select.args.get("group")
    if group is not None:
        is_plain = not any(value for key, value in group.args.items() if key != "expressions")
        found.append(list(group.expressions) if is_plain else [])
    elif any(_aggregates(each) for each in (*select.expressions, select.args.get("having")) if each is not None):
        found.append([])
    # A named window's partitions stand elsewhere, so that none are known.
    found += [list(each.args.get("partition_by") or ()) for each in select.find_all(exp.Window)]
    return found


def _aggregates(node: exp.Expr) -> bool:
    found = node.walk(prune=lambda each: isinstance(each, exp.Query | exp.Window))
    return any(isinstance(each, exp.AggFunc | exp.AnonymousAggFunc) for each in found)


def _is_of(value: exp.Expr, keys: Sequence[Sequence[exp.Expr]]) -> bool:
    """Return whether a value is equal in all rows of a group, and is known before grouping."""
    if value.find(exp.Query, exp.AggFunc, exp.Window):
        return False
    return all(any(_is_same(value, key) for key in each) for each in keys)


def _is_same(one: exp.Expr, other: exp.Expr) -> bool:
    if isinstance(one, exp.Column) and isinstance(other, exp.Column):
        return (one.table, one.name) == (other.table, other.name)
    return one == other


def _facts(select: exp.Select, above: Sequence[exp.Expr]) -> dict[str, list[exp.Expr]]:
    """Return the conditions that the rows of each source must meet to be in the result."""
    from_ = select.args.get("from_")
    joins = select.args.get("joins") or []
    if from_ is None or any(each.this.args.get("joins") for each in (from_, *joins)):
        return {}
    facts = list(above)
    for key in ("where", "prewhere"):
        facts += conjuncts(select.args[key].this) if select.args.get(key) is not None else []
    having = select.args.get("having")
    keys = _keys(select)[:1] if select.args.get("group") is not None else [[]]
    for each in conjuncts(having.this) if having is not None else ():
        columns = list(columns_in(each)) if each.meta.get(_PLAIN) else []
        if columns and not each.find(exp.AggFunc) and all(_is_of(column, keys) for column in columns):
            facts.append(each)
    before = {from_.alias_or_name, *(each.alias_or_name for each in joins)}
    found: dict[str, list[exp.Expr]] = {}
    for join in reversed(joins):
        right = join.alias_or_name
        before.discard(right)
        rights, facts = _split(join, facts, before, right)
        found.setdefault(right, rights)
    found.setdefault(from_.alias_or_name, facts)
    return found


def _split(join: exp.Join, facts: list[exp.Expr], lefts: set[str], right: str) -> tuple[list[exp.Expr], list[exp.Expr]]:
    """Return the conditions on the rows of a join's right side, and of its left side."""
    method, side, kind = (str(join.args.get(key) or "").upper() for key in ("method", "side", "kind"))
    on = [] if _SHARED_NAMES in join.meta else list(conjuncts(join.args.get("on")))
    if method or (kind not in ("", "INNER", "CROSS", "OUTER")) or join.args.get("using"):
        return [], facts if method == "ASOF" and side in ("", "LEFT") else []
    half = join.meta.get(_HALF_JOIN)
    if half is not None:
        return on, facts + (on if half == "SEMI" else [])
    if isinstance(join.this, exp.Lateral):
        return [], facts
    if side in ("LEFT", "FULL") and any(_rejects_nulls(each, {right}) for each in facts):
        side = "" if side == "LEFT" else "RIGHT"
    if side in ("RIGHT", "FULL") and any(_rejects_nulls(each, lefts) for each in facts):
        side = "" if side == "RIGHT" else "LEFT"
    if side == "LEFT":
        return _apart_from(facts, {right}) + on, facts
    if side == "RIGHT":
        return facts, _apart_from(facts, lefts) + on
    return (facts + on, facts + on) if side == "" else ([], [])


def _apart_from(facts: Sequence[exp.Expr], names: set[str]) -> list[exp.Expr]:
    """Return the conditions on sources other than ``names``."""
    return [
        each
        for each in facts
        if not each.find(exp.Query) and not {column.table for column in columns_in(each)} & (names | {""})
    ]


def _rejects_nulls(condition: exp.Expr, names: set[str]) -> bool:
    """Return whether a condition is never true if all columns of the sources are NULL; False if unknown."""
    condition = condition.unnest()
    if isinstance(condition, exp.And | exp.Or):
        parts = [_rejects_nulls(each, names) for each in condition.flatten()]
        return any(parts) if isinstance(condition, exp.And) else all(parts)
    if isinstance(condition, exp.Not):
        inner = condition.this.unnest()
        return (
            isinstance(inner, exp.Is) and isinstance(inner.expression, exp.Null) and _is_of_sources(inner.this, names)
        )
    if isinstance(condition, exp.In):
        return _is_of_sources(condition.this, names)
    if not isinstance(condition, _COMPARISONS) or isinstance(condition.expression, exp.All | exp.Any):
        return False
    sides = [condition.this] if isinstance(condition, exp.Between) else [condition.this, condition.expression]
    return any(_is_of_sources(each, names) for each in sides)


def _is_of_sources(node: exp.Expr | None, names: set[str]) -> bool:
    return isinstance(node, exp.Column) and node.table in names


def _with_equal(facts: list[exp.Expr], name: str) -> list[exp.Expr]:
    """Return the conditions, and those that hold because a column equals a column of another source."""
    sides = [pair for each in facts if isinstance(each, exp.EQ) for pair in _both_ways(each)]
    columns_only = [pair for pair in sides if all(isinstance(side, exp.Column) for side in pair)]
    equal = {
        other: own for own, other in columns_only if _is_of_sources(own, {name}) and not _is_of_sources(other, {name})
    }
    found = list(facts)
    for each in facts if equal else ():
        columns = set(columns_in(each))
        if len(columns) == 1 and columns <= equal.keys() and holds_for_equals(each) and not each.find(exp.Query):
            (column,) = columns
            found.append(_with_values(each, {column.name: equal[column]}))
    return found


def holds_for_equals(condition: exp.Expr) -> bool:
    """Return whether a condition on a column holds for columns that equal it, whatever their types.

    Text may stand for a date beside one column, and for itself beside the other, where the order differs.
    """
    return isinstance(condition, exp.EQ | exp.In) or not any(text.is_string for text in condition.find_all(exp.Literal))


def _with_keys(select: exp.Select, name: str, facts: Sequence[exp.Expr], joins: _Joins) -> list[exp.Expr]:
    """Replace joins with dimensions by their keys; a join stays where keys have only a part of its conditions."""
    if not facts:
        return []
    selected = select.args.get("joins") or ()
    sources = {each.alias_or_name: each for each in (select.args["from_"].this, *(join.this for join in selected))}
    # Conditions of joins before the source are not among its facts, but may be about its dimensions.
    all_of = [*facts, *(each for join in selected for each in conjuncts(join.args.get("on")))]
    found: list[exp.Expr] = []
    for each in facts:
        keys, is_whole = _keys_of(each, name, facts, all_of, sources, joins)
        found += [*([keys] if keys is not None else []), *([] if is_whole else [each])]
    return found


def _keys_of(
    fact: exp.Expr,
    name: str,
    facts: Sequence[exp.Expr],
    all_of: Sequence[exp.Expr],
    sources: Mapping[str, exp.Expr],
    joins: _Joins,
) -> tuple[exp.Expr | None, bool]:
    """Return a join condition's keys, and whether they have all conditions on the dimension.

    Parameters
    ----------
    fact : sqlglot.exp.Expr
        The condition.
    name : str
        The source that is filtered by the keys.
    facts : sequence of sqlglot.exp.Expr
        Conditions that hold; those on the dimension alone select its rows.
    all_of : sequence of sqlglot.exp.Expr
        Those, and all other conditions of the statement's joins.
    sources : mapping of str to sqlglot.exp.Expr
        The sources, by their names.
    joins : _Joins
        The lookup.
    """
    if isinstance(fact, exp.In) and fact.args.get("query") and _is_of_sources(fact.this, {name}):
        kind = _type_of(sources.get(name), fact.this.name, joins)
        return _keys_in(fact.this, kind, fact.args["query"], [], None, joins)
    for own, other in _both_ways(fact) if isinstance(fact, exp.EQ) else ():
        if not _is_of_sources(own, {name}):
            continue
        kind = _type_of(sources.get(name), own.name, joins)
        if isinstance(other, exp.Subquery):
            return _keys_in(own, kind, other, [], None, joins)
        if isinstance(other, exp.Column) and other.table != name and other.table in sources:
            about = [
                each for each in facts if each is not fact and {at.table for at in columns_in(each)} == {other.table}
            ]
            known = {id(each) for each in (fact, *about)}
            keys, is_whole = _keys_in(own, kind, sources[other.table], about, other.name, joins)
            return keys, is_whole and not any(id(each) not in known and _is_about(each, other.table) for each in all_of)
    return None, False


def _is_about(condition: exp.Expr, source: str) -> bool:
    """Return whether a condition names a source, also in its subqueries."""
    return any(column.table == source for column in condition.find_all(exp.Column))


def _type_of(source: exp.Expr | None, name: str, joins: _Joins) -> str | None:
    """Return the Iceberg type of a source's column; None if it is not known."""
    while isinstance(source, exp.Subquery):
        found = _inside(source, (), name)
        if found is None:
            return None
        source, _, name, _ = found
    if not isinstance(source, exp.Table):
        return None
    table = joins.table if source.name == _TABLE else joins.dimensions.get(source.name)
    column = table.column((name,)) if table is not None else None
    return column[1] if column is not None else None


def _keys_in(
    own: exp.Expr,
    kind: str | None,
    source: exp.Expr,
    facts: Sequence[exp.Expr],
    key: str | None,
    joins: _Joins,
) -> tuple[exp.Expr | None, bool]:
    """Return the keys of a table, or of a query of one table; its only column is the key if none is given."""
    is_whole = True
    while isinstance(source, exp.Subquery):
        found = _inside(source, facts, key)
        if found is None:
            return None, False
        source, facts, key, is_whole_inside = found
        is_whole = is_whole and is_whole_inside
    dimension = joins.dimensions.get(source.name)
    if not isinstance(source, exp.Table) or dimension is None or key is None:
        return None, False
    alias = source.args.get("alias")
    # Rows of another time are other rows.
    if (alias is not None and alias.columns) or any(source.args.get(each) for each in (*_MOVED, *_AT_ANOTHER_TIME)):
        return None, False
    known: list[exp.Expr] = []
    for each in facts:
        keys, of_all = (
            _keys_of(each, source.alias_or_name, (), (), {source.alias_or_name: source}, joins)
            if each.find(exp.Query)
            else (each, True)
        )
        known += [keys] if keys is not None else []
        is_whole = is_whole and of_all
    assert isinstance(own, exp.Column)  # noqa: S101 - of a source
    condition = joins.lookup.condition(dimension, Scan(source, tuple(known)), key, own, kind)
    if isinstance(condition, str):
        own.meta[UNKNOWN_KEYS] = condition
        return None, False
    return (None, False) if condition is None else (condition[0], condition[1] and is_whole)


def _inside(
    source: exp.Subquery, facts: Sequence[exp.Expr], key: str | None
) -> tuple[exp.Expr, Sequence[exp.Expr], str, bool] | None:
    """Return the only source of a query, all facts about it, its key, and whether all conditions are among the facts.

    Returns
    -------
    tuple, or None
        None if the query is another one than a selection of columns.
    """
    alias, query = source.args.get("alias"), source.this
    is_plain = not (alias is not None and alias.columns) and not any(source.args.get(each) for each in _MOVED)
    if not is_plain or not isinstance(query, exp.Select) or not _is_of_one_table(query):
        return None
    inner = query.args["from_"].alias_or_name
    values = {each.alias_or_name: each.unalias() for each in query.expressions}
    has_star = any(each.is_star for each in query.expressions)
    if len(values) < len(query.expressions) or (has_star and len(values) > 1):
        # Which of two equal names is meant differs between engines.
        return None
    names = {column.name for each in facts for column in columns_in(each)}
    if has_star:
        values = {each: exp.column(each, inner) for each in (names if key is None else names | {key})}
    value = values.get(key) if key is not None else next(iter(values.values())) if len(values) == 1 else None
    if value is None or not all(
        _is_of_sources(each, {inner}) for each in (value, *(values.get(name) for name in names))
    ):
        return None
    found = [_with_values(each, values) for each in facts]
    where = query.args.get("where")
    conditions = list(conjuncts(where.this if where is not None else None))
    # Conditions on tables outside of the query are not the source's.
    own = [each for each in conditions if {column.table for column in columns_in(each)} <= {inner}]
    return query.args["from_"].this, [*found, *own], value.name, len(own) == len(conditions)


def _is_of_one_table(select: exp.Select) -> bool:
    is_one = select.args.get("from_") is not None and not any(select.args.get(each) for each in _ONE_TABLE)
    return is_one and not _is_cut(select)


def _both_ways(equal: exp.EQ) -> list[tuple[exp.Expr, exp.Expr]]:
    return [(equal.this, equal.expression), (equal.expression, equal.this)]
