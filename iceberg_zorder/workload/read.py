"""Read the workload of a table from files of any kind."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from pathlib import Path

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.request.predicate import parse_predicate
from iceberg_zorder.workload.boxes.boxes import boxes_of
from iceberg_zorder.workload.conditions.values.constants import Clock
from iceberg_zorder.workload.readers.conditions import add_conditions, condition_lines
from iceberg_zorder.workload.readers.event_log import EventLogReader
from iceberg_zorder.workload.readers.files import Format, Source, lines_of, sources, text_of
from iceberg_zorder.workload.readers.rows import CONDITION, QUERY, BadRow, Row, csv_rows, json_rows, json_values
from iceberg_zorder.workload.readers.statements import StatementReader
from iceberg_zorder.workload.scanned_table import ScannedTable
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
) -> Workload:
    """Read the workload of a table.

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
    reader = _Reader(table, dialect, as_of, now or datetime.now(timezone.utc))
    for path in paths:
        for source in sources(path, kind):
            reader.add(source)
    return reader.workload()


class _Reader:
    """Reads one file after the other."""

    def __init__(self, table: ScannedTable, dialect: str | None, as_of: datetime | None, now: datetime) -> None:
        self._table = table
        self._dialect = dialect
        self._clock = Clock(as_of or now)
        self._has_moment = as_of is not None
        self._statements = StatementReader(table, dialect=dialect, as_of=as_of, now=now)
        self._gathered = Gathered()
        self._events = EventLogReader(table, self._gathered)
        self._read: list[Workload] = []

    def add(self, source: Source) -> None:
        try:
            self._add(source)
        except InvalidInputError as error:
            if str(error).startswith("Cannot "):
                raise
            raise InvalidInputError(f"Cannot read {source.path}, because {error}") from error

    def _add(self, source: Source) -> None:
        if source.kind == "event-log":
            self._add_events(source)
        elif source.kind == "sql":
            self._statements.add_script(text_of(source.path))
        elif source.kind == "workload":
            self._read.append(self._checked(from_json(text_of(source.path), str(source.path))))
        else:
            self._add_rows(text_of(source.path), source)

    def workload(self) -> Workload:
        found = self._statements.workload().joined(self._gathered.workload())
        for each in self._read:
            found = found.joined(each)
        return found

    def _checked(self, found: Workload) -> Workload:
        """Refuse filters that are none of the table, as rewrites do."""
        for text in (*(each.filter for each in found.queries), *(each.filter for each in found.columns_only)):
            self._check(text)
        return found

    def _check(self, text: str) -> None:
        try:
            boxes_of(parse_predicate(text), self._table.columns, 1)
        except InvalidInputError as error:
            name = ".".join(self._table.identifier)
            raise InvalidInputError(f"Cannot use the filter '{text}' on {name}, because {error}") from error

    def _add_events(self, source: Source) -> None:
        missing: list[str] = []

        def lines() -> Iterator[str]:
            is_begun = False
            try:
                for line in lines_of(source.path):
                    is_begun = True
                    yield line
            except InvalidInputError as error:
                # An application that runs, or was killed, has written only a part of its last block.
                if not is_begun:
                    raise
                missing.append(str(error))

        if not self._events.add(lines()):
            raise InvalidInputError("it has no events of Spark")
        for _ in missing:
            self._gathered.miss("statement", str(source.path), "its end cannot be decompressed", 1.0)

    def _add_rows(self, text: str, source: Source) -> None:
        is_json = text.lstrip().startswith(("{", "["))
        wanted = QUERY if source.kind == "rows" and _has_queries(text, is_json=is_json) else CONDITION
        rows: list[Row | BadRow]
        if is_json:
            rows = list(json_rows(json_values(text), wanted))
        elif source.kind == "rows" or _is_table(text):
            rows = list(csv_rows(text, wanted))
        else:
            rows = list(condition_lines(text))
        if wanted is CONDITION:
            timeless = (Row(row.text, row.weight) if isinstance(row, Row) and self._has_moment else row for row in rows)
            gathered = Gathered()
            add_conditions(gathered, timeless, self._table, self._clock, self._dialect)
            found = gathered.workload()
            is_understood = found.columns_only or any(each.filter != FULL_SCAN for each in found.queries)
            if source.is_guess and found.not_understood and not is_understood:
                name, why = ".".join(self._table.identifier), found.not_understood[0].reason
                raise InvalidInputError(f"it looks like conditions, and none of them is on columns of {name}: {why}")
            self._read.append(found)
            return
        for row in rows:
            if isinstance(row, BadRow):
                self._gathered.miss("statement", row.text, row.reason, 1.0)
            else:
                self._statements.add_script(row.text, row.weight, namespace=row.namespace, at=row.at)


def _has_queries(text: str, *, is_json: bool) -> bool:
    if is_json:
        keys = {re.sub(r"[^a-z]", "", key.lower()) for key in re.findall(r'"([^"\\]{1,40})"\s*:', text[:100_000])}
    else:
        keys = {re.sub(r"[^a-z]", "", key.lower()) for key in re.split(r"[,;\t]", text.partition("\n")[0])}
    return bool(keys & set(QUERY)) or not keys & set(CONDITION)


def _is_table(text: str) -> bool:
    """Tell whether the first line is a header."""
    header = {re.sub(r"[^a-z]", "", each.lower()) for each in re.split(r"[,;\t]", text.partition("\n")[0])}
    return bool(header & set(CONDITION))
