"""What a query reads from: sources, and how they are joined."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from sqlglot import exp


@dataclass(frozen=True)
class Definition:
    """What a name of a CTE or a view stands for.

    Parameters
    ----------
    query : sqlglot.exp.Expr or None
        The query; None inside a recursive one, for itself.
    columns : tuple of str
        Names that it gives its columns, if it does.
    environment : Environment
        What its own names stand for.
    is_recursive : bool, optional
        Whether it may read itself.
    """

    query: exp.Expr | None
    columns: tuple[str, ...]
    environment: Environment
    is_recursive: bool = False


@dataclass(frozen=True)
class Environment:
    """What names without a namespace stand for, in small letters."""

    names: Mapping[str, Definition] = field(default_factory=dict)

    def with_names(self, with_: exp.Expr | None) -> Environment:
        """Add the CTEs of a query; each sees those before it, and itself if it is recursive."""
        found = self
        for cte in with_.expressions if with_ is not None else ():
            alias = cte.args.get("alias")
            columns = tuple(each.name.lower() for each in alias.columns) if alias is not None else ()
            is_recursive = bool(with_ is not None and with_.args.get("recursive"))
            name = cte.alias.lower()
            inside = Environment({**found.names, name: Definition(None, columns, found)}) if is_recursive else found
            found = Environment({**found.names, name: Definition(cte.this, columns, inside, is_recursive)})
        return found


@dataclass(frozen=True)
class Fact:
    """A condition that is true of rows that matter.

    Parameters
    ----------
    condition : sqlglot.exp.Expr
        With references.
    origin : sqlglot.exp.Expr
        As it was written.
    """

    condition: exp.Expr
    origin: exp.Expr


@dataclass(eq=False)
class Source:
    """Something that rows come from.

    Parameters
    ----------
    number : int
        Its number in the statement.
    names : tuple of tuple of str
        What it is called, in small letters: an alias, or the name of a table and its ends.
    node : sqlglot.exp.Expr
        Where it stands.
    columns : tuple of str or None
        Its columns, in small letters; None if they are not known.
    is_scan : bool, optional
        Whether it is the table.
    definition : Definition, optional
        The query that it is.
    is_blocked : bool, optional
        Whether rows must not be left out, such as in front of a sample.
    is_renamed : bool, optional
        Whether its columns have other names here.
    structs : tuple of str or None, optional
        Which of its columns have fields; None if that is not known.
    """

    number: int
    names: tuple[tuple[str, ...], ...]
    node: exp.Expr
    columns: tuple[str, ...] | None = None
    is_scan: bool = False
    definition: Definition | None = None
    is_blocked: bool = False
    is_renamed: bool = False
    structs: tuple[str, ...] | None = None


@dataclass(eq=False)
class Join:
    """Two sides that are joined.

    Parameters
    ----------
    left, right : Source or Join
        The sides.
    kind : str
        ``inner``, ``left``, ``right``, ``full``, ``semi``, ``anti``, ``asof``, or ``other``, of which nothing is known.
    on : list of Fact
        The conditions of ON, all of which are met.
    using : dict of str to sqlglot.exp.Expr or None
        What a column of USING is, if that is known.
    is_natural : bool
        Whether columns of the same name are joined.
    """

    left: Relation
    right: Relation
    kind: str
    on: list[Fact] = field(default_factory=list)
    using: dict[str, exp.Expr | None] = field(default_factory=dict)
    is_natural: bool = False


Relation = Source | Join


def leaves(relation: Relation, *, visible: bool = False) -> Iterator[Source]:
    """Go through the sources; with ``visible`` without the right sides of semi joins and anti joins."""
    if isinstance(relation, Source):
        yield relation
        return
    yield from leaves(relation.left, visible=visible)
    if not visible or relation.kind not in ("semi", "anti"):
        yield from leaves(relation.right, visible=visible)


def joins(relation: Relation) -> Iterator[Join]:
    """Go through the joins, the inner ones first."""
    if isinstance(relation, Join):
        yield from joins(relation.left)
        yield from joins(relation.right)
        yield relation


def join_kind(join: exp.Join) -> str:
    """Find how a join joins.

    Examples
    --------
    >>> import sqlglot
    >>> join_kind(sqlglot.parse_one("SELECT 1 FROM a LEFT ANTI JOIN b ON true").args["joins"][0])
    'anti'
    """
    method, side, kind = (str(join.args.get(key) or "").upper() for key in ("method", "side", "kind"))
    if method == "ASOF":
        return "asof" if side in ("", "LEFT") else "other"
    if method not in ("", "NATURAL"):
        return "other"
    if kind in ("SEMI", "ANTI") and side in ("", "LEFT"):
        return kind.lower()
    if kind not in ("", "INNER", "CROSS", "OUTER"):
        return "other"
    lateral = join.this
    if isinstance(lateral, exp.Lateral) and (lateral.args.get("cross_apply") is False or lateral.args.get("outer")):
        return "left"
    return {"": "inner", "LEFT": "left", "RIGHT": "right", "FULL": "full"}.get(side, "other")
