from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from noutput.designs.paper import analytical, numerical
from noutput.designs.paper.nonlinear_program import NonlinearProgram, norm
from noutput.designs.paper.numerical import solve
from noutput.designs.solution import Array, Solution
from noutput.errors import DesignError
from noutput.mechanisms.moments import average_variance
from noutput.mechanisms.quantize import quantize

UNIFORM = np.ones(1)
SLANTED = np.arange(1.0, 7.0) / 21.0


@cache
def worst(epsilon: float, n_outputs: int) -> Solution:
    return solve(epsilon, n_outputs)


@cache
def average(epsilon: float, n_outputs: int) -> Solution:
    return solve(epsilon, n_outputs, r=1.0)


def objective(table: Solution, r: float, prior: Array = UNIFORM) -> float:
    knots = table.probabilities @ table.outputs
    return norm(knots, table.probabilities @ table.outputs**2, r, prior)[0]


def assert_private_and_unbiased(table: Solution, epsilon: float) -> None:
    rows, knots = table.probabilities, table.probabilities @ table.outputs
    n = len(table.outputs)
    assert rows.shape == (n + 1 - n % 2, n)
    np.testing.assert_allclose(rows.sum(axis=1), 1.0, atol=1e-12)
    assert np.all(rows.max(axis=0) <= math.exp(epsilon) * rows.min(axis=0) * (1.0 + 1e-9))
    assert np.all(np.diff(table.outputs) > 0.0)
    assert np.all(np.diff(knots) > 0.0)
    np.testing.assert_allclose(knots[[0, -1]], [-1.0, 1.0], atol=1e-12)


@pytest.mark.parametrize(
    ("epsilon", "n_outputs", "value"),
    [
        (1.0, 5, 4.04876),
        (1.0, 7, 4.01423),
        (0.5, 6, 16.06447),
        (0.5, 8, 16.04217),
        (2.0, 4, 0.92393),
    ],
)
def test_reaches_independently_computed_variances(
    epsilon: float, n_outputs: int, value: float
) -> None:
    solution = worst(epsilon, n_outputs)
    assert solution.converged
    assert solution.iterations > 0
    assert solution.worst_variance <= value * (1.0 + 1e-5)
    assert_private_and_unbiased(solution, epsilon)


def test_outputs_of_the_papers_figure() -> None:
    np.testing.assert_allclose(worst(1.0, 5).outputs[3:], [1.849, 2.567], atol=2e-3)


@pytest.mark.parametrize(
    ("epsilon", "n_outputs"), [(0.05, 2), (0.05, 5), (0.5, 3), (1.0, 4), (3.0, 6), (10.0, 7)]
)
def test_is_ready_for_the_quantizer_and_no_worse_than_the_analytical_design(
    epsilon: float, n_outputs: int
) -> None:
    table = worst(epsilon, n_outputs)
    assert_private_and_unbiased(table, epsilon)
    mechanism = quantize(epsilon, table.outputs, table.probabilities)
    assert mechanism.worst_variance() == pytest.approx(table.worst_variance, rel=1e-6)
    try:
        bound = analytical.solve(epsilon, n_outputs).worst_variance
    except DesignError:
        return
    assert table.worst_variance <= bound * (1.0 + 1e-8)


def test_two_outputs_are_duchis() -> None:
    edge = (math.e + 1.0) / (math.e - 1.0)
    np.testing.assert_allclose(solve(1.0, 2).outputs, [-edge, edge], rtol=1e-6)


def test_more_outputs_are_never_worse() -> None:
    values = [worst(1.0, n).worst_variance for n in range(2, 8)]
    assert np.all(np.diff(values) <= 1e-6)


@pytest.mark.parametrize(("epsilon", "n_outputs"), [(0.1, 4), (1.0, 5), (4.0, 6)])
def test_each_objective_is_best_at_its_own_design(epsilon: float, n_outputs: int) -> None:
    fair, robust = average(epsilon, n_outputs), worst(epsilon, n_outputs)
    assert_private_and_unbiased(fair, epsilon)
    assert objective(fair, 1.0) <= objective(robust, 1.0)
    assert robust.worst_variance <= fair.worst_variance


def test_norms_lie_between_average_and_worst() -> None:
    orders = (1.0, 2.0, 8.0)
    tables = [solve(1.0, 4, r=r) for r in orders]
    values = [objective(table, r) for table, r in zip(tables, orders, strict=True)]
    values.append(worst(1.0, 4).worst_variance)
    assert np.all(np.diff(values) > 0.0)


@pytest.mark.parametrize(("epsilon", "n_outputs"), [(0.1, 4), (1.0, 5), (5.0, 4)])
def test_a_slanted_prior_is_used(epsilon: float, n_outputs: int) -> None:
    table = solve(epsilon, n_outputs, 1.0, SLANTED)
    assert_private_and_unbiased(table, epsilon)
    fair = average(epsilon, n_outputs)
    assert objective(table, 1.0, SLANTED) < objective(fair, 1.0, SLANTED)


def test_a_prior_may_leave_bins_empty() -> None:
    table = solve(2.0, 4, 1.0, np.array([0.0, 0.0, 0.3, 0.7, 0.0]))
    assert_private_and_unbiased(table, 2.0)


def test_average_is_the_exact_integral() -> None:
    table = worst(1.0, 5)
    knots, moments = table.probabilities @ table.outputs, table.probabilities @ table.outputs**2
    exact = average_variance(knots, moments, SLANTED)
    assert norm(knots, moments, 1.0, SLANTED)[0] == pytest.approx(exact, rel=1e-12)


def test_large_norms_approach_the_maximum() -> None:
    table = worst(1.0, 5)
    assert objective(table, 1e5) == pytest.approx(table.worst_variance, rel=1e-3)


@pytest.mark.parametrize("n_outputs", [4, 5])
@pytest.mark.parametrize(
    ("r", "prior"), [(math.inf, UNIFORM), (1.0, UNIFORM), (3.5, UNIFORM), (2.0, SLANTED)]
)
def test_derivatives_match_finite_differences(n_outputs: int, r: float, prior: Array) -> None:
    table = numerical._piecewise(1.0, n_outputs, 0.2, 0.9)
    program = NonlinearProgram(1.0, n_outputs, r, prior, 5.0)
    start = program.encode(table)
    at = start + 0.01 * np.random.default_rng(5).uniform(-1.0, 1.0, start.size)
    assert program.symmetric == (prior is UNIFORM)
    for function, jacobian in (
        (lambda z: program.objective(z)[0], lambda z: program.objective(z)[1]),
        (program.equations, program.equations_jacobian),
        (program.inequalities, program.inequalities_jacobian),
    ):
        numeric = approx_fprime(at, function, 1e-7)
        np.testing.assert_allclose(jacobian(at), numeric, rtol=2e-4, atol=2e-4)


def test_variables_and_tables_correspond() -> None:
    table = analytical.solve(3.0, 4)
    program = NonlinearProgram(3.0, 4, math.inf, UNIFORM, 1.0)
    variables = program.encode(table)
    np.testing.assert_allclose(program.table(variables).outputs, table.outputs, rtol=1e-12)
    np.testing.assert_allclose(
        program.table(variables).probabilities, table.probabilities, atol=1e-12
    )
    np.testing.assert_allclose(program.equations(variables), 0.0, atol=1e-9)


def test_says_so_where_no_start_is_feasible(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numerical, "_FEASIBLE", -1.0)
    with pytest.raises(DesignError, match=r"epsilon = 1.0, n_outputs = 2: .* violated by \d"):
        solve(1.0, 4)


def test_repair_restores_row_sums_and_ratios() -> None:
    exact = analytical.solve(1.0, 3)
    noise = 1e-6 * np.random.default_rng(3).uniform(-1.0, 1.0, exact.probabilities.shape)
    table = numerical._repair(Solution(exact.outputs, exact.probabilities + noise), math.exp(-1.0))
    assert_private_and_unbiased(table, 1.0)
    assert table.worst_variance == pytest.approx(exact.worst_variance, rel=1e-4)
