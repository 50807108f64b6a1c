"""Tokens, limits, extras, and the thread that commits."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from noutput.campaign import Campaign
from noutput.collector.http import auth
from noutput.collector.http.limits import Limits, RateLimiter
from noutput.collector.ingest.writer import Writer
from noutput.collector.metrics import Metrics
from noutput.collector.server import Options, run
from noutput.collector.store import open_store
from noutput.collector.store.interface import Outcome, Store, Submission, UnavailableError
from noutput.errors import InvalidArgumentError, MissingExtraError
from tests.collector.service import Clock


def test_only_the_whole_token_is_recognized(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "reports.db"))
    token = auth.first_admin_token(store, Clock()())
    assert token is not None
    assert auth.first_admin_token(store, Clock()()) is None
    now = Clock()()
    found = auth.recognize(store, f"Bearer {token}", now)
    assert found is not None
    assert found.kind == "admin"
    again = auth.recognize(store, f"bearer  {token} ", now)
    assert again is not None
    assert again.id == found.id
    for bad in (None, "", token, f"Bearer {token[:-1]}", f"Bearer {token}x", "Bearer é",
                f"Bearer {token[:-1]}{'A' if token[-1] != 'A' else 'B'}"):  # fmt: skip
        assert auth.recognize(store, bad, now) is None
    store.close()


def test_clients_get_their_share_back_with_time() -> None:
    now = [0.0]
    limiter = RateLimiter(2.0, 3, clock=lambda: now[0])
    assert [limiter.wait("a") for _ in range(4)] == [0, 0, 0, 1]
    now[0] = 0.6
    assert limiter.wait("a") == 0
    assert limiter.wait("a") == 1
    assert [limiter.wait("b") for _ in range(4)] == [0, 0, 0, 1]
    assert not any("a" in repr(key) and len(key) < 12 for key in limiter._buckets)
    assert RateLimiter(0.0, 1).wait("a") == 0


def test_large_requests_count_as_several() -> None:
    now = [0.0]
    limiter = RateLimiter(2.0, 3, clock=lambda: now[0])
    assert limiter.wait("a") == 0
    limiter.charge("a", 5)
    assert limiter.wait("a") == 2  # it owes three, and needs one
    assert limiter.wait("b") == 0
    now[0] = 1.9
    assert limiter.wait("a") == 1
    now[0] = 2.0
    assert limiter.wait("a") == 0
    unlimited = RateLimiter(0.0, 1)
    unlimited.charge("a", 5)
    assert unlimited.wait("a") == 0


def test_clients_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("noutput.collector.http.limits._REMEMBERED_CLIENTS", 10)
    limiter = RateLimiter(1.0, 1, clock=lambda: 0.0)
    for number in range(30):
        assert limiter.wait(str(number)) == 0
    assert len(limiter._buckets) == 10


@pytest.mark.parametrize(
    ("name", "value"),
    [("requests_per_second", -1), ("requests_per_second", float("nan")), ("burst", 0),
     ("body_seconds", 0), ("header_bytes", 10), ("queued_reports", 1)],
)  # fmt: skip
def test_bad_limits_are_named(name: str, value: float) -> None:
    with pytest.raises(InvalidArgumentError, match=name):
        Limits(**{name: value})  # type: ignore[arg-type]


def test_a_taken_port_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        options = Options(database=str(tmp_path / "x.db"), port=taken.getsockname()[1])
        with pytest.raises(InvalidArgumentError, match="host and port must be an address"):
            run(options, say=lambda _: None)


def test_importing_loads_no_framework() -> None:
    code = (
        "import sys, noutput.collector, noutput.collector.simulation, noutput.cli.serve\n"
        "print([m for m in ('fastapi', 'starlette', 'sqlalchemy') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[]"


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sqlalchemy", None)
    with pytest.raises(MissingExtraError, match=r"sqlalchemy.*noutput\[collector\]"):
        open_store("nowhere.db")


class SlowStore:
    """Lets a commit go on when it is told to."""

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self.go = threading.Event()
        self.fail = False

    def add(self, submissions: list[Submission]) -> list[Outcome | None]:
        self.sizes.append(len(submissions))
        self.go.wait(10)
        if self.fail:
            raise UnavailableError("away")
        return [Outcome(each.size, 0) for each in submissions]


def test_requests_share_commits_and_wait_for_them() -> None:
    store = SlowStore()
    metrics = Metrics()

    async def work() -> None:
        writer = Writer(store, metrics, limit=1000)  # type: ignore[arg-type]
        writer.start()
        first = writer.submit(Submission(1, bytes(16), bytes(4)))
        while not store.sizes:
            await asyncio.sleep(0.001)
        others = [writer.submit(Submission(1, bytes(32), bytes(8))) for _ in range(50)]
        await asyncio.sleep(0.05)
        assert not first.done()  # no acknowledgement before the commit
        assert metrics.queued == 101
        with pytest.raises(UnavailableError, match="wait for their commit"):
            writer.submit(Submission(1, bytes(16 * 900), bytes(4 * 900)))
        store.go.set()
        assert await first == Outcome(1, 0)
        assert [await other for other in others] == [Outcome(2, 0)] * 50
        assert store.sizes == [1, 50]
        assert (metrics.queued, metrics.accepted) == (0, 101)
        store.fail = True
        with pytest.raises(UnavailableError):
            await writer.submit(Submission(1, bytes(16), bytes(4)))
        assert (metrics.queued, metrics.failed_commits) == (0, 1)
        await writer.stop()

    asyncio.run(work())


def test_stopping_commits_what_waits(tmp_path: Path, campaign: Campaign) -> None:
    store: Store = open_store(str(tmp_path / "reports.db"))
    row, _ = store.create(campaign.id, campaign.fingerprint, campaign.to_json(),
                          "2026-05-01T00:00:00Z")  # fmt: skip

    async def work() -> None:
        writer = Writer(store, Metrics(), limit=10_000)
        writer.start()
        futures = [
            writer.submit(Submission(row.key, number.to_bytes(16, "big"), bytes(4)))
            for number in range(100)
        ]
        await writer.stop()
        await asyncio.sleep(0)
        assert all(future.done() for future in futures)

    asyncio.run(work())
    assert store.counts(row.key) == {0: 100}
    store.close()
