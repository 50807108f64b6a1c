"""Nothing lost, nothing twice: collectors and databases that are killed under load."""

from __future__ import annotations

import http.client
import json
import random
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from noutput.campaign import Campaign, Report
from noutput.campaign.packed import encode_packed
from noutput.campaign.report import new_id
from noutput.campaign.wire import PACKED_TYPE, REPORT_TYPE, encode_report
from noutput.collector.cells import CellLayout
from noutput.collector.store import open_store
from noutput.collector.store.segments import LIVE, read_segments
from noutput.collector.store.sql import SqlStore
from tests.campaign.examples import survey_campaign
from tests.collector.postgresql import PostgresqlServer
from tests.collector.process import free_port, launch

CLIENTS = 8
REPORTS = 50_000
KILLS = 10
PATH = "/campaigns/commute/reports"
# Ids are merged all the time, so that kills hit merges, and become segments, which merge as well.
MERGING = """
from noutput.collector.ingest import merging
from noutput.collector.store import runs, segments, settling
merging._MERGE_SECONDS = 0.01
runs.POOL, runs.KEPT, runs.LARGE = 64, 32, 1024
settling.SETTLED, settling._CLEARED, segments._PIECE = 1500, 32, 32
segments.CHUNK_BITS = settling.CHUNK_BITS = 4
"""
pytestmark = pytest.mark.slow


@dataclass
class Kills:
    """How often the collector was killed; the senders spread their reports over all kills."""

    count: int = 0

    @property
    def allowed(self) -> float:
        """The share of all reports that may be sent before the next kill."""
        return (self.count + 1) / (KILLS + 1)


@dataclass
class Sender(threading.Thread):
    """A client that sends its reports, each until it is acknowledged, and some once more."""

    campaign: Campaign
    ports: list[int]
    seed: int
    kills: Kills
    acknowledged: dict[str, Report] = field(default_factory=dict)
    retries: int = 0
    failure: BaseException | None = None

    def __post_init__(self) -> None:
        super().__init__(daemon=True)
        self._connection: http.client.HTTPConnection | None = None

    def __hash__(self) -> int:
        return id(self)

    def run(self) -> None:
        try:
            self._work(random.Random(self.seed))  # noqa: S311
        except BaseException as error:  # noqa: BLE001
            self.failure = error
        finally:
            self._disconnect()

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def _work(self, rng: random.Random) -> None:
        left = share = REPORTS // CLIENTS
        while left:
            while 1 - left / share > self.kills.allowed:
                time.sleep(0.005)
            size = min(left, rng.choice([1, 1, 1, 10, 100]))
            reports = [self._draw(rng) for _ in range(size)]
            body, kind = (
                (encode_report(reports[0]), REPORT_TYPE)
                if size == 1
                else (encode_packed(self.campaign, reports), PACKED_TYPE)
            )
            for _ in range(2 if rng.random() < 0.1 else 1):
                self._until_acknowledged(body, kind, size)
            self.acknowledged.update({report.id: report for report in reports})
            left -= size

    def _draw(self, rng: random.Random) -> Report:
        place = rng.randrange(len(self.campaign.questions))
        output = rng.randrange(self.campaign.tables[place].n_outputs)
        return Report(
            self.campaign.fingerprint, self.campaign.questions[place].name, output, new_id()
        )

    def _until_acknowledged(self, body: bytes, kind: str, size: int) -> None:
        deadline = time.monotonic() + 90
        while time.monotonic() < deadline:
            try:
                if self._connection is None:  # the other collector, where there are two
                    port = self.ports[(self.seed + self.retries) % len(self.ports)]
                    self._connection = http.client.HTTPConnection("127.0.0.1", port, 10)
                self._connection.request("POST", PATH, body, {"Content-Type": kind})
                answer = self._connection.getresponse()
                content = json.loads(answer.read())
            except (OSError, http.client.HTTPException, ValueError):
                self._disconnect()
                self.retries += 1
                time.sleep(0.02)
                continue
            if answer.status == 503:
                self.retries += 1
                time.sleep(0.05)
                continue
            assert answer.status == 200, content
            assert content["accepted"] + content["repeated"] == size
            return
        raise TimeoutError("no acknowledgement within 90 seconds")


def run_with_kills(
    database: str, document: Path, campaign: Campaign, postgresql: PostgresqlServer | None
) -> None:
    """One collector on SQLite; two that share PostgreSQL, which crashes once itself."""
    ports = [free_port() for _ in range(1 if postgresql is None else 2)]
    servers = [
        launch(database, "--campaign", str(document), port=port, prelude=MERGING) for port in ports
    ]
    kills = Kills()
    senders = [Sender(campaign, ports, seed, kills) for seed in range(CLIENTS)]
    rng = random.Random(7)  # noqa: S311
    try:
        for sender in senders:
            sender.start()
        for number in range(1, KILLS + 1):
            time.sleep(rng.uniform(0.05, 0.6))
            place = rng.randrange(len(servers))
            servers[place].kill()
            kills.count = number
            if postgresql is not None and number == KILLS // 2:
                postgresql.down("immediate")  # a crash: the log is replayed at the start
                postgresql.up()
            servers[place] = launch(database, port=ports[place], prelude=MERGING)
        for sender in senders:
            sender.join(120)
    finally:
        for server in servers:
            server.kill()
    for sender in senders:
        assert sender.failure is None, sender.failure
        assert not sender.is_alive()
    assert sum(sender.retries for sender in senders) > 0
    check_counts(database, campaign, senders)


def check_counts(database: str, campaign: Campaign, senders: list[Sender]) -> None:
    """Acknowledged = counted, in every cell and id by id."""
    layout = CellLayout(campaign)
    wanted: dict[int, int] = {}
    ids: set[bytes] = set()
    for sender in senders:
        for report in sender.acknowledged.values():
            cell = layout.cell(report.question, report.output)
            assert cell is not None
            wanted[cell] = wanted.get(cell, 0) + 1
            ids.add(bytes.fromhex(report.id))
    assert len(ids) == REPORTS
    store = open_store(database)
    try:
        with store.snapshot("commute") as found:
            assert found is not None
            kept = b"".join(found.ids)
            assert found.counts == wanted
        assert isinstance(store, SqlStore)
        with store._read() as connection:
            rows = read_segments(connection, store._remembered.tables, found.row.key, LIVE)
        assert max(row.level for row in rows) > 0  # segments were merged meanwhile
    finally:
        store.close()
    assert len(kept) == 16 * REPORTS
    assert {kept[start : start + 16] for start in range(0, len(kept), 16)} == ids


@pytest.fixture(scope="module")
def campaign() -> Campaign:
    """Questions of all kinds, with tables of different sizes."""
    return survey_campaign("commute")


def test_sqlite_counts_exactly_what_it_acknowledged(tmp_path: Path, campaign: Campaign) -> None:
    document = tmp_path / "commute.json"
    document.write_text(campaign.to_json())
    run_with_kills(str(tmp_path / "reports.db"), document, campaign, None)


def test_postgresql_counts_exactly_what_it_acknowledged(
    tmp_path: Path, campaign: Campaign, postgresql: PostgresqlServer
) -> None:
    document = tmp_path / "commute.json"
    document.write_text(campaign.to_json())
    run_with_kills(postgresql.new_database(), document, campaign, postgresql)
