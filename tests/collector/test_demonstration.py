from __future__ import annotations

import json
import math
import re
import urllib.request
from collections import deque
from contextlib import AbstractContextManager
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from noutput.campaign import Campaign, NextWave, Number, Table, YesNo, fetch_campaign
from noutput.campaign.text import parse_instant
from noutput.cli.simulate import command as simulate
from noutput.collector import simulation
from noutput.collector.cells import CellLayout
from noutput.collector.clock import system_clock
from noutput.collector.demonstration import QUESTIONS, commuters, demonstrate
from noutput.collector.http.limits import Limits
from noutput.collector.ingest import adapting
from noutput.collector.panel import PLAYED
from noutput.collector.publishing import ReleasePolicy
from noutput.collector.server import Options, Running, running
from noutput.collector.simulation import await_wave, open_rounds, send_reports, simulate_people
from noutput.questions import Answers
from tests.campaign.examples import answer_table
from tests.collector.conftest import make_campaign
from tests.collector.labeled import OPENS, scheduled_campaign
from tests.tables import window_table


def tables() -> list[Table]:
    return [
        answer_table(1.0, each.n_answers)
        if isinstance(each, Answers)
        else window_table(1.0, 5, 7, 0.4).plain
        for each in QUESTIONS
    ]


def test_people_arrive_over_time(tmp_path: Path, rng: np.random.Generator) -> None:
    people, behind = commuters(6_000, rng), 3_600
    begun = system_clock()
    mechanism = window_table(1.0, 5, 7, 0.4)
    with demonstrate(tmp_path, tables(), behind=behind) as shown:
        counted = list(shown.arrive(people))
        assert counted == sorted(counted)
        assert counted[-1] == sum(each.total for each in shown.tallies()) == 6_000
        assert shown.clock.seconds_behind == 0.0
        row = shown.collector.store.campaign(shown.campaign.id)
        assert row is not None
        assert parse_instant("created", row.created) < begun - timedelta(seconds=behind - 60)
        known = shown.collector.store.history(row.key)
    assert {each.question for each in known} == {0, 1, 2, 3}
    notes = [each for each in known if each.question == 0]
    instants = [parse_instant("at", each.at) for each in notes]
    assert 4 <= len(notes) <= 6  # about 1,500 reports on each question, in steps of 250 or more
    assert all(later.reports - earlier.reports >= 250 for earlier, later in pairwise(notes))
    assert instants == sorted(instants)
    assert instants[-1] - instants[0] > timedelta(seconds=0.5 * behind)
    # the first intervals may be cut at the bounds, so only the last one has a width that is known
    error = math.sqrt((mechanism.worst_variance() + 1.0) / notes[-1].reports) * 90.0
    assert notes[-1].high - notes[-1].low < 5.0 * error


def test_two_people_arrive(tmp_path: Path, rng: np.random.Generator) -> None:
    with demonstrate(tmp_path, tables(), behind=1.0) as shown:
        assert list(shown.arrive(commuters(2, rng))) == [2]


def test_people_report_in_the_rounds_of_the_past(tmp_path: Path, rng: np.random.Generator) -> None:
    with demonstrate(tmp_path, tables(), behind=60.0) as shown:
        everybody = shown.play(12_000, rng)
        assert shown.clock.seconds_behind == 60.0
        assert sorted(set(everybody.rounds)) == list(range(PLAYED))
        assert shown.follow(300, rng) == 300
        shown.collector.note()
        with urllib.request.urlopen(f"{shown.panel_page}/trend") as answer:  # noqa: S310 (http)
            rounds = json.load(answer)["rounds"]
        compared = shown.compared()
    assert [row["round"] for row in rounds] == list(range(PLAYED + 1))
    assert all(row["reports"] >= 250 and row["trend"] for row in rounds[:PLAYED])
    groups = {row["group"]: row["reports"] for row in compared["groups"]}
    assert groups["ios"] > 4_000
    (ios, *_) = compared["statistics"][0]["estimates"]
    seconds = np.asarray(everybody.values["seconds"], float)
    mine = [each["platform"] == "ios" for each in everybody.labels]
    assert abs(ios["value"] - seconds[mine].mean()) < 6.0 * ios["standard_error"]


def test_simulated_people_answer_in_rounds_with_labels(tmp_path: Path) -> None:
    with demonstrate(tmp_path, tables()) as shown:
        done = CliRunner().invoke(
            simulate, [shown.panel_page, "--people", "600", "--spread", "0.4"]
        )
        assert done.exit_code == 0, done.output
        assert "600 reports were counted" in done.output
        truth = dict(re.findall(r"True mean of seconds(?:, (.*?))?: ([\d.]+) s", done.output))
        assert list(truth) == ["", "platform ios", "platform android", "round 15", "round 16"]
        assert float(truth["platform android"]) - float(truth["platform ios"]) > 1.5
        entry = shown._entry(shown.panel)
        totals = entry.layout.by_round(shown.collector.store.counts(entry.key))
        assert {number: sum(counts.values()) for number, counts in totals.items()} == {
            15: 300, 16: 300,
        }  # fmt: skip


def test_answers_change_over_rounds() -> None:
    campaign = scheduled_campaign()
    people = simulate_people(
        campaign, 2_000, "normal", np.random.default_rng(1), range(14), change=0.5
    )
    minutes = np.asarray(people.values["minutes"], float)
    first, last = (minutes[np.asarray(people.rounds) == number].mean() for number in (0, 13))
    assert 60.0 < last - first < 100.0
    assert people.part(0, 3).rounds == (0, 0, 0)
    alike = simulate_people(campaign, 2_000, "normal", np.random.default_rng(1))
    assert alike.rounds == ()


def test_rounds_that_are_counted_now() -> None:
    campaign = scheduled_campaign()
    assert list(open_rounds(campaign, OPENS - timedelta(seconds=1))) == []
    assert list(open_rounds(campaign, OPENS)) == [0]
    assert list(open_rounds(campaign, OPENS + timedelta(days=1))) == [0, 1]
    assert list(open_rounds(campaign, OPENS + timedelta(days=2))) == [1, 2]
    assert list(open_rounds(campaign, OPENS + timedelta(days=14, hours=1))) == [13]
    assert list(open_rounds(campaign, OPENS + timedelta(days=16))) == []
    assert list(open_rounds(make_campaign(), OPENS)) == []


def wave_collector(folder: Path, policy: ReleasePolicy) -> AbstractContextManager[Running]:
    """A collector of an adaptive campaign whose first wave is too small to find a range."""
    campaign = make_campaign(
        questions=(Number(0, 600, "min", name="minutes"), YesNo(name="late")), public=True,
        tables=(window_table(2.0, 5, 7, 0.4).plain, answer_table(1.0, 2)),
        next_wave=NextWave(300, 2_000),
    )  # fmt: skip
    file = folder / "campaign.json"
    file.write_text(campaign.to_json(), encoding="utf-8")
    limits = Limits(requests_per_second=0, client_reports_per_hour=0)
    database = str(folder / "reports.db")
    return running(Options(database, port=0, campaigns=(file,), limits=limits, policy=policy))


def counted_waves(collector: Running) -> list[int]:
    """Return how many reports every wave has."""
    row = collector.store.campaign("commute")
    assert row is not None
    layout = CellLayout(Campaign.from_json(row.document))
    totals = [tally.total for tally in layout.tallies(collector.store.counts(row.key))]
    return [sum(totals[place : place + 2]) for place in range(0, len(totals), 2)]


def test_simulated_people_wait_for_the_second_wave(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adapting, "FEWEST_REPORTS", 1)  # of a number, before the wave begins
    with wave_collector(tmp_path, ReleasePolicy(10, 0.0)) as collector:
        address = f"{collector.url}/campaigns/commute"
        done = CliRunner().invoke(simulate, [address, "--people", "2000", "--batch", "100"])
        first, second = counted_waves(collector)
    assert done.exit_code == 0, done.output
    assert first + second == 2_000
    assert first >= 300
    assert second > 0
    assert "300 people have answered the first wave. The second wave begins once 300" in done.output
    assert f"with {first} people in the first wave." in done.output
    assert "2,000 reports were counted in " in done.output
    assert "Wave 2, minutes: 0 to 600 min. " in done.output


def test_simulated_people_do_not_wait_for_ever(tmp_path: Path) -> None:
    """Steps are so large that nothing is published."""
    with wave_collector(tmp_path, ReleasePolicy(10_000, 0.0)) as collector:
        address = f"{collector.url}/campaigns/commute"
        done = CliRunner().invoke(simulate, [address, "--people", "500", "--wait", "0.6"])
        assert counted_waves(collector) == [500]
    assert done.exit_code == 0, done.output
    assert "It has not begun after " in done.output
    assert "500 reports were counted in " in done.output


def test_more_people_come_while_others_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    """300 reports are wanted, and one question's last ones are short of a step."""
    monkeypatch.setattr(simulation, "_LOOK_SECONDS", 0.05)
    monkeypatch.setattr(simulation, "_LOOKS", 1)
    with wave_collector(tmp_path, ReleasePolicy(160, 0.0)) as collector:
        address = f"{collector.url}/campaigns/commute"
        campaign = fetch_campaign(address)
        everybody = simulate_people(campaign, 2_000, "uniform", rng)
        deque(send_reports(address, campaign, everybody.part(0, 300)), 0)
        found = await_wave(address, campaign, everybody, 300, 60.0, lambda _: None)
    assert len(found.newest.waves) == 2
    assert found.accepted == found.people - 300 > 0
