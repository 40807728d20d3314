"""Conditions that joins give a source: the keys of other tables' rows, as a lookup knows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from iceberg_zorder.workload.dimension_keys import KeyLookup
from iceberg_zorder.workload.nodes import (
    MOVED,
    OWN_TABLE,
    both_ways,
    columns_in,
    conjuncts,
    is_cut,
    is_of_sources,
    with_values,
)
from iceberg_zorder.workload.scanned_table import Scan, ScannedTable

_AT_ANOTHER_TIME = ("changes", "when", "version")
_ONE_TABLE = ("with_", "joins", "laterals", "group", "having", "qualify")


class JoinConditions:
    """Finds the conditions of joins in a statement; ``tables`` has the known tables, by their names in it."""

    def __init__(self, lookup: KeyLookup, tables: Mapping[str, ScannedTable]) -> None:
        self._lookup = lookup
        self._tables = tables

    def of(self, select: exp.Select, name: str, facts: Sequence[exp.Expr]) -> tuple[list[exp.Expr], dict[int, str]]:
        """Replace joins with dimensions by their keys; a join stays where keys have only a part of its conditions.

        Also returns, by the id of a join that stays, why its keys are not known.
        """
        if not facts:
            return [], {}
        selected = select.args.get("joins") or ()
        sources = {each.alias_or_name: each for each in (select.args["from_"].this, *(join.this for join in selected))}
        # Conditions of joins before the source are not among its facts, but may be about its dimensions.
        all_of = [*facts, *(each for join in selected for each in conjuncts(join.args.get("on")))]
        conditions: list[exp.Expr] = []
        unknown: dict[int, str] = {}
        for each in facts:
            keys, is_whole = self._keys_of(each, name, facts, all_of, sources)
            if isinstance(keys, str):
                unknown[id(each)] = keys
            elif keys is not None:
                conditions.append(keys)
            if not is_whole:
                conditions.append(each)
        return conditions, unknown

    def _keys_of(
        self,
        fact: exp.Expr,
        name: str,  # of the source that is filtered by the keys
        facts: Sequence[exp.Expr],  # conditions that hold; those on the dimension alone select its rows
        all_of: Sequence[exp.Expr],  # those, and all other conditions of the statement's joins
        sources: Mapping[str, exp.Expr],
    ) -> tuple[exp.Expr | str | None, bool]:
        """Return a join's keys, or why they are not known, and whether they have all conditions on the dimension."""
        if isinstance(fact, exp.In) and fact.args.get("query") and is_of_sources(fact.this, {name}):
            kind = self._type_of(sources.get(name), fact.this.name)
            return self._keys_in(fact.this, kind, fact.args["query"], [], None)
        for own, other in both_ways(fact) if isinstance(fact, exp.EQ) else ():
            if not is_of_sources(own, {name}):
                continue
            kind = self._type_of(sources.get(name), own.name)
            if isinstance(other, exp.Subquery):
                return self._keys_in(own, kind, other, [], None)
            if isinstance(other, exp.Column) and other.table != name and other.table in sources:
                source = other.table
                about = [each for each in facts if {at.table for at in columns_in(each)} == {source}]
                known = {id(each) for each in (fact, *about)}
                keys, is_whole = self._keys_in(own, kind, sources[source], about, other.name)
                return keys, is_whole and not any(id(each) not in known and _is_about(each, source) for each in all_of)
        return None, False

    def _type_of(self, source: exp.Expr | None, name: str) -> str | None:
        """Return the Iceberg type of a source's column; None if it is not known."""
        while isinstance(source, exp.Subquery):
            inside = _inside(source, (), name)
            if inside is None:
                return None
            source, _, name, _ = inside
        if not isinstance(source, exp.Table):
            return None
        table = self._tables.get(source.name)
        column = table.column((name,)) if table is not None else None
        return column[1] if column is not None else None

    def _keys_in(
        self,
        own: exp.Expr,
        kind: str | None,
        source: exp.Expr,
        facts: Sequence[exp.Expr],
        key: str | None,
    ) -> tuple[exp.Expr | str | None, bool]:
        """Return the keys of a table, or of a query of one table; its only column is the key if none is given."""
        is_whole = True
        while isinstance(source, exp.Subquery):
            inside = _inside(source, facts, key)
            if inside is None:
                return None, False
            source, facts, key, is_whole_inside = inside
            is_whole = is_whole and is_whole_inside
        # The table itself is no dimension: its keys would be read from all of it.
        dimension = self._tables.get(source.name) if source.name != OWN_TABLE else None
        if not isinstance(source, exp.Table) or dimension is None or key is None:
            return None, False
        alias = source.args.get("alias")
        # Rows of another time are other rows.
        if (alias is not None and alias.columns) or any(source.args.get(each) for each in (*MOVED, *_AT_ANOTHER_TIME)):
            return None, False
        known: list[exp.Expr] = []
        for each in facts:
            keys, of_all = (
                self._keys_of(each, source.alias_or_name, (), (), {source.alias_or_name: source})
                if each.find(exp.Query)
                else (each, True)
            )
            known += [keys] if isinstance(keys, exp.Expr) else []
            is_whole = is_whole and of_all
        assert isinstance(own, exp.Column)  # noqa: S101 - of a source
        condition = self._lookup.condition(dimension, Scan(source, tuple(known)), key, own, kind)
        if condition is None or isinstance(condition, str):
            return condition, False
        return condition[0], condition[1] and is_whole


def _inside(
    source: exp.Subquery, facts: Sequence[exp.Expr], key: str | None
) -> tuple[exp.Expr, Sequence[exp.Expr], str, bool] | None:
    """Return the only source of a query, all facts about it, its key, and whether all conditions are among the facts.

    Returns None if the query is not a plain selection of columns.
    """
    alias, query = source.args.get("alias"), source.this
    is_plain = not (alias is not None and alias.columns) and not any(source.args.get(each) for each in MOVED)
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
        is_of_sources(each, {inner}) for each in (value, *(values.get(name) for name in names))
    ):
        return None
    found = [with_values(each, values) for each in facts]
    where = query.args.get("where")
    conditions = list(conjuncts(where.this if where is not None else None))
    # Conditions on tables outside of the query are not the source's.
    own = [each for each in conditions if {column.table for column in columns_in(each)} <= {inner}]
    return query.args["from_"].this, [*found, *own], value.name, len(own) == len(conditions)


def _is_of_one_table(select: exp.Select) -> bool:
    is_one = select.args.get("from_") is not None and not any(select.args.get(each) for each in _ONE_TABLE)
    return is_one and not is_cut(select)


def _is_about(condition: exp.Expr, source: str) -> bool:
    """Return whether a condition names a source, also in its subqueries."""
    return any(column.table == source for column in condition.find_all(exp.Column))
