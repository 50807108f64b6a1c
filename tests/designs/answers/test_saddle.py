"""The best table for the worst population, against closed forms and other solvers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import Bounds, NonlinearConstraint, linprog, minimize

from noutput.designs.answers.bound import find_bound
from noutput.designs.answers.error import worst_error
from noutput.designs.answers.objective import AnswerObjective
from noutput.designs.answers.saddle import Aim, restricted, solve, worst_population
from noutput.designs.columns.pricing import subsets
from noutput.mechanisms.answer_baselines import answer_mechanism

SCORES = (-1.0, 0.0, 1.0)


@pytest.mark.parametrize("epsilon", [0.25, 1.0, 4.0])
def test_nothing_beats_randomized_response_to_yes_or_no(epsilon: float) -> None:
    shares = AnswerObjective("shares", 2)
    odds = math.exp(epsilon)
    exact = 2.0 * odds / (odds - 1.0) ** 2  # two shares, each with p q / (p - q)^2
    assert find_bound(epsilon, shares).value == pytest.approx(exact, rel=1e-6)
    found = solve(epsilon, Aim(shares.factor))
    assert found.value == pytest.approx(exact, rel=1e-4)
    assert worst_error(
        answer_mechanism("direct-encoding", epsilon, 2).table(), Aim(shares.factor)
    ) == (pytest.approx(exact, rel=1e-6))


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
@pytest.mark.parametrize("k", [3, 5])
def test_the_bound_of_shares_is_that_of_subset_selection(k: int, epsilon: float) -> None:
    shares = AnswerObjective("shares", k)
    table = answer_mechanism("subset-selection", epsilon, k).table()
    bound = find_bound(epsilon, shares).value
    assert bound <= worst_error(table, Aim(shares.factor)) <= bound * (1.0 + 1e-6)
    assert solve(epsilon, Aim(shares.factor)).value == pytest.approx(bound, rel=1e-4)


def test_the_mean_of_three_answers_is_a_linear_program() -> None:
    """Minimize V: the variance of every row's decoded output, over outputs on a fine grid."""
    epsilon = 1.0
    grid = np.linspace(-3.0, 3.0, 601)
    columns = 1.0 + np.expm1(epsilon) * subsets(np.arange(1, 7), 3)
    entries, outputs = np.repeat(columns, len(grid), axis=0).T, np.tile(grid, 6)
    sums = np.vstack([entries, entries * outputs])
    found = linprog(
        np.append(np.zeros(len(outputs)), 1.0),
        A_ub=np.hstack([entries * outputs**2, -np.ones((3, 1))]),
        b_ub=np.square(SCORES),
        A_eq=np.hstack([sums, np.zeros((6, 1))]),
        b_eq=np.concatenate([np.ones(3), SCORES]),
    )
    bound = find_bound(epsilon, AnswerObjective("mean", 3, SCORES)).value
    assert bound == pytest.approx(found.fun, rel=1e-3)
    assert found.fun is not None
    assert bound <= found.fun


def test_another_solver_finds_the_same_table_for_three_answers() -> None:
    """All six columns; the worst of a grid of populations; a general solver."""
    factor = AnswerObjective("cdf", 3).factor
    columns = 1.0 + np.expm1(1.0) * subsets(np.arange(1, 7), 3)
    shares = np.linspace(0.0, 1.0, 11)
    populations = np.array([(a, b, 1.0 - a - b) for a in shares for b in shares if a + b <= 1.0])

    def errors(weights: NDArray[np.float64]) -> NDArray[np.float64]:
        scale = weights / (populations @ columns.T)
        information = np.einsum("pj,ja,jb->pab", scale, columns, columns)
        whole = np.sum((np.linalg.inv(information) @ factor) * factor, axis=(1, 2))
        return np.asarray(whole - populations @ np.square(factor).sum(axis=1))

    start = np.append(np.full(6, 1.0 / columns.sum(axis=0)[0]), 3.0)
    general: Any = minimize  # its stubs know no list of constraints
    found = general(
        lambda z: float(z[-1]),
        start,
        method="SLSQP",
        bounds=Bounds(1e-9, np.inf),
        constraints=[
            NonlinearConstraint(lambda z: columns.T @ z[:-1], 1.0, 1.0),
            NonlinearConstraint(lambda z: z[-1] - errors(z[:-1]), 0.0, np.inf),
        ],
    )
    assert solve(1.0, Aim(factor)).value == pytest.approx(found.fun, rel=2e-3)


def test_the_worst_population_is_worse_than_others() -> None:
    factor = AnswerObjective("cdf", 5).factor
    table = solve(2.0, Aim(factor)).table
    worst = worst_error(table, Aim(factor))
    rng = np.random.default_rng(3)
    for population in [*rng.dirichlet(np.full(5, 0.4), 40), *np.eye(5)]:
        shares = population @ table
        inverse = np.linalg.inv((table / shares) @ table.T)
        error = np.sum((inverse @ factor) * factor) - population @ np.square(factor).sum(axis=1)
        assert error <= worst * (1.0 + 1e-9)
    assert worst_population(table, Aim(factor)).sum() == pytest.approx(1.0)


@pytest.mark.parametrize("epsilon", [0.25, 1.0, 4.0])
def test_tables_are_private_and_complete(epsilon: float) -> None:
    found = solve(epsilon, Aim(AnswerObjective("cdf", 6).factor))
    assert found.table.sum(axis=1) == pytest.approx(np.ones(6), abs=1e-8)
    ratio = found.table.max(axis=0) / found.table.min(axis=0)
    assert ratio.max() <= math.exp(epsilon) * (1.0 + 1e-12)


def test_fewer_columns_cannot_be_better() -> None:
    aim = Aim(AnswerObjective("cdf", 5).factor)
    best = solve(1.0, aim)
    few = restricted(1.0, aim, best.members[np.argsort(-best.weights)[:8]], 1e-6)
    assert few.value >= best.value * (1.0 - 1e-4)
