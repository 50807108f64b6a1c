"""The collector under attack: what honest reports, readers and the health check notice of it.

``python -m benchmarks.hostile`` starts a collector per attack on loopback, with its default limits,
and sends honest reports at a fixed rate, each over a connection of its own and from an address of
its own, while one reader looks at the page of their campaign, with another wish every time. It
measures them for some seconds, and again while a client that obeys no rule attacks from
one address. Forged reports go to a campaign of their own, whose database is counted at the end.
A report that is not answered with 200 counts as endless. Only processes that the benchmark started
are stopped. Needs Linux; the frozen database also needs PostgreSQL.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import click
import numpy as np

from benchmarks.attacks import ATTACKS, packed_batch
from benchmarks.collector import memory_megabytes
from benchmarks.http_client import Answers, ask, get, post
from noutput.campaign import Admission, Campaign, Choice, Number, Report, Table
from noutput.campaign.packed import encode_packed
from noutput.campaign.segments import Segments
from noutput.campaign.wire import MAX_BATCH, PACKED_TYPE, REPORT_TYPE
from noutput.collector.store import open_store
from tests.collector.postgresql import PostgresqlServer, binaries
from tests.tables import window_table

_FROZEN = "postgresql"
_RATE = 40.0  # honest reports per second
_HEALTH_PAUSE = 0.25
_PATIENCE = 30.0
_OPEN_FILES = 1024  # the usual soft limit of a shell
_MEDIAN_FACTOR, _P99_SECONDS, _HEALTH_SECONDS, _PAGE_SECONDS = 3.0, 0.2, 1.0, 2.0
_LABELS = [f"s{number:02}" for number in range(63)]
_LABELED_REPORTS = 600  # per label and question: more than a step
_AT_ONCE = 1000  # reports of one client, and as many per hour
_DEADLINE = 10.0  # a client waits no longer for one answer
_OPERATOR = "127.3.0.1"  # sends the reports that are there before an attack
_FORGED = ("forged", "limited")
_SERVE = "from noutput.cli.serve import command; command()"


@dataclass(frozen=True)
class Finding:
    """What one attack did; times in milliseconds, None where it is endless."""

    attack: str
    median_before: float | None
    p99_before: float | None
    median_during: float | None
    p99_during: float | None
    worst_report: float | None
    worst_health: float | None
    worst_page: float | None
    megabytes_before: float
    megabytes_peak: float
    log_kilobytes: float
    honest: dict[int, int]
    health: dict[int, int]
    pages: dict[int, int]
    hostile: dict[str, int]
    forged: int | None
    holds: bool


def _campaign(name: str, questions: int = 1, per_hour: int | None = None) -> Campaign:
    return Campaign(
        id=name, title="Load", text="How many?", public=True,
        admission=Admission(reports_per_hour=per_hour),
        tables=(window_table(1.0, 16, 33, 0.4).plain.rescaled(0, 1),) * questions,
        questions=tuple(Number(0, 1, name=f"number_{n}") for n in range(questions)),
        opens=datetime(2020, 1, 1, tzinfo=UTC), closes=datetime(2100, 1, 1, tzinfo=UTC),
    )  # fmt: skip


def _labeled() -> Campaign:
    """Return a campaign whose reports tell one of 63 labels, with a choice of 64 answers."""
    choice = Table(1.0, (64,), _direct_rows(64, 1.0))
    return Campaign(
        id="labeled", title="Labels", text="Which?", public=True,
        tables=(choice, window_table(1.0, 16, 33, 0.4).plain.rescaled(0, 100)),
        questions=(Choice(*(f"a{n}" for n in range(64)), name="choice"),
                   Number(0, 100, name="number")),
        segments=Segments((("state", tuple(_LABELS)),), 100),
        opens=datetime(2020, 1, 1, tzinfo=UTC), closes=datetime(2100, 1, 1, tzinfo=UTC),
    )  # fmt: skip


def _direct_rows(answers: int, epsilon: float) -> tuple[tuple[int, ...], ...]:
    """Return the rows of randomized response."""
    other = math.ceil(2**32 / (answers - 1 + math.exp(epsilon)))
    same = 2**32 - (answers - 1) * other
    return tuple(
        tuple(same if output == answer else other for output in range(answers))
        for answer in range(answers)
    )


@dataclass
class _Server:
    port: int
    process: int
    log: Path


@contextmanager
def _serving(folder: Path, database: str, campaigns: list[Campaign]) -> Iterator[_Server]:
    """Start a collector with default limits and the usual number of open files."""
    command = [sys.executable, "-c", _SERVE, "--database", database, "--port", "0",
               "--aggregator", _OPERATOR]  # fmt: skip
    for each in campaigns:
        file = folder / f"{each.id}.json"
        file.write_text(each.to_json())
        command += ["--campaign", str(file)]
    log = folder / "log"
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    with log.open("wb") as errors:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )  # fmt: skip
    resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (_OPEN_FILES, hard))
    try:
        assert process.stdout is not None
        lines = (line for line in process.stdout if line.startswith("Collecting at"))
        line = next(lines, None)
        if line is None:
            raise RuntimeError(f"the collector did not start: {log.read_text()}")
        yield _Server(int(line.rsplit(":", 1)[1]), process.pid, log)
    finally:
        process.terminate()
        try:
            process.wait(timeout=15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@dataclass
class _Watch:
    """Honest reports and health checks over some seconds."""

    reports: Answers
    any_report: Answers
    health: Answers
    pages: Answers
    megabytes: float = 0.0


async def _watch(server: _Server, campaign: Campaign, seconds: float, health: str) -> _Watch:
    """Send honest reports at a fixed rate, and ask for the health beside them."""
    found = _Watch(Answers(), Answers(), Answers(), Answers())
    end = time.perf_counter() + seconds
    tasks: list[asyncio.Task[None]] = []

    async def report(place: int, due: float) -> None:
        source = f"127.1.{place // 250 % 250}.{place % 250 + 1}"
        content = {"version": 1, "campaign": campaign.fingerprint, "question": "number_0",
                   "output": place % 16, "id": os.urandom(16).hex()}  # fmt: skip
        body = json.dumps(content, separators=(",", ":")).encode()
        request = post(f"/campaigns/{campaign.id}/reports", REPORT_TYPE, body)
        took, status = await ask(server.port, request, source, _PATIENCE, due)
        found.reports.note(took, status, failed=status != 200)
        found.any_report.note(took, status)

    async def checks() -> None:
        while time.perf_counter() < end:
            took, status = await ask(server.port, get(health), "127.2.0.1", _PATIENCE)
            found.health.note(took, status)
            found.megabytes = max(found.megabytes, memory_megabytes(server.process))
            await asyncio.sleep(_HEALTH_PAUSE)

    async def read() -> None:
        number = 0
        while time.perf_counter() < end:
            number += 1
            page = get(f"/campaigns/{campaign.id}?target={number}", "accept: text/html")
            took, status = await ask(server.port, page, "127.2.0.2", _PATIENCE)
            found.pages.note(took, status, failed=status != 200)
            await asyncio.sleep(_HEALTH_PAUSE)

    checking = asyncio.gather(checks(), read())
    due = time.perf_counter()
    for place in range(int(seconds * _RATE)):
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        tasks.append(asyncio.create_task(report(place, due)))
        due += 1.0 / _RATE
    await asyncio.gather(checking, *tasks)
    return found


def _attacked(name: str, seconds: float, health: str) -> Finding:
    attack = ATTACKS[name]
    campaigns = [_campaign("load"), _campaign("wide", 64), _campaign("forged"),
                 _campaign("limited", per_hour=10_000), _labeled()]  # fmt: skip
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        with _serving(folder, str(folder / "reports.db"), campaigns) as server:
            for each in campaigns[:2]:
                _fill(server, each)
            if attack.campaign == "labeled":
                _fill_labels(server, campaigns[-1])
            before = asyncio.run(_watch(server, campaigns[0], min(seconds, 10.0), health))
            log = server.log.stat().st_size
            arguments = [name, str(server.port), str(folder / f"{attack.campaign}.json"),
                         str(seconds)]  # fmt: skip
            with _hostile(arguments) as attacker:
                during = asyncio.run(_watch(server, campaigns[0], seconds, health))
                statuses = json.loads(attacker.communicate(timeout=seconds + 30.0)[0])
            size = server.log.stat().st_size - log
        forged = _counted(folder, attack.campaign) if attack.campaign in _FORGED else None
    found = _finding(attack.title, before, during, statuses, size)
    most = _AT_ONCE * (1.0 + (seconds + 1.0) / 3600.0)
    holds = found.holds and (forged is None or forged <= most)
    return replace(found, forged=forged, holds=holds)


def _counted(folder: Path, name: str) -> int:
    """Return how many reports the database of a collector that has ended has of a campaign."""
    store = open_store(str(folder / "reports.db"))
    try:
        row = store.campaign(name)
        return 0 if row is None else sum(store.counts(row.key).values())
    finally:
        store.close()


@contextmanager
def _hostile(arguments: list[str]) -> Iterator[subprocess.Popen[str]]:
    """Start the process of an attack, and let it begin when it is ready."""
    command = [sys.executable, "-m", "benchmarks.attacks", *arguments]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdout.readline()
            process.stdin.write("begin\n")
            process.stdin.flush()
            yield process
        finally:
            process.kill()


def _fill(server: _Server, campaign: Campaign) -> None:
    """Count 10,000 reports, so that there is something to estimate."""
    ids = np.frombuffer(os.urandom(160_000), np.uint64).reshape(-1, 2)
    request = packed_batch(campaign, ids)
    _, status = asyncio.run(ask(server.port, request, _OPERATOR, _PATIENCE))
    if status != 200:
        raise RuntimeError(f"a batch was answered with {status}")


def _fill_labels(server: _Server, campaign: Campaign) -> None:
    """Count and publish reports of every label on both questions."""
    rng = np.random.default_rng()
    assert campaign.segments is not None
    reports = [
        Report(campaign.fingerprint, question.name, output, os.urandom(16).hex(),
               labels=campaign.segments.told({"state": label}))
        for label in _LABELS
        for question, table in zip(campaign.questions, campaign.tables, strict=True)
        for output in rng.integers(0, table.n_outputs, _LABELED_REPORTS).tolist()
    ]  # fmt: skip
    # Whole labels at a time: parts of one would be published without it.
    size = MAX_BATCH - MAX_BATCH % (_LABELED_REPORTS * len(campaign.questions))
    for start in range(0, len(reports), size):
        body = encode_packed(campaign, reports[start : start + size])
        request = post(f"/campaigns/{campaign.id}/reports", PACKED_TYPE, body)
        _, status = asyncio.run(ask(server.port, request, _OPERATOR, _PATIENCE))
        if status != 200:
            raise RuntimeError(f"a batch was answered with {status}")


def _frozen(seconds: float, health: str) -> Finding:
    """Freeze a PostgreSQL server of the benchmark's own while reports come in."""
    campaign = _campaign("load")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        database = stack.enter_context(PostgresqlServer.start())
        server = stack.enter_context(_serving(folder, database.new_database(), [campaign]))
        before = asyncio.run(_watch(server, campaign, min(seconds, 10.0), health))
        log = server.log.stat().st_size
        with database.frozen():
            during = asyncio.run(_watch(server, campaign, seconds, health))
        size = server.log.stat().st_size - log
    return _finding("PostgreSQL frozen", before, during, {}, size, frozen=True)


def _finding(
    title: str, before: _Watch, during: _Watch, hostile: dict[str, int], log: int,
    *, frozen: bool = False,
) -> Finding:  # fmt: skip
    medians = before.reports.quantile(0.5), during.reports.quantile(0.5)
    p99 = during.reports.quantile(0.99)
    worst_report = max(during.any_report.seconds)
    worst_health, worst_page = max(during.health.seconds), max(during.pages.seconds)
    holds = (
        medians[1] <= _MEDIAN_FACTOR * medians[0]
        and p99 <= _P99_SECONDS
        and worst_page <= _PAGE_SECONDS
    )
    if frozen:  # nothing can be counted: what can be promised is an answer in time
        holds = worst_report <= _DEADLINE
    holds = holds and worst_health <= _HEALTH_SECONDS and 0 not in during.health.statuses
    return Finding(
        attack=title,
        median_before=_milliseconds(medians[0]),
        p99_before=_milliseconds(before.reports.quantile(0.99)),
        median_during=_milliseconds(medians[1]),
        p99_during=_milliseconds(p99),
        worst_report=_milliseconds(worst_report),
        worst_health=_milliseconds(worst_health),
        worst_page=_milliseconds(worst_page),
        megabytes_before=round(before.megabytes, 1),
        megabytes_peak=round(during.megabytes, 1),
        log_kilobytes=round(log / 1e3, 1),
        honest=during.reports.statuses,
        health=during.health.statuses,
        pages=during.pages.statuses,
        hostile=hostile,
        forged=None,
        holds=holds,
    )


def _milliseconds(seconds: float) -> float | None:
    return round(1e3 * seconds, 1) if math.isfinite(seconds) else None


def _table(findings: list[Finding]) -> str:
    """Return the findings as a Markdown table."""
    titles = ("attack", "median before", "during", "p99 before", "during", "worst health",
              "worst page", "memory before", "peak", "log", "forged", "goal")  # fmt: skip
    lines = [f"| {' | '.join(titles)} |", "|---|" + "---:|" * (len(titles) - 2) + "---|"]
    for each in findings:
        times = (each.median_before, each.median_during, each.p99_before, each.p99_during,
                 each.worst_health, each.worst_page)  # fmt: skip
        cells = [each.attack]
        cells += [
            "no answer" if each_time is None else f"{each_time:,.1f} ms" for each_time in times
        ]
        cells += [f"{number:,.0f} MB" for number in (each.megabytes_before, each.megabytes_peak)]
        cells += [f"{each.log_kilobytes:,.1f} kB"]
        cells += [
            "" if each.forged is None else f"{each.forged:,}",
            "holds" if each.holds else "**missed**",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


@click.command()
@click.argument("names", nargs=-1, type=click.Choice([*ATTACKS, _FROZEN]))
@click.option("--seconds", type=click.FloatRange(1, 600), default=60.0, show_default=True,
              help="How long each attack is played.")  # fmt: skip
@click.option("--health", default="/health", show_default=True, help="The route that is watched.")
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path),
              help="A file for the results, as JSON.")  # fmt: skip
def main(names: tuple[str, ...], seconds: float, health: str, output: Path | None) -> None:
    """Play attacks on a collector, all or those with these NAMES; fail where the goal is missed.

    The goal: the median of honest reports grows by at most 3 times, their p99 is at most 200 ms,
    the health check is answered within 1 s throughout, and every page within 2 s. Of forged
    reports, one client gets 1,000 counted, and as many more per hour. With PostgreSQL frozen,
    reports are answered within 10 s. The figures depend on what else the machine does.
    """
    findings: list[Finding] = []
    for name in names or [*ATTACKS, _FROZEN]:
        if name == _FROZEN and binaries() is None:
            click.echo("PostgreSQL is not installed: not frozen", err=True)
            continue
        found = _frozen(seconds, health) if name == _FROZEN else _attacked(name, seconds, health)
        findings.append(found)
        click.echo(json.dumps(asdict(found)), err=True)
        if output is not None:
            output.write_text(json.dumps([asdict(each) for each in findings], indent=1) + "\n")
    click.echo(_table(findings))
    sys.exit(0 if all(each.holds for each in findings) else 1)


if __name__ == "__main__":
    main()
