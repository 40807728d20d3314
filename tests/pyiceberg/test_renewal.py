"""Credentials that a REST catalog vends are renewed while a rewrite runs, wherever it reads, writes, deletes or commits."""

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from typing import ClassVar

import pyarrow as pa
import pytest
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.io import InputFile, OutputFile
from pyiceberg.io.pyarrow import PyArrowFile, PyArrowFileIO
from pyiceberg.table import Table

from iceberg_zorder.errors import RewriteFailedError
from iceberg_zorder.pyiceberg import catalog as renewing
from iceberg_zorder.pyiceberg import rewrite_data_files
from tests.pyiceberg.committing import ids, on_disk
from tests.pyiceberg.lake import table_of
from tests.stack.rest import RestServer, hang_up, rest_server, status

ALL = {"rewrite-all": True}
FILES, ROWS = 6, 600
LASTS = 60.0
"""Seconds that credentials are valid for, by the test's clock."""


class Clock:
    """What the catalog, the storage and the rewrite take for the time; it goes on with the work."""

    now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now

    def work(self, stage: str, rows: int, size: int, /) -> None:
        self.now += LASTS / 4


CLOCK = Clock()


class Storage(PyArrowFileIO):
    """Storage that refuses credentials which have expired."""

    refused: ClassVar[list[str]] = []

    def _check(self, location: object) -> None:
        if CLOCK() >= float(self.properties.get("s3.session-token", "0")):
            self.refused.append(str(location))
            raise PermissionError(f"ExpiredToken: {location}")

    def new_input(self, location: str) -> PyArrowFile:
        self._check(location)
        return super().new_input(location)

    def new_output(self, location: str) -> PyArrowFile:
        self._check(location)
        return super().new_output(location)

    def delete(self, location: str | InputFile | OutputFile) -> None:
        self._check(location)
        super().delete(location)


def vended(*, tells: bool = True) -> dict[str, str]:
    """Credentials of now, by the name of the time that they expire at."""
    expires = CLOCK() + LASTS
    # Another credential, which lasts longer, keeps none of the first valid.
    times = {"s3.session-token-expires-at-ms": expires, "adls.sas-token-expires-at-ms.other": expires + 100 * LASTS}
    told = {name: str(int(time * 1000)) for name, time in times.items()} if tells else {}
    return {"s3.session-token": str(expires), "py-io-impl": f"{__name__}.Storage", **told}


@pytest.fixture
def server(catalog: SqlCatalog, monkeypatch: pytest.MonkeyPatch) -> Iterator[RestServer]:
    schema = pa.schema([("id", pa.int64()), ("p", pa.int32()), ("a", pa.int64())])
    numbers = range(ROWS)
    columns = [numbers, [n % 2 for n in numbers], [n * 7919 % 1000 for n in numbers]]
    rows = pa.table([pa.array(each, kind) for each, kind in zip(columns, schema.types, strict=True)], schema)
    table_of(catalog, rows, FILES, by="p", properties={"commit.retry.min-wait-ms": "1"})
    monkeypatch.setattr(renewing, "_now", CLOCK, raising=False)
    Storage.refused.clear()
    with rest_server(catalog) as running:
        running.config = vended
        yield running


@pytest.fixture
def table(server: RestServer) -> Iterator[Table]:
    catalog = RestCatalog("lake", uri=server.uri)
    yield catalog.load_table("db.t")
    catalog.close()


def test_a_rewrite_outlives_its_credentials(catalog: SqlCatalog, table: Table) -> None:
    begun = CLOCK()
    result = rewrite_data_files(table, ["a"], options=ALL, progress=CLOCK.work)
    assert (result.rewritten_data_files_count, result.added_data_files_count) == (2 * FILES, 2)
    assert CLOCK() - begun > 5 * LASTS
    assert Storage.refused == []
    assert ids(catalog.load_table("db.t")) == list(range(ROWS))
    # The caller's table has the catalog's own FileIO again, with credentials that are valid.
    assert type(table.io) is Storage
    assert len(list(table.scan().plan_files())) == 2


def test_what_fails_is_deleted_with_fresh_credentials(catalog: SqlCatalog, table: Table) -> None:
    files = on_disk(catalog.load_table("db.t"))

    def failing(stage: str, rows: int, size: int, /) -> None:
        CLOCK.work(stage, rows, size)
        if stage == "write":
            CLOCK.now += 2 * LASTS
            raise OSError("disk on fire")

    # One file at a time: time that passes for another one could pass between a renewal and its use.
    alone = {"max-concurrent-file-group-rewrites": 1, "target-file-size-bytes": 2**30}
    with pytest.raises(RewriteFailedError, match="disk on fire"):
        rewrite_data_files(table, ["a"], options={**ALL, **alone}, progress=failing)
    assert Storage.refused == []
    assert on_disk(catalog.load_table("db.t")) == files


def test_credentials_that_do_not_say_when_they_expire(
    table: Table, server: RestServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.config = lambda: vended(tells=False)
    monkeypatch.setattr(renewing, "_UNKNOWN_SECONDS", LASTS / 2, raising=False)
    rewrite_data_files(table, ["a"], options=ALL, progress=CLOCK.work)
    assert Storage.refused == []


def test_a_catalog_that_fails_once_is_asked_again(table: Table, server: RestServer) -> None:
    failures = [status(503), hang_up, status(429), status(500)]

    def flaky(stage: str, rows: int, size: int, /) -> None:
        CLOCK.work(stage, rows, size)
        if failures:
            failure = failures.pop()

            def once(handler: BaseHTTPRequestHandler) -> None:
                server.refusal = None
                failure(handler)

            server.refusal = once

    rewrite_data_files(table, ["a"], options=ALL, progress=flaky)
    assert failures == []
    assert Storage.refused == []
