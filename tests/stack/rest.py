"""A REST catalog that answers to commits as a test tells it: faults that no healthy server shows on request."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import CommitTableRequest, Table

from tests.stack.running import Answering, running


class RestServer(ThreadingHTTPServer):
    """The REST protocol in front of another catalog, as much of it as loading and committing tables takes."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self.commits = True
        """Whether a commit is carried out; what is answered is another matter."""
        self.answer: Callable[[BaseHTTPRequestHandler], None] | None = None
        """Answers to a commit, if set; else it is told as it went."""
        self.refusal: Callable[[BaseHTTPRequestHandler], None] | None = None
        """Answers when a table is loaded, if set."""
        self.config: Callable[[], dict[str, str]] = dict
        """What is vended with a table when it is loaded."""
        self.credentials: list[dict[str, object]] = []
        """Storage credentials that are vended beside it, as in the protocol."""
        self.before_commit: Callable[[], object] | None = None
        """Called as a commit comes in, before it is carried out: what other writers do, or what the server is to do now."""
        self.before_load: Callable[[], object] | None = None
        """The same as a table is asked for."""
        super().__init__(("127.0.0.1", 0), Handler)
        self.uri = f"http://127.0.0.1:{self.server_port}"

    def before_next_commit(self, do: Callable[[], object]) -> None:
        """Have something done as the next commit comes in, and nothing as those after it do."""

        def once() -> None:
            self.before_commit = None
            do()

        self.before_commit = once


class Handler(Answering):
    server: RestServer

    def table(self) -> Table:
        *_, namespace, _, name = self.path.partition("?")[0].split("/")
        return self.server.catalog.load_table((namespace, name))

    def do_GET(self) -> None:  # noqa: N802
        if "/config" in self.path:
            self.reply(200, {"defaults": {}, "overrides": {}})
        elif self.server.refusal:
            self.server.refusal(self)
        elif "/tables/" in self.path:
            if self.server.before_load:
                self.server.before_load()
            vended = {"config": self.server.config(), "storage-credentials": self.server.credentials}
            self.reply(200, {**_loaded(self.table()), **vended})
        else:
            status(404)(self)

    def do_POST(self) -> None:  # noqa: N802
        text = self.body()
        if self.path.endswith("/metrics"):
            status(404)(self)
            return
        if self.server.before_commit:
            self.server.before_commit()
        table = self.table()
        # Iceberg's Java client leaves the name to the path.
        identifier = {"namespace": table.name()[:-1], "name": table.name()[-1]}
        request = CommitTableRequest.model_validate({"identifier": identifier, **json.loads(text)})
        if self.server.commits:
            try:
                self.server.catalog.commit_table(table, request.requirements, request.updates)
            except CommitFailedException:
                status(409)(self)
                return
        if self.server.answer:
            self.server.answer(self)
        else:
            self.reply(200, _loaded(self.table()))


def _loaded(table: Table) -> dict[str, Any]:
    # As it was written: PyIceberg reads tables of version 3, and does not write them.
    with table.io.new_input(table.metadata_location).open() as file:
        return {"metadata-location": table.metadata_location, "metadata": json.loads(file.read())}


@contextmanager
def rest_server(catalog: Catalog) -> Iterator[RestServer]:
    """Run a server; it stops with the block."""
    with running(RestServer(catalog)) as server:
        yield server


def status(code: int) -> Callable[[BaseHTTPRequestHandler], None]:
    """An answer of an HTTP status."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.reply(code, {"error": {"message": "told to", "type": "Fault", "code": code}})  # type: ignore[attr-defined]

    return answer


def throttled_by_aws(handler: BaseHTTPRequestHandler) -> None:
    """Glue's REST endpoint throttles so: https://github.com/apache/iceberg/issues/17824."""
    kind = "com.amazonaws.glue#ThrottlingException:http://internal.amazon.com/"
    handler.reply(400, {"message": "Rate exceeded"}, **{"x-amzn-ErrorType": kind})  # type: ignore[attr-defined]


def hang_up(handler: BaseHTTPRequestHandler) -> None:
    """No answer: the connection is closed."""
    handler.close_connection = True
