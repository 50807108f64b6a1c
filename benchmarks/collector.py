"""The collector under load: real processes on loopback, durable commits on this disk."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from benchmarks.load import Load, post, run_load
from benchmarks.measure import Case
from noutput.campaign import Campaign, Number
from noutput.campaign.packed import HEADER_BYTES
from noutput.campaign.wire import PACKED_TYPE, REPORT_TYPE
from tests.tables import window_table

__all__ = ["SERVE", "cases", "make_campaign", "serving"]

_PATH = "/campaigns/load/reports"
_CONNECTIONS = 384
_SINGLES = 20_000
_TURNS = 4
_BATCH = 1000
_MILLION = 1_000_000
SERVE = "from noutput.cli.serve import command; command()"
_EMPTY = """
import asyncio, socket, sys, uvicorn
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route
from noutput.collector.http.limits import Limits
from noutput.collector.http.protocol import limited_protocol

async def empty(request):
    return Response()

app = Starlette(routes=[Route("/campaigns/load/reports", empty, methods=["POST"])])
config = uvicorn.Config(app, http=limited_protocol(Limits()), ws="none", log_level="warning",
                        access_log=False, server_header=False)
listener = socket.create_server(("127.0.0.1", 0), backlog=2048)
print(f"Collecting at http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
uvicorn.Server(config).run(sockets=[listener])
"""


def make_campaign() -> Campaign:
    """Return a public campaign with a table of 16 outputs."""
    table = window_table(1.0, 16, 33, 0.4).plain.rescaled(0, 1)
    return Campaign(
        id="load", title="Load", text="How many?", tables=(table,), public=True,
        questions=(Number(0, 1, name="number"),),
        opens=datetime(2020, 1, 1, tzinfo=UTC), closes=datetime(2100, 1, 1, tzinfo=UTC),
    )  # fmt: skip


def singles(campaign: Campaign, count: int) -> Iterator[bytes]:
    """Return requests of one report each."""
    head = f'{{"version":1,"campaign":"{campaign.fingerprint}","question":"number","output":'
    ids = os.urandom(16 * count).hex()
    for place in range(count):
        body = f'{head}{place % 16},"id":"{ids[32 * place : 32 * place + 32]}"}}'
        yield post(_PATH, REPORT_TYPE, body.encode())


def batches(campaign: Campaign, count: int, outputs: np.ndarray[tuple[int], np.dtype[np.uint8]]
            ) -> Iterator[bytes]:  # fmt: skip
    """Return requests of 1,000 packed reports each."""
    bits = campaign.tables[0].bits
    head = bytes([2, 0, 0, 0, bits, 0, 0, 0]) + _BATCH.to_bytes(4, "little")
    head += bytes.fromhex(campaign.fingerprint)
    assert len(head) == HEADER_BYTES
    for place in range(count):
        ids = np.sort(np.frombuffer(os.urandom(16 * _BATCH), "S16")).tobytes()
        part = np.take(outputs, np.arange(place * _BATCH, (place + 1) * _BATCH), mode="wrap")
        answers = np.packbits((part[:, None] >> np.arange(bits - 1, -1, -1)) & 1).tobytes()
        yield post(_PATH, PACKED_TYPE, head + ids + answers)


@contextmanager
def serving(*command: str) -> Iterator[tuple[int, int]]:
    """Start a server; return its port and process id."""
    process = subprocess.Popen(
        [sys.executable, *command], stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    try:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("Collecting at"):
                yield int(line.rsplit(":", 1)[1]), process.pid
                break
        else:
            raise RuntimeError("the server did not start")
    finally:
        process.terminate()
        process.wait(timeout=30)


def _serve(folder: Path, name: str, campaign: Path) -> tuple[str, ...]:
    database = str(folder / f"{name}.db")
    return ("-c", SERVE, "--database", database, "--port", "0", "--rate", "0",
            "--client-reports", "0", "--campaign", str(campaign))  # fmt: skip


def memory_megabytes(process: int) -> float:
    """Return the resident memory of a process."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


def _reports(folder: Path, name: str) -> int:
    """Return what was counted: of what is published, some reports may be missing yet."""
    with closing(sqlite3.connect(folder / f"{name}.db")) as database:
        return int(database.execute("SELECT sum(reports) FROM counts").fetchone()[0])


def _estimate_milliseconds(port: int) -> float:
    start = time.perf_counter()
    address = f"http://127.0.0.1:{port}/campaigns/load/estimates"
    with urllib.request.urlopen(address) as answer:
        assert answer.status == 200
        answer.read()
    return (time.perf_counter() - start) * 1e3


def cases() -> Iterator[Case]:
    """Measure everything the collector promises."""
    campaign = make_campaign()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        document = folder / "load.json"
        document.write_text(campaign.to_json())
        yield from _single_cases(folder, document, campaign)
        yield from _batch_cases(folder, document, campaign)


def _single_cases(folder: Path, document: Path, campaign: Campaign) -> Iterator[Case]:
    """Take turns between the empty route and the collector, and keep the best turn of each."""
    empty, full = 0.0, 0.0
    with (
        serving("-c", _EMPTY) as (empty_port, _),
        serving(*_serve(folder, "singles", document)) as (port, _),
    ):
        counted = 0
        for _ in range(_TURNS):
            requests = list(singles(campaign, _SINGLES))
            load = run_load(empty_port, lambda: iter(requests), _CONNECTIONS)  # noqa: B023 (called at once)
            empty = max(empty, load.per_second)
            load = run_load(port, lambda: iter(requests), _CONNECTIONS)  # noqa: B023 (called at once)
            assert load.statuses == {200: _SINGLES}, load.statuses
            full = max(full, load.per_second)
            counted += _SINGLES
        slow = 1.0
        for _ in range(_TURNS):
            requests = list(singles(campaign, _SINGLES // 2))
            light = run_load(port, lambda: iter(requests), _CONNECTIONS, full / 2)  # noqa: B023 (called at once)
            slow = min(slow, light.quantile(0.99))
            counted += _SINGLES // 2
        assert _reports(folder, "singles") == counted
    detail = f"{full:,.0f} requests/s; the empty route {empty:,.0f}/s"
    yield Case("single reports, durable", empty / full, 1 / 0.6, "x empty route", detail=detail)
    yield Case("p99 at half load", slow * 1e3, 100.0, "ms")


def _batch_cases(folder: Path, document: Path, campaign: Campaign) -> Iterator[Case]:
    x = np.clip(np.random.default_rng(3).normal(0.1, 0.3, _MILLION), -1.0, 1.0)
    outputs = window_table(1.0, 16, 33, 0.4).privatize(x)
    requests = list(batches(campaign, _MILLION // _BATCH, outputs))
    turns = [requests[turn::_TURNS] for turn in range(_TURNS)]
    with serving(*_serve(folder, "batches", document)) as (port, process):
        before = memory_megabytes(process)
        best = 0.0
        for turn in turns:
            load: Load = run_load(port, lambda: iter(turn), 32)  # noqa: B023 (called at once)
            assert load.statuses == {200: len(turn)}, load.statuses
            best = max(best, load.per_second * _BATCH)
        cold = _estimate_milliseconds(port)
        warm = min(_estimate_milliseconds(port) for _ in range(20))
        after = memory_megabytes(process)
        assert _reports(folder, "batches") == _MILLION
    detail = f"{best:,.0f} reports/s"
    yield Case("batches of 1,000, durable", 1e6 / best, 1.0, "us per report", detail=detail)
    yield Case("estimates of 10^6 reports", warm, 50.0, "ms", detail=f"the first {cold:.0f} ms")
    yield Case("memory after 10^6 reports", after, 200.0, "MB", detail=f"{before:.0f} MB before")
