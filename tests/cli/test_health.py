"""`noutput health`: the status that a container's health check looks at."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from click.testing import CliRunner

from noutput.cli import noutput


class _Collector(BaseHTTPRequestHandler):
    status = 200

    def do_GET(self) -> None:
        assert self.path == "/health/ready"
        self.send_response(self.status)
        self.end_headers()
        self.wfile.write(b'{"detail": "the disk is full"}')

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def port() -> Iterator[int]:
    server = HTTPServer(("127.0.0.1", 0), _Collector)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server.server_port
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])  # noqa: S104 (as containers listen)
def test_a_collector_that_counts_is_ready(port: int, host: str) -> None:
    runner = CliRunner(env={"NOUTPUT_PORT": str(port), "NOUTPUT_HOST": host})
    done = runner.invoke(noutput, ["health"])
    assert (done.exit_code, done.stdout) == (0, "ready\n")


def test_the_reason_is_said(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_Collector, "status", 503)
    done = CliRunner().invoke(noutput, ["health", "--port", str(port)])
    assert done.exit_code == 1
    assert done.stdout.startswith("not ready: the server refused with status 503: the disk is full")


def test_nobody_listens() -> None:
    for host in ("127.0.0.1", "::1"):
        done = CliRunner().invoke(noutput, ["health", "--port", "1", "--host", host])
        assert done.exit_code == 1
        assert done.stdout.startswith("not ready: no answer from http://")
