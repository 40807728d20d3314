"""Finds the scans of a table in a statement, and what the rows of each have to meet to matter for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.workload.conditions.nodes import columns_in, subqueries_in
from iceberg_zorder.workload.scanned_table import ScannedTable
from iceberg_zorder.workload.scans.names import Names
from iceberg_zorder.workload.scans.outputs import Outputs
from iceberg_zorder.workload.scans.pushing import push
from iceberg_zorder.workload.scans.references import reference, referring
from iceberg_zorder.workload.scans.relations import Definition, Environment, Fact, Join, Relation, Source, joins, leaves
from iceberg_zorder.workload.scans.sources import Sources, conjuncts

_MOST_SOURCES = 2_000
"""Of a statement: CTEs that read each other twice are read more often than anybody can count."""
_ELSEWHERE = ("from_", "from", "joins", "laterals", "with_", "with")


@dataclass(frozen=True)
class Scan:
    """A scan of the table.

    Parameters
    ----------
    source : Source
        The table in the statement.
    facts : tuple of Fact
        What its rows have to meet.
    """

    source: Source
    facts: tuple[Fact, ...]


class ScanFinder:
    """Goes through one statement.

    Parameters
    ----------
    table : ScannedTable
        The table.
    views : callable
        Finds the definition of a view by the parts of its name; None if there is none.
    namespace : sequence of str, optional
        Where names without a namespace are looked for.

    Examples
    --------
    >>> import sqlglot
    >>> finder = ScanFinder(ScannedTable(("db", "t"), {("a",): "long"}))
    >>> (scan,) = finder.scans(sqlglot.parse_one("SELECT * FROM u LEFT JOIN t ON t.k = u.k AND t.a = 1 WHERE u.b = 2"))
    >>> [fact.origin.sql() for fact in scan.facts]
    ['u.b = 2', 't.k = u.k', 't.a = 1']
    """

    def __init__(
        self,
        table: ScannedTable,
        views: Callable[[Sequence[str]], Definition | None] = lambda _: None,
        namespace: Sequence[str] = (),
    ) -> None:
        self._table = table
        self._sources = Sources(table, namespace, views, self._columns_of)
        self._columns: dict[int, tuple[str, ...] | None] = {}
        self._open: list[int] = []
        self._visited = 0
        self._scans: list[Scan] = []

    def scans(self, statement: exp.Expr) -> list[Scan]:
        """Find the scans of a statement.

        Raises
        ------
        InvalidInputError
            When there are too many to count; the message is the end of a sentence.
        """
        environment = Environment().with_names(statement.args.get("with_") or statement.args.get("with"))
        if isinstance(statement, exp.Merge):
            self._merge(statement, environment)
        elif isinstance(statement, exp.Update | exp.Delete):
            self._change(statement, environment)
        elif isinstance(statement, exp.Query):
            self._query(statement, Environment(), [], -2, is_inside=False)
        else:
            for query in _outermost(statement):
                self._query(query, environment, [], -2, is_inside=False)
        return self._scans

    def _change(self, statement: exp.Expr, environment: Environment) -> None:
        """Go through an UPDATE or a DELETE."""
        # BigQuery's DELETE does without FROM.
        target = statement.this or statement.args["tables"][0]
        relation = self._sources.of(target, environment, is_inside=False)
        from_ = statement.args.get("from_") or statement.args.get("from")
        more = statement.args.get("using") or ([from_.this] if from_ is not None else [])
        for each in more if isinstance(more, list) else []:
            relation = Join(relation, self._sources.of(each, environment, is_inside=False), "inner")
        where = statement.args.get("where")
        names = Names(list(leaves(relation)), list(joins(relation)))
        facts = _facts(names, where.this if where is not None else None)
        self._push(relation, facts, environment, is_inside=False)
        self._subqueries_of(statement, ("this", "using", *_ELSEWHERE), environment)

    def _merge(self, statement: exp.Merge, environment: Environment) -> None:
        target = self._sources.of(statement.this, environment, is_inside=False)
        source = self._sources.of(statement.args["using"], environment, is_inside=False)
        whens = statement.args["whens"].expressions
        keeps_source = any(not each.args.get("matched") and not each.args.get("source") for each in whens)
        keeps_target = any(not each.args.get("matched") and each.args.get("source") for each in whens)
        kind = {(True, True): "full", (True, False): "right", (False, True): "left"}.get(
            (keeps_source, keeps_target), "inner"
        )
        join = self._sources.joined(target, source, kind, statement.args.get("on"), is_inside=False)
        self._push(join, [], environment, is_inside=False)
        self._subqueries_of(statement, ("this", "using", *_ELSEWHERE), environment)

    def _query(
        self, query: exp.Expr, environment: Environment, facts: list[Fact], number: int, *, is_inside: bool
    ) -> None:
        """Go through a query whose rows have to meet some facts, in which it is the source of a number."""
        environment = environment.with_names(query.args.get("with_") or query.args.get("with"))
        if isinstance(query, exp.Subquery):
            if any(query.args.get(key) for key in ("limit", "offset", "sample", "pivots")):
                facts = []
            self._query(query.this, environment, facts, number, is_inside=is_inside)
        elif isinstance(query, exp.SetOperation):
            self._set_operation(query, environment, facts, number, is_inside=is_inside)
        elif isinstance(query, exp.Select):
            self._select(query, environment, facts, number, is_inside=is_inside)
        elif isinstance(query, exp.Table):
            relation = self._sources.of(query, environment, is_inside=is_inside)
            self._push(relation, [], environment, is_inside=is_inside)

    def _set_operation(
        self, query: exp.SetOperation, environment: Environment, facts: list[Fact], number: int, *, is_inside: bool
    ) -> None:
        if any(query.args.get(key) for key in ("limit", "offset")):
            facts = []
        self._query(query.left, environment, facts, number, is_inside=is_inside)
        others = facts
        if not query.args.get("by_name"):
            lefts, rights = (self._columns_of(side, environment, is_inside) for side in (query.left, query.right))
            if lefts is not None:
                others = (
                    [] if rights is None or len(rights) != len(lefts) else _renamed_facts(facts, number, lefts, rights)
                )
        self._query(query.right, environment, others, number, is_inside=is_inside)

    def _select(
        self, select: exp.Select, environment: Environment, above: list[Fact], number: int, *, is_inside: bool
    ) -> None:
        relation = self._sources.of_select(select, environment, is_inside=is_inside)
        names, outputs = self._outputs(select, relation, is_inside=is_inside)
        facts = outputs.seen_through(above, number) if above else []
        wheres = [select.args[key].this for key in ("where", "prewhere") if select.args.get(key) is not None]
        for where in wheres:
            facts += _facts(names, where, outputs.aliases)
        having = select.args.get("having")
        for each in conjuncts(having.this) if having is not None else ():
            condition = outputs.on_groups(each)
            if condition is not None:
                facts.append(Fact(condition, each))
        if any(select.args.get(key) for key in ("connect", "match", "sample")):
            facts = []
        if any(column.args.get("join_mark") for where in wheres for column in columns_in(where)):
            # Oracle's (+): which sides are kept is not looked at, so that all may be filled with NULL.
            _keep_all(relation)
            facts = [each for each in facts if not any(c.args.get("join_mark") for c in columns_in(each.origin))]
        self._push(relation, facts, environment, is_inside=is_inside)
        self._subqueries_of(select, _ELSEWHERE, environment)
        for join in select.args.get("joins") or ():
            if join.args.get("on") is not None:
                self._subqueries(join.args["on"], environment)

    def _outputs(self, select: exp.Select, relation: Relation, *, is_inside: bool) -> tuple[Names, Outputs]:
        visible = list(leaves(relation, visible=True))
        names = Names(visible, list(joins(relation)), is_inside=is_inside)
        return names, Outputs(select, visible, names)

    def _push(self, relation: Relation, facts: list[Fact], environment: Environment, *, is_inside: bool) -> None:
        def reach(source: Source, facts: list[Fact]) -> None:
            self._reach(source, facts, environment, is_inside=is_inside)

        push(relation, facts, reach)

    def _reach(self, source: Source, facts: list[Fact], environment: Environment, *, is_inside: bool) -> None:
        self._visited += 1
        if self._visited > _MOST_SOURCES:
            raise InvalidInputError("it reads too many tables to be followed")
        if source.is_scan:
            if source.is_renamed:
                facts = _renamed_facts(facts, source.number, source.columns or (), self._table.top_level)
            self._scans.append(Scan(source, tuple(facts)))
            return
        definition = source.definition
        if definition is None or definition.query is None:
            if not isinstance(source.node, exp.Query):
                self._subqueries_of(source.node, ("joins", "laterals"), environment)
            return
        if id(definition.query) in self._open:
            return
        self._open.append(id(definition.query))
        inner = self._columns_of(definition.query, definition.environment, is_inside)
        is_named_anew = bool(definition.columns) or source.is_renamed
        if definition.is_recursive or (is_named_anew and (inner is None or source.columns is None)):
            facts = []
        elif is_named_anew:
            facts = _renamed_facts(facts, source.number, source.columns or (), inner or ())
        self._query(definition.query, definition.environment, facts, source.number, is_inside=is_inside)
        self._open.pop()

    def _columns_of(self, query: exp.Expr, environment: Environment, is_inside: bool) -> tuple[str, ...] | None:
        # A query always stands in the same environment.
        if id(query) not in self._columns:
            self._columns[id(query)] = None  # while it is looked for, of one that reads itself
            self._columns[id(query)] = self._find_columns(query, environment, is_inside=is_inside)
        return self._columns[id(query)]

    def _find_columns(self, query: exp.Expr, environment: Environment, *, is_inside: bool) -> tuple[str, ...] | None:
        inside = environment.with_names(query.args.get("with_") or query.args.get("with"))
        if isinstance(query, exp.Subquery):
            return self._find_columns(query.this, inside, is_inside=is_inside)
        if isinstance(query, exp.SetOperation):
            return None if query.args.get("by_name") else self._find_columns(query.left, inside, is_inside=is_inside)
        if not isinstance(query, exp.Select):
            return None
        relation = self._sources.of_select(query, inside, is_inside=is_inside)
        return self._outputs(query, relation, is_inside=is_inside)[1].columns()

    def _subqueries_of(self, node: exp.Expr, without: Sequence[str], environment: Environment) -> None:
        for key, value in node.args.items():
            if key in without:
                continue
            for each in value if isinstance(value, list) else [value]:
                if isinstance(each, exp.Expr):
                    self._subqueries(each, environment)

    def _subqueries(self, node: exp.Expr, environment: Environment) -> None:
        for query in subqueries_in(node):
            self._query(query, environment, [], -2, is_inside=True)


def _outermost(statement: exp.Expr) -> Iterator[exp.Query]:
    """Find the outermost queries of a statement, but for CTEs, which are read where they are named."""
    for node in statement.walk(prune=lambda each: isinstance(each, exp.Query | exp.With)):
        if isinstance(node, exp.Query):
            yield node


def _facts(names: Names, condition: exp.Expr | None, aliases: dict[str, exp.Expr | None] | None = None) -> list[Fact]:
    if condition is None:
        return []
    return [Fact(names.resolve(each, aliases), each) for each in conjuncts(condition)]


def _keep_all(relation: Relation) -> None:
    for join in joins(relation):
        join.kind = "full" if join.kind == "inner" else join.kind


def _renamed_facts(facts: list[Fact], number: int, names: tuple[str, ...], others: tuple[str, ...]) -> list[Fact]:
    """Rename the columns of a source, by their place; facts about those that are not known are left out."""
    found = []
    for fact in facts:
        root = exp.Paren(this=fact.condition.copy())
        for column in list(columns_in(root)):
            known = reference(column)
            if known is None or known[0] != number:
                continue
            name = known[1][0].lower()
            place = names.index(name) if names.count(name) == 1 else len(others)
            other = others[place] if place < len(others) else ""
            if not other or others.count(other) > 1:
                break
            column.replace(referring(number, (other, *known[1][1:])))
        else:
            found.append(Fact(root.this.pop(), fact.origin))
    return found
