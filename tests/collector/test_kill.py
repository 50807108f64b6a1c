"""Nothing lost, nothing twice: collectors and databases that are killed under load."""

from __future__ import annotations

import http.client
import json
import random
import sys
import threading
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from noutput import frames
from noutput.campaign import Admission, Campaign, Report, draw_report
from noutput.campaign.packed import encode_packed
from noutput.campaign.report import new_id
from noutput.campaign.wire import PACKED_TYPE, REPORT_TYPE, decode_report, encode_report
from noutput.collector.archive.archive import open_archive
from noutput.collector.cells import CellLayout
from noutput.collector.issuing import issue_tokens
from noutput.collector.store import open_store
from noutput.collector.store.segments import LIVE, read_segments
from noutput.collector.store.sql import SqlStore
from tests.campaign.examples import late_campaign, survey_campaign
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


@dataclass
class Enrolled(Sender):
    """A client whose reports spend tokens, some of them once more, with another answer."""

    tokens: list[str] = field(default_factory=list)

    __hash__ = Sender.__hash__

    def _draw(self, rng: random.Random) -> Report:
        return draw_report(self.campaign, rng.choice(["no", "yes"]), self.tokens.pop())

    def _until_acknowledged(self, body: bytes, kind: str, size: int) -> None:
        super()._until_acknowledged(body, kind, size)
        if kind == REPORT_TYPE:
            report = decode_report(body, self.campaign)
            other = encode_report(replace(report, output=1 - report.output))
            super()._until_acknowledged(other, kind, size)


# Files of the archive are written and put together all the time, so that kills hit that, too.
ARCHIVING = """
from noutput.collector.ingest import archiving
archiving._LOOK_SECONDS, archiving._FLUSH_SECONDS, archiving.LEAST = 0.02, 0.0, 100
def compact(self, look=archiving.Archiver.look):
    look(self)
    for fingerprint in self._archive.sizes():
        self._archive.compact(fingerprint)
archiving.Archiver.look = compact
"""


def run_with_kills(
    database: str,
    document: Path,
    campaign: Campaign,
    postgresql: PostgresqlServer | None,
    archive: Path | None = None,
    tokens: list[str] | None = None,
) -> None:
    """One collector on SQLite; two that share PostgreSQL, which crashes once itself."""
    options = () if archive is None else ("--archive", str(archive))
    prelude = MERGING if archive is None else MERGING + ARCHIVING
    ports = [free_port() for _ in range(1 if postgresql is None else 2)]
    servers = [
        launch(database, "--campaign", str(document), *options, port=port, prelude=prelude)
        for port in ports
    ]
    kills = Kills()
    senders = [
        Sender(campaign, ports, seed, kills)
        if tokens is None
        else Enrolled(campaign, ports, seed, kills, tokens=tokens[seed::CLIENTS])
        for seed in range(CLIENTS)
    ]
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
            servers[place] = launch(database, *options, port=ports[place], prelude=prelude)
        for sender in senders:
            sender.join(120)
    finally:
        for server in servers:
            server.kill()
    for sender in senders:
        assert sender.failure is None, sender.failure
        assert not sender.is_alive()
    assert sum(sender.retries for sender in senders) > 0
    wanted = check_counts(database, campaign, senders)
    if tokens is None:
        check_segments(database)
    if archive is not None:
        check_archive(archive, campaign, wanted)


def check_archive(folder: Path, campaign: Campaign, wanted: dict[int, int]) -> None:
    """Acknowledged = archived, where the last collector left what it had not written yet."""
    archive = open_archive(folder)
    assert set(archive.sizes()) <= {campaign.fingerprint}
    archive.flush()
    archive.close()
    found = frames.tally_reports(folder)
    assert list(found.tallies.values()) == CellLayout(campaign).tallies(wanted)
    assert found.conflicting == 0
    assert found.rows > REPORTS  # some were sent again


def check_segments(database: str) -> None:
    """Older ids became segments, and these were merged, while collectors were killed."""
    store = open_store(database)
    assert isinstance(store, SqlStore)
    row = store.campaign("commute")
    assert row is not None
    with store._read() as connection:
        found = read_segments(connection, store._remembered.tables, row.key, LIVE)
    store.close()
    assert max(each.level for each in found) > 0


def check_counts(database: str, campaign: Campaign, senders: list[Sender]) -> dict[int, int]:
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
    finally:
        store.close()
    assert len(kept) == 16 * REPORTS
    assert {kept[start : start + 16] for start in range(0, len(kept), 16)} == ids
    return wanted


@pytest.fixture(scope="module")
def campaign() -> Campaign:
    """Questions of all kinds, with tables of different sizes."""
    return survey_campaign("commute")


def test_sqlite_and_archive_have_exactly_what_was_acknowledged(
    tmp_path: Path, campaign: Campaign
) -> None:
    document = tmp_path / "commute.json"
    document.write_text(campaign.to_json())
    database, archive = str(tmp_path / "reports.db"), tmp_path / "archive"
    run_with_kills(database, document, campaign, None, archive)


def test_postgresql_counts_exactly_what_it_acknowledged(
    tmp_path: Path, campaign: Campaign, postgresql: PostgresqlServer
) -> None:
    document = tmp_path / "commute.json"
    document.write_text(campaign.to_json())
    run_with_kills(postgresql.new_database(), document, campaign, postgresql)


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_tokens_are_spent_exactly_once(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules[__name__], "REPORTS", 1600)
    monkeypatch.setattr(sys.modules[__name__], "KILLS", 2)
    server = request.getfixturevalue("postgresql") if kind == "postgresql" else None
    database = str(tmp_path / "reports.db") if server is None else server.new_database()
    campaign = late_campaign("commute", admission=Admission("token"))
    document = tmp_path / "commute.json"
    document.write_text(campaign.to_json())
    store = open_store(database)
    row, _ = store.create(
        campaign.id, campaign.fingerprint, campaign.to_json(), "2026-05-01T00:00:00Z"
    )
    tokens = issue_tokens(store, row.key, campaign, 1600)
    store.close()
    run_with_kills(database, document, campaign, server, tokens=tokens)
