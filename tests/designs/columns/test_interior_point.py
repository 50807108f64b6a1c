"""The interior-point method against scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from noutput.designs.columns.criterion import Expansion
from noutput.designs.columns.interior_point import minimize
from noutput.designs.solution import Array

RNG = np.random.default_rng(3)
MATRIX = RNG.uniform(-1.0, 1.0, size=(4, 12))
TARGETS = MATRIX @ RNG.uniform(0.5, 1.5, size=12)
COST = RNG.uniform(0.5, 2.0, size=12)


def linear(z: Array) -> Expansion:
    return Expansion(float(COST @ z), COST, np.zeros((12, 12)))


def test_a_linear_program() -> None:
    expected = linprog(COST, A_eq=MATRIX, b_eq=TARGETS)
    found = minimize(linear, MATRIX, TARGETS, np.ones(12))
    assert found.value == pytest.approx(expected.fun, rel=1e-8)
    np.testing.assert_allclose(found.multipliers, -expected.eqlin.marginals, atol=1e-6)
    assert found.infeasibility < 1e-9


def test_a_quadratic_program_with_a_solution_inside() -> None:
    """The projection onto a plane, where no bound is active."""
    center = np.full(12, 5.0)

    def squares(z: Array) -> Expansion:
        return Expansion(float((z - center) @ (z - center)), 2.0 * (z - center), 2.0 * np.eye(12))

    found = minimize(squares, MATRIX, TARGETS, np.ones(12), tolerance=1e-10)
    moved = np.linalg.lstsq(MATRIX, TARGETS - MATRIX @ center, rcond=None)[0]
    assert (center + moved).min() > 0.0
    np.testing.assert_allclose(found.variables, center + moved, atol=1e-4)


def test_a_warm_start_has_the_same_solution() -> None:
    cold = minimize(linear, MATRIX, TARGETS, np.ones(12), tolerance=1e-3)
    found = minimize(linear, MATRIX, TARGETS, cold.variables, cold.multipliers)
    assert found.value == pytest.approx(minimize(linear, MATRIX, TARGETS, np.ones(12)).value)


def test_equations_without_a_solution_stay_violated() -> None:
    found = minimize(linear, np.ones((1, 12)), np.array([-1.0]), np.ones(12))
    assert found.infeasibility > 0.5
