from __future__ import annotations

import json
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from noutput.campaign import Client, Ledger, Policy, Report
from noutput.errors import InvalidArgumentError, PolicyError
from tests.campaign.examples import NOW, commute_campaign, survey_campaign

PRINT = "0" * 64
POLICY = Policy(epsilon=1.0, total=2.0, days=30)
DAY = 86_400.0


def fresh(campaign: str) -> Report:
    return Report(campaign, "commute", 1)


def remember(ledger: Ledger, number: int, now: float = NOW, cost: float = 1.0) -> Report:
    campaign = f"{number:064x}"
    (report,) = ledger.remember(campaign, cost, POLICY, now, lambda: [fresh(campaign)])
    return report


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "ledger.sqlite"


def test_every_path_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite has a meaning of its own for some names, and forgets what was stored there."""
    monkeypatch.chdir(tmp_path)
    name = "file:x?mode=memory"
    with Ledger(name) as ledger:
        first = remember(ledger, 1)
    with Ledger(name) as ledger:
        assert remember(ledger, 1) == first


def test_a_report_is_remembered_in_a_private_file(path: Path) -> None:
    with Ledger(path) as ledger:
        first = remember(ledger, 1)
        assert remember(ledger, 1) == first
        assert ledger.find(first.campaign) == [first]
        assert ledger.find("f" * 64) == []
    with Ledger(path) as ledger:
        assert remember(ledger, 1) == first
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_total_is_capped_in_any_period(path: Path) -> None:
    with Ledger(path) as ledger:
        remember(ledger, 1, NOW)
        remember(ledger, 2, NOW + 10 * DAY)
        for now in (NOW + 10 * DAY, NOW + 29.9 * DAY, NOW - 5 * DAY):  # also if the clock goes back
            with pytest.raises(PolicyError, match="2 of it is spent, and this campaign costs 1"):
                remember(ledger, 3, now)
        assert ledger.find(f"{3:064x}") == []
        remember(ledger, 3, NOW + 30.1 * DAY)
        with pytest.raises(PolicyError):
            remember(ledger, 4, NOW + 39.9 * DAY)
        assert ledger.spent(NOW + DAY) == 2.0


def test_nothing_is_drawn_that_the_policy_forbids(path: Path) -> None:
    with Ledger(path) as ledger, pytest.raises(PolicyError):
        ledger.remember(PRINT, 3.0, POLICY, NOW, lambda: pytest.fail("drawn"))


def test_sums_of_decimal_fractions_reach_the_total() -> None:
    policy = Policy(epsilon=0.1, total=0.3)
    with Ledger(None) as ledger:
        for number in range(3):
            campaign = f"{number:064x}"
            ledger.remember(campaign, 0.1, policy, NOW, lambda c=campaign: [fresh(c)])  # type: ignore[misc]
        with pytest.raises(PolicyError):
            ledger.remember(PRINT[:-1] + "f", 0.001, policy, NOW, lambda: [fresh(PRINT)])


def test_what_fails_while_drawing_costs_nothing(path: Path) -> None:
    with Ledger(path) as ledger:
        with pytest.raises(ZeroDivisionError):
            ledger.remember(PRINT, 1.0, POLICY, NOW, lambda: 1 // 0)  # type: ignore[arg-type, return-value]
        assert ledger.spent(0.0) == 0.0


def test_pending_reports_are_those_not_sent(path: Path) -> None:
    with Ledger(path) as ledger:
        first, second = remember(ledger, 2, NOW), remember(ledger, 1, NOW + 1)
        assert ledger.pending() == [first, second]
        ledger.mark_sent(first, NOW + 2)
        assert ledger.pending() == [second]
        assert remember(ledger, 2) == first


@pytest.mark.parametrize("kind", ["noise", "foreign", "2", "5", "folder"])
def test_what_is_no_ledger_is_refused_and_left_alone(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "file"
    if kind == "noise":
        path.write_bytes(b"nonsense" * 1000)
    elif kind == "folder":
        path.mkdir()
    else:
        if kind != "foreign":
            Ledger(path).close()
        with sqlite3.connect(path) as connection:
            connection.execute("CREATE TABLE other (x)")
            connection.execute(f"PRAGMA user_version={kind if kind != 'foreign' else 1}")
        connection.close()
    before = path.read_bytes() if path.is_file() else b""
    rule = f"ledger must have version 1; found {kind}" if kind.isdigit() else "ledger must be a"
    with pytest.raises(InvalidArgumentError, match=rule):
        Ledger(path)
    assert (path.read_bytes() if path.is_file() else b"") == before


def test_threads_take_turns(path: Path) -> None:
    ids: set[str] = set()
    with Ledger(path) as ledger:
        threads = [
            threading.Thread(target=lambda: ids.add(remember(ledger, 7).id)) for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(ids) == 1


ANSWER = """
import sys
from dataclasses import replace

from noutput.campaign import Campaign, Client, Ledger, Policy
from noutput.campaign.wire import encode_report
from noutput.errors import PolicyError

document, ledger, total, now, *names = sys.argv[1:]
campaign = Campaign.from_json(open(document, encoding="utf-8").read())
ledger = Ledger(ledger)
policy = Policy(1.0, float(total))
print("ready", flush=True)
sys.stdin.readline()
for name in names:
    client = Client(replace(campaign, id=name), ledger, policy, clock=lambda: float(now))
    try:
        print(encode_report(client.report(42)).decode(), flush=True)
    except PolicyError:
        print("capped", flush=True)
sys.stdin.readline()
"""


class Answering:
    """A process of its own that answers campaigns once it is told to."""

    def __init__(self, document: Path, ledger: Path, total: float, *names: str) -> None:
        facts = (str(document), str(ledger), str(total), str(NOW))
        command = [sys.executable, "-c", ANSWER, *facts, *names]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdin
        assert self.process.stdout
        self._orders, self._answers = self.process.stdin, self.process.stdout
        assert self._answers.readline() == "ready\n"

    def start(self) -> None:
        self._orders.write("go\n")
        self._orders.flush()

    def line(self) -> str:
        return self._answers.readline().strip()

    def kill(self) -> list[str]:
        """End it with SIGKILL, and return what it had still said: whole lines only."""
        self.process.send_signal(signal.SIGKILL)
        rest = self._answers.read()
        self._orders.close()
        self._answers.close()
        assert self.process.wait(30) == -signal.SIGKILL
        return [line for line in rest.splitlines(keepends=True) if line.endswith("\n")]


@pytest.fixture
def document(tmp_path: Path) -> Path:
    result = tmp_path / "campaign.json"
    result.write_text(commute_campaign().to_json(), encoding="utf-8")
    return result


def test_an_answer_survives_sigkill_before_it_is_sent(document: Path, path: Path) -> None:
    first = Answering(document, path, 4.0, "commute")
    first.start()
    answer = first.line()
    first.kill()
    second = Answering(document, path, 4.0, "commute")
    second.start()
    assert second.line() == answer
    second.kill()
    with Ledger(path) as ledger:
        assert [report.id for report in ledger.pending()] == [json.loads(answer)["id"]]
        assert ledger.spent(0.0) == 1.0


def test_whatever_was_answered_before_sigkill_stays(document: Path, path: Path) -> None:
    names = [f"c-{number}" for number in range(400)]
    answered: dict[str, str] = {}
    for pause in (0.0, 0.01, 0.03, 0.08):
        process = Answering(document, path, 1e6, *names)
        process.start()
        first = process.line()
        time.sleep(pause)
        for line in (first, *process.kill()):
            report = json.loads(line)
            assert answered.setdefault(report["campaign"], report["id"]) == report["id"]
    with Ledger(path) as ledger:
        stored = {report.campaign: report.id for report in ledger.pending()}
    assert answered
    assert answered.items() <= stored.items()
    assert len(stored) <= len(answered) + 1  # one may have been stored and not said


def test_processes_share_one_answer_and_one_budget(document: Path, path: Path) -> None:
    same = [Answering(document, path, 2.0, "commute") for _ in range(3)]
    different = [Answering(document, path, 2.0, f"c-{number}") for number in range(3)]
    for process in (*same, *different):
        process.start()
    answers = [process.line() for process in same]
    others = [process.line() for process in different]
    for process in (*same, *different):
        process.kill()
    assert len(set(answers)) == 1
    distinct = {answers[0], *others} - {"capped"}
    assert len(distinct) == 2
    with Ledger(path) as ledger:
        assert ledger.spent(0.0) == 2.0


def test_the_file_holds_no_value(path: Path) -> None:
    with Ledger(path) as ledger:
        client = Client(commute_campaign(), ledger, clock=lambda: NOW)
        client.report(123.456789)
    data = path.read_bytes()
    assert b"123.45" not in data
    with sqlite3.connect(path) as connection:
        columns = {
            table: [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
            for (table,) in connection.execute("SELECT name FROM sqlite_master").fetchall()
        }
    connection.close()
    assert columns == {
        "answers": ["campaign", "name", "epsilon", "answered"],
        "enrollments": ["campaign", "secret", "token"],
        "panels": ["campaign", "secret", "joined"],
        "reports": ["campaign", "place", "question", "output", "id", "sent", "token", "drawn",
                    "labels", "round"],
    }  # fmt: skip


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
