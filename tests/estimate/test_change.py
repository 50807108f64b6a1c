"""Tests for a sudden change, under honest people and under others."""

from __future__ import annotations

import numpy as np
import pytest

from noutput.estimate.change import RATE_DRIFT, SHAPE_DRIFT, rate_change, shape_change


def overdispersed(means: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw counts whose variance is four times their mean."""
    return rng.poisson(rng.gamma(means / 3.0, 3.0))


@pytest.mark.parametrize("mean", [1.0, 20.0, 400.0])
def test_p_values_of_a_steady_rate_are_cautious(mean: float) -> None:
    rng = np.random.default_rng(2)
    counts = overdispersed(np.full((2_000, 7), mean), rng)
    found = np.array([rate_change(row[6], sum(row[:6]), 6) for row in counts.tolist()])
    for level in (0.1, 0.01, 0.001):
        assert (found < level).mean(axis=0).max() <= level


def test_a_rate_may_double_within_the_hour() -> None:
    rng = np.random.default_rng(3)
    for factor in (RATE_DRIFT, 1.0 / RATE_DRIFT):
        past = overdispersed(np.full(2_000, 6_000.0), rng)
        now = overdispersed(np.full(2_000, factor * 1_000.0), rng)
        pairs = zip(now.tolist(), past.tolist(), strict=True)
        found = np.array([rate_change(x, s, 6) for x, s in pairs])
        assert (found.min(axis=1) < 0.01).mean() < 0.02
    assert rate_change(3_000, 6_000, 6)[0] < 1e-6
    assert rate_change(250, 6_000, 6)[1] < 1e-6


def test_nothing_at_all_is_no_change_of_nothing() -> None:
    for now in (0, 1):
        assert min(rate_change(now, 0, 6)) > 0.01


def honest_p_values(outputs: int, size: int, before: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.ones(outputs))
    scores = np.linspace(-2.0, 2.0, outputs).tolist()
    pairs = zip(rng.multinomial(before, shares, 500), rng.multinomial(size, shares, 500),
                strict=True)  # fmt: skip
    return np.array([shape_change(a.tolist(), b.tolist(), scores).p_value for a, b in pairs])


@pytest.mark.parametrize(
    ("outputs", "size", "before"), [(2, 500, 500), (16, 500, 700), (128, 500, 500)]
)
def test_p_values_of_one_population_are_cautious(outputs: int, size: int, before: int) -> None:
    found = honest_p_values(outputs, size, before, 5)
    for level in (0.1, 0.02):
        assert (found < level).mean() <= level + 2.0 * np.sqrt(level / 500)


def test_honest_people_may_change_a_little_however_many_they_are() -> None:
    before = np.array([5, 5]) * 10**9
    moved = SHAPE_DRIFT / 2.0  # two equal shares that move by so much are at that distance
    for factor, alarming in ((0.9, False), (1.1, True)):
        block = 10**9 * np.array([0.5 + factor * moved, 0.5 - factor * moved])
        assert (shape_change(before.tolist(), block.tolist()).p_value < 1e-6) is alarming


def test_numbers_that_move_show_in_their_mean_first() -> None:
    tilt = np.linspace(-1.0, 1.0, 128)
    before = np.rint(1_000.0 * (1.0 - 0.2 * tilt)).astype(int).tolist()
    block = np.rint(100.0 * (1.0 - 0.1 * tilt)).astype(int).tolist()
    assert shape_change(before, block).p_value > 0.1
    found = shape_change(before, block, tilt.tolist())
    assert found.p_value < 0.01
    assert 0.02 < found.share < 0.05


def test_rare_outputs_are_put_together() -> None:
    before = [0] * 250 + [10_000, 10_000]
    block = [1, 1, 1, *[0] * 247, 500, 500]  # three outputs that nobody had before
    assert shape_change(before, block).p_value > 0.01
    assert shape_change([3], [5]).p_value == 1.0
    assert shape_change([1, 2], [2, 1], [0.0, 0.0]).p_value == 1.0
    assert shape_change([1, 2], [0, 0]).p_value == 1.0
