"""The ledger's file: how it comes to be, who may read it, and whose locks on it hold."""

from __future__ import annotations

import json
import multiprocessing
import os
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from noutput.campaign import Ledger, Policy, Report
from noutput.errors import InvalidArgumentError
from tests.campaign.examples import NOW, commute_campaign

PRINT = "0" * 64
POLICY = Policy(epsilon=1.0, total=1e6)


def fresh() -> list[Report]:
    return [Report(PRINT, "commute", 1)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.sqlite"


PROBE = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], timeout=0, isolation_level=None)
try:
    connection.execute("BEGIN IMMEDIATE")
    print("free")
except sqlite3.OperationalError as error:
    print(error)
"""


def test_opening_does_not_release_a_lock(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """POSIX drops a process's locks on a file when it closes *any* descriptor of it."""

    def refuse(*_: object, **__: object) -> None:
        raise sqlite3.OperationalError("not now")

    def make() -> list[Report]:
        with monkeypatch.context() as patch:
            patch.setattr(sqlite3, "connect", refuse)  # it would wait for its turn
            with pytest.raises(InvalidArgumentError, match="not now"):
                Ledger(path)
        command = [sys.executable, "-c", PROBE, str(path)]
        told.append(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        return fresh()

    told: list[str] = []
    with Ledger(path) as ledger:
        ledger.remember(PRINT, 1.0, POLICY, NOW, make)
    assert told == ["database is locked\n"]


ANSWER = """
import sys, threading
from dataclasses import replace

from noutput.campaign import Campaign, Client, Ledger, Policy
from noutput.campaign.wire import encode_report

document, path, now, count = sys.argv[1:]
campaign = Campaign.from_json(open(document, encoding="utf-8").read())
campaigns = [replace(campaign, id=f"c-{number}") for number in range(int(count))]
print("ready", flush=True)
sys.stdin.readline()

def answer():
    for campaign in campaigns:
        try:
            with Ledger(path) as ledger:
                client = Client(campaign, ledger, Policy(1.0, 1e6), clock=lambda: float(now))
                line = encode_report(client.report(42)).decode()
        except Exception as error:
            line = str(error)
        sys.stdout.write(line + "\\n")

threads = [threading.Thread(target=answer) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


def test_processes_with_threads_give_one_answer_per_campaign(tmp_path: Path, path: Path) -> None:
    count = 60
    document = tmp_path / "campaign.json"
    document.write_text(commute_campaign().to_json(), encoding="utf-8")
    command = [sys.executable, "-c", ANSWER, str(document), str(path), str(NOW), str(count)]
    processes = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    for process in processes:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin
        process.stdin.write("go\n")
        process.stdin.flush()
    lines = [line for process in processes for line in process.communicate()[0].splitlines()]
    reports = [json.loads(line) for line in lines if line.startswith("{")]
    assert [line for line in lines if not line.startswith("{")] == []
    assert len(reports) == 4 * count
    answers = {(report["campaign"], report["output"], report["id"]) for report in reports}
    assert len(answers) == count
    with Ledger(path) as ledger:
        assert ledger.spent(0.0) == count
        assert {(r.campaign, r.output, r.id) for r in ledger.pending()} == answers


def test_nothing_but_the_ledger_is_left_in_its_folder(path: Path) -> None:
    Ledger(path).close()
    assert list(path.parent.iterdir()) == [path]


def test_a_ledger_is_private_where_files_cannot_be_linked(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError("not supported")

    monkeypatch.setattr(os, "link", refuse)
    with Ledger(path) as ledger:
        first = ledger.remember(PRINT, 1.0, POLICY, NOW, fresh)
    with Ledger(path) as ledger:
        assert ledger.find(PRINT) == first
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("mode", [0o644, 0o660, 0o602, 0o666])
def test_a_file_that_others_can_read_or_write_is_made_private(path: Path, mode: int) -> None:
    Ledger(path).close()
    path.chmod(mode)
    Ledger(path).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_file_that_cannot_be_made_private_is_refused(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Ledger(path).close()
    path.chmod(0o666)
    monkeypatch.setattr(os, "chmod", lambda *_: None)  # as on file systems without owners
    with pytest.raises(InvalidArgumentError, match="ledger must be a file that only its owner"):
        Ledger(path)


def test_a_foreign_file_keeps_its_mode(path: Path) -> None:
    path.write_bytes(b"nonsense" * 1000)
    path.chmod(0o644)
    with pytest.raises(InvalidArgumentError):
        Ledger(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


@pytest.mark.parametrize("kind", [str, Path])
def test_memory_is_asked_for_by_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: type
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidArgumentError, match=r"path must be a file, or None .*':memory:'"):
        Ledger(kind(":memory:"))
    assert list(tmp_path.iterdir()) == []


def test_a_ledger_does_not_cross_a_fork(path: Path) -> None:
    """SQLite's connections may not: the child would share what the parent has read and locked."""
    with Ledger(path) as ledger:
        context = multiprocessing.get_context("fork")
        mine, theirs = context.Pipe()

        def use() -> None:
            try:
                ledger.find(PRINT)
                theirs.send("used")
            except InvalidArgumentError as error:
                theirs.send(str(error))

        child = context.Process(target=use)
        child.start()
        assert "ledger must be opened in the process that uses it" in mine.recv()
        child.join()


def test_a_path_may_be_bytes(path: Path) -> None:
    Ledger(os.fsencode(path)).close()
    assert path.exists()


@pytest.mark.parametrize("path", [3, 1.5, object(), "a\0b"])
def test_what_is_no_path_is_refused(path: Any) -> None:
    with pytest.raises(InvalidArgumentError, match=r"path must be a file"):
        Ledger(path)
