"""Differences of two distributions: which shares differ, and how often intervals cover."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import noutput as no
from benchmarks.covering import table
from benchmarks.populations import HELD_BACK, Population
from noutput.errors import InvalidArgumentError

AT = np.array([-0.5, 0.1, 0.31, 0.5])


def estimate(
    mechanism: no.TableMechanism,
    people: Population,
    count: int,
    rng: np.random.Generator,
    bounds: tuple[float, float] = (-1.0, 1.0),
) -> no.DistributionEstimate:
    chances = people.shares @ mechanism.probabilities(people.x)
    counts = rng.multinomial(count, chances / chances.sum())
    tally = no.Tally(mechanism.fingerprint, tuple(counts.tolist()))
    return no.estimate_distribution(mechanism, tally, 16, "em", bounds=bounds)


def two_groups(seed: int = 5, count: int = 20_000) -> list[no.DistributionEstimate]:
    rng = np.random.default_rng(seed)
    shapes = (HELD_BACK["commute"](rng), HELD_BACK["three spikes"](rng))
    return [estimate(table("distribution", 2.0), each, count, rng) for each in shapes]


def test_intervals_are_shorter_than_those_of_two_that_hold_together() -> None:
    first, second = two_groups()
    low, high = no.cdf_difference(first, second, AT)
    ends = [np.array(each.interval("cdf", AT, level=0.975)) for each in (first, second)]
    assert np.all(high - low < 0.95 * (ends[0][1] - ends[0][0] + ends[1][1] - ends[1][0]))
    alone = [np.array(each.interval("cdf", AT)) for each in (first, second)]
    longest = np.max([each[1] - each[0] for each in alone], axis=0)
    assert np.all(high - low > longest)


def test_the_other_way_round_is_the_same_with_the_other_sign() -> None:
    first, second = two_groups()
    low, high = no.cdf_difference(first, second, AT)
    other = no.cdf_difference(second, first, AT)
    np.testing.assert_allclose((-high, -low), other, atol=1e-12)


def test_higher_levels_and_proofs_are_wider() -> None:
    first, second = two_groups()
    low, high = no.cdf_difference(first, second, AT)
    choices: list[dict[str, Any]] = [{"level": 0.99}, {"kind": "guaranteed"}]
    for options in choices:
        wider = no.cdf_difference(first, second, AT, **options)
        assert np.all(wider[0] < low)
        assert np.all(wider[1] > high)


def test_few_reports_have_proven_intervals() -> None:
    first, second = two_groups(count=60)
    found = no.cdf_difference(first, second, 0.1)
    proven = no.cdf_difference(first, second, 0.1, kind="guaranteed")
    np.testing.assert_array_equal(found, proven)
    assert found[0].shape == ()


def test_groups_may_have_other_tables_and_bounds() -> None:
    rng = np.random.default_rng(6)
    people = HELD_BACK["commute"](rng)
    halves = Population((people.x - 1.0) / 2.0, people.shares)  # 0 to 90 as numbers of 0 to 180
    wide = estimate(table("balanced", 2.0), halves, 100_000, rng, (0.0, 180.0))
    narrow = estimate(table("distribution", 2.0), people, 100_000, rng, (0.0, 90.0))
    low, high = no.cdf_difference(wide, narrow, [20.0, 45.0, 90.0, 150.0])
    assert np.all((low <= 0.0) & (high >= 0.0))
    assert high[-1] - low[-1] < 0.1  # beyond its bounds nothing is unknown about the second


@pytest.mark.parametrize("at", [np.nan, [0.0, np.inf], "far"])
def test_numbers_must_be_finite(at: object) -> None:
    first, second = two_groups()
    with pytest.raises(InvalidArgumentError, match="at must"):
        no.cdf_difference(first, second, at)  # type: ignore[arg-type]


def test_parts_of_a_threshold_belong_to_slack_intervals() -> None:
    with pytest.raises(InvalidArgumentError, match="kind must be 'slack'"):
        two_groups()[0].intervals(AT, kind="guaranteed").part(0.5)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "second", "objective", "epsilon"),
    [
        ("low end", "30% at zero", "balanced", 1.0),
        ("five stars", "three spikes", "balanced", 4.0),
        ("commute", "bimodal", "distribution", 1.0),
    ],
)
def test_intervals_cover(first: str, second: str, objective: str, epsilon: float) -> None:
    """More than 9 of 60 campaigns miss with a chance of 0.3% where intervals cover in 94%."""
    rng = np.random.default_rng(17)
    mechanism = table(objective, epsilon)
    hits = np.zeros(len(AT))
    for _ in range(60):
        one, two = HELD_BACK[first](rng), HELD_BACK[second](rng)
        found = [estimate(mechanism, each, 20_000, rng) for each in (one, two)]
        low, high = no.cdf_difference(found[0], found[1], AT)
        truth = np.array([one.below(at) - two.below(at) for at in AT])
        hits += (low <= truth + 1e-9) & (high >= truth - 1e-9)
    assert hits.min() >= 51
