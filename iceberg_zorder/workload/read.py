"""Read the workload of a table from files of any kind."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timezone
from pathlib import Path

from sqlglot import exp

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.rewrite.predicate import TooLargeError, parse_predicate, parsing
from iceberg_zorder.workload.boxes import boxes_of
from iceberg_zorder.workload.dimension_keys import DEFAULT_READERS, Dimensions
from iceberg_zorder.workload.nodes import balanced
from iceberg_zorder.workload.readers.event_log import EventLogReader
from iceberg_zorder.workload.readers.files import Format, Source, lines_of, sources, text_of
from iceberg_zorder.workload.readers.rows import CONDITION, MOST_OF_JSON, QUERY, Row, csv_rows, json_rows, plain
from iceberg_zorder.workload.readers.statements import StatementReader, dialect_of
from iceberg_zorder.workload.scanned_table import ScannedTable
from iceberg_zorder.workload.scans import qualified_condition
from iceberg_zorder.workload.statement_filters import scan_filter
from iceberg_zorder.workload.workload import FULL_SCAN, Gathered, Workload
from iceberg_zorder.workload.workload_json import from_json


def read_workload(
    paths: Sequence[Path],
    table: ScannedTable,
    *,
    dialect: str | None = None,
    as_of: datetime | None = None,
    kind: Format | None = None,
    now: datetime | None = None,
    dimensions: Dimensions | None = None,
    readers: Sequence[str] = DEFAULT_READERS,
) -> Workload:
    """Read the workload of a table; the parameters are those of StatementReader.

    Examples
    --------
    >>> import tempfile
    >>> table = ScannedTable(("db", "t"), {("a",): "long"})
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     queries = Path(directory) / "queries.sql"
    ...     _ = queries.write_text("SELECT * FROM t WHERE a > 1; SELECT * FROM db.t x WHERE 1 < x.a;")
    ...     read_workload([queries], table).queries
    (Query(filter='a > 1', weight=2.0, weaker=0.0),)
    """
    now = now or datetime.now(timezone.utc)
    statements = StatementReader(table, dialect=dialect, as_of=as_of, now=now, dimensions=dimensions, readers=readers)
    reader = _Reader(table, dialect, as_of, now, statements)
    for path in paths:
        for source in sources(path, kind):
            reader.add(source)
    return reader.workload()


class _Reader:
    """Reads one file after the other."""

    def __init__(
        self,
        table: ScannedTable,
        dialect: str | None,
        as_of: datetime | None,
        now: datetime,
        statements: StatementReader,
    ) -> None:
        self._table = table
        self._dialect = dialect
        self._as_of = as_of
        self._now = now
        self._statements = statements
        self._gathered = Gathered()
        self._read: list[Workload] = []

    def add(self, source: Source) -> None:
        try:
            if source.kind == "event-log":
                self._add_events(source)
            elif source.kind == "sql":
                self._statements.add_script(text_of(source))
            elif source.kind == "workload":
                self._read.append(self._checked(from_json(text_of(source, MOST_OF_JSON), str(source.path))))
            else:
                self._add_rows(text_of(source), source)
        except TooLargeError as error:
            self._gathered.miss("statement", str(source.path), str(error), 1.0)
        except InvalidInputError as error:
            if str(error).startswith("Cannot "):
                raise
            raise InvalidInputError(f"Cannot read {source.path}, because {error}") from error

    def workload(self) -> Workload:
        found = self._statements.workload().joined(self._gathered.workload())
        for each in self._read:
            found = found.joined(each)
        return found

    def _checked(self, found: Workload) -> Workload:
        """Refuse filters that are invalid for the table, as rewrites do."""
        for text in [*(each.filter for each in found.queries), *(each.filter for each in found.columns_only)]:
            try:
                boxes_of(parse_predicate(text), self._table.columns, 1)
            except InvalidInputError as error:  # noqa: PERF203 - names the filter
                name = ".".join(self._table.identifier)
                raise InvalidInputError(f"Cannot use the filter '{text}' on {name}, because {error}") from error
        return found

    def _add_events(self, source: Source) -> None:
        def lines() -> Iterator[str]:
            is_begun = False
            try:
                for line in lines_of(source):
                    is_begun = True
                    yield line
            except InvalidInputError as error:
                # A running or killed application leaves an incomplete last block.
                if not is_begun:
                    raise
                why = str(error) if isinstance(error, TooLargeError) else "its end cannot be decompressed"
                self._gathered.miss("statement", str(source.path), why, 1.0)

        if not EventLogReader(self._table, self._gathered).add(lines()):
            raise InvalidInputError("it has no events of Spark")

    def _add_rows(self, text: str, source: Source) -> None:
        is_json = text.lstrip().startswith(("{", "["))
        names = re.findall(r'"([^"\\]{1,40})"\s*:', text[:100_000]) if is_json else _header(text)
        keys = {plain(name) for name in names}
        has_queries = source.kind == "rows" and (keys & set(QUERY) or not keys & set(CONDITION))
        if is_json:
            rows = json_rows(text, QUERY if has_queries else CONDITION)
        elif source.kind == "rows" or keys & set(CONDITION):
            rows = csv_rows(text, QUERY if has_queries else CONDITION)
        else:
            rows = _condition_lines(text)
        if not has_queries:
            self._read.append(self._conditions(rows, source))
            return
        is_named = re.compile(rf"(?<!\w){re.escape(self._table.identifier[-1])}(?!\w)", re.IGNORECASE)
        for row in rows:
            if row.refusal is not None and not is_named.search(row.text):
                self._gathered.elsewhere += row.weight
            elif row.refusal is not None:
                self._gathered.miss("statement", row.text, row.refusal, row.weight)
            else:
                self._statements.add_script(row.text, row.weight, namespace=row.namespace, at=row.at)

    def _conditions(self, rows: Iterable[Row], source: Source) -> Workload:
        """Count scans given as bare conditions, as they stand after WHERE."""
        gathered, dialect, is_guess = Gathered(), dialect_of(self._dialect or "spark"), source.is_guess
        for row in rows:
            try:
                if row.refusal is not None:
                    raise InvalidInputError(row.refusal)
                with parsing(row.text):
                    condition = balanced(exp.condition(row.text, dialect=dialect))
                    scan = qualified_condition(condition, self._table, dialect)
                    found = scan_filter(scan, self._table, self._as_of or row.at or self._now)
            except InvalidInputError as error:
                gathered.miss("statement", row.text, str(error), row.weight)
                is_guess &= not isinstance(error, TooLargeError)
                continue
            gathered.add(found, row.weight)
        found_all = gathered.workload()
        is_understood = found_all.columns_only or any(each.filter != FULL_SCAN for each in found_all.queries)
        if is_guess and found_all.not_understood and not is_understood:
            name, why = ".".join(self._table.identifier), found_all.not_understood[0].reason
            raise InvalidInputError(f"it looks like conditions, but none is on columns of {name}: {why}")
        return found_all


def _header(text: str) -> list[str]:
    return re.split(r"[,;\t]", text.partition("\n")[0])


def _condition_lines(text: str) -> Iterator[Row]:
    """Read one condition a line; lines that begin with # or -- are left out."""
    lines = (line.strip().rstrip(";").rstrip() for line in text.splitlines())
    return (Row(line) for line in lines if line and not line.startswith(("#", "--")))
