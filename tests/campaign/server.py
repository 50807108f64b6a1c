"""A small HTTP server on the loopback that says what a test wants."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any


@dataclass
class Answer:
    """What the server says to one request; None as a status drops the connection.

    `line` stands in place of the status line.
    """

    status: int | None = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    until: Event | None = None
    line: bytes | None = None


COUNTED = Answer(body=b'{"accepted":1,"repeated":0}')


def problem(status: int, name: str, **headers: str) -> Answer:
    body = {"type": f"urn:noutput:problem:{name}", "status": status, "detail": "because"}
    return Answer(
        status, json.dumps(body).encode(), {k.replace("_", "-"): v for k, v in headers.items()}
    )


@dataclass
class Seen:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@contextmanager
def serving(*answers: Answer) -> Iterator[tuple[str, list[Seen]]]:
    """Answer the n-th request with the n-th answer, and all later ones with the last."""
    seen: list[Seen] = []

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            answer = answers[min(len(seen), len(answers) - 1)]
            seen.append(Seen(self.command, self.path, dict(self.headers), body))
            if answer.until:
                answer.until.wait(10)
            if answer.status is None:
                self.close_connection = True
                return
            if answer.line is not None:
                self.wfile.write(answer.line + b"\r\n\r\n")
                self.close_connection = True
                return
            self.send_response(answer.status)
            for name, value in {"Content-Length": str(len(answer.body)), **answer.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            with suppress(OSError):  # the client may have gone
                self.wfile.write(answer.body)

        do_GET = do_POST = answer  # noqa: N815 (the server's names)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/campaigns/commute", seen
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
