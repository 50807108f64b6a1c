"""Ledgers that older versions made become ledgers of the present one."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from noutput.campaign import Client, Ledger, Policy, Report
from noutput.campaign import ledger as module
from noutput.campaign.tokens import new_token
from noutput.errors import InvalidArgumentError, PolicyError
from tests.campaign.examples import NOW, commute_campaign, late_campaign, survey_campaign
from tests.campaign.tokens import token_campaign

OLD = """
CREATE TABLE reports (
    campaign TEXT PRIMARY KEY, attribute TEXT NOT NULL, output INTEGER NOT NULL, id TEXT NOT NULL,
    epsilon REAL NOT NULL, answered REAL NOT NULL, sent REAL
) WITHOUT ROWID
"""
PRINT = commute_campaign().fingerprint
ROWS = [
    (PRINT, "commute", 2, "a" * 32, 1.0, NOW - 5.0, None),
    ("f" * 64, "salary", 255, "b" * 32, 0.5, NOW - 9.0, NOW - 8.0),
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A ledger as version 1 wrote it."""
    result = tmp_path / "ledger.sqlite"
    connection = sqlite3.connect(result)
    connection.execute(OLD)
    connection.execute("PRAGMA application_id=1852798324")
    connection.execute("PRAGMA user_version=1")
    connection.executemany("INSERT INTO reports VALUES (?, ?, ?, ?, ?, ?, ?)", ROWS)
    connection.commit()
    connection.close()
    return result


def test_nothing_is_lost(path: Path) -> None:
    mine = Report(PRINT, "commute", 2, "a" * 32, version=1)
    for _ in range(2):
        with Ledger(path) as ledger:
            assert ledger.find(PRINT) == [mine]
            assert ledger.find("f" * 64) == [Report("f" * 64, "salary", 255, "b" * 32, version=1)]
            assert ledger.pending() == [mine]
            assert ledger.spent(0.0) == 1.5
            assert ledger.spent(NOW - 6.0) == 1.0
            again = Client(commute_campaign(), ledger, clock=lambda: NOW)
            assert again.report(42) == mine


def test_a_ledger_without_tokens_gets_room_for_them(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "ledger") as connection:
        for step in module._SCHEMA:
            connection.execute(step)
        connection.execute(f"PRAGMA application_id={module._APPLICATION}")
        connection.execute("PRAGMA user_version=2")
        connection.execute("INSERT INTO answers VALUES (?, 2, 1.0, ?)", (PRINT, NOW))
        row = (PRINT, 0, "late", 1, "a" * 32, None)
        connection.execute("INSERT INTO reports VALUES (?, ?, ?, ?, ?, ?)", row)
    connection.close()
    with Ledger(tmp_path / "ledger") as ledger:
        assert ledger.pending() == [Report(PRINT, "late", 1, "a" * 32)]
        client = Client(token_campaign(), ledger, clock=lambda: NOW)
        report = client.report("yes", new_token())
        assert ledger.find(token_campaign().fingerprint) == [report]


# What versions 3 and 4 had in their files, statement by statement.
THIRD = """
CREATE TABLE answers (
    campaign TEXT PRIMARY KEY, version INTEGER NOT NULL, epsilon REAL NOT NULL,
    answered REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE reports (
    campaign TEXT NOT NULL, place INTEGER NOT NULL, question TEXT NOT NULL,
    output INTEGER NOT NULL, id TEXT NOT NULL, sent REAL, token TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (campaign, place)
) WITHOUT ROWID;
CREATE TABLE enrollments (
    campaign TEXT PRIMARY KEY, secret BLOB NOT NULL, token TEXT NOT NULL DEFAULT ''
) WITHOUT ROWID;
PRAGMA application_id=1852798324;
"""
FOURTH = "ALTER TABLE reports ADD COLUMN drawn TEXT NOT NULL DEFAULT '';"


@pytest.mark.parametrize("version", [3, 4])
def test_a_ledger_without_rounds_gets_room_for_them(tmp_path: Path, version: int) -> None:
    path, drawn = tmp_path / "ledger", PRINT if version == 3 else "d" * 64
    with sqlite3.connect(path) as connection:
        connection.executescript(THIRD + (FOURTH if version == 4 else ""))
        connection.execute(f"PRAGMA user_version={version}")
        connection.execute("INSERT INTO answers VALUES (?, 2, 1.0, ?)", (PRINT, NOW))
        row = (PRINT, 0, "late", 1, "a" * 32, None, "t" * 24, *([drawn] * (version - 3)))
        places = ", ".join("?" * len(row))
        connection.execute(f"INSERT INTO reports VALUES ({places})", row)  # noqa: S608
        connection.execute("INSERT INTO enrollments VALUES ('e', x'00', 'token')")
    connection.close()
    for _ in range(2):
        with Ledger(path) as ledger:
            assert ledger.find(PRINT) == [Report(drawn, "late", 1, "a" * 32, token="t" * 24)]
            assert ledger.spent(0.0) == 1.0
            assert ledger.join(PRINT, 5)[1] == 5
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT token FROM enrollments").fetchone() == ("token",)
        assert connection.execute("PRAGMA user_version").fetchone() == (5,)
    connection.close()


def test_what_was_spent_before_still_counts(path: Path) -> None:
    with Ledger(path) as ledger:
        client = Client(late_campaign(), ledger, Policy(1.0, 2.0), clock=lambda: NOW)
        with pytest.raises(PolicyError, match=r"1\.5 of it is spent"):
            client.report("yes")


def test_a_migration_that_fails_changes_nothing(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for count in range(1, len(module._STEPS[1]) + 1):
        steps = (*module._STEPS[1][:count], "SELECT no_such_function()")
        with monkeypatch.context() as patch:
            patch.setitem(module._STEPS, 1, steps)
            with pytest.raises(InvalidArgumentError, match="ledger that can be read"):
                Ledger(path)
        connection = sqlite3.connect(path)
        assert connection.execute("PRAGMA user_version").fetchone() == (1,)
        found = connection.execute("SELECT * FROM reports ORDER BY answered DESC").fetchall()
        connection.close()
        assert found == ROWS
    with Ledger(path) as ledger:
        assert ledger.spent(0.0) == 1.5


OPEN = """
import sys, threading
from noutput.campaign import Ledger

sys.stdin.readline()
found = []

def work():
    with Ledger(sys.argv[1]) as ledger:
        found.append((ledger.spent(0.0), len(ledger.pending())))

threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(set(found))
"""


def test_processes_and_threads_migrate_once(path: Path) -> None:
    command = [sys.executable, "-c", OPEN, str(path)]
    processes = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    for process in processes:
        assert process.stdin
        process.stdin.write("go\n")
        process.stdin.flush()
    assert [process.communicate()[0].strip() for process in processes] == ["{(1.5, 1)}"] * 3


ANSWER_ALL = """
import json, sys, threading
from dataclasses import replace
from noutput.campaign import Campaign, Client, Ledger, Policy

campaign = Campaign.from_json(open(sys.argv[1], encoding="utf-8").read())
values = json.loads(sys.argv[4])
now = float(sys.argv[3])
ledger = Ledger(sys.argv[2])
lock = threading.Lock()

def work(start):
    for number in range(start, 400, 2):
        mine = replace(campaign, id=f"c-{number}")
        client = Client(mine, ledger, Policy(8.0, 1e6), clock=lambda: now)
        found = " ".join(report.id for report in client.reports(values))
        with lock:
            print(mine.fingerprint, found, flush=True)

threads = [threading.Thread(target=work, args=(start,)) for start in (0, 1)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""
VALUES = '{"commute": 9, "stars": 1, "age": "60+", "means": "car", "late": "no", "kilometers": 1}'


@pytest.mark.slow
def test_all_reports_of_a_campaign_survive_sigkill_or_none(tmp_path: Path) -> None:
    """Two processes of two threads answer the same campaigns, and are killed meanwhile."""
    document, path = tmp_path / "campaign.json", tmp_path / "ledger.sqlite"
    document.write_text(survey_campaign(ask="all").to_json(), encoding="utf-8")
    command = [sys.executable, "-c", ANSWER_ALL, str(document), str(path), str(NOW), VALUES]
    said: dict[str, str] = {}
    for lines in (1, 7):
        processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
        heard = []
        for process in processes:
            assert process.stdout
            heard += [process.stdout.readline() for _ in range(lines)]
        for process in processes:
            process.kill()
            rest, _ = process.communicate()
            heard += [line for line in rest.splitlines(keepends=True) if line.endswith("\n")]
        for line in heard:
            campaign, _, ids = line.strip().partition(" ")
            assert said.setdefault(campaign, ids) == ids
    with Ledger(path) as ledger:
        stored: dict[str, list[str]] = {}
        for report in ledger.pending():
            stored.setdefault(report.campaign, []).append(report.id)
        assert ledger.spent(0.0) == 6.5 * len(stored)
    assert said
    assert {len(ids) for ids in stored.values()} == {6}
    assert {campaign: " ".join(ids) for campaign, ids in stored.items()}.items() >= said.items()
