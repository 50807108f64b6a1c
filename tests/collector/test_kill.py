"""Nothing lost, nothing twice: collectors and databases that are killed under load."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path

import pytest

from noutput import frames
from noutput.campaign import Admission, Campaign, Report, draw_report
from noutput.campaign.packed import encode_packed
from noutput.campaign.report import new_id
from noutput.campaign.schedule import Schedule
from noutput.campaign.segments import Segments
from noutput.campaign.wire import PACKED_TYPE, REPORT_TYPE, decode_report, encode_report
from noutput.collector.archive.archive import open_archive
from noutput.collector.cells import CellLayout
from noutput.collector.clock import system_clock
from noutput.collector.issuing import issue_tokens
from noutput.collector.store import open_store
from noutput.collector.store.exported import (
    counts_document,
    read_counts,
    read_releases,
    releases_document,
)
from noutput.collector.store.interface import Snapshot
from noutput.collector.store.segments import LIVE, read_segments
from noutput.collector.store.sql import SqlStore
from tests.campaign.examples import late_campaign, survey_campaign
from tests.collector.killing import PATH, Progress, Sender, check_counts, run_with_kills
from tests.collector.postgresql import PostgresqlServer
from tests.collector.process import Running, launch
from tests.ports import free_port

CLIENTS = 8
REPORTS = 50_000
KILLS = 10
# Ids are merged all the time, so that kills hit merges, and become segments, which merge as well.
MERGING = """
from noutput.collector.ingest import merging
from noutput.collector.store import runs, segments, settling
merging._MERGE_SECONDS = 0.01
runs.POOL, runs.KEPT, runs.LARGE = 64, 32, 1024
settling.SETTLED, settling._CLEARED, segments._PIECE = 1500, 32, 32
segments.CHUNK_BITS = settling.CHUNK_BITS = 4
"""
# Counts are published all the time.
PUBLISHING = """
from noutput.collector.ingest import history
history._LOOK_SECONDS = 0.1
"""
pytestmark = pytest.mark.slow


@dataclass
class Crowd(Sender):
    """A client of many people, that sends single reports and batches, and some once more."""

    campaign: Campaign = field(kw_only=True)
    reports: int = field(kw_only=True)

    __hash__ = Sender.__hash__

    def work(self, rng: random.Random) -> None:
        left = self.reports
        while left:
            self.wait_for(1 - left / self.reports)
            size = min(left, rng.choice([1, 1, 1, 10, 100]))
            reports = [self.draw(rng) for _ in range(size)]
            body, kind = (
                (encode_report(reports[0]), REPORT_TYPE)
                if size == 1
                else (encode_packed(self.campaign, reports), PACKED_TYPE)
            )
            for _ in range(2 if rng.random() < 0.1 else 1):
                self.send(body, kind, size)
            self.acknowledged.update({report.id: report for report in reports})
            left -= size

    def draw(self, rng: random.Random) -> Report:
        """Draw the next report."""
        place = rng.randrange(len(self.campaign.questions))
        output = rng.randrange(self.campaign.tables[place].n_outputs)
        return Report(
            self.campaign.fingerprint, self.campaign.questions[place].name, output, new_id()
        )

    def send(self, body: bytes, kind: str, size: int) -> None:
        """Send reports until they are acknowledged."""
        content = json.loads(self.ask("POST", f"{PATH}/reports", body, kind))
        assert content["accepted"] + content["repeated"] == size


@dataclass
class Enrolled(Crowd):
    """A client whose reports spend tokens, some of them once more, with another answer."""

    tokens: list[str] = field(kw_only=True)

    __hash__ = Sender.__hash__

    def draw(self, rng: random.Random) -> Report:
        """Draw the next report, which spends a token."""
        return draw_report(self.campaign, rng.choice(["no", "yes"]), self.tokens.pop())

    def send(self, body: bytes, kind: str, size: int) -> None:
        """Send reports, and single ones once more."""
        super().send(body, kind, size)
        if kind == REPORT_TYPE:
            report = decode_report(body, self.campaign)
            other = encode_report(replace(report, output=1 - report.output))
            super().send(other, kind, size)


@dataclass
class Labeled(Crowd):
    """A client whose reports tell labels, of which some are rare, in rounds of the last hours."""

    rounds: int = field(kw_only=True)

    __hash__ = Sender.__hash__

    def draw(self, rng: random.Random) -> Report:
        """Draw the next report with its labels and round."""
        segments = self.campaign.segments
        assert segments is not None
        combination = min(int(rng.paretovariate(0.7)) - 1, segments.n_combinations - 1)
        return replace(
            super().draw(rng),
            labels=segments.labels(combination),
            round=rng.randrange(self.rounds),
        )


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


@dataclass(frozen=True)
class Place:
    """Where a test runs: one collector on SQLite; two that share PostgreSQL, which crashes once."""

    database: str
    document: Path
    server: PostgresqlServer | None = None
    archive: Path | None = None
    prelude: str = MERGING

    @property
    def ports(self) -> list[int]:
        return [free_port() for _ in range(1 if self.server is None else 2)]

    def start(self, port: int) -> Running:
        options = () if self.archive is None else ("--archive", str(self.archive))
        prelude = self.prelude + ("" if self.archive is None else ARCHIVING)
        return launch(
            self.database, "--campaign", str(self.document), *options, port=port, prelude=prelude
        )

    def crash(self, number: int, kills: int) -> None:
        if self.server is not None and number == kills // 2:
            self.server.down("immediate")  # a crash: the log is replayed at the start
            self.server.up()


def run(place: Place, senders: list[Crowd], progress: Progress) -> Snapshot:
    """Let clients send while collectors are killed; check what the database has."""
    run_with_kills(
        place.start, senders, progress, pauses=(0.05, 0.6),
        crash=lambda number: place.crash(number, progress.kills),
    )  # fmt: skip
    assert sum(sender.retries for sender in senders) > 0
    return check_counts(place.database, senders, sum(sender.reports for sender in senders))


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


def place_of(kind: str, folder: Path, campaign: Campaign, request: pytest.FixtureRequest) -> Place:
    document = folder / "commute.json"
    document.write_text(campaign.to_json())
    if kind == "sqlite":
        return Place(str(folder / "reports.db"), document)
    server: PostgresqlServer = request.getfixturevalue("postgresql")
    return Place(server.new_database(), document, server)


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_databases_and_archives_have_exactly_what_was_acknowledged(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Questions of all kinds, with tables of different sizes."""
    campaign = survey_campaign("commute")
    place = place_of(kind, tmp_path, campaign, request)
    if kind == "sqlite":
        place = replace(place, archive=tmp_path / "archive")
    ports, progress = place.ports, Progress(KILLS)
    senders = [
        Crowd(ports, seed, progress, campaign=campaign, reports=REPORTS // CLIENTS)
        for seed in range(CLIENTS)
    ]
    found = run(place, senders, progress)
    check_segments(place.database)
    if place.archive is not None:
        check_archive(place.archive, campaign, found.reports)


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_labels_and_rounds_are_counted_exactly_and_hidden_all_the_same(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    opens = system_clock().replace(microsecond=0) - timedelta(hours=5, minutes=1)
    campaign = replace(
        survey_campaign("commute"),
        opens=opens,
        closes=opens + timedelta(days=2),
        segments=Segments(
            (("platform", ("ios", "android", "web")), ("plan", ("free", "paid"))), minimum=100
        ),
        schedule=Schedule("hour", 24, grace=86_400),
    )
    place = replace(place_of(kind, tmp_path, campaign, request), prelude=MERGING + PUBLISHING)
    ports, progress = place.ports, Progress(KILLS)
    senders: list[Crowd] = [
        Labeled(ports, seed, progress, campaign=campaign, reports=REPORTS // CLIENTS, rounds=6)
        for seed in range(CLIENTS)
    ]
    check_hidden(campaign, run(place, senders, progress))


def check_hidden(campaign: Campaign, found: Snapshot) -> None:
    """Releases have their size, also where collectors were killed while they published."""
    layout, segments = CellLayout(campaign), campaign.segments
    assert segments is not None
    assert all(each.smallest >= segments.minimum for each in found.releases)
    assert read_counts(counts_document(found.counts, layout), layout) == found.counts
    read_releases(releases_document(found.releases), found.counts, layout)
    counted = layout.totals(found.reports)
    shown = {each.question for each in found.releases}
    own = shown & set(counted)
    assert own
    assert own != shown  # others were published without labels as well
    assert all(counted[number] >= segments.minimum for number in own)
    assert any(number not in own for number in counted)  # and some groups are hidden


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_tokens_are_spent_exactly_once(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    people = 1600
    campaign = late_campaign("commute", admission=Admission("token"))
    place = place_of(kind, tmp_path, campaign, request)
    store = open_store(place.database)
    row, _ = store.create(
        campaign.id, campaign.fingerprint, campaign.to_json(), "2026-05-01T00:00:00Z"
    )
    tokens = issue_tokens(store, row.key, campaign, people)
    store.close()
    ports, progress = place.ports, Progress(2)
    senders: list[Crowd] = [
        Enrolled(ports, seed, progress, campaign=campaign, reports=people // CLIENTS,
                 tokens=tokens[seed::CLIENTS])
        for seed in range(CLIENTS)
    ]  # fmt: skip
    run(place, senders, progress)
