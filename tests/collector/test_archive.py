from __future__ import annotations

import os
import zipfile
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from noutput.campaign import Campaign
from noutput.cli.campaign_store import backup_command, export_command, import_command
from noutput.collector.http.auth import (
    browser_token,
    first_admin_token,
    new_token,
    recognize,
)
from noutput.collector.store import open_store
from noutput.collector.store.archive import back_up, export_campaign, import_campaign
from noutput.collector.store.interface import ConflictError, Outcome, Store, Submission
from noutput.errors import DocumentError, InvalidArgumentError
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


def test_a_campaign_moves_to_another_database(
    store: Store, tmp_path: Path, campaign: Campaign
) -> None:
    """From each kind to SQLite and back, without a report counted twice."""
    piece = fill(store, campaign, 500)
    file = tmp_path / "commute.noutput"
    assert export_campaign(store, "commute", file) == 500
    other = open_store(str(tmp_path / "other.db"))
    row = import_campaign(other, file)
    assert (row.id, row.created) == ("commute", NOW)
    assert sum(other.counts(row.key).values()) == 500
    assert again(other, piece) == [Outcome(0, 500)]
    with pytest.raises(ConflictError, match="exists"):
        import_campaign(other, file)
    other.close()
    assert store.delete("commute")
    import_campaign(store, file)
    assert again(store, piece) == [Outcome(0, 500)]


def test_an_export_does_not_tell_the_order_of_reports(tmp_path: Path, campaign: Campaign) -> None:
    store = open_store(str(tmp_path / "reports.db"))
    fill(store, campaign, 300)
    export_campaign(store, "commute", tmp_path / "x.noutput")
    store.close()
    with zipfile.ZipFile(tmp_path / "x.noutput") as archive:
        ids = archive.read("ids.bin")
    parts = [ids[start : start + 16] for start in range(0, len(ids), 16)]
    assert parts == sorted(parts)


def test_bad_exports_are_refused(tmp_path: Path, campaign: Campaign) -> None:
    store = open_store(str(tmp_path / "reports.db"))
    fill(store, campaign, 20)
    good = tmp_path / "good.noutput"
    export_campaign(store, "commute", good)
    with zipfile.ZipFile(good) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    store.delete("commute")

    def refused(**changes: bytes | None) -> str:
        bad = tmp_path / "bad.noutput"
        with zipfile.ZipFile(bad, "w") as archive:
            for name, content in {
                **parts,
                **{k.replace("_", "."): v for k, v in changes.items()},
            }.items():
                if content is not None:
                    archive.writestr(name, content)
        with pytest.raises(DocumentError) as error:
            import_campaign(store, bad)
        assert store.campaigns() == []
        return str(error.value)

    ids, counts = parts["ids.bin"], parts["counts.json"]
    assert "one id for each" in refused(ids_bin=ids[:-16])
    assert "sorted" in refused(ids_bin=ids[16:] + ids[:16])
    assert "sorted" in refused(ids_bin=ids[:16] * 20)
    assert "cells from 0 to 14" in refused(counts_json=counts.replace(b'"0"', b'"15"'))
    assert "version" in refused(counts_json=counts.replace(b'"version": 1', b'"version": 2'))
    assert "entries" in refused(counts_json=None)
    assert "document" in refused(campaign_json=b"{")
    (tmp_path / "no.zip").write_bytes(b"no zip")
    with pytest.raises(DocumentError, match="be an export"):
        import_campaign(store, tmp_path / "no.zip")
    with pytest.raises(InvalidArgumentError, match="be the id of a campaign"):
        export_campaign(store, "nothing", tmp_path / "x")
    store.close()


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
    done = runner.invoke(import_command, [file, "--database", other])
    assert "with 30 reports" in done.output
    done = runner.invoke(backup_command, [str(tmp_path / "copy.db"), "--database", other])
    assert "1 campaign copied" in done.output
    done = runner.invoke(backup_command, [str(tmp_path / "c.db"), "--database", "nowhere.db"])
    assert done.exit_code == 2
    assert "there is no database" in done.output
    assert not Path("nowhere.db").exists()
