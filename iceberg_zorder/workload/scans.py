"""The scans of a table in a statement, and the conditions that their rows have to meet, from sqlglot's scopes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

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
from iceberg_zorder.workload.constants import TRUNCATIONS
from iceberg_zorder.workload.dimension_keys import KeyLookup
from iceberg_zorder.workload.inlining import Inliner, View
from iceberg_zorder.workload.join_keys import JoinConditions
from iceberg_zorder.workload.nodes import (
    HALF_JOINS,
    ORIGIN,
    OWN_TABLE,
    SHARED_NAMES,
    both_ways,
    columns_in,
    conjuncts,
    holds_for_equals,
    is_cut,
    is_of_sources,
    with_values,
)
from iceberg_zorder.workload.scanned_table import Scan, ScannedTable

_Joins = JoinConditions | None
_UNKNOWN = "OTHER"
"""A source that is not known; the names of a statement are in small letters."""
_WEEKS_FROM_SUNDAY = {(Oracle, "DAY"), (TSQL, "WEEK")}
_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between, exp.Like)


def find_scans(
    statement: exp.Expr,
    table: ScannedTable,
    dialect: Dialect,
    views: Callable[[Sequence[str]], View | None] = lambda _: None,
    namespace: Sequence[str] = (),
    lookup: KeyLookup | None = None,
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
    inliner = Inliner(table, dialect, views, namespace, lookup)
    found: list[Scan] = []
    for query in _queries(statement):
        query = inliner.inlined(query)
        if OWN_TABLE not in inliner.tables:
            continue
        columns = {name: each.top_level for name, each in inliner.tables.items()}
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
            joins = None if lookup is None else JoinConditions(lookup, inliner.tables)
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


def _scans(scope: Scope, above: list[exp.Expr], joins: _Joins) -> Iterator[Scan]:
    """Yield the scans of a scope; its rows must also meet the conditions ``above`` on its sources."""
    query = scope.expression
    for each in scope.set_operation_scopes:
        yield from _scans(each, [], joins)
    sources = scope.selected_sources.items() if isinstance(query, exp.Select) else ()
    facts_of = _facts(query, above) if isinstance(query, exp.Select) else {}
    for name, (node, source) in sources:
        if isinstance(source, exp.Table) and source.name != OWN_TABLE:
            continue
        is_blocked = any(node.args.get(key) for key in ("pivots", "sample", "changes"))
        facts = _with_equal(facts_of.get(name, []), name) if not is_blocked else []
        unknown_keys: Mapping[int, str] = {}
        if joins is not None and isinstance(query, exp.Select):
            facts, unknown_keys = joins.of(query, name, facts)
        if isinstance(source, exp.Table):
            alias = source.args.get("alias")
            yield Scan(source, () if alias is not None and alias.columns else tuple(facts), unknown_keys)
        elif not source.is_cte:
            yield from _pushed(source, name, facts, joins)
    for each in (*scope.cte_scopes, *scope.subquery_scopes):
        yield from _scans(each, [], joins)


def _pushed(scope: Scope, name: str, facts: Sequence[exp.Expr], joins: _Joins) -> Iterator[Scan]:
    """Yield the scans of a derived table, whose rows must meet conditions on its columns."""
    own = [
        each for each in facts if not each.find(exp.Query) and {column.table for column in columns_in(each)} == {name}
    ]
    query = scope.expression
    names = [each.alias_or_name for each in _leftmost(query).expressions]
    yield from _into(scope, names, own, joins)


def _into(scope: Scope, names: Sequence[str], facts: Sequence[exp.Expr], joins: _Joins) -> Iterator[Scan]:
    query: exp.Expr | None = scope.expression
    while query is not None and (query is scope.expression or isinstance(query, exp.Subquery)):
        if is_cut(query):
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
    if isinstance(query, exp.Select) and not any(each.kind in HALF_JOINS for each in query.args.get("joins") or ()):
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
                found.append(with_values(fact, by_name))
    yield from _scans(scope, found, joins)


def _leftmost(query: exp.Expr) -> exp.Expr:
    while isinstance(query, exp.SetOperation | exp.Subquery):
        query = query.this
    return query


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
        columns = list(columns_in(each)) if ORIGIN in each.meta else []
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
    on = [] if SHARED_NAMES in join.meta else list(conjuncts(join.args.get("on")))
    if method or (kind not in ("", "INNER", "CROSS", "OUTER", *HALF_JOINS)) or join.args.get("using"):
        return [], facts if method == "ASOF" and side in ("", "LEFT") else []
    if kind in HALF_JOINS:
        return on, facts + (on if kind == "HALF SEMI" else [])
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
        return isinstance(inner, exp.Is) and isinstance(inner.expression, exp.Null) and is_of_sources(inner.this, names)
    if isinstance(condition, exp.In):
        return is_of_sources(condition.this, names)
    if not isinstance(condition, _COMPARISONS) or isinstance(condition.expression, exp.All | exp.Any):
        return False
    sides = [condition.this] if isinstance(condition, exp.Between) else [condition.this, condition.expression]
    return any(is_of_sources(each, names) for each in sides)


def _with_equal(facts: list[exp.Expr], name: str) -> list[exp.Expr]:
    """Return the conditions, and those that hold because a column equals a column of another source."""
    sides = [pair for each in facts if isinstance(each, exp.EQ) for pair in both_ways(each)]
    columns_only = [pair for pair in sides if all(isinstance(side, exp.Column) for side in pair)]
    equal = {
        other: own for own, other in columns_only if is_of_sources(own, {name}) and not is_of_sources(other, {name})
    }
    found = list(facts)
    for each in facts if equal else ():
        columns = set(columns_in(each))
        if len(columns) == 1 and columns <= equal.keys() and holds_for_equals(each) and not each.find(exp.Query):
            (column,) = columns
            found.append(with_values(each, {column.name: equal[column]}))
    return found
