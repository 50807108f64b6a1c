"""Shift alarms: the stated rate of false alarms, and how soon a change is found."""

from __future__ import annotations

import numpy as np
import pytest

import noutput as no
from noutput.errors import InvalidArgumentError
from noutput.estimate.shifts import shift_threshold

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


def test_three_standard_errors_are_found_within_three_rounds() -> None:
    rng = np.random.default_rng(8)
    delays = []
    for _ in range(300):
        values = rng.normal(size=40)
        values[30:] += 3.0
        found = [each.alarm for each in no.find_shifts([(value, 1.0) for value in values])]
        delays.append(min((alarm - 29 for alarm in found if alarm >= 30), default=99))
    assert np.median(delays) <= 2
    assert np.mean(np.array(delays) <= 3) > 0.9


def test_direction_and_beginning() -> None:
    rounds = [(10.0, 1.0)] * 20 + [None] + [(5.0, 1.0)] * 3
    (found,) = no.find_shifts(rounds)
    assert (found.direction, found.since) == ("down", 21)


def test_few_rounds_raise_nothing() -> None:
    assert no.find_shifts([]) == no.find_shifts([(1.0, 1.0), None]) == []


def test_bad_input() -> None:
    with pytest.raises(InvalidArgumentError, match="false_alarms_per_year must be at most"):
        shift_threshold(1000.0, 365.0)
    with pytest.raises(InvalidArgumentError, match="rounds_per_year"):
        shift_threshold(1.0, 0.0)
    with pytest.raises(InvalidArgumentError, match="cycle"):
        no.find_shifts([], cycle=1)


def test_years_of_hours_are_no_problem() -> None:
    assert no.find_shifts([(1.0, 1.0)] * 5_000, rounds_per_year=8_766.0) == []
