"""Forged reports of a first wave: what they can hide or invent, and that bounds never widen."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import noutput as no

EPSILONS = (0.5, 1.0, 2.0)
FIRST = 20_000
SHARES = (0.005, 0.02, 0.1)


@cache
def table(epsilon: float) -> no.TableMechanism:
    return no.design(epsilon).mechanism


def chances(epsilon: float, far: float) -> np.ndarray:
    """Return the chances of outputs of people in the lowest tenth, of whom some are at the top."""
    m = table(epsilon)
    low = m.probabilities(np.linspace(-1.0, -0.8, 201)).mean(axis=0)
    result: np.ndarray = (1.0 - far) * low + far * m.probabilities(1.0)
    return result


def chosen(epsilon: float, shares: np.ndarray) -> no.NextRange:
    """Return the range for counts that are as expected."""
    m = table(epsilon)
    counts = tuple(round(FIRST * share) for share in shares.tolist())
    return no.choose_range(m, no.Tally(m.fingerprint, counts), (0, 1), expected=4 * FIRST)


def hiding_share(epsilon: float, far: float) -> float:
    """Return the bound of the page: so many forged reports hide a share of people anywhere."""
    return 1.0 - 1.0 / (1.0 + far * math.expm1(epsilon))


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("far", SHARES)
def test_the_stated_share_of_forged_reports_hides_people_without_a_trace(
    epsilon: float, far: float
) -> None:
    honest, wanted = chances(epsilon, far), chances(epsilon, 0.0)
    forged = hiding_share(epsilon, far)
    sent = (wanted - (1.0 - forged) * honest) / forged
    assert sent.min() >= 0.0  # so forgers can draw from it, and the counts look honest
    assert sent.sum() == pytest.approx(1.0)
    fewer = 0.9 * (1.0 - 1.0 / (honest / wanted).max())  # fewer than any table needs
    assert (wanted - (1.0 - fewer) * honest).min() < 0.0
    mixed = (1.0 - forged) * honest + forged * sent
    assert chosen(epsilon, mixed) == chosen(epsilon, wanted)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("far", SHARES)
def test_the_stated_share_of_forged_reports_invents_people(epsilon: float, far: float) -> None:
    honest, wanted = chances(epsilon, 0.0), chances(epsilon, far)
    forged = far * -math.expm1(-epsilon)
    sent = (wanted - (1.0 - forged) * honest) / forged
    assert sent.min() >= -1e-12
    assert sent.sum() == pytest.approx(1.0)


@given(st.data())
@settings(deadline=None, max_examples=15)
def test_no_counts_lead_beyond_the_declared_bounds(data: st.DataObject) -> None:
    m = table(1.0)
    weights = data.draw(st.lists(st.integers(0, 50), min_size=16, max_size=16))
    counts = tuple(int(weight) for weight in np.repeat(weights, m.n_outputs // 16))
    found = no.choose_range(m, no.Tally(m.fingerprint, counts), (-5, 5), expected=10_000)
    assert found.bounds is not None
    assert -5.0 <= found.bounds.lower < found.bounds.upper <= 5.0
    assert found.narrowed == (found.bounds != no.Interval(-5, 5))
    assert found.forecast.error_ratio <= 1.0


def test_forgers_who_send_the_lowest_report_are_noticed_or_change_little() -> None:
    m = table(1.0)
    values = np.random.default_rng(0).beta(2.0, 5.0, FIRST)
    honest = no.Tally.of(m, m.privatize(2.0 * values - 1.0, np.random.default_rng(1)))
    before = no.choose_range(m, honest, (0, 1), expected=4 * FIRST)
    for share in (0.02, 0.1, 0.3):
        counts = list(honest.counts)
        counts[0] += round(share * FIRST)
        tally = no.Tally(m.fingerprint, tuple(counts))
        after = no.choose_range(m, tally, (0, 1), expected=4 * FIRST)
        assert before.bounds is not None
        assert after.bounds is not None
        assert not after.narrowed or after.bounds.upper >= before.bounds.upper - 0.1
