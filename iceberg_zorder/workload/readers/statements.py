"""Workloads from statements of SQL."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime

import sqlglot
from sqlglot import TokenType, exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.rewrite.predicate import MOST_CHARACTERS, limited_dialect, parsing
from iceberg_zorder.workload.dimension_keys import DEFAULT_READERS, READERS, Dimensions, KeyLookup, check_readers
from iceberg_zorder.workload.inlining import View
from iceberg_zorder.workload.nodes import balanced, sql_of
from iceberg_zorder.workload.scanned_table import ScannedTable
from iceberg_zorder.workload.scans import catalogs_in, find_scans
from iceberg_zorder.workload.statement_filters import scan_filter
from iceberg_zorder.workload.workload import SHOWN, Gathered, ScanFilter, Workload

_NOW = re.compile(
    r"current|now\s*\(|today|getdate|getutcdate|sysdate|systimestamp|localtime|curdate|utc_|unix_timestamp",
    re.IGNORECASE,
)
_END = re.compile(r";[ \t]*(?:\r?\n|$)")
_USE = re.compile(r"\s*use\s", re.IGNORECASE)
_VIEW = re.compile(r"\bview\b", re.IGNORECASE)
_BY_VALUE = re.compile(r"\bidentifier\s*\(", re.IGNORECASE)
"""A table's name that may be a value, and is then not in the text."""
_CUTS = {TokenType.SELECT, TokenType.LIMIT, TokenType.OFFSET, TokenType.FETCH, TokenType.TABLE_SAMPLE}
_READING_NOTHING = ("EXPLAIN", "CALL", "SHOW", "ALTER", "GRANT", "DESCRIBE")
_READS = re.compile(r"\b(select|from|merge|table)\b", re.IGNORECASE)


def dialect_of(name: str | None) -> Dialect:
    """Return a SQL dialect by name; raises InvalidInputError for unknown names.

    Examples
    --------
    >>> type(dialect_of("trino")).__name__
    'Trino'
    """
    try:
        return limited_dialect(name)
    except ValueError as error:
        known = ", ".join(sorted(each for each in Dialect.classes if each))
        raise InvalidInputError(f"Cannot read the dialect '{name}', because it must be one of {known}") from error


@dataclass
class _Statement:
    """A statement with its weights, by namespace and, if it matters, by time."""

    text: str
    weights: dict[tuple[tuple[str, ...], datetime | None], float] = field(default_factory=dict)


@dataclass(frozen=True)
class _View:
    """A view with the place of its defining statement; a temporary one is in no namespace."""

    place: int
    name: tuple[str, ...]
    definition: View
    is_temporary: bool


class StatementReader:
    """Reads the statements of all sources together, so that views of one file are known in the others.

    Raises InvalidInputError for an unknown dialect.

    Examples
    --------
    >>> from datetime import timezone
    >>> table = ScannedTable(("db", "t"), {("a",): "long", ("b",): "date"})
    >>> reader = StatementReader(table, now=datetime(2024, 5, 17, tzinfo=timezone.utc))
    >>> reader.add_script("CREATE VIEW v AS SELECT a FROM t WHERE b = current_date; SELECT * FROM v WHERE a = 1")
    >>> [each.filter for each in reader.workload().queries]
    ["a = 1 AND b = DATE '2024-05-17'"]
    """

    def __init__(
        self,
        table: ScannedTable,
        *,
        now: datetime,  # with a time zone
        dialect: str | None = None,  # of sqlglot; None for generic SQL
        as_of: datetime | None = None,  # time of the statements, with a time zone; None for the log's, else ``now``
        dimensions: Dimensions | None = None,  # the tables by whose keys joins filter the table
        readers: Sequence[str] = DEFAULT_READERS,  # of READERS; each reads the same share of the scans
    ) -> None:
        self._dialect = dialect_of(dialect)
        self._table = table
        self._as_of = as_of
        self._now = now
        self._dimensions = dimensions
        self._ranges = Counter(0 if dimensions is None else READERS[each] for each in check_readers(readers))
        self._statements: dict[str, _Statement] = {}
        self._catalogs_of_views: frozenset[str] = frozenset()

    def add_script(
        self, text: str, weight: float = 1.0, *, namespace: Sequence[str] = (), at: datetime | None = None
    ) -> None:
        """Add a text of any number of statements."""
        current = tuple(namespace)
        for key, each in split(text, self._dialect):
            if _USE.match(each):
                current = self._used(each, current)
                continue
            moment = self._as_of or at if _NOW.search(each, 0, MOST_CHARACTERS) else None
            found = self._statements.setdefault(key, _Statement(each)).weights
            found[current, moment] = found.get((current, moment), 0.0) + weight

    def workload(self) -> Workload:
        """Return the workload of all statements that were added."""
        gathered = Gathered()
        statements = list(self._statements.values())
        with _quiet():
            views = self._views(statements)
            catalogs = [catalogs_in(view.definition.query, self._table, ()) for view in views]
            self._catalogs_of_views = frozenset().union(*catalogs)
            names = {self._table.identifier[-1].lower(), *(view.name[-1].lower() for view in views)}
            if self._table.location is not None:
                names.add("iceberg_scan")
            for place, statement in enumerate(statements):
                self._read(statement, place, views, names, gathered)
        return gathered.workload()

    def _read(self, statement: _Statement, place: int, views: list[_View], names: set[str], gathered: Gathered) -> None:
        weight = sum(statement.weights.values())
        lower = statement.text.lower()
        if not any(name in lower for name in names) and not _BY_VALUE.search(lower, 0, MOST_CHARACTERS):
            gathered.elsewhere += weight
            return
        try:
            parsed = self._parsed(statement.text)
        except InvalidInputError as error:
            gathered.miss("statement", _one_line(statement.text), str(error), weight)
            return
        is_command = isinstance(parsed, exp.Command) and (
            not _READS.search(statement.text) or parsed.name.upper() in _READING_NOTHING
        )
        is_view = isinstance(parsed, exp.Create) and parsed.kind == "VIEW"
        if parsed is None or isinstance(parsed, exp.Describe) or is_command or is_view:
            gathered.elsewhere += weight
            return
        if isinstance(parsed, exp.Command):
            gathered.miss("statement", _one_line(statement.text), "it cannot be parsed", weight)
            return
        for (namespace, moment), times in statement.weights.items():
            now = moment or self._as_of or self._now
            try:
                filters = self._filters(parsed, lambda parts: _latest(views, parts, place), namespace, now)
            except Exception as error:  # unexpected forms of SQL must not affect other statements
                gathered.miss("statement", _one_line(statement.text), _reason(error), times)
            else:
                gathered.elsewhere += 0.0 if filters else times
                for readers, each in filters:
                    gathered.add(each, times * readers / self._ranges.total())

    def _filters(
        self,
        parsed: exp.Expr,
        view: Callable[[Sequence[str]], View | None],
        namespace: tuple[str, ...],
        now: datetime,
    ) -> list[tuple[int, ScanFilter]]:
        """Return the filters of a statement's scans, each with the number of readers that skip files by it."""
        filters: list[tuple[int, ScanFilter]] = []
        for ranges, readers in self._ranges.items():
            lookup = None
            if ranges and self._dimensions is not None:
                catalogs = self._catalogs_of_views | catalogs_in(parsed, self._table, namespace)
                levels = len(self._table.identifier) - 1
                lookup = KeyLookup(self._dimensions, namespace, now, ranges, catalogs, levels)
            try:
                scans = find_scans(parsed, self._table, self._dialect, view, namespace, lookup)
            except InvalidInputError:
                if lookup is None:
                    raise
                # Dimensions change: a statement may name a column that one no longer has.
                scans = find_scans(parsed, self._table, self._dialect, view, namespace)
            filters += [(readers, scan_filter(scan, self._table, now)) for scan in scans]
        return filters

    def _views(self, statements: list[_Statement]) -> list[_View]:
        views = []
        for place, statement in enumerate(statements):
            if not _VIEW.search(statement.text, 0, MOST_CHARACTERS):
                continue
            try:
                parsed = self._parsed(statement.text)
            except InvalidInputError:
                continue
            query = parsed.args.get("expression") if parsed is not None else None
            if isinstance(parsed, exp.Create) and parsed.kind == "VIEW" and isinstance(query, exp.Query):
                schema = parsed.this
                columns = (
                    tuple(each.name.lower() for each in schema.expressions) if isinstance(schema, exp.Schema) else ()
                )
                table = parsed.find(exp.Table)
                if table is not None:
                    name = tuple(part.name for part in table.parts)
                    is_temporary = parsed.find(exp.TemporaryProperty) is not None
                    views.append(_View(place, name, View(query, columns), is_temporary))
        return views

    def _parsed(self, text: str) -> exp.Expr | None:
        if not text:
            return None
        with parsing(text):
            parsed = sqlglot.parse_one(_with_steps(text, self._dialect), dialect=self._dialect)
            return balanced(_with_plain_names(parsed, self._dialect))

    def _used(self, text: str, current: tuple[str, ...]) -> tuple[str, ...]:
        """Return the namespace after USE."""
        try:
            parsed = self._parsed(text)
        except InvalidInputError:
            return current
        kind = str(parsed.args.get("kind") or "").upper() if parsed is not None else ""
        table = parsed.this if isinstance(parsed, exp.Use) else None
        is_namespace = isinstance(table, exp.Table) and kind in ("", "DATABASE", "SCHEMA", "NAMESPACE")
        return tuple(part.name for part in table.parts) if is_namespace and table is not None else current


def split(text: str, dialect: Dialect) -> Iterator[tuple[str, str]]:
    r"""Split a text into statements, without their semicolons and surrounding comments.

    If the text cannot be tokenized, for instance because of an unclosed quote, it is split at semicolons at the ends of
    lines, so that the other statements are still read. So is a long text, whose tokens would fill the memory; a part
    that is too long to be parsed is left as it is.

    Examples
    --------
    >>> found = list(split("SELECT ';' -- ; \n; /* last */ SELECT  ';';", Dialect.get_or_raise(None)))
    >>> [text for _, text in found], found[0][0] == found[1][0]
    (["SELECT ';'", "SELECT  ';'"], True)
    """
    if len(text) > MOST_CHARACTERS:
        for part in _parts(text):
            yield from split(part, dialect) if len(part) <= MOST_CHARACTERS else [(part, part)]
        return
    try:
        tokens = dialect.tokenize(text)
    except SqlglotError:
        parts = _END.split(text)
        for part in parts if len(parts) > 1 else ():
            yield from split(part, dialect)
        if len(parts) == 1 and text.strip():
            yield text.strip(), text.strip()
        return
    words: list[str] = []
    start = end = 0
    for token in tokens:
        if token.token_type == TokenType.SEMICOLON:
            if words:
                yield "\0".join(words), text[start:end]
            words = []
            continue
        start = token.start if not words else start
        words.append(f"{token.token_type.value}:{token.text}")
        end = token.end + 1
    if words:
        yield "\0".join(words), text[start:end]


def _parts(text: str) -> Iterator[str]:
    """Divide a text at semicolons at ends of lines into parts that are as long as statements may be."""
    start = end = 0
    for found in (*(each.end() for each in _END.finditer(text)), len(text)):
        if found - start > MOST_CHARACTERS and end > start:
            yield text[start:end]
            start = end
        end = found
    yield text[start:]


def _with_steps(text: str, dialect: Dialect) -> str:
    """Add steps to pipe syntax, ``|> SELECT *``, because sqlglot takes a condition for one on what was not cut yet.

    Examples
    --------
    >>> _with_steps("FROM t |> LIMIT 3 |> WHERE a = 1", Dialect.get_or_raise(None))
    'FROM t |> LIMIT 3 |> SELECT * |> WHERE a = 1'
    """
    extended, done, is_cut = "", 0, [False]
    for token in dialect.tokenize(text) if "|>" in text else ():
        if token.token_type == TokenType.L_PAREN:
            is_cut.append(False)
        elif token.token_type == TokenType.R_PAREN and len(is_cut) > 1:
            is_cut.pop()
        elif token.token_type == TokenType.PIPE_GT and is_cut[-1]:
            extended, done, is_cut[-1] = f"{extended}{text[done : token.start]}|> SELECT * ", token.start, False
        is_cut[-1] = is_cut[-1] or token.token_type in _CUTS
    return extended + text[done:]


def _with_plain_names(parsed: exp.Expr, dialect: Dialect) -> exp.Expr:
    """Put a table's name where it is a text, as in ``IDENTIFIER('db.t')``, and where ``|> AS`` leaves an alias."""
    for node in list(parsed.find_all(exp.From)):
        if isinstance(node.this, exp.TableAlias):
            node.set("this", exp.Table(this=node.this.this))
    for named in list(parsed.find_all(exp.Table)):
        function = named.this
        if isinstance(function, exp.Anonymous) and function.name.upper() == "IDENTIFIER":
            value = function.expressions[0] if len(function.expressions) == 1 else None
        elif isinstance(function, exp.Expr) and function.key == "dynamicidentifier":  # Snowflake's
            value = function.this
        else:
            continue
        if not (isinstance(value, exp.Literal) and value.is_string):
            raise InvalidInputError(f"it names a table by {sql_of(function, dialect)}, whose value is not known")
        parts = {key: each for key, each in exp.to_table(value.name, dialect=dialect).args.items() if each is not None}
        named.replace(exp.Table(**{**named.args, **parts}))
    return parsed


def _latest(views: list[_View], parts: Sequence[str], place: int) -> View | None:
    """Return the view of a name: the last definition before a statement, else the first one after it."""
    lower = tuple(part.lower() for part in parts)
    named = [
        view
        for view in views
        if _ends_alike(tuple(part.lower() for part in view.name), lower)
        and not (view.is_temporary and len(lower) > len(view.name))
    ]
    before = [view for view in named if view.place < place]
    chosen = before[-1] if before else named[0] if named else None
    return chosen.definition if chosen is not None else None


def _ends_alike(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    shared = min(len(one), len(other))
    return one[-shared:] == other[-shared:]


def _reason(error: Exception) -> str:
    if isinstance(error, InvalidInputError):
        return str(error)
    is_deep = isinstance(error, RecursionError)
    what = f"its columns cannot be traced to tables: {type(error).__name__}: {error}"
    return "it is nested too deeply" if is_deep else what


def _one_line(text: str) -> str:
    # More words than are shown stay as they are: those of a long text would take ten times its memory.
    return " ".join(text.split(None, SHOWN))


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence sqlglot's log, because errors are reported as entries."""
    logger = logging.getLogger("sqlglot")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)
