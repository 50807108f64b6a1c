"""Samplers of real reports against their density, by Kolmogorov and Smirnov."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import kstest

from noutput.mechanisms.hybrid import Hybrid
from noutput.mechanisms.piecewise import pm, pm_opt, pm_sub
from noutput.mechanisms.square_wave import square_wave
from noutput.mechanisms.window import WindowMechanism

FAMILY = {"pm": pm, "pm-sub": pm_sub, "pm-opt": pm_opt, "square-wave": square_wave}
DRAWS = 100_000
INPUTS = (-1.0, -0.35, 0.0, 0.8, 1.0)


def distribution(found: WindowMechanism, x: float, y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Integrate the density up to y: its pieces are constant."""
    left, right = found.slope * x - found.half_width, found.slope * x + found.half_width
    result = np.zeros(len(y))
    for low, high in pairwise([-found.reach, left, right, found.reach]):
        height = float(found.density((low + high) / 2.0, x))
        result += height * (np.clip(y, low, high) - low)
    return result


def p_value(found: WindowMechanism, reports: NDArray[np.float64], x: float) -> float:
    """Compare values of the distribution with uniform numbers: the test of the reports."""
    return float(kstest(distribution(found, x, reports), "uniform").pvalue)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("name", FAMILY)
def test_the_sampler_fits_its_density(name: str, epsilon: float) -> None:
    found = FAMILY[name](epsilon)
    for seed, x in enumerate(INPUTS):
        reports = found.privatize(np.full(DRAWS, x), np.random.default_rng(seed))
        assert p_value(found, reports, x) > 1e-5


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
@pytest.mark.parametrize("name", FAMILY)
def test_a_density_for_a_larger_epsilon_is_rejected(name: str, epsilon: float) -> None:
    """The wrong density keeps slope and half width, so that epsilon alone differs."""
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
    values = reports["value"][reports["part"] == 1]
    assert p_value(found.piecewise, values, -0.6) > 1e-5
