from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from noutput._numbers import round_bins, ticks
from noutput.campaign.text import format_instant
from noutput.collector.dashboard import words
from noutput.collector.dashboard.progress import current_rate, next_target, outlook
from noutput.collector.store.interface import Milestone

NOW = datetime(2026, 5, 1, tzinfo=UTC)


def milestone(age: float, reports: int) -> Milestone:
    return Milestone(0, reports, format_instant(NOW - timedelta(seconds=age)), 0.0, -1.0, 1.0)


def test_the_rate_is_that_of_late() -> None:
    assert current_rate([], 20, NOW) is None
    assert current_rate([milestone(4, 2)], 20, NOW) is None
    assert current_rate([milestone(1000, 2), milestone(991, 9)], 20, NOW) is None
    steady = [milestone(1000 - 10 * i, 20 * i) for i in range(1, 100)]
    assert current_rate(steady, 20, NOW) == pytest.approx(2.0)
    slowed = [milestone(1000, 100), milestone(900, 9_000), milestone(200, 9_700)]
    assert current_rate(slowed, 970, NOW) == pytest.approx(1.0)


def test_silence_lowers_the_rate() -> None:
    """Fewer reports than a step came since the last milestone, or there were another."""
    steady = [milestone(2000 - 10 * i, 20 * i) for i in range(1, 100)]  # the last 1,010 s ago
    assert current_rate(steady, 20, NOW) == pytest.approx(20 / 1010)
    assert current_rate(steady, 200_000, NOW) == pytest.approx(2.0)


def test_targets_are_below_what_is_known() -> None:
    for half in (1e-12, 0.013, 0.99, 1.0, 1.01, 2.4, 7.7, 1e15):
        assert 0.2 * half < next_target(half) < half


def test_what_is_needed_is_less_what_there_is() -> None:
    found = outlook(2000.0, 500, 0.5, None)
    assert (found.more, found.seconds) == (1500.0, None)
    assert outlook(125.0, 500, 2.0, None).seconds == 0.0


@pytest.mark.parametrize("p_value", [None, 0.0, 1e-5, 0.01, 0.3, 1.0])
def test_every_fit_has_words(p_value: float | None) -> None:
    state, heading, text = words.fit(p_value)
    assert state in ("unknown", "bad", "doubtful", "good")
    assert heading
    assert text.endswith((".", "yet"))


def test_bins_and_ticks_lie_within() -> None:
    for low, high in ((0.0, 1.0), (-7.3, 1e9), (1e6, 1e6 + 1), (1e-9, 2e-9), (-1e15, 1e15)):
        assert 12 <= round_bins(low, high) <= 24
        found = ticks(low, high, 6)
        assert 3 <= len(found) <= 14
        assert found == sorted(set(found))
        assert all(
            low - 1e-9 * (high - low) <= tick <= high + 1e-9 * (high - low) for tick in found
        )
