from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from noutput.mechanisms.piecewise import pm, pm_opt, pm_sub
from noutput.mechanisms.window import WindowMechanism

epsilons = st.floats(0.01, 10.0)


def rounding(found: WindowMechanism) -> float:
    """What rounding the window to whole points and the weights to whole units may change."""
    return 1.0 / found.grid.window + 4.0 / (found.grid.inside - found.grid.outside)


def closed_form(t: float, epsilon: float) -> float:
    c = math.exp(epsilon)
    return (t + 1) / (c - 1) + (t + c) * ((t + 1) ** 3 + c - 1) / (3 * t**2 * (c - 1) ** 2)


@given(epsilon=epsilons)
def test_worst_variances_have_the_closed_form(epsilon: float) -> None:
    for make, share in ((pm, 1 / 2), (pm_sub, 1 / 3)):
        value = closed_form(math.exp(epsilon * share), epsilon)
        found = make(epsilon)
        assert found.worst_variance() == pytest.approx(value, rel=rounding(found))


@given(epsilon=epsilons)
def test_the_density_is_the_published_one(epsilon: float) -> None:
    c, t = math.exp(epsilon), math.exp(epsilon / 2)
    found = pm(epsilon)
    density = t * (c - 1) / (2 * (c + t) ** 2)
    assert found.outside_density == pytest.approx(density, rel=rounding(found))
    right = (c + t) * (t + 1) / (t * (c - 1))
    assert found.reach == pytest.approx(right, rel=1e-9)
    assert found.gain == pytest.approx(1.0, rel=rounding(found))


@given(epsilon=epsilons)
def test_pm_opt_is_the_best_of_the_family(epsilon: float) -> None:
    c = math.exp(epsilon)
    found = pm_opt(epsilon)
    t = found.slope / found.half_width
    assert abs(t**4 + 2 * c * t**3 - 2 * c * t - c * c) < 1e-12 * 4 * c * c * t**3
    best = minimize_scalar(
        lambda ratio: closed_form(ratio, epsilon), bounds=(1.0, c), method="bounded"
    )
    assert found.worst_variance() <= best.fun * (1.0 + 2e-9)
    others = min(pm(epsilon).worst_variance(), pm_sub(epsilon).worst_variance())
    assert found.worst_variance() <= others * (1.0 + 2e-9)
