"""What forged reports do to the mean of combined evidence."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import noutput as no
from noutput.estimate.mean_slack import HeldMean
from tests.estimate.evidence.populations import HULL, Array

SHAPES = {
    "beta": lambda size, rng: 10.0 * rng.beta(2.0, 3.0, size),
    "lognormal": lambda size, rng: np.clip(rng.lognormal(1.2, 0.7, size), 0.0, 100.0),
    "far": lambda size, rng: np.where(
        rng.random(size) < 0.97, rng.uniform(0.0, 5.0, size), rng.uniform(20.0, 90.0)
    ),
}


def counted(m: no.TableMechanism, people: Array, bounds: no.Interval,
            rng: np.random.Generator) -> list[int]:  # fmt: skip
    return list(no.Tally.of(m, m.privatize(bounds.to_unit(people, clip=True), rng)).counts)


class Campaign:
    """Counts of two waves, to which forged reports can be added."""

    def __init__(self, shape: str, seed: int, outputs: int = 16, size: int = 5_000) -> None:
        rng = np.random.default_rng(seed)
        self.table = no.design(float(rng.choice([1.0, 2.0])), outputs).mechanism
        self.narrow = no.Interval(0, float(rng.choice([8.0, 12.0, 20.0])))
        people, first = SHAPES[shape](size, rng), size // 5
        self.counts = [
            counted(self.table, people[:first], HULL, rng),
            counted(self.table, people[first:], self.narrow, rng),
        ]

    def estimate(self, *forged: tuple[int, int, int]) -> no.MeanEstimate:
        """Return the mean with more reports, each (wave, output, count)."""
        counts = [list(each) for each in self.counts]
        for wave, output, count in forged:
            counts[wave][output] += count
        tallies = [no.Tally(self.table.fingerprint, tuple(each)) for each in counts]
        both = zip(tallies, (HULL, self.narrow), strict=True)
        return no.estimate_mean(no.Evidence([(self.table, *each) for each in both]))

    def every_output(self) -> Iterator[tuple[int, int]]:
        return ((wave, output) for wave in (0, 1) for output in range(len(self.counts[wave])))


def worst(campaign: Campaign) -> tuple[float, float]:
    """Return how far one forged report in place of another moves the mean, and the bound."""
    honest = campaign.estimate()
    assert honest.method == "combined"
    moves = [
        campaign.estimate((*place, 1)).value - honest.value for place in campaign.every_output()
    ]
    return max(moves) - min(moves), honest.poisoning_bound(1)


@pytest.mark.parametrize("shape", SHAPES)
def test_no_forged_report_moves_the_mean_farther_than_it_can(shape: str) -> None:
    for seed in range(3):
        moved, bound = worst(Campaign(shape, seed))
        assert moved <= bound < 5.0 * moved


@pytest.mark.parametrize("shape", SHAPES)
def test_a_percent_of_forged_reports(shape: str) -> None:
    """All of one output, whichever does most: the bound is to first order, and still holds."""
    campaign = Campaign(shape, 11)
    honest = campaign.estimate()
    moves = [
        abs(campaign.estimate((*place, 50)).value - honest.value)
        for place in campaign.every_output()
    ]
    assert max(moves) <= honest.poisoning_bound(50) < 0.5 * (HULL.upper - HULL.lower)


def test_a_second_wave_does_not_multiply_the_influence() -> None:
    """One forged report of the second wave counts by its narrow range, not by the declared one."""
    campaign = Campaign("beta", 1)
    found = campaign.estimate()
    assert found.slack is not None
    assert found.slack.held is not None
    assert found.value == found.slack.held.clipped
    single = no.Tally(campaign.table.fingerprint, tuple(np.sum(campaign.counts, axis=0).tolist()))
    alone = no.estimate_mean(campaign.table, single, HULL)
    assert found.poisoning_bound(1) < 0.5 * alone.poisoning_bound(1)


def test_an_end_that_is_far_away_matters_to_many_forgers_only() -> None:
    held = HeldMean(4.0, 3.0, 9.0, (10.0, 40.0, 60.0), 300.0, 100, 10_000)
    assert held.moved(1) == pytest.approx(0.001)
    assert held.moved(100) == pytest.approx(2.0)  # the lower end has passed the value
    assert held.moved(5) == pytest.approx(0.005)
    below = HeldMean(2.0, 3.0, 9.0, (10.0, 40.0, 60.0), 300.0, 100, 10_000)
    assert below.value == 3.0
    assert below.moved(1) == pytest.approx(0.0072)
    above = HeldMean(11.0, 3.0, 9.0, (10.0, 40.0, 60.0), 300.0, 100, 10_000)
    assert above.value == 9.0
    assert above.moved(1) == pytest.approx(0.0108)
