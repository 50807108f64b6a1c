"""Readiness of a real collector whose disk is full, or whose file is gone, replaced or damaged."""

from __future__ import annotations

import http.client
import json
import resource
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from noutput.campaign import Campaign, Report
from noutput.campaign.packed import encode_packed
from noutput.campaign.report import new_id
from noutput.campaign.wire import PACKED_TYPE
from tests.collector.postgresql import PostgresqlServer
from tests.collector.process import Running, launch, running


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
    name = campaign.attributes[0].name
    reports = [Report(campaign.fingerprint, name, place % 5, new_id()) for place in range(count)]
    body = encode_packed(campaign, reports)
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


@pytest.fixture
def server(tmp_path: Path, document: Path) -> Iterator[Running]:
    with running(str(tmp_path / "reports.db"), document) as server:
        yield server


READY, NOT_READY = (200, 200, 200), (200, 503, 503)


def test_a_full_disk_is_not_ready_until_there_is_room(server: Running, campaign: Campaign) -> None:
    assert health(server) == READY
    process = server.process.pid
    before = resource.prlimit(process, resource.RLIMIT_FSIZE)
    resource.prlimit(process, resource.RLIMIT_FSIZE, (1, before[1]))  # no file may grow
    assert send(server, campaign, 1000) == 503
    assert health(server) == NOT_READY
    resource.prlimit(process, resource.RLIMIT_FSIZE, before)
    assert send(server, campaign, 1000) == 200
    assert health(server) == READY


@pytest.mark.parametrize("gone", ["reports.db", "reports.db-wal"])
def test_nothing_is_acknowledged_after_the_file_was_deleted(
    server: Running, campaign: Campaign, tmp_path: Path, gone: str
) -> None:
    assert send(server, campaign) == 200
    assert health(server) == READY
    (tmp_path / gone).unlink()
    assert send(server, campaign) == 503
    assert health(server) == NOT_READY
    assert not (tmp_path / gone).exists()  # nobody made a new one in its place


def test_nothing_is_acknowledged_after_the_file_was_replaced(
    server: Running, campaign: Campaign, tmp_path: Path
) -> None:
    assert send(server, campaign) == 200
    other = sqlite3.connect(tmp_path / "other.db")
    other.execute("CREATE TABLE something (x)")
    other.close()
    (tmp_path / "other.db").replace(tmp_path / "reports.db")
    assert send(server, campaign) == 503
    assert health(server) == NOT_READY


def test_an_idle_collector_notices_by_itself(
    server: Running, tmp_path: Path
) -> None:
    (tmp_path / "reports.db").unlink()
    assert health(server) == NOT_READY


def test_a_damaged_file_is_not_ready(tmp_path: Path, document: Path, campaign: Campaign) -> None:
    database = tmp_path / "reports.db"
    with running(str(database), document) as server:
        assert send(server, campaign, 2000) == 200
    with database.open("r+b") as file:  # one bit of an id
        content = file.read()
        file.seek(len(content) - 5000)
        file.write(bytes([content[len(content) - 5000] ^ 1]))
    with running(str(database), document) as server:
        assert health(server) == NOT_READY


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
