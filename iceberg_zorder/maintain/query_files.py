"""The queries on a table, read from the files that a policy names."""

from __future__ import annotations

import glob
import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import cast

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.maintain.policy.settings import QueryFiles
from iceberg_zorder.workload.read import read_workload
from iceberg_zorder.workload.readers.files import Format
from iceberg_zorder.workload.scanned_table import ScannedTable
from iceberg_zorder.workload.workload import Workload
from iceberg_zorder.workload.workload_json import to_json

_LOG = logging.getLogger("iceberg_zorder")

MOST_QUERIES = 1_000
"""So many different filters count at most, as each takes every plan some milliseconds."""
_FRESH = timedelta(hours=1)
"""For so long a process keeps what it has read."""


@dataclass(frozen=True)
class ReadQueries:
    """What was read of the queries on a table."""

    text: str
    """The queries as option ``workload`` takes them; empty if there are none."""
    queries: int
    """How many different ones count."""
    per_day: float
    """How many run a day, all of them."""
    not_understood: float
    """How many statements, and parts of conditions, could not be used."""

    @staticmethod
    def of(workload: Workload, days: float) -> ReadQueries:
        """Take what a layout is made for: queries whose values are known, or as many of them as stand for all.

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
    """Reads the files of a policy, for each table once an hour; paths are relative to ``home``, where the policy is."""

    def __init__(self, home: Path, clock: Callable[[], datetime]) -> None:
        self._home, self._clock = home, clock
        self._read: dict[tuple[object, ...], tuple[datetime, ReadQueries]] = {}

    def read(self, of: QueryFiles, table: ScannedTable) -> ReadQueries:
        """Read the queries on a table.

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
        # Without a moment of their own queries run today, all day: what is relative to it is the same for each pass.
        today = now.astimezone(timezone.utc).replace(hour=0, minute=0, second=0, microsecond=0)
        key = (of, table.identifier, tuple(sorted(table.columns.items())))
        at, found = self._read.get(key, (None, None))
        if at is not None and found is not None and at >= today and now - at < _FRESH:
            return found
        kind = cast("Format | None", of.format)
        workload = read_workload(self._paths(of.sources), table, dialect=of.dialect, kind=kind, now=today)
        found = ReadQueries.of(workload, of.days)
        self._tell(workload, found, table)
        self._read[key] = (now, found)
        return found

    def _paths(self, sources: Sequence[str]) -> list[Path]:
        found: list[Path] = []
        for each in sources:
            exact = self._home / each
            # That of pathlib takes no pattern that begins at the root.
            names = glob.glob(each, root_dir=self._home, recursive=True)  # noqa: PTH207
            matching = [exact] if exact.exists() else sorted(self._home / name for name in names)
            if not matching:
                raise InvalidInputError(f"Cannot read the workload from {exact}, because there is no such file")
            found += matching
        return list(dict.fromkeys(found))

    def _tell(self, workload: Workload, found: ReadQueries, table: ScannedTable) -> None:
        name = ".".join(table.identifier)
        if not found.queries:
            _LOG.warning("Found no query on %s whose values are known: it is maintained without a workload", name)
        elif found.queries < sum(each.weight > 0 for each in workload.queries):
            _LOG.warning("Of the queries on %s %s stand for all", name, f"{MOST_QUERIES:,}")
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
