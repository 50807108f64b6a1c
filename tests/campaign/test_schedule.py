from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import combinations, pairwise, product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from noutput.campaign import Admission, NextWave, Schedule
from noutput.campaign.schedule import EVERY, next_closing, rounds_of
from noutput.errors import InvalidArgumentError
from tests.campaign.examples import CLOSES, OPENS, WEEKS, panel_campaign
from tests.campaign.vectors import vectors

ROOT = "5a" * 32
CASES = vectors("schedule")["rounds"]


def test_rounds_agree_with_the_vectors() -> None:
    assert len(CASES) > 100
    for case in CASES:
        schedule = Schedule("day", case["rounds_per_period"], case["answers"])
        secret = bytes.fromhex(case["secret"])
        found = rounds_of(schedule, case["root"], secret, case["period"], case["joined"])
        assert list(found) == case["rounds"], case


@given(st.binary(min_size=32, max_size=32), st.integers(1, 366), st.data())
def test_rounds_are_different_ones_of_their_period(
    secret: bytes, size: int, data: st.DataObject
) -> None:
    answers = data.draw(st.integers(1, size))
    period, joined = data.draw(st.integers(0, 9)), data.draw(st.integers(0, 10 * size))
    found = rounds_of(Schedule("hour", size, answers), ROOT, secret, period, joined)
    left = range(max(period * size, joined), (period + 1) * size)
    assert len(found) == len(set(found)) == min(answers, len(left))
    assert set(found) <= set(left)
    assert list(found) == sorted(found)


@pytest.mark.parametrize("joined", [0, 3, 6])
def test_every_set_of_rounds_that_are_left_is_equally_likely(joined: int) -> None:
    counts = dict.fromkeys(combinations(range(joined, 7), min(2, 7 - joined)), 0)
    for seed in range(3_000):
        counts[rounds_of(Schedule("day", 7, 2), ROOT, seed.to_bytes(32), 0, joined)] += 1
    assert len(counts) == 1 or chisquare(list(counts.values())).pvalue > 1e-3


def test_rounds_of_two_periods_and_of_two_campaigns_are_independent() -> None:
    schedule = Schedule("day", 4)
    periods = {(a, b): 0 for a in range(4) for b in range(4)}
    campaigns = dict(periods)
    for seed in range(3_000):
        secret = seed.to_bytes(32)
        (first,), (second,) = (rounds_of(schedule, ROOT, secret, p) for p in (0, 1))
        (other,) = rounds_of(schedule, "a5" * 32, secret, 0)
        periods[first, second - 4] += 1
        campaigns[first, other] += 1
    assert chisquare(list(periods.values())).pvalue > 1e-3
    assert chisquare(list(campaigns.values())).pvalue > 1e-3


@pytest.mark.parametrize(("root", "period", "joined", "message"), [
    ("zz" * 32, 0, 0, "root must be 64 hexadecimal digits"),
    ("00", 0, 0, "root must be 64 hexadecimal digits"),
    ("0" * 64, -1, 0, "period must be a whole number from 0"),
    ("0" * 64, 0.5, 0, "period must be a whole number from 0"),
    ("0" * 64, 0, -3, "joined must be a whole number from 0"),
])  # fmt: skip
def test_rounds_are_those_of_a_campaign_and_a_period(
    root: str, period: Any, joined: int, message: str
) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        rounds_of(Schedule("day", 7), root, bytes(32), period, joined)


def test_a_secret_has_32_bytes() -> None:
    with pytest.raises(InvalidArgumentError, match="secret must have 32 bytes; found 31"):
        rounds_of(Schedule("day", 7), ROOT, bytes(31), 0)


@pytest.mark.parametrize("every", EVERY)
def test_rounds_cover_the_time_of_a_campaign_without_gaps(every: str) -> None:
    schedule = Schedule(every, 4)
    campaign = panel_campaign(schedule=schedule, closes=OPENS + 4 * timedelta(weeks=1))
    length = timedelta(seconds=EVERY[every])
    assert campaign.n_rounds == timedelta(weeks=4) // length
    rounds = [campaign.round(number) for number in range(campaign.n_rounds)]
    assert rounds[0].start == campaign.opens
    assert rounds[-1].end == campaign.closes
    for before, after in pairwise(rounds):
        assert before.end == after.start == before.start + length
        assert campaign.round_at(after.start) == after
        assert campaign.round_at(after.start - timedelta(microseconds=1)) == before
    assert campaign.round_at(campaign.closes) is None
    assert campaign.round_at(campaign.opens - timedelta(microseconds=1)) is None


def test_strata_are_numbered_round_by_round() -> None:
    campaign = panel_campaign()
    assert campaign.stratum({}, 0) == 0
    assert campaign.stratum((("platform", "web"), ("version", "vélo 🚉")), 0) == 11
    assert campaign.stratum({}, 1) == 12 == campaign.n_combinations
    assert campaign.stratum({"platform": "ios"}, 27) == 27 * 12 + 3
    with pytest.raises(InvalidArgumentError, match="round must be a whole number from 0 to 27"):
        campaign.stratum({}, None)
    with pytest.raises(InvalidArgumentError, match="round must be absent: the campaign has no"):
        panel_campaign(schedule=None).stratum({}, 0)


def test_the_loss_per_period_is_that_of_its_answers() -> None:
    campaign = panel_campaign(schedule=Schedule("day", 14, 3), ask="all")
    assert campaign.epsilon == 6.5
    assert campaign.epsilon_per_period == 19.5
    assert panel_campaign(schedule=None).epsilon_per_period == 2.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"every": "month"}, "schedule.every must be one of 'hour', 'day', 'week'"),
        ({"rounds_per_period": 0}, "schedule.rounds_per_period must be a whole number from 1 to"),
        ({"answers": 8}, "schedule.answers must be a whole number from 1 to 7; found 8"),
        ({"grace": -1}, "schedule.grace must be a whole number from 0 to 31622400; found -1"),
    ],
)
def test_a_schedule_that_is_none_is_refused(change: dict[str, Any], message: str) -> None:
    parts: dict[str, Any] = {"every": "day", "rounds_per_period": 7}
    with pytest.raises(InvalidArgumentError, match=message):
        Schedule(**(parts | change))


LAST = datetime(9999, 12, 31, 23, tzinfo=UTC)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schedule": "weekly"}, "schedule must be a Schedule; found 'str'"),
        ({"closes": CLOSES}, "closes must be a whole number of periods of 604800 seconds after o"),
        ({"closes": CLOSES}, "such as 2036-03-02T00:00:00Z; found '2036-03-01T12:30:59Z'"),
        ({"closes": LAST, "opens": LAST - timedelta(days=2)}, "seconds after opens; found '9999"),
        ({"schedule": Schedule("hour", 1), "closes": CLOSES}, "at most 5000 rounds; found 876"),
        ({"admission": Admission("token")}, "schedule must be absent where reports need a token"),
        ({"next_wave": NextWave(600, 900)}, "schedule must be absent where a campaign is adaptive"),
    ],
)  # fmt: skip
def test_a_schedule_that_does_not_fit_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        panel_campaign(**change)


def test_what_has_no_schedule_has_no_rounds() -> None:
    campaign = panel_campaign(schedule=None)
    with pytest.raises(InvalidArgumentError, match="campaign must have a schedule"):
        campaign.round(0)
    with pytest.raises(InvalidArgumentError, match="campaign must have a schedule"):
        campaign.round_at(WEEKS)


@given(st.integers(1, 366), st.integers(1, 10**8))
def test_the_next_closing_is_the_end_of_a_period(size: int, seconds: int) -> None:
    schedule = Schedule("hour", size)
    closes = OPENS + timedelta(seconds=seconds)
    found = next_closing(schedule, OPENS, closes)
    assert not (found - OPENS) % timedelta(seconds=schedule.period_seconds)
    assert timedelta(0) <= found - closes < timedelta(seconds=schedule.period_seconds)


# Windows of a policy

_PARTS = 4  # of a round, at which answers are given


def _can_hold(first: int, last: int, window: int) -> bool:
    """Say whether a window of so many parts, as the ledger counts it, can hold two rounds."""
    times = product(range(_PARTS), repeat=2)
    return any(_PARTS * last + b - window < _PARTS * first + a for a, b in times)


@settings(deadline=None)
@given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 40), st.data())
def test_the_most_answers_of_a_window_are_those_of_all_devices(
    size: int, periods: int, halves: int, data: st.DataObject
) -> None:
    """Every device of every draw, with answers at every part of its rounds."""
    answers = data.draw(st.integers(1, size))
    window = halves * _PARTS // 2
    sets = [combinations(range(p * size, (p + 1) * size), answers) for p in range(periods)]
    most = 0
    for chosen in product(*sets):
        rounds = [number for each in chosen for number in each]
        for place, first in enumerate(rounds):
            held = [last for last in rounds[place:] if _can_hold(first, last, window)]
            most = max(most, len(held))
    schedule = Schedule("hour", size, answers)
    assert schedule.most_answers(halves / 48, size * periods) == most


@pytest.mark.parametrize(
    ("schedule", "days", "most"),
    [
        (Schedule("day", 7), 30.0, 6),
        (Schedule("day", 7), 90.0, 14),
        (Schedule("day", 7), 7.0, 2),
        (Schedule("day", 1), 30.0, 31),
        (Schedule("week", 1), 30.0, 6),
        (Schedule("day", 30), 30.0, 2),
        (Schedule("day", 7, 3), 30.0, 15),
        (Schedule("hour", 24), 1.0 / 1440.0, 2),
    ],
)
def test_windows_that_are_known(schedule: Schedule, days: float, most: int) -> None:
    assert schedule.most_answers(days) == most


@pytest.mark.parametrize("days", [0.0, -1.0, float("nan"), float("inf"), "30"])
def test_a_window_is_a_positive_number_of_days(days: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="days must be"):
        Schedule("day", 7).most_answers(days)
