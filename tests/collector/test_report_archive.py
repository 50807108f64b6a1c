"""Archive of reports: what was acknowledged is in it, and counts as in the collector."""

from __future__ import annotations

import errno
import http.client
import os
import secrets
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from noutput import InvalidArgumentError, MissingExtraError, Tally, frames
from noutput.campaign import Campaign, Report
from noutput.campaign.archive import COLUMNS, DOCUMENT, campaign_folder
from noutput.campaign.packed import encode_packed
from noutput.campaign.wire import PACKED_TYPE
from noutput.collector.archive import archive as archives
from noutput.collector.archive.archive import Archive, open_archive
from noutput.collector.cells import CellLayout
from noutput.collector.ingest import archiving
from noutput.collector.ingest.archiving import Archiver
from noutput.collector.store import open_store
from noutput.collector.store.interface import UnavailableError
from tests.campaign.examples import survey_campaign
from tests.collector.process import running
from tests.collector.service import Service, problem, start_service

UNAVAILABLE = (503, "unavailable")


@pytest.fixture(scope="module")
def campaign() -> Campaign:
    return survey_campaign("commute")


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    opened = open_archive(tmp_path / "archive")
    yield opened
    opened.close()


@pytest.fixture
def service(tmp_path: Path, archive: Archive, campaign: Campaign) -> Iterator[Service]:
    store = open_store(str(tmp_path / "reports.db"))
    with start_service(store, archive=archive) as running:
        running.create(campaign)
        yield running
    store.close()


def archiver(service: Service) -> Archiver:
    found = service.app.services.archiver
    assert found is not None
    return found


def some(campaign: Campaign, count: int, seed: int = 1) -> list[Report]:
    rng = np.random.default_rng(seed)
    places = rng.integers(0, len(campaign.questions), count).tolist()
    return [
        Report(
            campaign.fingerprint,
            campaign.questions[place].name,
            int(rng.integers(campaign.tables[place].n_outputs)),
            rng.bytes(16).hex(),
        )
        for place in places
    ]


def counted(service: Service, campaign: Campaign) -> dict[str, Tally]:
    """Return the tallies of the collector."""
    row = service.store.campaign(campaign.id)
    assert row is not None
    tallies = CellLayout(campaign).tallies(service.store.counts(row.key))
    return {each.name: tally for each, tally in zip(campaign.questions, tallies, strict=True)}


def parquet(archive: Archive) -> list[Path]:
    return sorted(archive.folder.rglob("*.parquet"))


def test_the_archive_counts_as_the_collector(
    service: Service, archive: Archive, campaign: Campaign
) -> None:
    reports = some(campaign, 500)
    for start in (0, 100, 300):  # 200 reports come twice
        assert service.batch(campaign, reports[start : start + 300]).status_code == 200
    assert service.report(reports[7]).json() == {"accepted": 0, "repeated": 1}
    archive.flush()
    wanted = counted(service, campaign)
    for engine in ("arrow", "duckdb"):
        found = frames.tally_reports(archive.folder, engine=engine)
        assert found.tallies == wanted
        assert found.campaign == campaign
        assert (found.reports, found.rows, found.conflicting) == (500, 801, 0)
    assert found.pending == 0
    summaries = found.summaries(level=0.9)
    assert list(summaries) == [question.name for question in campaign.questions]
    assert all(each.level == 0.9 for each in summaries.values())


def test_rows_tell_neither_order_nor_time(
    service: Service, archive: Archive, campaign: Campaign
) -> None:
    reports = some(campaign, 400)
    for report in reports[:20]:
        service.report(report)
    service.batch(campaign, reports[20:])
    archive.flush()
    files = parquet(archive)
    names = [f"shard={digit}" for digit in "0123456789abcdef"]
    assert [file.parent.name for file in files] == names
    found = []
    for file in files:
        table = pq.ParquetFile(file).read()
        assert table.column_names == list(COLUMNS)
        ids = table["id"].to_pylist()
        assert ids == sorted(ids)
        assert {f"shard={each.hex()[0]}" for each in ids} == {file.parent.name}
        assert len(file.stem) == 32
        assert set(file.stem) <= set("0123456789abcdef")
        assert file.stat().st_mode & 0o077 == 0
        found += table.to_pylist()
    wanted = [
        {"campaign": each.campaign, "question": each.question, "output": each.output,
         "id": bytes.fromhex(each.id)}
        for each in sorted(reports, key=lambda each: each.id)
    ]  # fmt: skip
    assert found == wanted
    folder = archive.folder / campaign_folder(campaign.fingerprint)
    assert Campaign.from_json((folder / DOCUMENT).read_bytes()) == campaign


def test_ids_that_begin_alike_are_sorted(archive: Archive, campaign: Campaign) -> None:
    ids = [bytes(8) + bytes([number]) * 8 for number in (7, 3, 255, 0)] + [b"\x80" + bytes(15)]
    archive.add([(campaign, b"".join(ids), bytes(20))])
    archive.flush()
    found = [pq.ParquetFile(file).read()["id"].to_pylist() for file in parquet(archive)]
    assert found == [sorted(ids[:4]), ids[4:]]


def test_few_reports_wait_for_more(
    service: Service, archive: Archive, campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    look = archiver(service)
    service.batch(campaign, some(campaign, 100))
    assert not look.is_due()
    look.look()
    assert parquet(archive) == []
    assert archive.sizes() == {campaign.fingerprint: 100}
    monkeypatch.setattr(archiving, "_FLUSH_SECONDS", 0.0)
    assert look.is_due()  # ten minutes later, there are still too few
    look.look()
    assert archive.sizes() == {campaign.fingerprint: 100}
    monkeypatch.setattr(archiving, "LEAST", 100)
    look.look()
    assert archive.sizes() == {}
    assert frames.tally_reports(archive.folder).reports == 100


def test_many_reports_are_written_at_once(
    service: Service, archive: Archive, campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archiving, "MANY", 200)
    monkeypatch.setattr(archives, "MANY", 100)  # that are in memory at a time
    look = archiver(service)
    for part in (1, 2):
        assert not look.is_due()
        service.batch(campaign, some(campaign, 100, seed=part))
    assert look.is_due()
    look.look()
    assert not look.is_due()
    assert archive.sizes() == {campaign.fingerprint: 100}  # not enough for the next file
    assert frames.tally_reports(archive.folder).pending == 100
    assert len(parquet(archive)) == 16
    service.batch(campaign, some(campaign, 100, seed=3))
    archive.flush()
    assert archive.sizes() == {}
    assert len(parquet(archive)) == 48
    assert frames.tally_reports(archive.folder).tallies == counted(service, campaign)


def test_closing_puts_files_together(
    service: Service, archive: Archive, campaign: Campaign
) -> None:
    look = archiver(service)
    for part in range(3):
        service.batch(campaign, some(campaign, 200, seed=part))
        archive.flush()
    service.batch(campaign, some(campaign, 30, seed=3))
    left = parquet(archive)[0].with_name(".left.partial")
    left.write_bytes(b"PAR1")
    os.utime(left, (0, 0))
    service.call("POST", "/campaigns/commute/close", headers=service.admin)
    assert look.is_due()
    look.look()
    assert not look.is_due()
    assert len(parquet(archive)) == 16
    assert not left.exists()
    for file in parquet(archive):
        ids = pq.ParquetFile(file).read()["id"].to_pylist()
        assert ids == sorted(ids)
    found = frames.tally_reports(archive.folder)
    assert found.tallies == counted(service, campaign)
    assert found.rows == 630
    assert problem(service.report(some(campaign, 1, seed=9)[0]))[1] == "campaign-not-open"
    assert archive.sizes() == {}  # what is refused is not archived


def test_a_full_disk_is_503_and_loses_nothing(
    service: Service, archive: Archive, campaign: Campaign
) -> None:
    first, second = some(campaign, 100), some(campaign, 3000, seed=2)
    assert service.batch(campaign, first).status_code == 200
    connection = archive._pending._writer
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count = {pages}")
    assert problem(service.batch(campaign, second)) == UNAVAILABLE
    assert problem(service.call("GET", "/health/ready")) == UNAVAILABLE
    connection.execute("PRAGMA max_page_count = 1000000")
    answer = service.batch(campaign, second)  # the client sends again
    assert answer.json() == {"accepted": 0, "repeated": 3000}
    assert service.call("GET", "/health/ready").status_code == 200
    archive.flush()
    assert frames.tally_reports(archive.folder).tallies == counted(service, campaign)


def test_files_that_cannot_be_written_stay_pending(
    service: Service, archive: Archive, campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.batch(campaign, some(campaign, 100))
    real, calls = os.fsync, []

    def fail(descriptor: int) -> None:
        calls.append(descriptor)
        if len(calls) == 20:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(UnavailableError, match=r"the archive: .*No space left"):
        archive.flush()
    monkeypatch.undo()
    assert archive.sizes() == {campaign.fingerprint: 100}
    assert 0 < len(parquet(archive)) < 16
    assert [*archive.folder.rglob("*.partial")] == []
    archive.flush()
    found = frames.tally_reports(archive.folder)
    assert found.tallies == counted(service, campaign)
    assert found.rows > 100


@pytest.mark.parametrize("content", [None, b"{}", b"\xff"], ids=["gone", "other", "garbage"])
def test_a_campaign_whose_folder_is_damaged_holds_up_no_other(
    service: Service, archive: Archive, campaign: Campaign, content: bytes | None
) -> None:
    other = survey_campaign("another")
    service.create(other)
    for each in (campaign, other):
        service.send(encode_packed(each, some(each, 20)), PACKED_TYPE, each.id)
    for damaged, whole in ((campaign, other), (other, campaign)):
        folder = archive.folder / campaign_folder(damaged.fingerprint)
        (folder / DOCUMENT).unlink()
        if content is not None:
            (folder / DOCUMENT).write_bytes(content)
        with pytest.raises(UnavailableError, match="the archive: "):
            archive.flush()
        assert archive.sizes() == {damaged.fingerprint: 20}
        if content is not None:
            (folder / DOCUMENT).unlink()
        service.send(
            encode_packed(damaged, some(damaged, 20)), PACKED_TYPE, damaged.id
        )  # which writes the document again
        archive.flush()
        assert archive.sizes() == {}
        service.send(encode_packed(whole, some(whole, 20)), PACKED_TYPE, whole.id)


def test_a_closed_campaign_whose_folder_is_damaged_holds_up_no_open_one(
    service: Service, archive: Archive, campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = survey_campaign("another")
    service.create(other)
    monkeypatch.setattr(archiving, "MANY", 20)
    service.batch(campaign, some(campaign, 10))
    (archive.folder / campaign_folder(campaign.fingerprint) / DOCUMENT).unlink()
    service.call("POST", f"/campaigns/{campaign.id}/close", headers=service.admin)
    service.send(encode_packed(other, some(other, 20)), PACKED_TYPE, other.id)
    with pytest.raises(UnavailableError, match="the archive: "):
        archiver(service).look()
    assert archive.sizes() == {campaign.fingerprint: 10}


def test_a_damaged_file_holds_up_no_other_campaign(
    service: Service, archive: Archive, campaign: Campaign, caplog: pytest.LogCaptureFixture
) -> None:
    other = survey_campaign("another")
    service.create(other)
    for start in (1, 2):
        service.batch(campaign, some(campaign, 100, start))
        archive.flush()
    damaged = parquet(archive)[0]
    damaged.write_bytes(b"PAR1")
    service.send(encode_packed(other, some(other, 20)), PACKED_TYPE, other.id)
    service.call("POST", f"/campaigns/{campaign.id}/close", headers=service.admin)
    service.call("POST", f"/campaigns/{other.id}/close", headers=service.admin)
    archiver(service).look()
    assert archive.sizes() == {}
    assert damaged.exists()
    assert "are not put together" in caplog.text
    assert not archiver(service).is_due()


def test_half_a_file_is_never_read(service: Service, archive: Archive, campaign: Campaign) -> None:
    service.batch(campaign, some(campaign, 100))
    archive.flush()
    whole = parquet(archive)[0]
    whole.with_name(".0.partial").write_bytes(whole.read_bytes()[:100])
    for engine in ("arrow", "duckdb"):
        assert frames.tally_reports(archive.folder, engine=engine).reports == 100


def test_pending_reports_that_are_gone_are_not_acknowledged(
    service: Service, archive: Archive, campaign: Campaign
) -> None:
    service.batch(campaign, some(campaign, 10))
    (archive.folder / "_pending.db").unlink()
    assert problem(service.batch(campaign, some(campaign, 10, seed=2))) == UNAVAILABLE


def test_what_a_killed_collector_left_is_written_by_the_next(
    tmp_path: Path, campaign: Campaign
) -> None:
    folder = tmp_path / "archive"
    before = open_archive(folder)
    cells = np.zeros(50, "<i4").tobytes()
    before.add([(campaign, secrets.token_bytes(50 * 16), cells)])
    after = open_archive(folder)  # which finds the files open, as after a kill
    after.flush()
    assert frames.tally_reports(folder).reports == 50
    for each in (before, after):
        each.close()


def test_two_processes_that_write_the_same_lose_nothing(tmp_path: Path, campaign: Campaign) -> None:
    folder = tmp_path / "archive"
    one, other = open_archive(folder), open_archive(folder)
    cells = np.zeros(50, "<i4").tobytes()
    one.add([(campaign, secrets.token_bytes(50 * 16), cells)])
    taken = one._pending.take(campaign.fingerprint, 1000)
    other.flush()
    other.add([(campaign, secrets.token_bytes(50 * 16), cells)])
    one._pending.drop(taken)  # what came meanwhile is not among it
    assert one.sizes() == {campaign.fingerprint: 50}
    for each in (one, other):
        each.flush()
        each.compact(campaign.fingerprint)
        each.close()
    assert frames.tally_reports(folder).reports == 100


def test_several_campaigns_share_an_archive(
    service: Service, archive: Archive, campaign: Campaign
) -> None:
    other = survey_campaign("other")
    service.create(other)
    service.batch(campaign, some(campaign, 60))
    body = encode_packed(other, some(other, 40))
    assert service.send(body, PACKED_TYPE, "other").status_code == 200
    archive.flush()
    assert frames.tally_reports(archive.folder, campaign).tallies == counted(service, campaign)
    assert frames.tally_reports(archive.folder, other).tallies == counted(service, other)
    with pytest.raises(InvalidArgumentError, match=r"campaign must be given unless .*'other'"):
        frames.tally_reports(archive.folder)
    third = survey_campaign("third")
    with pytest.raises(InvalidArgumentError, match="hold reports of the campaign 'third'"):
        frames.tally_reports(archive.folder, third)


def test_a_campaign_whose_folder_was_removed_keeps_no_other_from_its_files(
    archive: Archive, campaign: Campaign
) -> None:
    other = survey_campaign("other")
    for each in (campaign, other):
        archive.add([(each, secrets.token_bytes(160), bytes(40))])
    first = min((campaign, other), key=lambda each: each.fingerprint)
    shutil.rmtree(archive.folder / campaign_folder(first.fingerprint))
    with pytest.raises(UnavailableError, match=first.fingerprint):
        archive.flush()
    assert archive.sizes() == {first.fingerprint: 10}


def test_a_report_in_the_folder_of_another_campaign_is_refused(
    service: Service, archive: Archive, campaign: Campaign
) -> None:
    service.batch(campaign, some(campaign, 60))
    archive.flush()
    other = survey_campaign("other")
    folder = archive.folder / campaign_folder(campaign.fingerprint)
    folder.rename(folder.with_name(campaign_folder(other.fingerprint)))
    for engine in ("arrow", "duckdb"):  # all of them are counted, also shard by shard
        with pytest.raises(InvalidArgumentError, match="found '60 of another campaign'"):
            frames.tally_reports(archive.folder, other, engine=engine)


def test_an_id_in_another_shard_is_not_counted_twice(
    service: Service, archive: Archive, campaign: Campaign
) -> None:
    service.batch(campaign, some(campaign, 60))
    archive.flush()
    first, *_, last = parquet(archive)
    shutil.copy(last, first.with_name("copy.parquet"))
    with pytest.raises(InvalidArgumentError, match="must hold the ids of shard=0 alone"):
        frames.tally_reports(archive.folder)
    assert frames.tally_reports(archive.folder, engine="duckdb").reports == 60


def test_without_pyarrow_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("pyarrow", "pyarrow.parquet"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtraError, match=r"noutput\[frames\]"):
        open_archive(tmp_path / "archive")
    assert not (tmp_path / "archive").exists()


def test_a_folder_that_cannot_be_written_to_is_refused(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(InvalidArgumentError, match="archive must be a folder to write to"):
        open_archive(tmp_path / "taken")


def test_noutput_serve_writes_everything_before_it_ends(tmp_path: Path, campaign: Campaign) -> None:
    document = tmp_path / "commute.json"
    document.write_text(campaign.to_json())
    folder = tmp_path / "archive"
    reports = some(campaign, 300)
    with running(str(tmp_path / "reports.db"), document, "--archive", str(folder)) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, 10)
        headers = {"Content-Type": PACKED_TYPE}
        body = encode_packed(campaign, reports)
        connection.request("POST", "/campaigns/commute/reports", body, headers)
        assert connection.getresponse().read() == b'{"accepted":300,"repeated":0}'
        connection.close()
    found = frames.tally_reports(folder)
    assert (found.reports, found.pending) == (300, 0)
    beside = [path.name for path in folder.iterdir() if not path.is_dir()]
    assert beside == ["_pending.db"]  # and no log, in which the order would be
