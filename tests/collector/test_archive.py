from __future__ import annotations

import json
import os
import zipfile
from contextlib import closing
from dataclasses import asdict
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click import Command
from click.testing import CliRunner

from noutput.campaign import Campaign
from noutput.cli.campaign_store import backup_command, export_command
from noutput.cli.restore import command as restore_command
from noutput.collector.cells import CellLayout
from noutput.collector.http.auth import (
    browser_token,
    first_admin_token,
    new_token,
    recognize,
)
from noutput.collector.store import open_store
from noutput.collector.store.archive import (
    back_up,
    check_file,
    export_campaign,
    restore,
)
from noutput.collector.store.check import check_database
from noutput.collector.store.interface import ConflictError, Outcome, Release, Store, Submission
from noutput.errors import DocumentError, InvalidArgumentError
from tests.campaign.examples import survey_campaign
from tests.collector.conftest import make_campaign
from tests.collector.service import Clock

NOW = "2026-05-01T00:00:00Z"


def fill(store: Store, campaign: Campaign, count: int) -> Submission:
    row, _ = store.create(campaign.id, campaign.fingerprint, campaign.to_json(), NOW)
    cells = np.arange(count, dtype="<i4") % 15
    piece = Submission(row.key, os.urandom(16 * count), cells.tobytes())
    store.add([piece])
    return piece


def again(store: Store, piece: Submission) -> list[Outcome | None]:
    row = store.campaign("commute")
    assert row is not None
    return store.add([Submission(row.key, piece.ids, piece.cells)])


def write_export(file: Path, parts: dict[str, bytes]) -> None:
    """Write the entries of an export with checksums that fit."""
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
        sums = "".join(f"{sha256(parts[name]).hexdigest()}  {name}\n" for name in sorted(parts))
        archive.writestr("SHA256SUMS", sums)


def read_export(file: Path) -> dict[str, bytes]:
    """Return the entries of an export without their checksums."""
    with zipfile.ZipFile(file) as archive:
        return {name: archive.read(name) for name in archive.namelist() if name != "SHA256SUMS"}


def test_a_campaign_moves_to_another_database(
    store: Store, tmp_path: Path, campaign: Campaign
) -> None:
    """From each kind to SQLite and back, without a report counted twice."""
    piece = fill(store, campaign, 500)
    file = tmp_path / "commute.noutput"
    assert export_campaign(store, "commute", file)[0] == 500
    other = open_store(str(tmp_path / "other.db"))
    (row,) = restore(other, file)
    assert (row.id, row.created) == ("commute", NOW)
    assert sum(other.counts(row.key).values()) == 500
    assert again(other, piece) == [Outcome(0, 500)]
    with pytest.raises(ConflictError, match="exists"):
        restore(other, file)
    other.close()
    assert store.delete("commute")
    restore(store, file)
    assert again(store, piece) == [Outcome(0, 500)]


@pytest.mark.parametrize("ask", ["one", "all"])
def test_a_campaign_with_several_tables_moves(tmp_path: Path, ask: str) -> None:
    survey = survey_campaign("commute", ask=ask)
    layout = CellLayout(survey)
    with closing(open_store(str(tmp_path / "first.db"))) as store:
        row, _ = store.create(survey.id, survey.fingerprint, survey.to_json(), NOW)
        cells = np.arange(600, dtype="<i4") % layout.size
        piece = Submission(row.key, os.urandom(16 * 600), cells.tobytes())
        store.add([piece])
        export_campaign(store, "commute", tmp_path / "commute.noutput")
        assert [found.problems for found in check_database(store) if found.problems] == []
        wanted = store.counts(row.key)
    with closing(open_store(str(tmp_path / "other.db"))) as other:
        (moved,) = restore(other, tmp_path / "commute.noutput")
        assert other.counts(moved.key) == wanted
        assert again(other, piece) == [Outcome(0, 600)]
        assert [found.problems for found in check_database(other) if found.problems] == []


def test_an_export_does_not_tell_the_order_of_reports(tmp_path: Path, campaign: Campaign) -> None:
    store = open_store(str(tmp_path / "reports.db"))
    fill(store, campaign, 300)
    export_campaign(store, "commute", tmp_path / "x.noutput")
    store.close()
    with zipfile.ZipFile(tmp_path / "x.noutput") as archive:
        ids = archive.read("ids.bin")
    parts = [ids[start : start + 16] for start in range(0, len(ids), 16)]
    assert parts == sorted(parts)


RELEASE = asdict(Release(0, 1, NOW, 1, 1, 1))


def test_bad_exports_are_refused(tmp_path: Path, campaign: Campaign) -> None:
    store = open_store(str(tmp_path / "reports.db"))
    fill(store, campaign, 20)
    good = tmp_path / "good.noutput"
    export_campaign(store, "commute", good)
    parts = read_export(good)
    store.delete("commute")

    def refused(**changes: bytes | None) -> str:
        bad = tmp_path / "bad.noutput"
        changed = {**parts, **{name.replace("_", "."): new for name, new in changes.items()}}
        write_export(bad, {name: new for name, new in changed.items() if new is not None})
        with pytest.raises(DocumentError) as error:
            restore(store, bad)
        assert store.campaigns() == []
        return str(error.value)

    ids, counts = parts["ids.bin"], parts["counts.json"]
    assert "one id for each" in refused(ids_bin=ids[:-16])
    assert "sorted" in refused(ids_bin=ids[16:] + ids[:16])
    assert "sorted" in refused(ids_bin=ids[:16] * 20)
    for version in (b"0", b"2", b"4", b'"1"', b"true"):
        other = counts.replace(b'"version": 1', b'"version": ' + version)
        assert "version must be 1; found" in refused(counts_json=other)
    for row, rule in (
        ([0, 0, "minutes", 0, 2, 3, 0], "counts must have no more published than counted"),
        ([0, 0, "minutes", 5, 2, 0, 0], "counts must have rows of what the campaign asks"),
        ([0, 0, "way", 0, 2, 0, 0], "counts must have rows of what the campaign asks"),
        ([0, 1, "minutes", 0, 2, 0, 0], "counts must have rows of what the campaign asks"),
        ([1, 0, "minutes", 0, 2, 0, 0], "counts must have rows of what the campaign asks"),
        ([0, 0, "minutes", 1, 2, 0, 0], "counts must have no row twice"),
        ([0, 0, "minutes", 0, 1 << 63, 0, 0], "be whole numbers from 0 to 9223372"),
        ([0, 0, "minutes", 0, 2], "counts must have rows of 7 values"),
    ):
        content = json.loads(counts)
        content["counts"]["rows"][0] = row
        assert rule in refused(counts_json=json.dumps(content).encode())
    for releases, rule in (
        ([], "releases must add up to the published counts"),
        (1, "releases must be a list"),
        ([{}], "releases must have the keys"),
        ([{**RELEASE, "at": "now"}], "releases must have instants"),
        ([{**RELEASE, "last": 2}], "releases must have from 1 report to all"),
        ([{**RELEASE, "last": "1"}], "releases must have whole"),
        ([{**RELEASE, "number": 1 << 63}], "from 0 to 9223372"),
    ):
        content = json.loads(counts)
        content["counts"]["rows"][0][-2] = 1
        changed = json.dumps({**content, "releases": releases}).encode()
        assert rule in refused(counts_json=changed)
    assert "entries" in refused(counts_json=None)
    assert "document" in refused(campaign_json=b"{")
    (tmp_path / "no.zip").write_bytes(b"no zip")
    with pytest.raises(DocumentError, match=r"be a backup .* or an export .*b'no zip'"):
        restore(store, tmp_path / "no.zip")
    with pytest.raises(InvalidArgumentError, match="be the id of a campaign"):
        export_campaign(store, "nothing", tmp_path / "x")
    store.close()


@pytest.fixture
def export(tmp_path: Path, campaign: Campaign) -> tuple[Path, str]:
    """An export of 40 reports, and its checksum."""
    store = open_store(str(tmp_path / "reports.db"))
    fill(store, campaign, 40)
    file = tmp_path / "commute.noutput"
    _, checksum = export_campaign(store, "commute", file)
    store.close()
    return file, checksum


@pytest.mark.parametrize("name", ["campaign.json", "counts.json", "ids.bin"])
def test_an_altered_export_is_refused(export: tuple[Path, str], tmp_path: Path, name: str) -> None:
    """Also where it is still a fine export of its kind: another title, count or id."""
    file, _ = export
    with zipfile.ZipFile(file) as archive:
        parts = {entry: archive.read(entry) for entry in archive.namelist()}
    ids = parts["ids.bin"]
    parts[name] = {
        "campaign.json": parts["campaign.json"].replace(b'"Commute"', b'"COMMUTE"'),
        "counts.json": parts["counts.json"].replace(b"0, 3, 0, 0]", b"0, 2, 0, 0]"),
        "ids.bin": ids[:-1] + bytes([ids[-1] ^ 1]),
    }[name]
    with zipfile.ZipFile(file, "w") as archive:
        for entry, content in parts.items():
            archive.writestr(entry, content)
    other = str(tmp_path / "other.db")
    with pytest.raises(DocumentError, match=rf"{name} must be as it was written"):
        check_file(file)
    done = CliRunner().invoke(restore_command, [str(file), "--database", other])
    assert done.exit_code != 0
    assert not Path(other).exists()


def test_the_checksum_of_an_export_names_one_content(
    export: tuple[Path, str], tmp_path: Path
) -> None:
    """Whoever alters an export can make its own checksums fit, but not the one that was printed."""
    file, checksum = export
    check_file(file, checksum)
    parts = read_export(file)
    ids = parts["ids.bin"]
    write_export(file, {**parts, "ids.bin": ids[:-1] + bytes([ids[-1] ^ 1])})
    check_file(file)
    with pytest.raises(DocumentError, match=f"have the checksum {checksum}"):
        check_file(file, checksum)
    arguments = [str(file), "--database", str(tmp_path / "other.db")]
    assert CliRunner().invoke(restore_command, [*arguments, "--checksum", checksum]).exit_code != 0
    assert not (tmp_path / "other.db").exists()


def test_a_backup_can_be_served(database: str, tmp_path: Path, campaign: Campaign) -> None:
    store = open_store(database)
    fill(store, make_campaign("earlier"), 1)
    store.delete("earlier")  # the campaign gets another number in the copy
    piece = fill(store, campaign, 400)
    now = Clock()()
    token = first_admin_token(store, now)
    assert token is not None
    row = store.campaign(campaign.id)
    assert row is not None
    reader, bound = new_token("read", row.key, now, label="Wall display")
    assert store.add_token(bound)
    admin = recognize(store, f"Bearer {token}", now)
    assert admin is not None
    browser = browser_token(store, admin, now - timedelta(days=1))  # listed before its parent
    copy = tmp_path / "copy.db"
    assert back_up(database, copy) == 1
    store.close()
    assert sorted(path.name for path in tmp_path.glob("*copy*")) == ["copy.db"]
    other = open_store(str(copy))
    assert again(other, piece) == [Outcome(0, 400)]
    copied = other.campaign(campaign.id)
    assert copied is not None
    for each, key in ((token, None), (browser, None), (reader, copied.key)):
        found = recognize(other, f"Bearer {each}", now)
        assert found is not None
        assert found.campaign == key
    other.close()
    with pytest.raises(InvalidArgumentError, match="not exist yet"):
        back_up(database, copy)


def run_json(command: Command, *arguments: str) -> Any:
    done = CliRunner().invoke(command, [*arguments, "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_the_commands(tmp_path: Path, campaign: Campaign) -> None:
    database = str(tmp_path / "reports.db")
    store = open_store(database)
    fill(store, campaign, 30)
    store.close()
    runner = CliRunner()
    file = str(tmp_path / "commute.noutput")
    done = runner.invoke(export_command, ["commute", "--database", database, "-o", file])
    assert "with 30 reports" in done.output
    other = str(tmp_path / "other.db")
    done = runner.invoke(restore_command, [file, "--database", other])
    assert "with 30 reports" in done.output
    done = runner.invoke(backup_command, [str(tmp_path / "copy.db"), "--database", other])
    assert "1 campaign copied" in done.output
    told = run_json(export_command, "commute", "--database", database, "-o", file)
    checksum = told.pop("checksum")
    assert told == {"campaign": "commute", "reports": 30, "file": file}
    third = str(tmp_path / "third.db")
    told = run_json(restore_command, file, "--database", third, "--checksum", checksum)
    assert told == {"campaigns": {"commute": 30}, "tokens": 0}
    again = tmp_path / "again.db"
    told = run_json(backup_command, str(again), "--database", third)
    digest = sha256(again.read_bytes()).hexdigest()
    assert told == {"file": str(again), "campaigns": 1, "sha256": digest}
    done = runner.invoke(backup_command, [str(tmp_path / "c.db"), "--database", "nowhere.db"])
    assert done.exit_code == 2
    assert "there is no database" in done.output
    assert not Path("nowhere.db").exists()
