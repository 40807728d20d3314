"""Runs a server in a thread of the test."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from socketserver import BaseServer
from typing import TypeVar

_Server = TypeVar("_Server", bound=BaseServer)


class Answering(BaseHTTPRequestHandler):
    """Answers requests, and logs none."""

    def log_message(self, *_: object) -> None: ...

    def body(self) -> bytes:
        """Read what was sent."""
        return self.rfile.read(int(self.headers["Content-Length"] or 0))

    def reply(self, status: int, body: object = b"", **headers: str) -> None:
        """Answer with bytes, or with JSON."""
        text = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content-Length": str(len(text)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text)


@contextmanager
def running(server: _Server) -> Iterator[_Server]:
    """Run a server; it stops with the block, whatever happens in it."""
    thread = threading.Thread(target=server.serve_forever, args=[0.02])
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
