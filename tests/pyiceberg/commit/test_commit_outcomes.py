"""Commits that fail or may have failed: what is deleted, and what must not be."""

import socket
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import pytest
import requests
from pyiceberg import exceptions
from pyiceberg.catalog.glue import GlueCatalog
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.io import load_file_io
from pyiceberg.table import CommitTableResponse, Table

from iceberg_zorder.errors import InvalidInputError, RewriteConflictError, RewriteFailedError, UnknownOutcomeError
from iceberg_zorder.pyiceberg.catalog import CatalogConfiguration, is_not_committed, is_transient, load_table
from tests.pyiceberg.committing import (
    Interrupted,
    avro_files,
    commit,
    exists,
    files_of,
    head_id,
    ids,
    known_avro_files,
    make_catalog,
    make_table,
    rewritten,
    rows_of,
)
from tests.stack.glue import GlueServer, glue_server
from tests.stack.rest import RestServer, hang_up, rest_server, status, throttled_by_aws
from tests.stack.running import Answering, running

UNKNOWN = (
    r"Cannot tell whether the rewrite of lake.db.t was committed, because the catalog gave no clear answer. No file was"
    r" deleted. Look at the table's latest snapshot: if it is not this rewrite, run it again, then run"
    r" remove_orphan_files."
)


class Lake:
    """A table of two files, and a rewrite of it through a faulty catalog."""

    def __init__(self, directory: Path) -> None:
        self.honest = make_catalog(directory, SqlCatalog)
        self.seen = make_table(self.honest, rows_of([1, 2]), rows_of([3]))
        self.faulty = make_catalog(directory, Interrupted)
        self.mine = self.faulty.load_table("db.t")
        self.start = head_id(self.mine)
        self.replacement = rewritten(self.mine, files_of(self.mine))
        self.metadata_files = avro_files(self.seen)

    def commit(self) -> int:
        return commit(self.mine, self.replacement, self.start)

    def is_rewritten(self) -> bool:
        """Whether the table is rewritten; it must be as it was, otherwise."""
        assert ids(self.seen) == [1, 2, 3]
        assert len(files_of(self.seen)) in {1, 2}
        assert all(map(exists, files_of(self.seen)))
        return len(files_of(self.seen)) == 1

    def nothing_deleted(self) -> bool:
        return all(map(exists, self.replacement.added)) and len(avro_files(self.seen) - self.metadata_files) == 4

    def all_deleted(self) -> bool:
        return not any(map(exists, self.replacement.added)) and avro_files(self.seen) == known_avro_files(self.seen)


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Lake]:
    made = Lake(tmp_path)
    yield made
    made.honest.close()
    made.faulty.close()


@pytest.mark.parametrize("is_gone", [True, False])
def test_new_files_that_others_have_deleted_or_cut_are_not_committed(lake: Lake, is_gone: bool) -> None:
    (file,) = lake.replacement.added
    path = Path(urlparse(file.file_path).path)
    size = path.stat().st_size
    path.unlink() if is_gone else path.write_bytes(path.read_bytes()[:-4])
    found = "is gone" if is_gone else f"has {size - 4:,} bytes instead of {size:,}"
    with pytest.raises(RewriteFailedError) as failure:
        lake.commit()
    assert f"Cannot commit rewrite of lake.db.t, because new data file {file.file_path} {found}: " in str(failure.value)
    assert lake.all_deleted()
    assert not lake.is_rewritten()
    assert lake.faulty.commits == []


REFUSED = exceptions.CommitFailedException("Requirement failed: branch main has changed")
UNCLEAR = [exceptions.CommitStateUnknownException("500"), ConnectionResetError("by peer"), ValueError("no JSON")]


@pytest.mark.parametrize("committed", [False, True])
@pytest.mark.parametrize("error", [*UNCLEAR, KeyboardInterrupt(), REFUSED], ids=lambda error: type(error).__name__)
def test_an_outcome_that_nobody_knows(lake: Lake, error: BaseException, committed: bool) -> None:
    """An unclear answer, an interrupt while the catalog is asked, and a refusal that cannot be checked."""
    lake.faulty.fail(error, committed=committed, down=committed or error is REFUSED)
    with pytest.raises(UnknownOutcomeError, match=UNKNOWN) as failure:
        lake.commit()
    assert failure.value.__cause__ is error or error is REFUSED
    assert lake.nothing_deleted()
    assert lake.is_rewritten() == committed
    # The same snapshot is offered again, as often as the table says, unless the answer makes no sense.
    assert committed or len(lake.faulty.commits) == (5 if error in UNCLEAR[:2] else 1)


def test_a_refusal_of_what_was_committed(lake: Lake) -> None:
    # A request that was sent twice, and granted the first time.
    lake.faulty.fail(REFUSED, committed=True)
    assert lake.commit() == head_id(lake.seen)
    assert lake.is_rewritten()
    assert len(lake.faulty.commits) == 1


@pytest.mark.parametrize("error", [exceptions.BadRequestError, exceptions.ForbiddenError, exceptions.UnauthorizedError])
def test_what_the_catalog_refuses_to_try_has_failed(lake: Lake, error: type[Exception]) -> None:
    lake.faulty.fail(error("no"))
    with pytest.raises(error, match="no"):
        lake.commit()
    assert lake.all_deleted()
    assert not lake.is_rewritten()


@pytest.mark.parametrize("retries", [0, 3])
def test_the_table_says_how_often_to_retry(lake: Lake, retries: int) -> None:
    lake.seen.transaction().set_properties({"commit.retry.num-retries": str(retries)}).commit_transaction()
    lake.mine.refresh()
    lake.faulty.fail(REFUSED)
    with pytest.raises(
        RewriteConflictError, match="on the same files: Requirement failed: branch main has changed. The"
    ):
        lake.commit()
    assert len(lake.faulty.commits) == retries + 1
    assert lake.all_deleted()
    assert not lake.is_rewritten()


def test_a_failure_before_the_catalog_is_asked(lake: Lake) -> None:
    lake.seen.transaction().set_properties({"write.avro.compression-codec": "lz4"}).commit_transaction()
    with pytest.raises(InvalidInputError, match="^Cannot set write.avro.compression-codec to 'lz4', because PyIceberg"):
        lake.commit()
    assert lake.faulty.commits == []
    assert lake.all_deleted()
    assert not lake.is_rewritten()


@pytest.fixture
def rest(lake: Lake) -> Iterator[RestServer]:
    with rest_server(lake.honest) as server:
        catalog = RestCatalog("lake", uri=server.uri)
        lake.mine = catalog.load_table("db.t")
        yield server
        catalog.close()


@pytest.mark.parametrize("committed", [False, True])
@pytest.mark.parametrize(
    "answer",
    [status(500), status(503), hang_up],
    ids=["500", "503", "hang up"],
)
def test_a_failing_server_never_loses_files(
    lake: Lake, rest: RestServer, answer: Callable[[BaseHTTPRequestHandler], None], committed: bool
) -> None:
    rest.answer, rest.commits = answer, committed
    if committed:
        assert lake.commit() == head_id(lake.seen)
    else:
        with pytest.raises(UnknownOutcomeError, match=UNKNOWN):
            lake.commit()
    assert lake.nothing_deleted()
    assert lake.is_rewritten() == committed


def refusals(rest: RestServer, answer: Callable[[BaseHTTPRequestHandler], None], most: int = 1000) -> list[object]:
    """Have the server refuse commits, at most so many; counts them."""
    refused: list[object] = []

    def refuse(handler: BaseHTTPRequestHandler) -> None:
        refused.append(handler)
        if len(refused) == most:
            rest.commits, rest.answer = True, None
        answer(handler)

    rest.commits, rest.answer = False, refuse
    return refused


THROTTLED = pytest.mark.parametrize("answer", [status(429), throttled_by_aws], ids=["429", "AWS"])


@THROTTLED
def test_a_throttled_commit_is_tried_again(
    lake: Lake, rest: RestServer, answer: Callable[[BaseHTTPRequestHandler], None]
) -> None:
    refused = refusals(rest, answer, most=2)
    assert lake.commit() == head_id(lake.seen)
    assert lake.is_rewritten()
    assert avro_files(lake.seen) == known_avro_files(lake.seen)
    assert len(refused) == 2


@pytest.mark.parametrize(
    ("answer", "times"), [(status(429), 5), (throttled_by_aws, 5), (status(400), 1)], ids=["429", "AWS", "400"]
)
def test_a_commit_that_is_always_refused_has_failed(
    lake: Lake, rest: RestServer, answer: Callable[[BaseHTTPRequestHandler], None], times: int
) -> None:
    refused = refusals(rest, answer)
    with pytest.raises(exceptions.RESTError):
        lake.commit()
    assert len(refused) == times
    assert lake.all_deleted()
    assert not lake.is_rewritten()


@THROTTLED
def test_a_throttled_repetition_of_what_was_committed(
    lake: Lake, rest: RestServer, answer: Callable[[BaseHTTPRequestHandler], None]
) -> None:
    rest.answer = answer
    assert lake.commit() == head_id(lake.seen)
    assert lake.is_rewritten()


@pytest.fixture
def glue(tmp_path: Path) -> Iterator[tuple[GlueServer, Table]]:
    with glue_server() as server, GlueCatalog("lake", **server.properties, warehouse=f"file://{tmp_path}") as catalog:
        catalog.create_namespace("db")
        yield server, make_table(catalog, rows_of([1, 2]), rows_of([3]))


@pytest.mark.parametrize("operation", ["GetTable", "UpdateTable"])
@pytest.mark.parametrize(
    ("code", "name"),
    [
        (400, "ThrottlingException"),
        (400, "ProvisionedThroughputExceededException"),
        (503, "SlowDown"),
        (500, "Internal"),
    ],
)
def test_a_catalog_that_throttles_through_botocore_is_asked_again(
    glue: tuple[GlueServer, Table], operation: str, code: int, name: str
) -> None:
    server, table = glue
    replacement, start = rewritten(table, files_of(table)), head_id(table)
    server.refusals, server.most_refusals = {operation: (code, name)}, 2
    assert commit(table, replacement, start) == head_id(table)
    assert server.refused == [operation] * 2
    assert (ids(table), len(files_of(table))) == ([1, 2, 3], 1)
    assert avro_files(table) == known_avro_files(table)


@pytest.mark.parametrize(("name", "times"), [("ThrottlingException", 5), ("AccessDeniedException", 1)])
def test_what_botocore_may_have_repeated_by_itself_may_have_been_committed(
    glue: tuple[GlueServer, Table], name: str, times: int
) -> None:
    server, table = glue
    replacement, start = rewritten(table, files_of(table)), head_id(table)
    server.refusals = {"UpdateTable": (400, name)}
    with pytest.raises(UnknownOutcomeError, match=UNKNOWN):
        commit(table, replacement, start)
    assert len(server.refused) == times
    assert all(map(exists, replacement.added))


class SlowS3(Answering):
    """An S3 that takes no request."""

    def slow_down(self) -> None:
        self.body()
        self.reply(503, b"<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>")

    do_HEAD = do_GET = do_POST = do_PUT = slow_down  # noqa: N815


def test_metadata_files_that_s3_throttles_are_written_later() -> None:
    with running(ThreadingHTTPServer(("127.0.0.1", 0), SlowS3)) as server:
        key = {"s3.access-key-id": "key", "s3.secret-access-key": "secret", "s3.region": "us-east-1"}
        io = load_file_io({**key, "s3.endpoint": f"http://127.0.0.1:{server.server_port}"}, "s3://bucket")
        output = io.new_output("s3://bucket/1.metadata.json")
        with pytest.raises(OSError, match="SLOW_DOWN") as written:
            output.create(overwrite=True).close()
        with pytest.raises(OSError, match="503") as sought:
            output.exists()
    for raised in (written, sought):
        assert is_transient(raised.value)
        assert not is_not_committed(raised.value)


@pytest.mark.parametrize("does", [False, True])
@pytest.mark.parametrize("error", UNCLEAR, ids=lambda error: type(error).__name__)
def test_one_unclear_answer_loses_no_work(lake: Lake, error: Exception, does: bool) -> None:
    # What makes no sense is not asked for again.
    does = does or isinstance(error, ValueError)
    lake.faulty.fail(error, committed=does, times=1)
    assert lake.commit() == head_id(lake.seen)
    assert lake.is_rewritten()
    assert len(lake.faulty.commits) == (1 if does else 2)
    assert avro_files(lake.seen) == known_avro_files(lake.seen)


class TwoMinds(SqlCatalog):
    """A catalog that makes the first of two commits late, and refuses the second for another reason."""

    commits = 0
    late: Callable[[], object] | None = None

    def commit_table(self, table: Table, requirements: Any, updates: Any) -> CommitTableResponse:
        self.commits += 1
        if self.commits == 1:
            self.late = lambda: SqlCatalog.commit_table(self, table, requirements, updates)
            raise TimeoutError("read")
        raise exceptions.CommitFailedException("cannot acquire a lock")


def test_a_refusal_does_not_clear_up_an_earlier_attempt(lake: Lake, tmp_path: Path) -> None:
    catalog = make_catalog(tmp_path, TwoMinds)
    lake.mine = catalog.load_table("db.t")
    with pytest.raises(UnknownOutcomeError, match=UNKNOWN):
        lake.commit()
    assert catalog.commits == 5
    assert lake.nothing_deleted()
    assert catalog.late is not None
    catalog.late()
    assert lake.is_rewritten()
    catalog.close()


def test_what_was_not_sent_was_not_committed() -> None:
    # A port that nobody listens to, nor can be given while it is bound.
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        with pytest.raises(requests.ConnectionError) as refused:
            requests.post(f"http://127.0.0.1:{bound.getsockname()[1]}/", timeout=5)
    assert is_not_committed(refused.value)
    assert is_transient(refused.value)
    # One that takes the request, and hangs up.
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        thread = threading.Thread(target=lambda: listening.accept()[0].close())
        thread.start()
        with pytest.raises(requests.ConnectionError) as cut:
            requests.post(f"http://127.0.0.1:{listening.getsockname()[1]}/", data=b"x" * 1000, timeout=5)
        thread.join()
    assert not is_not_committed(cut.value)
    assert is_transient(cut.value)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (exceptions.ServiceUnavailableError("503"), True),
        (requests.ReadTimeout(), True),
        (requests.exceptions.SSLError("certificate"), False),
        (exceptions.UnauthorizedError("401"), False),
        (NotImplementedError("501"), False),
        (FileNotFoundError(), False),
    ],
)
def test_what_passes(error: Exception, expected: bool) -> None:
    assert is_transient(error) == expected
    assert not is_not_committed(error)


def test_the_first_load_is_tried_again(lake: Lake, rest: RestServer) -> None:
    failures = [hang_up, throttled_by_aws, status(503)]

    def failing(handler: BaseHTTPRequestHandler) -> None:
        if len(failures) == 1:
            rest.refusal = None
        failures.pop()(handler)

    rest.refusal = failing
    configuration = CatalogConfiguration("lake", {"type": "rest", "uri": rest.uri})
    assert load_table(configuration, ("db", "t")).metadata == lake.mine.metadata
    assert failures == []
