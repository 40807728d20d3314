"""Writers that append and delete against rewriters, in processes of their own: ``python -m tests.soak.races``.

Every row has an id of its own, and every writer remembers which ids it has committed and deleted again. In the end each
committed row must be in the table exactly once, and no other; every data file of every snapshot must be on disk; and no
rewriter may have left a new file behind, unless it could not tell whether it had committed.
"""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing.synchronize import Barrier
from pathlib import Path
from urllib.parse import urlparse

import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import CommitFailedException, ValidationException
from pyiceberg.table import Table
from sqlalchemy.exc import SQLAlchemyError

from iceberg_zorder.errors import RewriteConflictError, UnknownOutcomeError
from iceberg_zorder.pyiceberg import rewrite_data_files
from tests.pyiceberg.committing import commit_files, position_deletes, rows_of
from tests.stack.servers import postgresql

IDS_PER_WRITER = 1_000_000_000
ROWS_PER_APPEND = 20
FILES_PER_REWRITE = 12
WRITERS = 4
ATTEMPTS = 30
TABLE = "db.t"
APPENDS_AT_LEAST = 3
PATIENCE = 240
"""Seconds after its time that a process has for what it does at least, on a machine that is busy with other things."""
NOTHING = "looks at a table with nothing to rewrite"
DELETES = ("position", "copy-on-write")
_barrier: Barrier | None = None


def rewrite_once(table: Table) -> bool:
    """Rewrite some of the files of one writer's rows; whether there were any to rewrite."""
    first = random.randrange(WRITERS) * IDS_PER_WRITER
    where = f"id >= {first} and id < {first + IDS_PER_WRITER}"
    options = {"rewrite-all": True, "max-files-to-rewrite": FILES_PER_REWRITE, "memory-limit-bytes": 2**24}
    return not rewrite_data_files(table, ["id", "p"], where=where, options=options).nothing_to_do


@dataclass
class Journal:
    """What a process did: the ids of the rows it knows to be there, those it cannot tell of, and its counts."""

    there: set[int] = field(default_factory=set)
    perhaps: set[int] = field(default_factory=set)
    counts: Counter[str] = field(default_factory=Counter)


def write(properties: dict[str, str], number: int, seconds: float) -> Journal:
    """Append, and delete own rows again, for some time, and at least three times."""
    until = _start() + seconds
    catalog = SqlCatalog("lake", **properties)
    journal, choice = Journal(), random.Random(number)
    first = number * IDS_PER_WRITER
    while _goes_on(until, journal.counts["appends"] >= APPENDS_AT_LEAST):
        table = catalog.load_table(TABLE)
        if len(journal.there) < 100 or choice.random() < 0.6:
            ids = range(first, first + ROWS_PER_APPEND)
            first += ROWS_PER_APPEND
            _note(journal, "append", ids, lambda table=table, ids=ids: table.append(rows_of(ids)))  # type: ignore[misc]
        else:
            start = choice.choice(sorted(journal.there))
            ids = range(start, start + choice.randrange(1, 2 * ROWS_PER_APPEND))
            how = choice.choice(DELETES)
            delete = _delete_positions if how == "position" else _delete_by_copying
            _note(journal, f"{how} delete", ids, lambda delete=delete, ids=ids: delete(catalog, ids))  # type: ignore[misc]
    catalog.close()
    return journal


def _note(journal: Journal, what: str, ids: Sequence[int], change: Callable[[], object]) -> None:
    """Make a change to some rows, and note what became of it."""
    try:
        change()
    except (CommitFailedException, ValidationException):
        journal.counts[f"{what}s failed"] += 1
        return
    except SQLAlchemyError as error:
        journal.counts[f"{what}s of unknown outcome ({type(error).__name__})"] += 1
        journal.perhaps |= set(ids) if what == "append" else set(ids) & journal.there
        journal.there -= set(ids)
        return
    journal.counts[f"{what}s"] += 1
    if what == "append":
        journal.there |= set(ids)
    else:
        journal.there -= set(ids)


def _delete_positions(catalog: SqlCatalog, ids: Sequence[int]) -> None:
    """Delete rows by a position delete file, on top of the head that was read and no other."""
    for _ in range(ATTEMPTS):
        table = catalog.load_table(TABLE)
        found = []
        for task in table.scan(f"id >= {ids[0]} and id <= {ids[-1]}").plan_files():
            values = pq.read_table(urlparse(task.file.file_path).path, partitioning=None)["id"].to_pylist()
            found += [(task.file.file_path, position) for position, id_ in enumerate(values) if id_ in ids]
        try:
            commit_files(table, position_deletes(table, found), refresh=False)
        except CommitFailedException:
            time.sleep(random.uniform(0, 0.1))
        else:
            return
    raise CommitFailedException("others were always first")


def _delete_by_copying(catalog: SqlCatalog, ids: Sequence[int]) -> None:
    """Delete rows by PyIceberg, on top of the head that was read: its own retries let deleted rows come back."""
    for _ in range(ATTEMPTS):
        table = catalog.load_table(TABLE)
        table.metadata.properties["commit.retry.num-retries"] = "0"
        try:
            table.delete(f"id >= {ids[0]} and id <= {ids[-1]}")
        except CommitFailedException:
            time.sleep(random.uniform(0, 0.1))
        else:
            return
    raise CommitFailedException("others were always first")


def rewrite(properties: dict[str, str], seconds: float) -> Journal:
    """Rewrite again and again for some time, and at least once."""
    until = _start() + seconds
    # Conflicts are what this is about.
    logging.getLogger("iceberg_zorder").setLevel(logging.ERROR)
    catalog = SqlCatalog("lake", **properties)
    journal = Journal()
    while _goes_on(until, journal.counts["rewrites"] > 0):
        outcome = _rewrite(catalog.load_table(TABLE))
        journal.counts[outcome] += 1
        if outcome == NOTHING:
            time.sleep(0.05)
    catalog.close()
    return journal


def _rewrite(table: Table) -> str:
    try:
        return "rewrites" if rewrite_once(table) else NOTHING
    except RewriteConflictError:
        return "rewrites in conflict"
    except UnknownOutcomeError:
        return "rewrites of unknown outcome"


def _meet_at(barrier: Barrier) -> None:
    global _barrier
    _barrier = barrier


def _start() -> float:
    """Wait until all processes are there, which takes long on a busy machine; the time then."""
    assert _barrier is not None
    _barrier.wait()
    return time.time()


def _goes_on(until: float, has_done_enough: bool) -> bool:
    return time.time() < (until if has_done_enough else until + PATIENCE)


def race(
    properties: dict[str, str],
    *,
    seconds: float,
    writers: int = WRITERS,
    rewriters: int = 2,
) -> Counter[str]:
    """Let writers and rewriters loose on a new table, and check it; returns what they did."""
    catalog = SqlCatalog("lake", **properties)
    catalog.create_namespace("db")
    retries = {"num-retries": "100", "min-wait-ms": "5", "max-wait-ms": "100"}
    catalog.create_table(
        TABLE, rows_of([]).schema, properties={f"commit.retry.{name}": value for name, value in retries.items()}
    )
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(writers + rewriters)
    with ProcessPoolExecutor(barrier.parties, mp_context=context, initializer=_meet_at, initargs=(barrier,)) as pool:
        writing = [pool.submit(write, properties, number, seconds) for number in range(writers)]
        rewriting = [pool.submit(rewrite, properties, seconds) for _ in range(rewriters)]
        journals = [future.result() for future in [*writing, *rewriting]]
    table = catalog.load_table(TABLE)
    counts = sum((journal.counts for journal in journals), Counter[str]())
    check(table, journals)
    counts["orphan files"] = len(orphans(table))
    counts["snapshots"] = len(table.snapshots())
    if counts["orphan files"] and not counts["rewrites of unknown outcome"]:
        raise AssertionError(f"rewriters left {counts['orphan files']} new files behind")
    catalog.close()
    return counts


def check(table: Table, journals: Sequence[Journal]) -> None:
    """Compare a table with what its writers remember."""
    there: set[int] = set().union(*(journal.there for journal in journals))
    perhaps: set[int] = set().union(*(journal.perhaps for journal in journals))
    rows = Counter(table.scan().to_arrow()["id"].to_pylist())
    if doubled := [id_ for id_, count in rows.items() if count > 1]:
        raise AssertionError(f"{len(doubled)} rows are there more than once, {doubled[0]} among them")
    if lost := there - set(rows):
        raise AssertionError(f"{len(lost)} of {len(there)} committed rows are lost, {min(lost)} among them")
    if strange := set(rows) - there - perhaps:
        raise AssertionError(f"{len(strange)} rows are there that were deleted or failed, {min(strange)} among them")
    total = table.current_snapshot().summary["total-records"]  # type: ignore[union-attr, index]
    files = table.inspect.data_files()
    if int(total or 0) != (pc.sum(files["record_count"]).as_py() or 0):
        raise AssertionError(f"the summary counts {total} rows, and the data files have others")
    missing = [path for path in known_files(table) if not Path(urlparse(path).path).exists()]
    if missing:
        raise AssertionError(f"{len(missing)} files are missing, {missing[0]} among them")


def known_files(table: Table) -> set[str]:
    """All data files and delete files of all snapshots."""
    return set(table.inspect.all_files()["file_path"].to_pylist())


def orphans(table: Table) -> set[str]:
    """The rewriters' new files that no snapshot knows; PyIceberg's own writers leave some when they fail."""
    found = Path(urlparse(table.location()).path).rglob("*-zorder.parquet")
    return {f"file://{path}" for path in found} - known_files(table)


def main() -> int:
    """Run one race; 0 if the table was right in the end."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--catalog", choices=["sqlite", "postgresql"], default="sqlite")
    parser.add_argument("--writers", type=int, default=WRITERS)
    parser.add_argument("--rewriters", type=int, default=2)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="iceberg-zorder-races-") as name:
        directory = Path(name)
        size = {"seconds": arguments.seconds, "writers": arguments.writers, "rewriters": arguments.rewriters}
        if arguments.catalog == "sqlite":
            counts = race(sqlite(directory), **size)
        else:
            with postgresql() as database:
                uri = f"postgresql+psycopg://postgres@{database}"
                counts = race({"uri": uri, "warehouse": f"file://{directory}/warehouse"}, **size)
    print(", ".join(f"{count} {what}" for what, count in sorted(counts.items())))
    print("every committed row is there exactly once")
    return 0


def sqlite(directory: Path) -> dict[str, str]:
    """The properties of a SQLite catalog whose writers wait for each other."""
    return {
        "uri": f"sqlite:///{directory}/catalog.db?timeout=60",
        "warehouse": f"file://{directory}/warehouse",
    }


if __name__ == "__main__":
    sys.exit(main())
