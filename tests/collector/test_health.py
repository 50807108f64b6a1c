"""Liveness and readiness: a full disk, a file that is gone, replaced or damaged, signals."""

from __future__ import annotations

import asyncio
import http.client
import json
import resource
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from noutput.campaign import Campaign, Report
from noutput.campaign.packed import encode_packed
from noutput.campaign.report import new_id
from noutput.campaign.wire import PACKED_TYPE
from noutput.collector.ingest.writer import Writer
from noutput.collector.metrics import Metrics
from noutput.collector.readiness import Readiness
from noutput.collector.store import open_store
from tests.collector.postgresql import PostgresqlServer
from tests.collector.process import Running, launch, running
from tests.collector.service import Service, problem


def get(server: Running, path: str) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, 10)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        answer.read()
        return answer.status
    finally:
        connection.close()


def health(server: Running) -> tuple[int, int, int]:
    return get(server, "/health/live"), get(server, "/health/ready"), get(server, "/health")


def send(server: Running, campaign: Campaign, count: int = 1) -> int:
    """Send new reports; return the status of the answer."""
    body = encode_packed(campaign, some_reports(campaign, count))
    connection = http.client.HTTPConnection("127.0.0.1", server.port, 10)
    try:
        headers = {"Content-Type": PACKED_TYPE}
        connection.request("POST", "/campaigns/commute/reports", body, headers)
        answer = connection.getresponse()
        content = json.loads(answer.read())
        if answer.status == 200:
            assert content == {"accepted": count, "repeated": 0}
        return answer.status
    finally:
        connection.close()


@pytest.fixture
def document(tmp_path: Path, campaign: Campaign) -> Path:
    path = tmp_path / "commute.json"
    path.write_text(campaign.to_json())
    return path


LIVE, READY, NOT_READY = "/health/live", (200, 200, 200), (200, 503, 503)


def asked(service: Service) -> tuple[int, int, int]:
    """Return the answers of a collector in this process."""
    live, ready, health = (service.call("GET", path) for path in (LIVE, "/health/ready", "/health"))
    assert ready.status_code != 503 or problem(ready) == (503, "unavailable")
    return live.status_code, ready.status_code, health.status_code


def some_reports(campaign: Campaign, count: int) -> list[Report]:
    name = campaign.questions[0].name
    return [Report(campaign.fingerprint, name, place % 5, new_id()) for place in range(count)]


@contextmanager
def no_file_grows() -> Iterator[None]:
    """A full disk, as far as this process can tell."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_is_not_ready_until_there_is_room(service: Service, campaign: Campaign) -> None:
    service.create(campaign)
    assert asked(service) == READY
    with no_file_grows():
        assert service.batch(campaign, some_reports(campaign, 1000)).status_code == 503
        assert asked(service) == NOT_READY
    assert service.batch(campaign, some_reports(campaign, 1000)).status_code == 200
    assert asked(service) == READY


@pytest.mark.parametrize("gone", ["service.db", "service.db-wal"])
def test_nothing_is_acknowledged_after_a_file_was_deleted(
    service: Service, campaign: Campaign, tmp_path: Path, gone: str
) -> None:
    service.create(campaign)
    (report, another) = some_reports(campaign, 2)
    assert service.report(report).status_code == 200
    (tmp_path / gone).unlink()
    assert problem(service.report(another)) == (503, "unavailable")
    assert asked(service) == NOT_READY
    assert not (tmp_path / gone).exists()  # nobody made a new one in its place


def test_nothing_is_acknowledged_after_the_file_was_replaced(
    service: Service, campaign: Campaign, tmp_path: Path
) -> None:
    service.create(campaign)
    open_store(str(tmp_path / "other.db")).close()
    (tmp_path / "other.db").replace(tmp_path / "service.db")
    (report,) = some_reports(campaign, 1)
    assert problem(service.report(report)) == (503, "unavailable")
    assert asked(service) == NOT_READY


@pytest.mark.parametrize("size", [16, 100, 4096, 1 << 15])
def test_nothing_is_acknowledged_after_the_head_of_the_file_was_overwritten(
    service: Service, campaign: Campaign, tmp_path: Path, size: int
) -> None:
    service.create(campaign)
    (report, another, third) = some_reports(campaign, 3)
    assert service.report(report).status_code == 200
    invert_head(tmp_path / "service.db", size)
    assert problem(service.report(another)) == (503, "unavailable")
    assert asked(service) == NOT_READY
    invert_head(tmp_path / "service.db", size)
    assert service.report(third).status_code == 200
    assert asked(service) == NOT_READY  # until somebody has looked at the file


def invert_head(file: Path, size: int) -> None:
    """Change the first bytes of a file in another process: here, SQLite would lose its locks."""
    code = (
        "import sys; file = open(sys.argv[1], 'r+b'); head = file.read(int(sys.argv[2]));"
        "file.seek(0); file.write(bytes(255 - byte for byte in head))"
    )
    subprocess.run([sys.executable, "-c", code, file, str(size)], check=True, timeout=30)


def test_an_idle_collector_notices_by_itself(service: Service, tmp_path: Path) -> None:
    (tmp_path / "service.db").unlink()
    assert asked(service) == NOT_READY


def test_a_damaged_database_is_not_ready(service: Service) -> None:
    service.store.add_problem("some of it is missing")
    assert asked(service) == NOT_READY


@dataclass
class Slow:
    """A store that counts its probes, and whose probes wait until they may go on."""

    probes: int = 0
    go_on: threading.Event = field(default_factory=threading.Event)

    def problems(self) -> tuple[str, ...]:
        return ()

    def probe(self, size: int = 0) -> None:
        self.probes += 1
        assert size == 0
        assert self.go_on.wait(30)


def test_many_questions_share_one_probe_and_wait_for_none() -> None:
    """Whoever asks all the time, or while the database hangs, costs it nothing."""
    store, now = Slow(), [100.0]
    writer = Writer(store, Metrics(), limit=1)  # type: ignore[arg-type]
    readiness = Readiness(store, writer, lambda: now[0], 0.01)  # type: ignore[arg-type]

    async def main() -> None:
        answers = await asyncio.gather(*(readiness.obstacle() for _ in range(20)))
        assert set(answers) == {"the database does not answer"}
        store.go_on.set()
        assert {await readiness.obstacle() for _ in range(20)} == {None}
        assert store.probes == 1
        now[0] += 1
        assert await readiness.obstacle() is None
        assert store.probes == 2
        writer.commit_since = now[0]
        now[0] += 6  # and that commit has not ended yet
        assert await readiness.obstacle() == "a commit takes too long"
        assert store.probes == 2

    asyncio.run(main())


@pytest.mark.slow
def test_a_real_collector_on_a_full_disk_and_without_its_file(
    tmp_path: Path, document: Path, campaign: Campaign
) -> None:
    with running(str(tmp_path / "reports.db"), document) as server:
        assert health(server) == READY
        process = server.process.pid
        before = resource.prlimit(process, resource.RLIMIT_FSIZE)
        resource.prlimit(process, resource.RLIMIT_FSIZE, (1, before[1]))
        assert send(server, campaign, 1000) == 503
        assert health(server) == NOT_READY
        resource.prlimit(process, resource.RLIMIT_FSIZE, before)
        assert send(server, campaign, 1000) == 200
        assert health(server) == READY
        (tmp_path / "reports.db").unlink()
        assert send(server, campaign) == 503
        assert health(server) == NOT_READY


@pytest.mark.slow
def test_a_real_collector_on_a_damaged_file_is_not_ready(
    tmp_path: Path, document: Path, campaign: Campaign
) -> None:
    database = tmp_path / "reports.db"
    with running(str(database), document) as server:
        assert send(server, campaign, 2000) == 200
    with database.open("r+b") as file:  # one bit of an id
        content = file.read()
        file.seek(len(content) - 5000)
        file.write(bytes([content[len(content) - 5000] ^ 1]))
    with running(str(database), document) as server:
        assert health(server) == NOT_READY


@pytest.mark.slow
def test_a_postgresql_that_is_down_is_not_ready(
    postgresql: PostgresqlServer, document: Path, campaign: Campaign
) -> None:
    with running(postgresql.new_database(), document) as server:
        assert health(server) == READY
        postgresql.down("fast")
        try:
            assert send(server, campaign) == 503
            assert health(server) == NOT_READY
        finally:
            postgresql.up()
        assert send(server, campaign) == 200
        assert health(server) == READY


@pytest.mark.slow
@pytest.mark.parametrize("signal", [15, 2])
def test_a_signal_closes_the_store(
    tmp_path: Path, document: Path, campaign: Campaign, signal: int
) -> None:
    """What was counted is in the file itself, and no longer in the write-ahead log."""
    server = launch(str(tmp_path / "reports.db"), "--campaign", str(document))
    try:
        assert send(server, campaign, 100) == 200
        assert (tmp_path / "reports.db-wal").stat().st_size > 0
        server.process.send_signal(signal)
        server.process.wait(30)
    finally:
        server.process.kill()
        server.process.wait(30)
    assert not (tmp_path / "reports.db-wal").exists()
    alone = sqlite3.connect(f"file:{tmp_path / 'reports.db'}?immutable=1", uri=True)
    assert alone.execute("SELECT sum(reports) FROM counts").fetchone() == (100,)
    alone.close()
