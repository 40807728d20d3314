"""A table's queries, read from the files that a policy names."""

from __future__ import annotations

import glob
import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.maintain.policy.settings import QueryFiles
from iceberg_zorder.workload.dimension_keys import Dimensions
from iceberg_zorder.workload.read import read_workload
from iceberg_zorder.workload.scanned_table import ScannedTable
from iceberg_zorder.workload.workload import Workload
from iceberg_zorder.workload.workload_json import to_json

_LOG = logging.getLogger("iceberg_zorder")

MOST_QUERIES = 1_000
"""Most distinct filters that count; each costs every plan some milliseconds."""
_FRESH = timedelta(hours=1)
"""How long a process caches the queries."""


@dataclass(frozen=True)
class ReadQueries:
    """A table's queries, as read from files."""

    text: str
    """The queries as a value of option ``workload``; empty without queries."""
    queries: int
    """Number of distinct queries that count."""
    per_day: float
    """Number of all queries a day."""
    not_understood: float
    """Number of statements and conditions that could not be used."""

    @staticmethod
    def of(workload: Workload, days: float) -> ReadQueries:
        """Return the queries with known values, reduced to a representative number of them.

        Examples
        --------
        >>> from iceberg_zorder.workload.workload import Query
        >>> found = ReadQueries.of(Workload.of([Query("a = 1", 6.0), Query("b = 1", 0.0)]), 2.0)
        >>> found.queries, found.per_day, ReadQueries.of(Workload(()), 1.0).text
        (1, 3.0, '')
        """
        weight = math.fsum(each.weight for each in workload.queries)
        known = workload.sampled(MOST_QUERIES).queries
        text = to_json(Workload.of(replace(each, weaker=0.0) for each in known)) if known else ""
        missed = math.fsum(each.weight for each in workload.not_understood)
        return ReadQueries(text, len(known), weight / days, missed)


class QueryFileReader:
    """Reads a policy's query files, once an hour for each table; paths are relative to ``home``."""

    def __init__(self, home: Path, clock: Callable[[], datetime]) -> None:
        self._home, self._clock = home, clock
        self._read: dict[tuple[object, ...], tuple[datetime, ReadQueries]] = {}

    def read(self, of: QueryFiles, table: ScannedTable, dimensions: Dimensions | None = None) -> ReadQueries:
        """Read the queries on a table; joins filter it by the keys of ``dimensions``, and by default not at all.

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as home:
        ...     _ = Path(home, "of-monday.sql").write_text("SELECT * FROM t WHERE a = 1;" * 6)
        ...     reader = QueryFileReader(Path(home), lambda: datetime(2026, 11, 23, tzinfo=timezone.utc))
        ...     found = reader.read(QueryFiles(("of-*.sql",), 2.0), ScannedTable(("db", "t"), {("a",): "long"}))
        >>> found.queries, found.per_day
        (1, 3.0)
        """
        now = self._clock()
        # Queries without a time get today's date, so that relative dates are equal in all passes of a day.
        today = now.astimezone(timezone.utc).replace(hour=0, minute=0, second=0, microsecond=0)
        key = (of, table.identifier, tuple(sorted(table.columns.items())))
        at, found = self._read.get(key, (None, None))
        if at is not None and found is not None and at >= today and now - at < _FRESH:
            return found
        workload = read_workload(
            self._paths(of.sources),
            table,
            dialect=of.dialect,
            kind=of.format,
            now=today,
            dimensions=dimensions,
            readers=of.readers,
        )
        found = ReadQueries.of(workload, of.days)
        self._tell(workload, found, table)
        self._read[key] = (now, found)
        return found

    def _paths(self, sources: Sequence[str]) -> list[Path]:
        found: list[Path] = []
        for each in sources:
            exact = self._home / each
            # pathlib's glob refuses absolute patterns.
            names = glob.glob(each, root_dir=self._home, recursive=True)  # noqa: PTH207
            matching = [exact] if exact.exists() else sorted(self._home / name for name in names)
            if not matching:
                raise InvalidInputError(f"Cannot read the workload from {exact}, because the file does not exist")
            found += matching
        return list(dict.fromkeys(found))

    def _tell(self, workload: Workload, found: ReadQueries, table: ScannedTable) -> None:
        name = ".".join(table.identifier)
        if not found.queries:
            _LOG.warning("Found no query on %s with known values: maintaining it without a workload", name)
        elif found.queries < sum(each.weight > 0 for each in workload.queries):
            _LOG.warning("Using %s representative queries on %s", f"{MOST_QUERIES:,}", name)
        if workload.not_understood:
            most = workload.not_understood[0]
            _LOG.warning(
                "Did not understand %g statements and parts of conditions of the workload of %s, such as '%s', because "
                "%s",
                found.not_understood,
                name,
                most.text,
                most.reason,
            )
