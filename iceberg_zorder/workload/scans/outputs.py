"""What the columns of a query are, and which conditions on them are conditions on the rows that it reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from iceberg_zorder.workload.conditions.nodes import columns_in
from iceberg_zorder.workload.scans.names import Names
from iceberg_zorder.workload.scans.references import reference, referring
from iceberg_zorder.workload.scans.relations import Fact, Source

_SEVERAL = (exp.Columns, exp.Aliases, exp.QueryTransform)
"""What may be several columns."""


class Outputs:
    """The columns of a SELECT.

    Parameters
    ----------
    select : sqlglot.exp.Select
        The query.
    sources : sequence of Source
        What it reads from, as far as its columns can name it.
    names : Names
        What its names stand for.
    """

    def __init__(self, select: exp.Select, sources: Sequence[Source], names: Names) -> None:
        self._select = select
        self._sources = sources
        self._names = names
        self._expressions = list(select.expressions)
        self._windows = list(_windows(select))
        self.aliases: dict[str, exp.Expr | None] = {}
        for each in self._expressions:
            if isinstance(each, exp.Alias):
                name = each.alias.lower()
                self.aliases[name] = None if name in self.aliases else names.resolve(each.this)

    @property
    def has_groups(self) -> bool:
        """Whether rows are grouped, or all are one group."""
        return self._select.args.get("group") is not None or any(map(_aggregates, self._expressions))

    def columns(self) -> tuple[str, ...] | None:
        """Name the columns in their order, in small letters, ``""`` without a name; None if that is not known."""
        found: list[str] = []
        for each in self._expressions:
            if isinstance(each, _SEVERAL) or (isinstance(each, exp.Dot) and isinstance(each.expression, exp.Star)):
                return None
            if not _is_star(each):
                found.append(_output_name(each))
                continue
            starred = self._starred(each)
            if any(source.columns is None for source in starred) or (len(self._sources) > 1 and self._names.merges):
                return None
            found += self._kept(each, [name for source in starred for name in source.columns or ()])
        return tuple(found)

    def seen_through(self, facts: Sequence[Fact], number: int) -> list[Fact]:
        """Turn facts about the rows of the query into facts about the rows that it reads, where they are.

        Parameters
        ----------
        facts : sequence of Fact
            With references to the query.
        number : int
            The query's number as a source.
        """
        if any(self._select.args.get(key) for key in ("limit", "offset", "connect", "match", "sample", "pivots")):
            return []
        distinct = self._select.args.get("distinct")
        if distinct is not None and distinct.args.get("on") is not None:
            return []
        found = []
        for fact in facts:
            condition = self._seen_through(fact.condition, number)
            if condition is not None:
                found.append(Fact(condition, fact.origin))
        return found

    def on_groups(self, condition: exp.Expr) -> exp.Expr | None:
        """Resolve a condition on groups, if it is one on what they are grouped by."""
        aliases = {name: each for name, each in self.aliases.items() if not self._names.knows(name)}
        resolved = self._names.resolve(condition, aliases)
        for column in columns_in(condition):
            name = column.name.lower()
            known = self.aliases.get(name)
            if (
                not column.table
                and name in self.aliases
                and self._names.knows(name)
                and known != self._names.find([name])
            ):
                # Dialects differ in whether it is the column or the alias.
                return None
        keys = self._keys()
        return resolved if keys is not None and _is_of_keys(resolved, keys) else None

    def _seen_through(self, condition: exp.Expr, number: int) -> exp.Expr | None:
        root = exp.Paren(this=condition.copy())
        replaced: list[exp.Expr] = []
        for each in list(columns_in(root)):
            found = reference(each)
            if found is None or found[0] != number:
                continue
            inner = self._named(found[1])
            if inner is None:
                return None
            replaced.append(inner)
            each.replace(inner.copy() if isinstance(inner, exp.Column) else exp.Paren(this=inner.copy()))
        if not self._are_kept(replaced):
            return None
        resolved: exp.Expr = root.this.pop()
        return resolved

    def _are_kept(self, expressions: Sequence[exp.Expr]) -> bool:
        """Tell whether all rows of a group, or of a window, agree in some expressions."""
        if self.has_groups:
            keys = self._keys()
            if expressions and (keys is None or not all(_is_of_keys(each, keys) for each in expressions)):
                return False
        for window in self._windows:
            if window.args.get("alias") is not None and not window.args.get("partition_by"):
                return False
            keys = [self._names.resolve(each) for each in window.args.get("partition_by") or ()]
            if not all(_is_of_keys(each, keys) for each in expressions):
                return False
        return not any(isinstance(part, exp.Query | exp.AggFunc) for each in expressions for part in each.walk())

    def _keys(self) -> list[exp.Expr] | None:
        """Find what rows are grouped by; None if that are several sets of it, or not known."""
        group = self._select.args.get("group")
        if group is None:
            return []
        known = {"expressions", "all"}
        if any(value for key, value in group.args.items() if key not in known):
            return None
        found = []
        if group.args.get("all"):
            found = [self._names.resolve(each.unalias()) for each in self._expressions if not _aggregates(each)]
        for each in group.expressions:
            if isinstance(each, exp.Rollup | exp.Cube | exp.GroupingSets):
                return None
            key = self._key(each)
            if key is not None:
                found.append(key)
        return found

    def _key(self, node: exp.Expr) -> exp.Expr | None:
        if isinstance(node, exp.Literal) and not node.is_string:
            place = int(node.name) - 1 if node.name.isdigit() else -1
            if any(map(_is_star, self._expressions)) or not 0 <= place < len(self._expressions):
                return None
            return self._names.resolve(self._expressions[place].unalias())
        name = node.name.lower() if isinstance(node, exp.Column) and not node.table else ""
        if name in self.aliases and self._names.knows(name) and self.aliases[name] != self._names.find([name]):
            return None
        return self._names.resolve(node, self.aliases)

    def _named(self, path: tuple[str, ...]) -> exp.Expr | None:
        """Find what a column of the query is, resolved; None if that is not known."""
        name = path[0].lower()
        explicit = [each for each in self._expressions if not _is_star(each) and _output_name(each) == name]
        starred = [
            found for each in self._expressions if _is_star(each) and (found := self._of_star(each, name)) is not None
        ]
        if any(isinstance(each, exp.Columns) for each in self._expressions):
            return None
        if len(explicit) == 1 and not any(self._surely_has(each, name) for each in self._expressions if _is_star(each)):
            found = self._names.resolve(explicit[0].unalias())
        elif not explicit and len(starred) == 1:
            found = starred[0]
        else:
            return None
        if len(path) == 1 or found is None:
            return found
        inner = reference(found)
        return None if inner is None else referring(inner[0], (*inner[1], *path[1:]))

    def _of_star(self, star: exp.Expr, name: str) -> exp.Expr | None:
        inner = star.this if isinstance(star, exp.Column) else star
        if inner.args.get("rename"):
            return None
        for each in inner.args.get("replace") or ():
            if each.alias.lower() == name:
                return self._names.resolve(each.this)
        if not self._kept(star, [name]):
            return None
        if isinstance(star, exp.Column):
            sources = self._starred(star)
            return referring(sources[0].number, (name,)) if len(sources) == 1 and _may_have(sources[0], name) else None
        return self._names.find([name])

    def _surely_has(self, star: exp.Expr, name: str) -> bool:
        return any(source.columns is not None and name in source.columns for source in self._starred(star)) and bool(
            self._kept(star, [name])
        )

    def _kept(self, star: exp.Expr, names: list[str]) -> list[str]:
        inner = star.this if isinstance(star, exp.Column) else star
        left_out = {each.name.lower() for each in inner.args.get("except_") or inner.args.get("except") or ()}
        return [name for name in names if name not in left_out]

    def _starred(self, star: exp.Expr) -> list[Source]:
        if not isinstance(star, exp.Column):
            return list(self._sources)
        qualifier = tuple(part.name.lower() for part in star.parts[:-1])
        return [source for source in self._sources if qualifier in source.names]


def _output_name(node: exp.Expr) -> str:
    """Name a column in small letters; ``""`` where each dialect has its own name."""
    return node.alias_or_name.lower() if isinstance(node, exp.Alias | exp.Column | exp.Dot) else ""


def _is_star(node: exp.Expr) -> bool:
    return isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star))


def _may_have(source: Source, name: str) -> bool:
    return source.columns is None or name in source.columns


def _aggregates(node: exp.Expr) -> bool:
    """Tell whether an expression aggregates, other than over a window."""
    for each in node.walk(prune=lambda each: isinstance(each, exp.Query | exp.Window)):
        if isinstance(each, exp.AggFunc):
            return True
        if isinstance(each, exp.Window) and any(map(_aggregates, (part for part in each.this.iter_expressions()))):
            return True
    return False


def _windows(select: exp.Select) -> Iterator[exp.Window]:
    for key in ("expressions", "qualify", "order", "distinct"):
        value = select.args.get(key)
        for node in value if isinstance(value, list) else [value]:
            if isinstance(node, exp.Expr):
                for each in node.walk(prune=lambda each: isinstance(each, exp.Query)):
                    if isinstance(each, exp.Window):
                        yield each


def _is_of_keys(node: exp.Expr, keys: Sequence[exp.Expr]) -> bool:
    """Tell whether an expression depends on some keys only."""
    if any(node == key for key in keys):
        return True
    if isinstance(node, exp.Column | exp.Query | exp.AggFunc | exp.Window):
        return False
    return all(_is_of_keys(each, keys) for each in node.iter_expressions())
