"""Trends and alarms as the collector computes them: of final rounds, once per round."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np
import pytest

import noutput as no
from noutput.campaign.schedule import Schedule
from noutput.collector.series import Series
from noutput.collector.store.directory import KnownCampaign
from noutput.collector.store.interface import Published
from noutput.collector.strata import Selection
from noutput.collector.trending import MOST_ROUNDS, Followed, course
from noutput.mechanisms.table import unit_mechanism
from tests.collector.labeled import OPENS, scheduled_campaign

DAY = timedelta(days=1)
LOOKS = (0.2, 0.6, 0.95)  # of a round, at which somebody looks


class Rounds:
    """A campaign of days whose people are simulated, without a database.

    Half of a round's reports come until its middle, nearly all until its end, the last ones late.
    """

    def __init__(
        self, days: int, seed: int, *, reports: int = 400, jump: int | None = None
    ) -> None:
        periods = -(-days // 7)
        campaign = scheduled_campaign(periods, schedule=Schedule("day", rounds_per_period=7))
        self.entry = KnownCampaign(1, campaign, b"", OPENS, None)
        table = unit_mechanism(campaign.tables[0])
        rng = np.random.default_rng(seed)
        self._parts = []
        for day in range(days):
            center = 0.4 if jump is not None and day >= jump else -0.4
            people = np.clip(rng.normal(center, 0.2, (3, reports // 3)), -1.0, 1.0)
            shares = [table.privatize(part, rng=rng) for part in people]
            self._parts.append([np.bincount(each, minlength=table.n_cells) for each in shares])

    def counts(self, at: float) -> dict[int, int]:
        """Return what is published at a time, in days."""
        found: dict[int, int] = {}
        for day, parts in enumerate(self._parts):
            seen = sum(at >= day + when for when in (0.2, 0.6, 1.5))
            sums = np.sum(parts[:seen], axis=0) if seen else np.zeros(0)
            for output, count in enumerate(sums.tolist()):
                cell = self.entry.layout.cell("minutes", output, day)
                if count and cell is not None:
                    found[cell] = int(count)
        return found

    def look(self, at: float, *, smooth: bool = False, **parts: Any) -> dict[str, Any]:
        """Return the trend at a time, in days."""
        asked = Followed(0, parts.pop("statistic", "mean"), Selection(**parts), None, 0.95, smooth)
        return course(self.entry, Published(self.counts(at)), asked, OPENS + at * DAY)


def alarms(found: dict[str, Any]) -> list[tuple[int, int]]:
    return [(each["alarm"], each["since"]) for each in found["shifts"]]


def test_an_alarm_stays_and_no_unfinished_round_raises_one() -> None:
    """The rounds until then decide, however often somebody looks."""
    series = Rounds(40, seed=5, jump=20)
    known = alarms(series.look(60.0))
    assert known
    for day in range(18, 40):
        for part in LOOKS:
            final = max(day - 1, 0)  # the round before has its grace time
            shown = alarms(series.look(day + part))
            assert shown == [each for each in known if each[0] < final]


def test_alarms_do_not_depend_on_the_rounds_that_are_asked_for() -> None:
    series = Rounds(30, seed=6, jump=10)
    every = alarms(series.look(40.0))
    assert every
    assert every[0][0] in (10, 11)
    assert alarms(series.look(40.0, rounds=(11, 29))) == [each for each in every if each[0] >= 11]
    assert alarms(series.look(40.0, rounds=(0, 5))) == []


def test_sums_begin_with_the_first_round_though_the_last_200_are_shown() -> None:
    series = Rounds(260, seed=7, reports=12, jump=55)
    known = alarms(series.look(200.0))
    first = known[0][0]
    assert 55 <= first < 60
    for begun in range(250, first + MOST_ROUNDS):
        found = series.look(begun + 0.5)
        assert len(found["rounds"]) == MOST_ROUNDS
        assert alarms(found)[0] == known[0]
    assert known[0] not in alarms(series.look(first + MOST_ROUNDS + 0.5))  # it is not shown


def test_answers_are_followed_by_their_estimates() -> None:
    rows = [[3 << 30, 1 << 30], [1 << 30, 3 << 30]]
    table = no.AnswerMechanism(1.1, rows)
    rounds = [no.Tally(table.fingerprint, each) for each in ((400, 600), (410, 590), (0, 1))] * 2
    series = Series(no.Choice("train", "car"), "car", table, rounds)
    watched = series.watched()
    assert [each is None for each in watched] == [False, False, True] * 2
    found = series.smoothed(None, 0.95)
    assert np.all((found.low < 0.69) & (found.high > 0.69))
    assert not series.is_bounded


@pytest.mark.parametrize("objective", ["worst", "distribution"])
def test_band_of_the_mean_covers_with_every_table(objective: str) -> None:
    """One list of scores for all rounds, and its bias in the band."""
    table = no.design(4.0, 64, objective=objective).mechanism
    rng = np.random.default_rng(9)
    people = np.clip(rng.lognormal(0.8, 0.6, (15, 3_000)), 0.0, 10.0)
    rounds = [no.Tally.of(table, table.privatize(each / 5.0 - 1.0, rng=rng)) for each in people]
    series = Series(no.Number(0, 10), "mean", table, rounds)
    assert series.is_bounded == (objective == "distribution")
    truth = float(np.mean(np.clip(rng.lognormal(0.8, 0.6, 1_000_000), 0.0, 10.0)))
    found = series.smoothed(None, 0.95)
    assert np.all((found.low < truth) & (truth < found.high))
    errors = [each[1] for each in series.watched() if isinstance(each, tuple)]
    assert 0.01 < np.mean(errors) < 0.2
    assert no.find_shifts(series.watched()) == []


def false_alarms_per_year(years: int, statistic: str, reports: int = 120) -> float:
    """Return how many alarms are shown in a year in which nothing changes."""
    found = 0
    for year in range(years):
        series = Rounds(364, seed=100 + year, reports=reports)
        looks = [series.look(at, statistic=statistic) for at in (180.0, 366.0)]
        found += len({each for look in looks for each in alarms(look)})
    return found / years


def test_false_alarms_are_rare() -> None:
    assert false_alarms_per_year(6, "mean") < 2.5  # one per year, and 15 in six are too many


@pytest.mark.slow
@pytest.mark.parametrize("statistic", ["mean", "below 60", "quantile 0.5"])
def test_false_alarms_are_as_rare_as_stated(statistic: str) -> None:
    rate = false_alarms_per_year(60, statistic, 600)
    assert rate < 1.4


@pytest.mark.slow
def test_false_alarms_of_rounds_with_few_reports() -> None:
    """Averages of skew scores over 120 reports are not quite normal."""
    assert false_alarms_per_year(60, "below 60", 120) < 1.6
