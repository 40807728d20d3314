"""Which source a name in a query belongs to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from iceberg_zorder.workload.scans.references import dotted, reference, referring
from iceberg_zorder.workload.scans.relations import Join, Source


class Names:
    """Resolves the names in one query.

    Where the columns of a source are not known, a name without a source is taken to be that of a source that is known
    to have it, and else of the only one that is not known.

    Parameters
    ----------
    sources : sequence of Source
        The sources of the query.
    joins : sequence of Join, optional
        Its joins, for the columns of USING.
    is_inside : bool, optional
        Whether names may be those of a query around it, so that none is guessed to be of a source that is not known.

    Examples
    --------
    >>> from iceberg_zorder.workload.scans.references import reference
    >>> known, unknown = Source(0, (("t",),), exp.Table(), ("a",)), Source(1, (("u",),), exp.Table())
    >>> names = Names([known, unknown])
    >>> [reference(names.find(parts)) for parts in (["a"], ["u", "a"], ["other"])]
    [(0, ('a',)), (1, ('a',)), (1, ('other',))]
    """

    def __init__(self, sources: Sequence[Source], joins: Sequence[Join] = (), *, is_inside: bool = False) -> None:
        self._sources = sources
        self._is_inside = is_inside
        self._using: dict[str, exp.Expr | None] = {}
        self._has_natural_outer = any(join.is_natural and join.kind not in ("inner", "left") for join in joins)
        self._is_natural = any(join.is_natural for join in joins)
        for join in joins:
            self._using |= join.using

    def find(self, parts: Sequence[str]) -> exp.Expr | None:
        """Find what a name stands for: a reference, or None."""
        lower = tuple(part.lower() for part in parts)
        for length in range(len(lower) - 1, 0, -1):
            named = [source for source in self._sources if lower[:length] in source.names]
            if named:
                return referring(named[0].number, tuple(parts[length:])) if len(named) == 1 else None
        if lower[0] in self._using:
            found = self._using[lower[0]]
            return None if found is None or len(parts) > 1 else found.copy()
        source = self._owner(lower[0], is_field=len(parts) > 1)
        return None if source is None else referring(source.number, tuple(parts))

    @property
    def merges(self) -> bool:
        """Whether columns of joins are one in ``*``."""
        return self._is_natural or bool(self._using)

    def knows(self, name: str) -> bool:
        """Tell whether a source is known to have a column, or may have it."""
        return any(source.columns is None or name.lower() in source.columns for source in self._sources)

    def resolve(self, node: exp.Expr, aliases: Mapping[str, exp.Expr | None] | None = None) -> exp.Expr:
        """Replace the names of an expression by references, but for those in subqueries.

        Parameters
        ----------
        node : sqlglot.exp.Expr
            The expression, which stays as it is.
        aliases : dict of str to sqlglot.exp.Expr or None, optional
            What the names that a query gives its columns stand for, resolved, which some dialects know in WHERE; None
            for one that is ambiguous. Columns of the sources come first.

        Returns
        -------
        sqlglot.exp.Expr
            The copy.
        """
        root = exp.Paren(this=node.copy())
        done: set[int] = set()
        for each in list(root.walk(prune=lambda each: isinstance(each, exp.Query))):
            parts = dotted(each) if isinstance(each, exp.Column | exp.Dot) and id(each) not in done else None
            if parts is None or reference(each) is not None:
                continue
            done |= {id(part) for part in each.walk()}
            found = self._named(parts, aliases or {})
            if found is not None:
                each.replace(found)
        resolved: exp.Expr = root.this.pop()
        return resolved

    def _named(self, parts: tuple[str, ...], aliases: Mapping[str, exp.Expr | None]) -> exp.Expr | None:
        name = parts[0].lower()
        if len(parts) == 1 and name in aliases and not self.knows(name):
            found = aliases[name]
            return exp.Paren(this=found.copy()) if found is not None else None
        return self.find(parts)

    def _owner(self, name: str, *, is_field: bool) -> Source | None:
        having = [source for source in self._sources if source.columns is not None and name in source.columns]
        if is_field:
            having = [source for source in having if source.structs is None or name in source.structs]
        if having:
            if self._has_natural_outer and len(self._sources) > 1:
                return None
            return having[0] if len(having) == 1 or self._is_natural else None
        if len(self._sources) == 1 and not self._is_inside:
            # Whatever it is, it can be of nothing else.
            return self._sources[0]
        unknown = [source for source in self._sources if source.columns is None]
        return unknown[0] if len(unknown) == 1 and not is_field and not self._is_inside else None
