"""Means with slack intervals: which tables have them, and what else is known about them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import noutput as no
from noutput.estimate.mean import reports_needed
from noutput.estimate.mean_slack import is_shorter
from noutput.mechanisms.table import TableMechanism
from tests.estimate.samples import Array

BOUNDS = no.Interval(0.0, 10.0)


def trained(epsilon: float = 4.0) -> TableMechanism:
    return no.design(epsilon, 64, objective="distribution").mechanism


def tally_of(m: TableMechanism, x: Array, people: int = 20_000, seed: int = 1) -> no.Tally:
    chances = m.probabilities(x).mean(axis=0)
    counts = np.random.default_rng(seed).multinomial(people, chances / chances.sum())
    return no.Tally(m.fingerprint, tuple(counts.tolist()))


def test_table_and_number_of_reports_decide() -> None:
    m = trained()
    assert is_shorter(m, 20_000)
    assert not is_shorter(m, 99)
    assert not is_shorter(no.design(4.0, 64).mechanism, 20_000)
    for x in (np.array([-1.0]), np.array([0.3]), np.linspace(-1.0, 1.0, 99)):
        assert no.estimate_mean(m, tally_of(m, x)).method == "slack"
        assert no.estimate_mean(m, tally_of(m, x), method="unbiased").method == "unbiased"


def test_value_and_interval_belong_together() -> None:
    m = trained()
    tally = tally_of(m, np.linspace(-0.9, 0.1, 50))
    found = no.estimate_mean(m, tally, BOUNDS)
    low, high = found.interval()
    assert low < 3.0 < high
    assert found.value == pytest.approx((low + high) / 2.0)
    assert found.half_width() == pytest.approx((high - low) / 2.0)
    assert found.standard_error == pytest.approx(found.half_width() / 1.96, rel=1e-4)
    assert found.interval(of="respondents") == (low, high)
    assert replace(found, bounds=None).interval() == (low, high)
    assert found.bias_bound == 0.0
    assert found.by_scores is not None
    assert found.by_scores.method == "nearly unbiased"
    assert found.half_width() < found.by_scores.half_width()
    for kind in ("interval", "half_width"):
        guaranteed = getattr(found, kind)(kind="guaranteed")
        assert guaranteed == getattr(found.by_scores, kind)(kind="guaranteed")
    distribution = no.estimate_distribution(m, tally, bounds=BOUNDS)
    assert found.interval() == pytest.approx(distribution.interval("mean"), rel=0.02)


def test_forged_reports_move_the_value_by_no_more_than_the_bound() -> None:
    m = trained()
    tally = tally_of(m, np.linspace(-0.9, 0.1, 50))
    found = no.estimate_mean(m, tally)
    counts = np.array(tally.counts)
    for output in (0, 20, 63):
        forged = np.floor(counts * 0.99).astype(int)
        forged[output] += counts.sum() - forged.sum()
        moved = no.estimate_mean(m, no.Tally(m.fingerprint, tuple(forged.tolist())))
        assert abs(moved.value - found.value) < found.poisoning_bound(len(counts) + 200)


def test_more_reports_make_it_shorter() -> None:
    m = trained()
    tally = tally_of(m, np.linspace(-1.0, 1.0, 50))
    found = no.estimate_mean(m, tally)
    half = found.half_width()
    assert reports_needed(m, tally, found, half) == 20_000
    needed = [reports_needed(m, tally, found, half * part) for part in (0.9, 0.7, 0.3)]
    assert 20_000 < needed[0] < needed[1] < needed[2] < np.inf


@pytest.mark.slow
@pytest.mark.parametrize("place", ["low", "ends", "spikes", "even"])
def test_means_are_covered(place: str) -> None:
    x = {
        "low": np.array([-1.0]),
        "ends": np.array([-1.0, 1.0]),
        "spikes": np.array([-0.7, -0.1, 0.55]),
        "even": np.linspace(-1.0, 1.0, 257),
    }[place]
    m = trained()
    found = [no.estimate_mean(m, tally_of(m, x, seed=seed)).interval() for seed in range(60)]
    hits = sum(low - 1e-9 <= x.mean() <= high + 1e-9 for low, high in found)
    assert hits / 60 >= 0.87  # 93% or more, with two standard errors
