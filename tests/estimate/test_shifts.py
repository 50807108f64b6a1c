"""Shift alarms: the stated rate of false alarms, and how soon a change is found."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest

import noutput as no
from benchmarks.trends import GOALS, Series, alarms_per_year
from noutput.errors import InvalidArgumentError
from noutput.estimate.shifts import shift_thresholds

DAYS = 365


def alarms(rate: float, years: int, cycle: int | None = None) -> float:
    """Return the number of alarms per year in which nothing changes."""
    rng = np.random.default_rng(21)
    found = 0
    for _ in range(years):
        noise = rng.uniform(0.5, 2.0, size=DAYS)
        values = 30.0 + noise * rng.normal(size=DAYS)
        if cycle:
            values += 5.0 * (np.arange(DAYS) % cycle >= 5)
        rounds = list(zip(values, noise, strict=True))
        kinds = {"rounds_per_year": DAYS, "false_alarms_per_year": rate}
        found += len(no.find_shifts(rounds, cycle=cycle, **kinds))
    return found / years


@pytest.mark.parametrize("cycle", [None, 7])
def test_a_year_without_any_change_has_few_alarms(cycle: int | None) -> None:
    assert alarms(1.0, 30, cycle) < 0.7  # 0.25 in benchmarks.trends, as constants may vary


def test_rate_follows_what_is_asked_for() -> None:
    assert alarms(36.0, 10) > 2.5  # 0.3 at one per year
    assert alarms(0.1, 30) < 0.35


@pytest.mark.parametrize(
    "series",
    [Series("white", 2.0), Series("autoregressive", 2.0, 0.6), Series("walk", 0.5),
     Series("pattern", 5.0, 7.0, 7)],
    ids=lambda series: series.kind,
)  # fmt: skip
def test_ordinary_variation_raises_few_alarms(series: Series) -> None:
    """2.3 to 12.5 per year, where deviations were compared with the noise of reports alone."""
    assert alarms_per_year(series, 12, np.random.default_rng(4)) < 2.0


@pytest.mark.slow
@pytest.mark.parametrize("series", GOALS, ids=lambda series: "{}-{}-{}".format(*series))
def test_alarms_are_as_rare_as_stated(series: Series) -> None:
    """At most 1.5 per year: so many are counted in 40 years as 1.5 make likely, or fewer."""
    assert alarms_per_year(series, 40, np.random.default_rng(5)) < 1.5 + 3.0 * math.sqrt(1.5 / 40)


def found_within(
    size: float, rounds: int, rounds_per_year: float, before: int, repetitions: int
) -> float:
    """Return how often a change after some rounds raises an alarm within some more."""
    rng = np.random.default_rng(8)
    raised = []
    for _ in range(repetitions):
        values = rng.normal(size=before + rounds)
        values[before:] += size
        found = no.find_shifts([(value, 1.0) for value in values], rounds_per_year=rounds_per_year)
        if not any(each.alarm < before for each in found):
            raised.append(bool(found))
    return float(np.mean(raised))


def limit(rounds_per_year: float) -> float:
    """Return how often any alarm sees three standard errors within two rounds, at most."""
    normal = NormalDist()
    size = 3.0 * math.sqrt(2.0) / math.sqrt(1.0 + 2.0 / 30.0)  # what was before has an error, too
    return normal.cdf(size - normal.inv_cdf(1.0 - 1.0 / rounds_per_year))


@pytest.mark.parametrize(
    ("rounds_per_year", "three", "five", "later"),
    [(52.18, (0.68, 0.9), (0.95, 1.0), (0.82, 1.0)), (365.25, (0.28, 0.55), (0.92, 1.0),
     (0.56, 0.83)), (8766.0, (0.0, 0.15), (0.65, 0.9), (0.23, 0.5))],
    ids=["weeks", "days", "hours"],
)  # fmt: skip
def test_how_soon_changes_are_found(
    rounds_per_year: float, three: tuple[float, float], five: tuple[float, float],
    later: tuple[float, float],
) -> None:  # fmt: skip
    """The table in docs/comparing.md: within two rounds, after 30 and after 200."""
    share = found_within(3.0, 2, rounds_per_year, 30, 100)
    assert three[0] <= share <= three[1]
    assert share < limit(rounds_per_year) + 0.03
    assert five[0] <= found_within(5.0, 2, rounds_per_year, 30, 100) <= five[1]
    assert later[0] <= found_within(3.0, 2, rounds_per_year, 200, 100) <= later[1]


def test_variation_is_learned() -> None:
    """A change of five standard errors is none where rounds vary by four."""
    rng = np.random.default_rng(2)
    values = rng.normal(size=60)
    values[50:] += 5.0
    varying = values + 4.0 * rng.normal(size=60)
    assert no.find_shifts([(value, 1.0) for value in values])[0].alarm in (50, 51)
    assert no.find_shifts([(value, 1.0) for value in varying]) == []


def test_later_rounds_change_no_alarm() -> None:
    rng = np.random.default_rng(3)
    rounds = [(value, 1.0) for value in np.concatenate([rng.normal(size=30), rng.normal(9, 3, 30)])]
    found = no.find_shifts(rounds)
    for end in range(60):
        assert no.find_shifts(rounds[:end]) == [each for each in found if each.alarm < end]


def test_direction_and_beginning() -> None:
    rounds = [(10.0, 1.0)] * 20 + [None] + [(5.0, 1.0)] * 3
    (found,) = no.find_shifts(rounds)
    assert (found.direction, found.since) == ("down", 21)


def test_few_rounds_raise_nothing() -> None:
    assert no.find_shifts([]) == no.find_shifts([(1.0, 1.0), None]) == []


def test_bad_input() -> None:
    with pytest.raises(InvalidArgumentError, match="false_alarms_per_year must be at most"):
        shift_thresholds(1000.0, 365.0)
    with pytest.raises(InvalidArgumentError, match="rounds_per_year"):
        shift_thresholds(1.0, 0.0)
    with pytest.raises(InvalidArgumentError, match="cycle"):
        no.find_shifts([], cycle=1)


def test_years_of_hours_are_no_problem() -> None:
    assert no.find_shifts([(1.0, 1.0)] * 5_000, rounds_per_year=8_766.0) == []
