"""Shift alarms: the stated rate of false alarms, and how soon a change is found."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest

import noutput as no
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
def test_false_alarms_are_as_rare_as_stated(cycle: int | None) -> None:
    rate = alarms(1.0, 150, cycle)
    assert 0.65 < rate < 1.2  # 150 alarms expected; less after the beginning and after alarms


def test_rate_follows_what_is_asked_for() -> None:
    assert alarms(12.0, 20) > 6.0
    assert alarms(0.1, 60) < 0.35


def test_cycle_that_is_not_named_is_noticed() -> None:
    rounds = [(30.0 + 5.0 * (day % 7 >= 5), 1.0) for day in range(60)]
    assert no.find_shifts(rounds)
    assert not no.find_shifts(rounds, cycle=7)


def found_within(size: float, rounds: int, rounds_per_year: float, repetitions: int) -> float:
    """Return how often a change after 30 rounds raises an alarm within some rounds."""
    rng = np.random.default_rng(8)
    delays = []
    for _ in range(repetitions):
        values = rng.normal(size=30 + rounds)
        values[30:] += size
        found = no.find_shifts([(value, 1.0) for value in values], rounds_per_year=rounds_per_year)
        if not any(each.alarm < 30 for each in found):
            delays.append(min((each.alarm - 29 for each in found), default=99))
    return float(np.mean(np.array(delays) <= rounds))


def limit(rounds_per_year: float) -> float:
    """Return how often any alarm sees three standard errors within two rounds, at most."""
    normal = NormalDist()
    size = 3.0 * math.sqrt(2.0) / math.sqrt(1.0 + 2.0 / 30.0)  # what was before has an error, too
    return normal.cdf(size - normal.inv_cdf(1.0 - 1.0 / rounds_per_year))


@pytest.mark.parametrize(
    ("rounds_per_year", "two", "three"),
    [(52.18, (0.88, 0.97), (0.96, 1.0)), (365.25, (0.76, 0.87), (0.91, 0.98)),
     (8766.0, (0.44, 0.58), (0.74, 0.86))],
    ids=["weeks", "days", "hours"],
)  # fmt: skip
def test_three_standard_errors_are_found_soon(
    rounds_per_year: float, two: tuple[float, float], three: tuple[float, float]
) -> None:
    """The table in docs/comparing.md: 93%, 81% and 50% within two rounds, of what is possible."""
    share = found_within(3.0, 2, rounds_per_year, 500)
    assert two[0] < share < two[1]
    assert 0.7 * limit(rounds_per_year) < share < limit(rounds_per_year) + 0.03
    assert three[0] < found_within(3.0, 3, rounds_per_year, 300) <= three[1]


def test_one_standard_error_is_found_in_the_end() -> None:
    assert 0.4 < found_within(1.0, 11, 365.25, 300) < 0.65


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
