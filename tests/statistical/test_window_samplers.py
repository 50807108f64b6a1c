"""Samplers of windows against the law of their grid."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chisquare, kstest

from noutput.mechanisms.grid import WindowGrid
from noutput.mechanisms.hybrid import Hybrid
from noutput.mechanisms.piecewise import pm, pm_opt, pm_sub
from noutput.mechanisms.square_wave import square_wave
from noutput.mechanisms.window import WindowMechanism

FAMILY = {"pm": pm, "pm-sub": pm_sub, "pm-opt": pm_opt, "square-wave": square_wave}
DRAWS = 100_000
INPUTS = (-1.0, -0.35, 0.0, 0.8, 1.0)


def distribution(grid: WindowGrid, x: float, points: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the share of the points up to the middle of each, of 2^24: as good as continuous."""
    order, back = np.unique(points, return_inverse=True)
    bounds = np.concatenate([[0.0], order + 0.5, [float(grid.points)]])
    return np.asarray(np.cumsum(grid.masses(bounds, np.array(x)))[back])


def p_value(found: WindowMechanism, reports: NDArray[np.float64], x: float) -> float:
    """Compare values of the distribution with uniform numbers: the test of the reports."""
    shares = distribution(found.grid, x, found.points_of(reports))
    return float(kstest(shares, "uniform").pvalue)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("name", FAMILY)
def test_the_sampler_fits_its_grid(name: str, epsilon: float) -> None:
    found = FAMILY[name](epsilon)
    for seed, x in enumerate(INPUTS):
        reports = found.privatize(np.full(DRAWS, x), np.random.default_rng(seed))
        assert p_value(found, reports, x) > 1e-5


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
@pytest.mark.parametrize("name", FAMILY)
def test_a_grid_for_a_larger_epsilon_is_rejected(name: str, epsilon: float) -> None:
    """The wrong grid keeps slope and half width, so that epsilon alone differs."""
    found = FAMILY[name](epsilon)
    wrong = WindowMechanism(1.2 * epsilon, found.slope, found.half_width)
    for x in (-1.0, 0.0, 1.0):
        reports = found.privatize(np.full(DRAWS, x), np.random.default_rng(1))
        assert p_value(wrong, reports, x) < 1e-9


@pytest.mark.parametrize("name", FAMILY)
def test_secure_reports_fit_too(name: str) -> None:
    """Unseeded on purpose; a right sampler fails once in a hundred million runs."""
    found = FAMILY[name](1.0)
    assert p_value(found, found.privatize(np.full(DRAWS, 0.3)), 0.3) > 1e-8


def test_the_piecewise_part_of_the_hybrid_fits() -> None:
    found = Hybrid(2.0)
    reports = found.privatize(np.full(DRAWS, -0.6), np.random.default_rng(1))
    values = reports["value"][reports["part"] == 1] * found.piecewise.gain
    assert p_value(found.piecewise, values, -0.6) > 1e-5


# A grid of 64 points shows what no test of 2^24 can: single points, and how positions are rounded.
SMALL = WindowGrid.fitted(2.0, 0.3, points=64)


def always_down(grid: WindowGrid, x: NDArray[np.float64], words: Any) -> NDArray[np.int64]:
    """Cut the fraction of the position off."""
    return grid.draw(x, np.zeros(len(x), np.uint64), words[1::2])


def to_the_nearest(grid: WindowGrid, x: NDArray[np.float64], words: Any) -> NDArray[np.int64]:
    """Round the position without randomness."""
    return grid.draw(x, np.full(len(x), 1 << 63, np.uint64), words[1::2])


def as_it_is(grid: WindowGrid, x: NDArray[np.float64], words: Any) -> NDArray[np.int64]:
    return grid.draw(x, words[0::2], words[1::2])


def fit(grid: WindowGrid, drawn: NDArray[np.int64], x: float) -> float:
    shares = grid.probability(np.arange(grid.points), np.array(x))
    counts = np.bincount(drawn, minlength=grid.points)
    return float(chisquare(counts, shares / shares.sum() * len(drawn)).pvalue)


def draws(sampler: Any, grid: WindowGrid, x: float) -> NDArray[np.int64]:
    words = np.random.default_rng(5).integers(0, 1 << 64, 2 * DRAWS, np.uint64)
    return np.asarray(sampler(grid, np.full(DRAWS, x), words))


@pytest.mark.parametrize("x", [*INPUTS, 0.31, -0.99])
def test_every_point_is_drawn_as_often_as_it_should(x: float) -> None:
    assert fit(SMALL, draws(as_it_is, SMALL, x), x) > 1e-5


@pytest.mark.parametrize("wrong", [always_down, to_the_nearest])
def test_another_rounding_of_the_position_is_rejected(wrong: Any) -> None:
    x = 2.0 * 20.6 / (SMALL.points - SMALL.window) - 1.0  # position 20.6
    assert fit(SMALL, draws(as_it_is, SMALL, x), x) > 1e-5
    assert fit(SMALL, draws(wrong, SMALL, x), x) < 1e-12


def test_a_window_of_another_width_or_weight_is_rejected() -> None:
    wider = WindowGrid.fitted(2.0, 0.32, points=64)
    louder = WindowGrid.fitted(2.1, 0.3, points=64)
    moved = replace(SMALL, epsilon=2.5)  # same weights: another claim changes nothing
    for wrong, rejected in ((wider, True), (louder, True), (moved, False)):
        assert (fit(SMALL, draws(as_it_is, wrong, 0.2), 0.2) < 1e-9) is rejected
