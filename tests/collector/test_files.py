"""Only their owner can read a database, its copies and its exports."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from noutput.campaign import Campaign
from noutput.collector.archive.archive import open_archive
from noutput.collector.store import open_store
from noutput.collector.store.archive import back_up, export_campaign
from noutput.collector.store.files import keep_private
from noutput.errors import NoutputError

NOW = "2026-05-01T00:00:00Z"
FILES = {"reports.db", "reports.db-wal", "reports.db-shm", "reports.db-mark"}


@pytest.fixture(autouse=True)
def usual_rights() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def modes(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()}


def test_files_are_private(tmp_path: Path, campaign: Campaign) -> None:
    database = tmp_path / "reports.db"
    store = open_store(str(database))
    store.create(campaign.id, campaign.fingerprint, campaign.to_json(), NOW)
    back_up(str(database), tmp_path / "copy.db")
    export_campaign(store, campaign.id, tmp_path / "commute.noutput")
    found = modes(tmp_path)
    store.close()
    assert set(found.values()) == {0o600}, found
    assert set(found) == {*FILES, "copy.db", "commute.noutput"}


def test_looking_at_the_file_keeps_the_locks_of_sqlite(tmp_path: Path, campaign: Campaign) -> None:
    """Else another process that closes the file takes itself for the last, and removes the log."""
    database = tmp_path / "reports.db"
    store = open_store(str(database))
    store.create(campaign.id, campaign.fingerprint, campaign.to_json(), NOW)
    code = (
        "import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute('SELECT * FROM seals').close()"
    )
    subprocess.run([sys.executable, "-c", code, database], check=True, timeout=30)
    assert (tmp_path / "reports.db-wal").exists()
    store.probe()
    store.close()


def test_an_older_database_is_made_private(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    database = tmp_path / "reports.db"
    open_store(str(database)).close()
    for suffix in ("", "-wal", "-shm"):
        path = Path(f"{database}{suffix}")
        path.touch()
        path.chmod(0o664)
    with caplog.at_level(logging.WARNING):
        store = open_store(str(database))
    found = modes(tmp_path)
    store.close()
    assert set(found.values()) == {0o600}, found
    assert "could open reports.db: its mode was 664, and is 600 now" in caplog.text
    assert str(tmp_path) not in caplog.text


def test_rights_that_cannot_be_taken_away_are_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "reports.db"
    path.touch()
    path.chmod(0o640)

    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(Path, "chmod", refuse)
    keep_private(path)
    assert "can open reports.db (mode 640), and this could not be changed" in caplog.text


def test_where_files_cannot_be_linked_sqlite_makes_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError

    monkeypatch.setattr(os, "link", refuse)
    store = open_store(str(tmp_path / "reports.db"))
    found = modes(tmp_path)
    store.close()
    assert set(found) == FILES
    assert set(found.values()) == {0o600}


@pytest.mark.parametrize("name", ["reports.db", "_pending.db"])
def test_a_file_that_is_no_database_keeps_its_rights(tmp_path: Path, name: str) -> None:
    shared, link = tmp_path / "shared.txt", tmp_path / name
    shared.write_text("of others" * 100)
    shared.chmod(0o644)
    link.symlink_to(shared)
    with pytest.raises(NoutputError, match="not a database"):
        _ = open_store(str(link)) if name == "reports.db" else open_archive(tmp_path)
    assert shared.stat().st_mode & 0o777 == 0o644
    assert shared.read_text() == "of others" * 100
