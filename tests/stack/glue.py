"""AWS Glue's data catalog, as much of it as loading and committing tables takes, which throttles as a test tells it."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from typing import Any

from tests.stack.running import Answering, running


class GlueServer(ThreadingHTTPServer):
    """Glue's JSON protocol over one database."""

    def __init__(self) -> None:
        self.tables: dict[str, dict[str, Any]] = {}
        self.refusals: dict[str, tuple[int, str]] = {}
        """By operation, the status and the code that refuse it."""
        self.refused: list[str] = []
        self.most_refusals = 1_000
        super().__init__(("127.0.0.1", 0), _Handler)
        self.properties: dict[str, Any] = {
            "glue.endpoint": f"http://127.0.0.1:{self.server_port}",
            "glue.region": "us-east-1",
            "glue.access-key-id": "key",
            "glue.secret-access-key": "secret",
            # The client would repeat each request for half a minute.
            "glue.max-retries": 0,
        }

    def answer(self, operation: str, asked: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if operation in self.refusals and len(self.refused) < self.most_refusals:
            self.refused.append(operation)
            status, code = self.refusals[operation]
            return status, {"__type": code, "message": "Rate exceeded"}
        name = asked.get("Name") or asked.get("TableInput", {}).get("Name")
        if operation in ("GetDatabase", "CreateDatabase"):
            return 200, {"Database": {"Name": "db"}}
        if operation == "CreateTable":
            self.tables[name] = {**asked["TableInput"], "DatabaseName": "db", "VersionId": "0"}
            return 200, {}
        if name not in self.tables:
            return 400, {"__type": "EntityNotFoundException", "message": "not found"}
        table = self.tables[name]
        if operation == "GetTable":
            return 200, {"Table": table}
        if asked["VersionId"] != table["VersionId"]:
            return 400, {"__type": "ConcurrentModificationException", "message": "another version"}
        self.tables[name] = {**table, **asked["TableInput"], "VersionId": str(int(table["VersionId"]) + 1)}
        return 200, {}


class _Handler(Answering):
    server: GlueServer

    def do_POST(self) -> None:  # noqa: N802
        asked = json.loads(self.body())
        self.reply(*self.server.answer(self.headers["X-Amz-Target"].partition(".")[2], asked))


@contextmanager
def glue_server() -> Iterator[GlueServer]:
    """Run a server; it stops with the block."""
    with running(GlueServer()) as server:
        yield server
