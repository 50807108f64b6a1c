"""The JVM client's ledger in many threads and processes, some of them killed at any moment."""

from __future__ import annotations

import json
import random
import re
import shutil
import signal
import subprocess
from base64 import b64encode
from pathlib import Path

import pytest

from tests.campaign.examples import late_campaign
from tests.jvm.conftest import Machine

THREADS = 2


class Answering:
    """A process that answers campaigns in two threads once it is told to."""

    def __init__(self, machine: Machine, documents: Path, ledger: Path, total: float) -> None:
        command = machine.command("Answering", documents, ledger, total, THREADS)
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

    def finish(self) -> list[str]:
        self._orders.close()
        lines = self._answers.read().splitlines()
        self._answers.close()
        assert self.process.wait(60) == 0
        return [line for line in lines if line != "done"]

    def kill(self) -> list[str]:
        """End it with SIGKILL, and return what it had still said: whole lines only."""
        self.process.send_signal(signal.SIGKILL)
        rest = self._answers.read()
        self._orders.close()
        self._answers.close()
        assert self.process.wait(60) == -signal.SIGKILL
        whole = [line for line in rest.splitlines(keepends=True) if line.endswith("\n")]
        return [line for line in whole if line != "done\n"]


def write_documents(folder: Path, count: int) -> Path:
    """Write campaigns that differ in their names, one per line."""
    documents = folder / "documents"
    campaigns = (late_campaign(f"c-{number}") for number in range(count))
    lines = (b64encode(each.to_json().encode()).decode() + "\n" for each in campaigns)
    documents.write_text("".join(lines))
    return documents


def kill_while_answering(machine: Machine, folder: Path, count: int, rounds: int) -> None:
    """Two processes answer at a time; each is killed after some answers, wherever it is then."""
    rng = random.Random(20_261_117)  # noqa: S311 (moments of a test)
    documents, ledger = write_documents(folder, count), folder / "deep" / "ledger"
    answered: dict[str, str] = {}
    for _ in range(rounds):
        pair = [Answering(machine, documents, ledger, 1e6) for _ in range(2)]
        for each in pair:
            each.start()
        lines = []
        for each in pair:
            lines += [each.line() for _ in range(rng.randrange(1, count // 2))]
            lines += each.kill()
        for line in lines:
            report = json.loads(line)
            kept = answered.setdefault(report["campaign"], line.strip())
            assert kept == line.strip()
    last = Answering(machine, documents, ledger, 1e6)
    last.start()
    for line in last.finish():
        report = json.loads(line)
        assert answered.setdefault(report["campaign"], line) == line
    assert len(answered) == count
    names = {path.name for path in ledger.parent.iterdir()}
    assert names <= {"ledger", "ledger.lock", "ledger.new"}
    assert (ledger.stat().st_mode & 0o777) == 0o600


def test_whatever_was_answered_before_sigkill_stays(machine: Machine, tmp_path: Path) -> None:
    kill_while_answering(machine, tmp_path, count=24, rounds=2)


@pytest.mark.slow
def test_whatever_was_answered_before_many_kills_stays(machine: Machine, tmp_path: Path) -> None:
    kill_while_answering(machine, tmp_path, count=120, rounds=12)


def test_threads_and_processes_share_one_answer_and_one_budget(
    machine: Machine, tmp_path: Path
) -> None:
    documents, ledger = write_documents(tmp_path, 6), tmp_path / "ledger"
    pair = [Answering(machine, documents, ledger, 4.0) for _ in range(2)]
    for each in pair:
        each.start()
    lines = [line for each in pair for line in each.finish()]
    assert len(lines) == 2 * THREADS * 6
    answers = set(lines) - {"capped"}
    assert [line for line in answers if not line.startswith("{")] == []
    assert len(answers) == len({json.loads(line)["campaign"] for line in answers}) == 4


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_a_report_is_on_the_disk_before_it_is_said(machine: Machine, tmp_path: Path) -> None:
    """The new file is forced to the disk, renamed, and the folder forced, in this order."""
    documents, ledger, trace = write_documents(tmp_path, 1), tmp_path / "ledger", tmp_path / "trace"
    calls = "trace=fsync,rename,renameat,renameat2,write"
    command = ["strace", "-f", "-y", "-e", calls, "-o", str(trace)]
    command += machine.command("Answering", documents, ledger, 4.0, 1)
    subprocess.run(command, input="go\n", capture_output=True, text=True, check=True, timeout=300)
    seen = [
        name
        for line in trace.read_text(errors="replace").splitlines()
        for name, mark in (
            ("write", f"<{ledger}.new>, "), ("force", f"fsync({{}}<{ledger}.new>)"),
            ("rename", f'"{ledger}.new", '), ("force folder", f"fsync({{}}<{tmp_path}>)"),
            ("say", '"{\\"version\\":'),
        )
        if mark in re.sub(r"fsync\(\d+", "fsync({}", line)
    ]  # fmt: skip
    assert seen == ["write", "force", "rename", "force folder", "say"]
