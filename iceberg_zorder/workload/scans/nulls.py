"""Which conditions cannot be true of rows that an outer join has filled with NULL."""

from __future__ import annotations

from collections.abc import Set

from sqlglot import exp

from iceberg_zorder.workload.scans.references import reference

_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)
_STRICT = (
    *(exp.Paren, exp.Neg, exp.Cast, exp.TryCast, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod),
    *(exp.Upper, exp.Lower, exp.Substring, exp.Abs, exp.Round, exp.Year, exp.Month, exp.Day, exp.Extract),
    *(exp.Date, exp.TsOrDsToDate, exp.DateTrunc, exp.TimestampTrunc, exp.DateAdd, exp.DateSub),
)
"""What is NULL where one of its operands is, in every dialect."""


def rejects_nulls(condition: exp.Expr, sources: Set[int]) -> bool:
    """Tell whether a condition is not true wherever all columns of some sources are NULL.

    Parameters
    ----------
    condition : sqlglot.exp.Expr
        With references.
    sources : set of int
        The sources.

    Returns
    -------
    bool
        False also where that is not known.

    Examples
    --------
    >>> from iceberg_zorder.workload.scans.references import referring
    >>> column = referring(1, ("a",))
    >>> rejects_nulls(column.eq(5), {1}), rejects_nulls(column.is_(exp.null()), {1})
    (True, False)
    """
    return _never(condition, sources, truth=True)


def _never(node: exp.Expr, sources: Set[int], *, truth: bool) -> bool:
    """Tell that a condition never has a truth value where the sources are NULL."""
    if isinstance(node, exp.Paren):
        return _never(node.this, sources, truth=truth)
    if isinstance(node, exp.Not):
        return _never(node.this, sources, truth=not truth)
    if isinstance(node, exp.And | exp.Or):
        parts = (_never(each, sources, truth=truth) for each in node.flatten())
        return any(parts) if isinstance(node, exp.And) == truth else all(parts)
    if isinstance(node, exp.Is):
        return _is_never(node, sources, truth=truth)
    if isinstance(node, exp.Boolean):
        return bool(node.this) != truth
    return _comparison_never(node, sources, truth=truth)


def _is_never(node: exp.Is, sources: Set[int], *, truth: bool) -> bool:
    if isinstance(node.expression, exp.Null):
        return not truth and _is_null(node.this, sources)
    is_boolean = isinstance(node.expression, exp.Boolean)
    return is_boolean and truth and _never(node.this, sources, truth=bool(node.expression.this))


def _comparison_never(node: exp.Expr, sources: Set[int], *, truth: bool) -> bool:
    if isinstance(node, _COMPARISONS):
        # Of no values, ALL is true and ANY is false, whatever is compared.
        if isinstance(node.expression, exp.All) or (isinstance(node.expression, exp.Any) and not truth):
            return False
        return any(_is_null(each, sources) for each in (node.this, node.expression))
    if isinstance(node, exp.Like | exp.ILike | exp.StartsWith | exp.RegexpLike):
        return _is_null(node.this, sources)
    if isinstance(node, exp.Between):
        low, high = _is_null(node.args["low"], sources), _is_null(node.args["high"], sources)
        return _is_null(node.this, sources) or (low and high) or (truth and (low or high))
    if isinstance(node, exp.In):
        # NULL IN (...) is false where a subquery finds nothing.
        return _is_null(node.this, sources) and (truth or bool(node.expressions))
    return _is_null(node, sources)


def _is_null(node: exp.Expr, sources: Set[int]) -> bool:
    """Tell that a value is NULL where the sources are."""
    if isinstance(node, exp.Column):
        found = reference(node)
        return found is not None and found[0] in sources
    if isinstance(node, exp.Null):
        return True
    if isinstance(node, exp.Cast) and (node.args.get("format") or node.args.get("default")):
        return False
    return isinstance(node, _STRICT) and any(_is_null(each, sources) for each in node.iter_expressions())
