"""Adaptive campaigns whose collectors are killed: one successor, and one answer per person."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from noutput.campaign import Campaign, Client, Ledger, NextWave, Policy
from noutput.campaign.wire import REPORT_TYPE, encode_report
from noutput.collector.store.interface import Snapshot
from noutput.planner.successors import check_successor
from noutput.questions import Number
from tests.collector.conftest import make_campaign
from tests.collector.killing import PATH, Progress, Sender, check_counts, run_with_kills
from tests.collector.postgresql import PostgresqlServer
from tests.collector.process import launch
from tests.ports import free_port
from tests.tables import window_table

CLIENTS, PEOPLE, KILLS, FIRST = 4, 2400, 6, 1000
# Waves are begun all the time, so that kills hit the rule and the transaction of its document.
HURRY = """
from noutput.collector.ingest import adapting, history
adapting._LOOK_SECONDS = history._LOOK_SECONDS = 0.02
adapting._IDLE_LOOKS = 1
"""
pytestmark = pytest.mark.slow


@dataclass
class People(Sender):
    """People who answer the newest wave that they can get, some again, until it is acknowledged."""

    campaign: Campaign = field(kw_only=True)
    seen: set[str] = field(default_factory=set)

    __hash__ = Sender.__hash__

    def work(self, rng: random.Random) -> None:
        share = PEOPLE // CLIENTS
        for number in range(share):
            self.wait_for(number / share)
            self._answer(rng)

    def _answer(self, rng: random.Random) -> None:
        client = Client(self.campaign, Ledger(None), Policy(4.0))
        client.follow(self._newest())
        report = client.report(rng.gauss(40.0, 10.0))
        body = encode_report(report)
        self.ask("POST", f"{PATH}/reports", body, REPORT_TYPE)
        if rng.random() < 0.1:  # a second try, after what may be the next wave
            client.follow(self._newest())
            assert client.report(500.0) == report
            self.ask("POST", f"{PATH}/reports", body, REPORT_TYPE)
        self.acknowledged[report.id] = report

    def _newest(self) -> Campaign:
        found = Campaign.from_json(self.ask("GET", PATH))
        self.seen.add(found.fingerprint)
        return found


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_there_is_one_successor_and_every_person_counts_once(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    server = request.getfixturevalue("postgresql") if kind == "postgresql" else None
    assert server is None or isinstance(server, PostgresqlServer)
    database = str(tmp_path / "reports.db") if server is None else server.new_database()
    first = make_campaign(
        questions=(Number(0, 600, "min", name="minutes"),),
        tables=(window_table(2.0, 9, 17, 0.3).plain,),
        next_wave=NextWave(FIRST, 10_000),
    )
    document = tmp_path / "commute.json"
    document.write_text(first.to_json())
    options = ("--campaign", str(document), "--rate", "0", "--aggregator", "127.0.0.1")
    progress, ports = Progress(KILLS, 0.3), [free_port() for _ in range(1 if server is None else 2)]
    people = [People(ports, seed, progress, campaign=first) for seed in range(CLIENTS)]
    run_with_kills(
        lambda port: launch(database, *options, port=port, prelude=HURRY),
        people, progress, pauses=(0.1, 0.5),
    )  # fmt: skip
    check(first, people, check_counts(database, people, PEOPLE))


def check(first: Campaign, people: list[People], found: Snapshot) -> None:
    """There is one successor, which is what the rule says, and both waves were answered."""
    newest = Campaign.from_json(found.row.document)
    assert [each.fingerprint for each in newest.waves] == [first.fingerprint, newest.fingerprint]
    seen = set().union(*(each.seen for each in people))
    assert seen == {first.fingerprint, newest.fingerprint}  # nobody ever saw another one
    assert sum(newest.inputs[0][0]) >= FIRST
    again = check_successor(newest)
    assert (again.bounds, again.tables) == (newest.bounds, newest.tables)
    waves = Counter(report.campaign for each in people for report in each.acknowledged.values())
    assert min(waves.values()) >= 500, json.dumps(waves)
