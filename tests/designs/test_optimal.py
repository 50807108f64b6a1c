"""The optimal design: exact inner solutions, gradients, known values, monotonicity."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linprog

from noutput.designs.bound import lower_bound
from noutput.designs.optimal import optimize
from noutput.designs.optimal.best_rows import Cuts, slide, table
from noutput.designs.optimal.density import Density
from noutput.designs.optimal.linear_program import Layout, solve_fixed
from noutput.designs.optimal.refine import average_slopes
from noutput.designs.optimal.search import Candidate, Search
from noutput.designs.solution import Solution

Array = NDArray[np.float64]

REACHED = {
    1.0: {3: 4.20622, 4: 4.15405, 5: 4.0364, 7: 4.00783, 9: 3.99932, 12: 3.99583, 16: 3.99406},
    2.0: {3: 0.94276, 4: 0.89908, 5: 0.89168, 7: 0.87698, 9: 0.8699, 12: 0.86772, 16: 0.86678},
    4.0: {5: 0.14978, 8: 0.13737, 16: 0.12918},
}
SKEWED = np.array([5.0, 4, 3, 2, 1, 1, 0.5, 0])


def nested(epsilon: float, objective: str, most: int = 16) -> dict[int, Candidate]:
    return _nested(epsilon, objective, most)


@cache
def _nested(epsilon: float, objective: str, most: int) -> dict[int, Candidate]:
    search = Search(epsilon, None if objective == "worst" else Density.of(None))
    solved: dict[int, Candidate] = {}
    for n in range(2, most + 1):
        solved[n] = search.nested_step(n, solved)
    return solved


def brute_force(
    epsilon: float, outputs: Array, inputs: Array, masses: Array | None = None
) -> float:
    """Solve the textbook program with one variable per probability."""
    n, k = outputs.size, inputs.size
    growth = np.exp(epsilon)
    eye, rows = sparse.identity(n * k), sparse.kron(np.ones((k, 1)), sparse.identity(n))
    empty = sparse.csr_matrix((n * k, 1))
    moment = sparse.kron(sparse.identity(k), outputs[None, :] ** 2)
    upper = [[-eye, rows, empty], [eye, -growth * rows, empty]]
    right = [np.zeros(2 * n * k)]
    cost = np.zeros(n * k + n + 1)
    if masses is None:
        upper.append([moment, sparse.csr_matrix((k, n)), -np.ones((k, 1))])
        right.append(inputs**2)
        cost[-1] = 1.0
    else:
        cost[: n * k] = np.repeat(masses, n) * np.tile(outputs**2, k)
    equal = [
        [sparse.kron(sparse.identity(k), np.ones((1, n))), sparse.csr_matrix((k, n + 1))],
        [sparse.kron(sparse.identity(k), outputs[None, :]), sparse.csr_matrix((k, n + 1))],
    ]
    constraints: Any = sparse.bmat(upper)
    equations: Any = sparse.bmat(equal)
    result = linprog(
        cost,
        A_ub=constraints.tocsr(),
        b_ub=np.concatenate(right),
        A_eq=equations.tocsr(),
        b_eq=np.concatenate([np.ones(k), inputs]),
    )
    assert result.status == 0
    assert result.fun is not None
    return float(result.fun) - (0.0 if masses is None else float(masses @ inputs**2))


def assert_valid(solution: Solution, epsilon: float, n_outputs: int) -> None:
    rows = solution.probabilities
    assert solution.outputs.shape == (n_outputs,)
    assert np.all(np.diff(solution.outputs) > 0)
    assert np.all(np.diff(solution.knots) > 0)
    np.testing.assert_allclose(solution.knots[[0, -1]], [-1.0, 1.0], atol=1e-12)
    assert rows.shape == (solution.knots.size, n_outputs)
    np.testing.assert_allclose(rows.sum(axis=1), 1.0, atol=1e-12)
    assert np.all(rows.max(axis=0) <= np.exp(epsilon) * rows.min(axis=0) + 1e-9)
    assert rows.min() > 0


def dense_variances(solution: Solution, inputs: Array) -> Array:
    second_moments = np.interp(inputs, solution.knots, solution.second_moments)
    return np.asarray(second_moments - inputs**2)


@pytest.mark.parametrize(("epsilon", "top"), [(0.5, 5.2), (1.0, 2.8), (4.0, 1.3)])
def test_program_agrees_with_textbook_program(epsilon: float, top: float) -> None:
    layout = Layout(epsilon, 6, symmetric=True)
    free = np.array([0.2, 0.7, 1.0]) * top
    exact = solve_fixed(layout, free)
    assert exact is not None
    grid = brute_force(epsilon, layout.outputs(free), np.linspace(-1, 1, 161))
    assert grid <= exact.value * (1 + 1e-7)
    assert exact.value <= grid * (1 + 2e-3)


def test_average_program_agrees_with_textbook_program() -> None:
    layout = Layout(1.5, 5, symmetric=False)
    free = np.array([-2.4, -1.3, 0.1, 1.2, 2.2])
    inputs = np.linspace(-0.95, 1, 30)
    masses = np.arange(1.0, 31) / np.arange(1.0, 31).sum()
    exact = solve_fixed(layout, free, inputs=inputs, masses=masses)
    assert exact is not None
    ends = np.concatenate([[-1.0], inputs])
    weights = np.concatenate([[0.0], masses])
    expected = brute_force(1.5, free, ends, weights)
    assert exact.value == pytest.approx(expected, rel=1e-7)


def test_windows_are_the_best_rows() -> None:
    rng = np.random.default_rng(5)
    outputs = np.sort(rng.uniform(-3, 3, 7)) + np.array([-1, 0, 0, 0, 0, 0, 1.0])
    minima = rng.uniform(0.2, 1, 7)
    minima *= 0.4 / minima.sum()
    windows = slide(outputs, minima, 1.2)
    for x in np.linspace(windows.knots[0], windows.knots[-1], 9):
        best = linprog(
            outputs**2,
            A_eq=np.vstack([np.ones(7), outputs]),
            b_eq=[1.0, x],
            bounds=list(zip(minima, np.exp(1.2) * minima, strict=True)),
        )
        lefts, rights = np.triu_indices(7, 1)
        cuts = Cuts(outputs, 1.2, lefts, rights, np.full(lefts.size, x))
        assert best.fun == pytest.approx(float(cuts.second_moments(minima).max()), rel=1e-9)


def test_worst_gradient_matches_finite_differences() -> None:
    layout = Layout(1.0, 7, symmetric=True)
    free = np.array([1.7, 2.2, 2.75])
    optimum = solve_fixed(layout, free)
    assert optimum is not None
    minima = layout.minima(optimum.minima)
    lefts, rights = layout.pairs()

    def variances(at: Array) -> Array:
        cuts = Cuts(layout.outputs(at), 1.0, lefts, rights)
        return cuts.second_moments(minima) - cuts.inputs**2

    exact = layout.fold_outputs(
        Cuts(layout.outputs(free), 1.0, lefts, rights).output_slopes(minima)
    )
    for i, step in enumerate(np.eye(3) * 1e-6):
        numeric = (variances(free + step) - variances(free - step)) / 2e-6
        np.testing.assert_allclose(exact[:, i], numeric, atol=1e-7)


@pytest.mark.parametrize(("weights", "symmetric"), [(None, True), (SKEWED, False)])
def test_average_gradient_matches_finite_differences(
    weights: Array | None, symmetric: bool
) -> None:
    prior = Density.of(weights)
    layout = Layout(1.0, 6, symmetric)
    outputs = np.array([0.4, 1.9, 2.7]) if symmetric else np.array([-2.7, -2, -0.3, 0.5, 1.8, 2.6])
    optimum = solve_fixed(layout, outputs)
    assert optimum is not None
    minima = optimum.minima * np.linspace(0.97, 1.02, optimum.minima.size)
    _, by_outputs, by_minima = average_slopes(layout, outputs, minima, prior)
    for i, step in enumerate(np.eye(outputs.size) * 1e-6):
        high = average_slopes(layout, outputs + step, minima, prior)[0]
        low = average_slopes(layout, outputs - step, minima, prior)[0]
        assert by_outputs[i] == pytest.approx((high - low) / 2e-6, abs=2e-6)
    for i, step in enumerate(np.eye(minima.size) * 1e-7):
        high = average_slopes(layout, outputs, minima + step, prior)[0]
        low = average_slopes(layout, outputs, minima - step, prior)[0]
        assert by_minima[i] == pytest.approx((high - low) / 2e-7, abs=2e-5)


@pytest.mark.parametrize(
    "epsilon",
    [pytest.param(each, marks=pytest.mark.slow) if each != 1.0 else each for each in REACHED],
)
def test_known_values_are_reached(epsilon: float) -> None:
    for n, value in REACHED[epsilon].items():
        assert nested(epsilon, "worst")[n].value <= value * (1 + 5e-4)


@pytest.mark.parametrize(
    ("objective", "most"),
    [("worst", 16), ("average", 8), pytest.param("average", 16, marks=pytest.mark.slow)],
)
def test_value_never_increases(objective: str, most: int) -> None:
    weaker, values = (
        np.array([found.value for found in nested(epsilon, objective, most).values()])
        for epsilon in (1.0, 2.0)
    )
    for each in (weaker, values):
        assert each.size == most - 1
        assert np.all(np.diff(each) <= 1e-7 * each[1:])
    assert np.all(values < weaker)


@pytest.mark.parametrize(("epsilon", "gap"), [(1.0, 0.0015), (2.0, 0.0025), (4.0, 0.02)])
def test_sixteen_outputs_are_near_the_bound(epsilon: float, gap: float) -> None:
    bound = lower_bound(epsilon).value
    assert bound <= nested(epsilon, "worst")[16].value <= bound * (1 + gap)


@pytest.mark.slow
def test_sixty_four_outputs_are_at_the_bound() -> None:
    solution = optimize(4.0, 64)
    assert_valid(solution, 4.0, 64)
    assert solution.worst_variance <= lower_bound(4.0).value * 1.005
    assert solution.worst_variance <= nested(4.0, "worst")[16].value


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 2.0, 7.0])
def test_two_outputs_are_duchi(epsilon: float) -> None:
    solution = optimize(epsilon, 2)
    assert_valid(solution, epsilon, 2)
    assert solution.worst_variance == pytest.approx(1 / np.tanh(epsilon / 2) ** 2, rel=1e-6)


@pytest.mark.parametrize("objective", ["worst", "average"])
@pytest.mark.parametrize(("epsilon", "n"), [(0.05, 3), (0.7, 6), (3.0, 5), (12.0, 7)])
def test_solution_is_a_valid_table(objective: str, epsilon: float, n: int) -> None:
    solution = optimize(epsilon, n, "worst" if objective == "worst" else "average")
    assert_valid(solution, epsilon, n)
    np.testing.assert_allclose(solution.outputs, -solution.outputs[::-1], atol=1e-12)
    np.testing.assert_allclose(solution.probabilities, solution.probabilities[::-1, ::-1])
    inputs = np.linspace(-1, 1, 20001)
    variances = dense_variances(solution, inputs)
    if objective == "worst":
        assert variances.max() <= solution.worst_variance * (1 + 1e-9)
        assert variances.max() == pytest.approx(solution.worst_variance, rel=1e-5)
    else:
        middle = (inputs[1:] + inputs[:-1]) / 2
        expected = dense_variances(solution, middle).mean()
        assert solution.average_variance() == pytest.approx(expected, rel=1e-5)


def test_each_objective_wins_at_its_own_game() -> None:
    worst, average = optimize(2.0, 6), optimize(2.0, 6, "average")

    assert worst.worst_variance < average.worst_variance
    assert average.average_variance() < worst.average_variance()


def test_skewed_prior_gets_an_unsymmetric_mechanism() -> None:
    solution = optimize(1.0, 5, "average", SKEWED)
    assert_valid(solution, 1.0, 5)
    assert not np.allclose(solution.outputs, -solution.outputs[::-1], atol=0.01)
    mirrored = optimize(1.0, 5, "average", SKEWED[::-1])
    prior = SKEWED / SKEWED.sum()
    value = solution.average_variance(prior)
    assert value == pytest.approx(mirrored.average_variance(prior[::-1]), rel=1e-4)
    assert value < optimize(1.0, 5, "average").average_variance(prior)
    assert value >= lower_bound(1.0, "average", SKEWED).value


def test_table_is_small() -> None:
    best = nested(4.0, "worst")[16]
    _, knots, rows = table(
        best.layout.outputs(best.outputs), best.layout.minima(best.minima), 4.0, symmetric=True
    )
    weights = np.rint(rows * 2**32).astype(int).tolist()
    assert knots.size <= 33
    assert len(json.dumps(weights)) < 12_000


def test_a_neighbor_never_hurts() -> None:
    cold = optimize(1.02, 5)
    warm = optimize(1.02, 5, start=np.asarray(optimize(1.0, 5).outputs))
    assert warm.worst_variance <= cold.worst_variance * (1 + 1e-9)
    assert_valid(warm, 1.02, 5)


def test_progress_rises_to_one() -> None:
    seen: list[float] = []
    optimize(1.0, 5, progress=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 1.0


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ((0.01, 4), "epsilon"),
        ((float("nan"), 4), "epsilon"),
        ((1.0, 1), "n_outputs"),
        ((1.0, 4, "median"), "objective"),
        ((1.0, 4, "worst", np.ones(3)), "prior"),
        ((1.0, 4, "average", np.array([1.0, -1])), "prior"),
    ],
)
def test_bad_arguments_are_named(arguments: tuple[object, ...], name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} must .* found"):
        optimize(*arguments)  # type: ignore[arg-type]
