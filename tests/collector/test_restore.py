"""Backups and exports are restored into any database: all of a file, or nothing."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
import zipfile
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from noutput.campaign import Ledger, Report, draw_report
from noutput.cli import noutput
from noutput.collector.http.auth import browser_token, new_token, recognize
from noutput.collector.store import open_store, schema
from noutput.collector.store.archive import back_up, export_campaign, file_checksum, restore
from noutput.collector.store.check import check_database
from noutput.collector.store.interface import (
    ConflictError,
    DamagedError,
    LogEntry,
    Outcome,
    Store,
    Submission,
)
from noutput.errors import DocumentError, InvalidArgumentError
from tests.collector.conftest import make_campaign
from tests.collector.service import Clock, start_service
from tests.collector.tables import tables
from tests.collector.test_admission import TOKEN, issue, send
from tests.collector.test_archive import NOW, again, fill

ONCE, TWICE = {"accepted": 1, "repeated": 0}, {"accepted": 0, "repeated": 1}


@dataclass
class Kept:
    """What a database had."""

    piece: Submission  # of 400 reports on "commute"
    spent: Report  # with a one-time token
    unspent: Report
    tokens: dict[str, str | None]  # of all kinds, with the campaign that each is for
    log: list[LogEntry]

    @classmethod
    def fill(cls, store: Store) -> Kept:
        fill(store, make_campaign("earlier"), 1)
        store.delete("earlier")  # so that campaigns get other numbers elsewhere
        piece = fill(store, make_campaign(), 400)
        now = Clock()()
        with start_service(store) as service:
            service.create(TOKEN)
            reports = [draw_report(TOKEN, "yes", token) for token in issue(service, 2)]
            assert send(service, reports[0]) == (200, ONCE)
            admin = service.admin["Authorization"].removeprefix("Bearer ")
        row, known = store.campaign("commute"), recognize(store, f"Bearer {admin}", now)
        assert row is not None
        assert known is not None
        reader, bound = new_token("read", row.key, now, label="Wall display")
        assert store.add_token(bound)
        browser = browser_token(store, known, now)
        assert browser is not None
        tokens = {admin: None, reader: "commute", browser: None}
        return cls(piece, reports[0], reports[1], tokens, store.log())

    def check(self, store: Store) -> None:
        """Look whether another database has all of it, and counts nothing twice."""
        assert again(store, self.piece) == [Outcome(0, 400)]
        assert [found.problems for found in check_database(store) if found.problems] == []
        ids = {row.key: row.id for row in store.campaigns()}
        assert sorted(ids.values()) == ["commute", "late"]
        assert len(store.tokens()) == len(self.tokens)
        for token, campaign in self.tokens.items():
            found = recognize(store, f"Bearer {token}", Clock()())
            assert found is not None
            assert (None if found.campaign is None else ids[found.campaign]) == campaign
        assert store.log()[-len(self.log) :] == self.log
        with start_service(store) as service:
            assert send(service, self.spent) == (200, TWICE)
            assert send(service, self.unspent) == (200, ONCE)


@pytest.fixture
def backup(tmp_path: Path) -> tuple[Path, Kept]:
    """A backup of a SQLite file."""
    with closing(open_store(str(tmp_path / "source.db"))) as store:
        kept = Kept.fill(store)
        back_up(str(tmp_path / "source.db"), tmp_path / "backup.db")
    return tmp_path / "backup.db", kept


def run(*arguments: str) -> Result:
    return CliRunner().invoke(noutput, ["restore", *arguments])


def counts(database: str) -> list[int]:
    """Return how many rows each table has, but for those that every database has."""
    with tables(database) as connection:
        names = [name for name in schema._metadata.tables if name not in _ALWAYS]
        query = "SELECT count(*) FROM "
        return [connection.exec_driver_sql(query + name).scalar_one() for name in names]


_ALWAYS = ("noutput_schema", "high_water")


def test_a_backup_is_restored_with_tokens_and_log(
    backup: tuple[Path, Kept], database: str, tmp_path: Path
) -> None:
    """From SQLite into SQLite and PostgreSQL, and from there back."""
    file, kept = backup
    before = file.read_bytes()
    done = run(str(file), "--database", database, "--checksum", file_checksum(file))
    assert done.exit_code == 0, done.output
    assert done.output.splitlines() == [
        "commute with 400 reports is in the database", "late with 1 report is in the database",
        "The database has 3 tokens.",
    ]  # fmt: skip
    assert file.read_bytes() == before
    assert not list(tmp_path.glob("backup.db-*"))
    back_up(database, tmp_path / "again.db")
    with closing(open_store(database)) as store:
        newest, *_ = store.log()
        assert (newest.number, newest.action.name) == (len(kept.log) + 1, "database.restore")
        kept.check(store)
    with closing(open_store(str(tmp_path / "third.db"))) as store:
        restore(store, tmp_path / "again.db")
        kept.check(store)


def test_exports_are_restored_next_to_other_campaigns(
    backup: tuple[Path, Kept], database: str, tmp_path: Path
) -> None:
    file, kept = backup
    export = tmp_path / "late.noutput"
    with closing(open_store(str(file))) as source:
        _, checksum = export_campaign(source, "late", export)
    with closing(open_store(database)) as store:
        fill(store, make_campaign(), 20)
    arguments = (str(export), "--database", database, "--checksum", checksum)
    done = run(*arguments, "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout) == {"campaigns": {"late": 1}, "tokens": 0}
    with closing(open_store(database)) as store:
        assert [entry.action.name for entry in store.log()] == ["campaign.restore"]
        with start_service(store) as service:
            assert send(service, kept.spent) == (200, TWICE)
            assert send(service, kept.unspent) == (200, ONCE)
    before = counts(database)
    assert isinstance(run(*arguments).exception, ConflictError)
    assert counts(database) == before


@pytest.mark.parametrize("part", ["campaign", "token", "log"])
def test_a_backup_needs_an_empty_database(
    backup: tuple[Path, Kept], database: str, part: str
) -> None:
    with closing(open_store(database)) as store:
        if part == "campaign":
            fill(store, make_campaign("other"), 0)
        elif part == "token":
            store.add_token(new_token("admin", None, Clock()())[1])
        else:
            store.note(backup[1].log[0].action)
    before = counts(database)
    done = run(str(backup[0]), "--database", database)
    assert isinstance(done.exception, InvalidArgumentError)
    found = {"campaign": "1 campaigns, 0 tokens, 0", "token": "0 campaigns, 1 tokens, 0"}
    told = f"{found.get(part, '0 campaigns, 0 tokens, 1')} log entries"
    assert str(done.exception).startswith("database must be empty")
    assert str(done.exception).endswith(f"found {told!r}")
    assert counts(database) == before


KILL = """
import os, signal, sys
from pathlib import Path
from noutput.collector.store import open_store
from noutput.collector.store.archive import restore
from noutput.collector.store.sql import SqlStore

end, calls = sys.argv[3], []
kept, note = SqlStore._restore, SqlStore._note

def count(self, connection, snapshot):
    calls.append(snapshot)
    if end == "second campaign" and len(calls) == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return kept(self, connection, snapshot)

def last(self, connection, action):
    note(self, connection, action)
    if end == "log" and calls:
        os.kill(os.getpid(), signal.SIGKILL)

SqlStore._restore, SqlStore._note = count, last
restore(open_store(sys.argv[2]), Path(sys.argv[1]), now="2026-05-01T00:00:00Z")
"""


@pytest.mark.parametrize("end", ["second campaign", "log"])
def test_a_restore_that_is_killed_leaves_nothing(
    backup: tuple[Path, Kept], database: str, end: str
) -> None:
    file, kept = backup
    done = subprocess.run([sys.executable, "-c", KILL, str(file), database, end], check=False)
    assert done.returncode == -signal.SIGKILL
    with closing(open_store(database)) as store:  # which plays back what a log has
        assert (store.campaigns(), store.tokens(), store.log()) == ([], [], [])
    assert not any(counts(database))
    with closing(open_store(database)) as store:
        restore(store, file)
        kept.check(store)


def test_a_damaged_backup_is_refused_as_a_whole(backup: tuple[Path, Kept], database: str) -> None:
    file, _ = backup
    with tables(str(file)) as connection:
        connection.exec_driver_sql("UPDATE counts SET reports = reports + 1 WHERE cell = 3")
    done = run(str(file), "--database", database)
    assert isinstance(done.exception, DamagedError)
    assert not any(counts(database))


def test_a_backup_with_another_checksum_is_refused(
    backup: tuple[Path, Kept], tmp_path: Path
) -> None:
    done = run(str(backup[0]), "--database", str(tmp_path / "new.db"), "--checksum", "0" * 64)
    assert isinstance(done.exception, DocumentError)
    found = file_checksum(backup[0])
    assert str(done.exception) == f"file must have the SHA-256 {'0' * 64}; found '{found}'"
    assert not (tmp_path / "new.db").exists()


def empty(file: Path) -> None:
    file.touch()


def document(file: Path) -> None:
    file.write_text(make_campaign().to_json())


def foreign(file: Path) -> None:
    with closing(sqlite3.connect(file)) as opened:
        opened.execute("CREATE TABLE people (x)")


def ledger(file: Path) -> None:
    Ledger(file).close()


def cut_off(file: Path) -> None:
    with closing(open_store(str(file))) as store:
        fill(store, make_campaign(), 20)
    file.write_bytes(file.read_bytes()[:5000])


def archive(file: Path) -> None:
    with zipfile.ZipFile(file, "w") as opened:
        opened.writestr("people.csv", "1")


def half_archive(file: Path) -> None:
    file.write_bytes(b"PK\3\4 and no more")


def other_version(file: Path) -> None:
    open_store(str(file)).close()
    with tables(str(file)) as connection:
        connection.exec_driver_sql("UPDATE noutput_schema SET version = 10")


BOTH = "be a backup (a SQLite file) or an export (a ZIP file) of noutput"
NOUTPUT = "be a backup of a database of noutput"
WRONG: dict[str, tuple[Any, str]] = {
    "nothing": (empty, f"file must {BOTH}; found 'an empty file'"),
    "a document": (document, f"file must {BOTH}; found 'a file that begins with b\\'{{\\\\n"),
    "another database": (
        foreign,
        f"file must {NOUTPUT}; found \"a SQLite file with the tables ['people']\"",
    ),
    "a ledger": (
        ledger,
        f"file must {NOUTPUT}; found \"a SQLite file with the tables ['answers', 'enrollments', ",
    ),
    "half a backup": (cut_off, "file must be a SQLite file that can be read; found 'database"),
    "another archive": (archive, "file must have the entries ['campaign.json', 'counts.json'"),
    "half an export": (half_archive, "file must be an export of a campaign; found 'File is not a"),
    "another version": (other_version, "database must have version 1, the only one"),
}


@pytest.mark.parametrize(("make", "message"), WRONG.values(), ids=WRONG)
def test_other_files_are_refused_by_name_and_left_alone(
    tmp_path: Path, make: Any, message: str
) -> None:
    file, new = tmp_path / "file", tmp_path / "new.db"
    make(file)
    before = file.read_bytes()
    done = run(str(file), "--database", str(new))
    assert isinstance(done.exception, InvalidArgumentError)
    assert message in str(done.exception)
    assert file.read_bytes() == before
    assert not new.exists()


def test_a_file_that_is_in_use_can_be_moved(database: str, tmp_path: Path) -> None:
    """A database that is served is as good as its backup, and keeps its mark."""
    source = tmp_path / "source.db"
    with closing(open_store(str(source))) as store:
        kept = Kept.fill(store)
        with closing(open_store(database)) as other:
            assert len(restore(other, source, now=NOW)) == 2
            kept.check(other)
    assert (tmp_path / "source.db-mark").exists()
