"""The error of a histogram: its value, and its derivatives."""

from __future__ import annotations

import numpy as np
import pytest

import noutput as no
from noutput.designs.columns import HistogramError, cumulative_error
from noutput.designs.solution import Array

RNG = np.random.default_rng(7)
CELLS = 4
CRITERION = HistogramError(
    RNG.dirichlet(np.ones(CELLS), size=2),
    np.array([30.0, 200.0]),
    np.array([0.3, 0.7]),
    cumulative_error(CELLS),
    np.diag([2.0, 3.0, 4.0]),
)
ENTRIES = 1.0 + 2.0 * RNG.integers(2, size=(9, CELLS + 1)).astype(float)
WEIGHTS = RNG.uniform(0.01, 0.1, size=9)


def value(weights: Array) -> float:
    return CRITERION.value((ENTRIES * weights[:, None]).T)


def test_the_value_of_randomized_response() -> None:
    """Two answers: the variance of the share among n reports is known in closed form."""
    epsilon, share, people = 1.0, 0.3, 50.0
    truth = np.exp(epsilon) / (1.0 + np.exp(epsilon))
    table = np.array([[truth, 1.0 - truth], [1.0 - truth, truth]])
    criterion = HistogramError(
        np.array([[share, 1.0 - share]]), np.array([people]), np.ones(1), cumulative_error(2)
    )
    seen = share * truth + (1.0 - share) * (1.0 - truth)
    expected = seen * (1.0 - seen) / people / (2.0 * truth - 1.0) ** 2
    assert criterion.value(table) == pytest.approx(expected, rel=1e-12)


def test_the_expansion_has_the_value_of_the_table() -> None:
    assert CRITERION.expand(ENTRIES, WEIGHTS).value == pytest.approx(value(WEIGHTS), rel=1e-12)


def test_derivatives_are_exact() -> None:
    found = CRITERION.expand(ENTRIES, WEIGHTS)
    step = 1e-6
    for place, unit in enumerate(np.eye(len(WEIGHTS))):
        up, down = WEIGHTS + step * unit, WEIGHTS - step * unit
        slope = (value(up) - value(down)) / (2.0 * step)
        assert found.gradient[place] == pytest.approx(slope, rel=1e-6)
        ahead, behind = (CRITERION.expand(ENTRIES, each).gradient for each in (up, down))
        curvature = (ahead - behind) / (2.0 * step)
        np.testing.assert_allclose(found.hessian[place], curvature, rtol=1e-5, atol=1e-6)


def test_slopes_of_further_columns_are_the_gradient() -> None:
    table = (ENTRIES * WEIGHTS[:, None]).T
    found = CRITERION.slopes(table, ENTRIES)
    expected = CRITERION.expand(ENTRIES, WEIGHTS).gradient
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", ["people", "weights", "error", "precision", "populations"])
def test_wrong_shapes_are_refused(name: str) -> None:
    parts = {
        "populations": np.full((2, 3), 1 / 3),
        "people": np.ones(2),
        "weights": np.ones(2),
        "error": np.eye(3),
        "precision": np.eye(2),
    }
    parts[name] = parts[name] * 2.0 if name == "populations" else np.ones(5)
    with pytest.raises(no.InvalidArgumentError, match=f"{name} must"):
        HistogramError(**parts)
