"""Commits that fail or may have failed: what is deleted, and what must not be."""

import socket
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
import requests
from pyiceberg import exceptions
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import CommitTableResponse, Table

from iceberg_zorder.errors import InvalidInputError, RewriteConflictError, UnknownOutcomeError
from iceberg_zorder.pyiceberg.catalog import CatalogConfiguration, is_not_committed, is_transient, load_table
from tests.pyiceberg.committing import (
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
from tests.stack.rest import RestServer, hang_up, rest_server, status

UNKNOWN = (
    r"Cannot tell whether the rewrite of lake.db.t was committed, because the catalog gave no clear answer. No file was"
    r" deleted. Look at the table's latest snapshot: if it is not this rewrite, run it again, then run"
    r" remove_orphan_files."
)


class Faulty(SqlCatalog):
    """A catalog that fails when it is asked to commit: before it commits, or after."""

    before: BaseException | None = None
    after: BaseException | None = None
    down = False
    """Whether it cannot be reached after a failure."""
    once = False
    failed = False
    commits = 0

    def commit_table(self, table: Table, requirements: Any, updates: Any) -> CommitTableResponse:
        self.commits += 1
        response = None if self.before else super().commit_table(table, requirements, updates)
        self.failed, error = True, self.before or self.after
        if self.once:
            self.before = self.after = None
        if error:
            raise error
        assert response is not None
        return response

    def load_table(self, identifier: Any) -> Table:
        if self.down and self.failed:
            raise ConnectionRefusedError("the catalog is down")
        return super().load_table(identifier)


class Lake:
    """A table of two files, and a rewrite of it through a faulty catalog."""

    def __init__(self, directory: Path) -> None:
        self.honest = make_catalog(directory, SqlCatalog)
        self.seen = make_table(self.honest, rows_of([1, 2]), rows_of([3]))
        self.faulty = make_catalog(directory, Faulty)
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


UNCLEAR = pytest.mark.parametrize(
    "error",
    [
        exceptions.CommitStateUnknownException("500"),
        ConnectionResetError("by peer"),
        ValueError("no JSON"),
    ],
    ids=lambda error: type(error).__name__,
)


@UNCLEAR
def test_unknown_and_not_committed(lake: Lake, error: Exception) -> None:
    lake.faulty.before = error
    with pytest.raises(UnknownOutcomeError, match=UNKNOWN) as failure:
        lake.commit()
    assert failure.value.__cause__ is error
    assert lake.nothing_deleted()
    assert not lake.is_rewritten()
    # The same snapshot is offered again, as often as the table says, unless the answer makes no sense.
    assert lake.faulty.commits == (1 if isinstance(error, ValueError) else 5)


@UNCLEAR
def test_unknown_and_committed(lake: Lake, error: Exception) -> None:
    lake.faulty.after, lake.faulty.down = error, True
    with pytest.raises(UnknownOutcomeError, match=UNKNOWN) as failure:
        lake.commit()
    assert failure.value.__cause__ is error
    assert lake.nothing_deleted()
    assert lake.is_rewritten()


@pytest.mark.parametrize("committed", [False, True])
def test_an_interrupt_while_the_catalog_is_asked_is_unknown(lake: Lake, committed: bool) -> None:
    setattr(lake.faulty, "after" if committed else "before", KeyboardInterrupt())
    with pytest.raises(UnknownOutcomeError, match=UNKNOWN):
        lake.commit()
    assert lake.nothing_deleted()
    assert lake.is_rewritten() == committed


def test_a_refusal_of_what_was_committed(lake: Lake) -> None:
    # A request that was sent twice, and granted the first time.
    lake.faulty.after = exceptions.CommitFailedException("Requirement failed: branch main has changed")
    assert lake.commit() == head_id(lake.seen)
    assert lake.is_rewritten()
    assert lake.faulty.commits == 1


@pytest.mark.parametrize("committed", [False, True])
def test_a_refusal_that_cannot_be_checked_is_unknown(lake: Lake, committed: bool) -> None:
    error = exceptions.CommitFailedException("Requirement failed: branch main has changed")
    setattr(lake.faulty, "after" if committed else "before", error)
    lake.faulty.down = True
    with pytest.raises(UnknownOutcomeError, match=UNKNOWN):
        lake.commit()
    assert lake.nothing_deleted()
    assert lake.is_rewritten() == committed


@pytest.mark.parametrize("error", [exceptions.BadRequestError, exceptions.ForbiddenError, exceptions.UnauthorizedError])
def test_what_the_catalog_refuses_to_try_has_failed(lake: Lake, error: type[Exception]) -> None:
    lake.faulty.before = error("no")
    with pytest.raises(error, match="no"):
        lake.commit()
    assert lake.all_deleted()
    assert not lake.is_rewritten()


@pytest.mark.parametrize("retries", [0, 3])
def test_the_table_says_how_often_to_retry(lake: Lake, retries: int) -> None:
    lake.seen.transaction().set_properties({"commit.retry.num-retries": str(retries)}).commit_transaction()
    lake.mine.refresh()
    lake.faulty.before = exceptions.CommitFailedException("Requirement failed: branch main has changed")
    with pytest.raises(
        RewriteConflictError, match="on the same files: Requirement failed: branch main has changed. The"
    ):
        lake.commit()
    assert lake.faulty.commits == retries + 1
    assert lake.all_deleted()
    assert not lake.is_rewritten()


def test_a_failure_before_the_catalog_is_asked(lake: Lake) -> None:
    lake.seen.transaction().set_properties({"write.avro.compression-codec": "lz4"}).commit_transaction()
    with pytest.raises(InvalidInputError, match="^Cannot set write.avro.compression-codec to 'lz4', because PyIceberg"):
        lake.commit()
    assert lake.faulty.commits == 0
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


@pytest.mark.parametrize("does", [False, True])
@UNCLEAR
def test_one_unclear_answer_loses_no_work(lake: Lake, error: Exception, does: bool) -> None:
    # What makes no sense is not asked for again.
    does = does or isinstance(error, ValueError)
    setattr(lake.faulty, "after" if does else "before", error)
    lake.faulty.once = True
    assert lake.commit() == head_id(lake.seen)
    assert lake.is_rewritten()
    assert lake.faulty.commits == (1 if does else 2)
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
        (exceptions.TooManyRequestsError("429"), True),
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
    failures = [hang_up, status(503)]

    def failing(handler: BaseHTTPRequestHandler) -> None:
        if len(failures) == 1:
            rest.refusal = None
        failures.pop()(handler)

    rest.refusal = failing
    configuration = CatalogConfiguration("lake", {"type": "rest", "uri": rest.uri})
    assert load_table(configuration, ("db", "t")).metadata == lake.mine.metadata
    assert failures == []
