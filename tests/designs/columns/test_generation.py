"""Column generation against independent solvers that know all columns."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog, minimize

import noutput as no
from noutput.designs.columns import (
    HistogramError,
    Moments,
    Optimal,
    Problem,
    cumulative_error,
    pricing,
    solve,
)
from noutput.designs.columns.pricing import subsets
from noutput.designs.solution import Array

EPSILON = 1.0
CELLS = 4
INPUTS = np.array([-1.0, -0.3, 0.3, 1.0])
MOMENTS = Moments(INPUTS, INPUTS**2)
SHARES = np.array([[0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4]])
CRITERION = HistogramError(
    SHARES, np.full(2, 40.0), np.full(2, 0.5), cumulative_error(CELLS), 5.0 * np.eye(3)
)
MEMBERS = subsets(np.arange(1, 15), CELLS)
ENTRIES = 1.0 + np.expm1(EPSILON) * MEMBERS


def _check_table(found: Optimal, limit: float | None) -> None:
    """The table is private, and has the moments."""
    table, outputs = found.table, found.columns.outputs
    np.testing.assert_allclose(table.sum(axis=1), 1.0, atol=1e-8)
    assert np.all(table.max(axis=0) <= np.exp(EPSILON) * table.min(axis=0) * (1 + 1e-12))
    if limit is not None:
        np.testing.assert_allclose(table @ outputs, INPUTS, atol=1e-7)
        assert (table @ outputs**2 - INPUTS**2).max() <= limit + 1e-7


def test_the_least_variance_is_that_of_all_columns_on_a_grid() -> None:
    grid = np.linspace(-4.0, 4.0, 161)
    entries, outputs = np.repeat(ENTRIES, len(grid), axis=0), np.tile(grid, len(ENTRIES))
    second = np.column_stack([(entries * outputs[:, None] ** 2).T, -np.ones(CELLS)])
    both = np.concatenate([entries.T, (entries * outputs[:, None]).T])
    expected = linprog(
        np.append(np.zeros(len(outputs)), 1.0),
        A_ub=second,
        b_ub=INPUTS**2,
        A_eq=np.column_stack([both, np.zeros(2 * CELLS)]),
        b_eq=np.concatenate([np.ones(CELLS), INPUTS]),
    )
    found = solve(Problem(EPSILON, CELLS, moments=MOMENTS), tolerance=1e-6)
    assert found.bound is not None
    assert found.bound <= found.value <= found.bound * (1 + 1e-6)
    assert expected.fun is not None
    assert found.bound <= expected.fun
    assert found.value == pytest.approx(expected.fun, rel=1e-3)  # the grid's spacing
    _check_table(found, found.value)


def _independent(limit: float) -> float:
    """Minimize over one weight and one mean per subset, where second moments are convex."""
    n = len(ENTRIES)

    def rows(z: Array) -> Array:
        return np.concatenate([z[:n] @ ENTRIES - 1.0, z[n:] @ ENTRIES - INPUTS])

    def room(z: Array) -> Array:
        result: Array = INPUTS**2 + limit - (z[n:] ** 2 / z[:n]) @ ENTRIES
        return result

    both = np.zeros((2 * CELLS, 2 * n))
    both[:CELLS, :n], both[CELLS:, n:] = ENTRIES.T, ENTRIES.T

    def room_slopes(z: Array) -> Array:
        ratios = z[n:] / z[:n]
        factors = np.append(ratios**2, -2.0 * ratios)
        result: Array = (factors[:, None] * np.tile(ENTRIES, (2, 1))).T
        return result

    def objective(z: Array) -> tuple[float, Array]:
        gradient = CRITERION.expand(ENTRIES, z[:n]).gradient
        return CRITERION.value((ENTRIES * z[:n, None]).T), np.append(gradient, np.zeros(n))

    start = np.append(np.full(n, 1.0 / ENTRIES.sum(axis=0)[0]), np.zeros(n))
    # the type stubs know scalar constraints only
    constraints: Any = [
        {"type": "eq", "fun": rows, "jac": lambda _z: both},
        {"type": "ineq", "fun": room, "jac": room_slopes},
    ]
    found = minimize(
        objective,
        start,
        jac=True,
        method="SLSQP",
        bounds=[(1e-6, 1.0)] * n + [(-10.0, 10.0)] * n,
        constraints=constraints,
        options={"maxiter": 300, "ftol": 1e-8},
    )
    assert found.success
    return float(found.fun)


def test_the_balance_is_that_of_an_independent_solver() -> None:
    limit = 4.0
    problem = Problem(EPSILON, CELLS, CRITERION, replace(MOMENTS, variance=limit))
    found = solve(problem, tolerance=1e-4)
    assert found.gap is not None
    assert 0.0 <= found.gap <= 1e-4
    assert found.value == pytest.approx(CRITERION.value(found.table), rel=1e-9)
    assert found.value == pytest.approx(_independent(limit), rel=2e-4)
    _check_table(found, limit)


def test_labels_need_no_mean() -> None:
    """Three answers, shares equal: the best table is randomized response."""
    criterion = HistogramError(np.full((1, 3), 1 / 3), np.ones(1), np.ones(1), np.eye(3))
    found = solve(Problem(EPSILON, 3, criterion), tolerance=1e-7)
    e = np.exp(EPSILON)
    response = (np.ones((3, 3)) + (e - 1.0) * np.eye(3)) / (e + 2.0)
    assert found.value == pytest.approx(criterion.value(response), rel=1e-7)
    assert found.columns.members[found.weights > 1e-3].sum(axis=1).tolist() == [1, 1, 1]


def test_the_local_search_finds_the_same_and_proves_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problem = Problem(EPSILON, CELLS, CRITERION, replace(MOMENTS, variance=4.0))
    enumerated = solve(problem, tolerance=1e-3)
    monkeypatch.setattr(pricing, "MOST_ENUMERATED", 3)
    searched = solve(problem, enumerated.columns, tolerance=1e-3, rounds=5)
    assert searched.bound is None
    assert searched.gap is None
    assert searched.value == pytest.approx(enumerated.value, rel=2e-3)


def test_a_variance_below_the_least_is_refused() -> None:
    problem = Problem(EPSILON, CELLS, CRITERION, replace(MOMENTS, variance=1.0))
    with pytest.raises(no.DesignError, match=r"worst-case variance of 1\.0: the least is 3\."):
        solve(problem)


def test_columns_without_a_feasible_table_are_refused() -> None:
    problem = Problem(EPSILON, CELLS, CRITERION, replace(MOMENTS, variance=5.0))
    start = solve(Problem(EPSILON, CELLS, CRITERION)).columns
    with pytest.raises(no.DesignError, match="no table of the given columns"):
        solve(problem, start, rounds=1)


def test_problems_that_ask_for_nothing_are_refused() -> None:
    with pytest.raises(no.InvalidArgumentError, match="criterion must be given"):
        Problem(EPSILON, CELLS, moments=replace(MOMENTS, variance=5.0))
    with pytest.raises(no.InvalidArgumentError, match="moments must have one input per row, 5"):
        Problem(EPSILON, CELLS + 1, moments=MOMENTS)
    with pytest.raises(no.InvalidArgumentError, match="squares must have one number per input"):
        Moments(INPUTS, np.ones(2))
