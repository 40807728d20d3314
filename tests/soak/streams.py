"""Writers that stream into tables, and what they remember of it: for ``python -m tests.soak.maintenance``.

Each writer has rows of its own, and a row has a version: an upsert deletes it and adds it again with the next one. A
writer commits on top of the head that it has looked at, and begins again where another was first.
"""

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.manifest import DataFile, DataFileContent, ManifestEntry
from pyiceberg.table import Table

from tests.pyiceberg.committing import commit_files, equality_deletes, new_file, position_deletes

SCHEMA = pa.schema([(name, pa.int64()) for name in ("id", "p", "a", "b", "version")] + [("payload", pa.string())])
PARTITIONS = 3
TABLES = {"db.t0": "position", "db.t1": "position", "db.t2": "position", "db.t3": "equality", "db.t4": "equality"}
"""How rows are deleted from each table."""
PARTITIONED = ("db.t1", "db.t2")
IDS_OF_A_WRITER = 1_000_000_000
ATTEMPTS = 40
_MOST_ROWS, _MOST_CHANGED = 2_000, 300
_PAUSE = (0.3, 1.2)
_ORDER = 1_000_000


@dataclass
class Journal:
    """What a writer has done: the versions of its rows by table and id, the bytes it has added, and its counts."""

    rows: dict[str, dict[int, int]] = field(default_factory=lambda: {name: {} for name in TABLES})
    appended_bytes: int = 0
    counts: Counter[str] = field(default_factory=Counter)


def make_tables(properties: Mapping[str, str]) -> None:
    """Create the tables."""
    catalog = load_catalog("lake", **properties)
    catalog.create_namespace("db")
    for name in TABLES:
        table = catalog.create_table(name, SCHEMA, properties={"format-version": "2"})
        if name in PARTITIONED:
            table.update_spec().add_identity("p").commit()
        table.append(SCHEMA.empty_table())


def live_files(table: Table) -> tuple[list[ManifestEntry], list[ManifestEntry]]:
    """List the data files and the delete files of the newest snapshot."""
    snapshot = table.current_snapshot()
    manifests = [] if snapshot is None else snapshot.manifests(table.io)
    entries = [entry for manifest in manifests for entry in manifest.fetch_manifest_entry(table.io)]
    are_data = [entry.data_file.content == DataFileContent.DATA for entry in entries]
    data = [entry for entry, is_data in zip(entries, are_data, strict=True) if is_data]
    return data, [entry for entry, is_data in zip(entries, are_data, strict=True) if not is_data]


def live_rows(table: Table, ids: range | None = None) -> Iterator[tuple[DataFile, int, int, int]]:
    """Read a table by the rules of the specification: file, position, id and version of each row that is there.

    A position delete applies to files that are not younger, an equality delete (here by id, without partitions) to
    older ones.
    """
    data, deletes = live_files(table)
    positions: dict[str, list[tuple[int, int]]] = {}
    equal: dict[int, int] = {}
    for entry in deletes:
        rows = _read(table, entry.data_file)
        number = entry.sequence_number or 0
        if entry.data_file.content == DataFileContent.POSITION_DELETES:
            for path, position in zip(rows["file_path"].to_pylist(), rows["pos"].to_pylist(), strict=True):
                positions.setdefault(path, []).append((position, number))
        else:
            for each in rows["id"].to_pylist():
                equal[each] = max(number, equal.get(each, 0))
    for entry in data:
        file, number = entry.data_file, entry.sequence_number or 0
        if ids is not None and not _may_have(file, ids):
            continue
        gone = {position for position, of in positions.get(file.file_path, ()) if of >= number}
        rows = _read(table, file)
        for position, (id_, version) in enumerate(
            zip(rows["id"].to_pylist(), rows["version"].to_pylist(), strict=True)
        ):
            if position not in gone and equal.get(id_, 0) <= number and (ids is None or id_ in ids):
                yield file, position, id_, version


def _read(table: Table, file: DataFile) -> pa.Table:
    with table.io.new_input(file.file_path).open() as stream:
        return pq.read_table(pa.BufferReader(stream.read()))


def _may_have(file: DataFile, ids: range) -> bool:
    lower, upper = (
        int.from_bytes(bounds[1], "little", signed=True) for bounds in (file.lower_bounds, file.upper_bounds)
    )
    return lower < ids.stop and upper >= ids.start


class Writer:
    """Writes to all tables in turns, until its time is up."""

    def __init__(self, properties: Mapping[str, str], number: int, kind: str) -> None:
        self._catalog: Catalog = load_catalog("lake", **properties)
        self._kind, self._next = kind, number * IDS_OF_A_WRITER
        self._choice, self._rng = random.Random(number), np.random.default_rng(number)
        self.journal = Journal()

    def run(self, seconds: float) -> Journal:
        """Write for some time."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            name = self._choice.choice(list(TABLES))
            mine = self.journal.rows[name]
            if self._kind == "append" or len(mine) < _MOST_ROWS or self._choice.random() < 0.2:
                self._append(name)
            else:
                self._change(name)
            time.sleep(self._choice.uniform(*_PAUSE))
        return self.journal

    def _append(self, name: str) -> None:
        count = self._choice.randrange(_MOST_ROWS // 10, _MOST_ROWS)
        new = dict.fromkeys(range(self._next, self._next + count), 0)
        self._next += count
        self._commit(name, "appends", lambda table: self._files(table, new))
        self.journal.rows[name] |= new

    def _change(self, name: str) -> None:
        """Delete some rows, which are near one another, and unless that is all add them again."""
        mine = self.journal.rows[name]
        start = self._choice.choice(sorted(mine))
        ids = range(start, start + self._choice.randrange(1, _MOST_CHANGED))
        changed = {} if self._kind == "delete" else {each: mine[each] + 1 for each in ids if each in mine}
        deletes = self._by_position if TABLES[name] == "position" else self._by_equality
        self._commit(name, f"{self._kind}s", lambda table: [*deletes(table, ids), *self._files(table, changed)])
        for each in ids:
            mine.pop(each, None)
        mine |= changed

    def _commit(self, name: str, what: str, files: Callable[[Table], list[DataFile]]) -> None:
        """Commit what a look at the newest head asks for, and look again where another was first."""
        for _ in range(ATTEMPTS):
            table = self._catalog.load_table(name)
            written = files(table)
            if not written:
                return
            try:
                commit_files(table, *written, refresh=False)
            except CommitFailedException:
                self.journal.counts["conflicts"] += 1
                time.sleep(self._choice.uniform(0, 0.2))
            else:
                self.journal.counts[what] += 1
                data = [file for file in written if file.content == DataFileContent.DATA]
                self.journal.appended_bytes += sum(file.file_size_in_bytes for file in data)
                return
        raise CommitFailedException(f"others were always first at {name}")

    def _files(self, table: Table, rows: Mapping[int, int]) -> list[DataFile]:
        """Write rows, a file for each partition."""
        ids = np.array([*rows], np.int64)
        columns = {
            "id": ids,
            "p": ids % PARTITIONS,
            "a": self._rng.integers(0, _ORDER, len(ids)),
            "b": self._rng.integers(0, _ORDER, len(ids)),
            "version": np.array([*rows.values()], np.int64),
            "payload": [f"{id_:040d}" for id_ in ids.tolist()],
        }
        written = pa.table(columns, SCHEMA)
        if not table.spec().fields:
            return [new_file(table, written)] if rows else []
        parts = [(p, written.filter(pa.array(columns["p"] == p))) for p in range(PARTITIONS)]
        spec = table.spec().spec_id
        return [new_file(table, part, spec_id=spec, partition=[p]) for p, part in parts if len(part)]

    @staticmethod
    def _by_position(table: Table, ids: range) -> list[DataFile]:
        found: dict[tuple[int, tuple[Any, ...]], list[tuple[str, int]]] = {}
        for file, position, _, _ in live_rows(table, ids):
            key = file.spec_id, tuple(file.partition[place] for place in range(len(file.partition)))
            found.setdefault(key, []).append((file.file_path, position))
        return [
            position_deletes(table, found[spec, partition], spec_id=spec, partition=partition)
            for spec, partition in sorted(found)
        ]

    @staticmethod
    def _by_equality(table: Table, ids: range) -> list[DataFile]:
        return [equality_deletes(table, list(ids))]


def write(properties: Mapping[str, str], number: int, kind: str, seconds: float) -> Journal:
    """Lead a writer through its time; for a process of its own."""
    return Writer(properties, number, kind).run(seconds)
