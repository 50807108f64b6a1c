from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from noutput.estimate import em, maximum
from noutput.estimate.fit import mean_log_likelihood
from tests.estimate.samples import EPSILONS, SHAPES, Array, campaigns, sixteen

GAP = 1e-9


def problems(epsilon: float, people: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(people)
    table = sixteen(epsilon)
    rows = [campaigns(table, shape, people, 10, rng) for shape in SHAPES]
    return np.concatenate(rows) / people, table.transition(64)


@pytest.mark.parametrize("people", [3, 200, 50_000, 10**7])
@pytest.mark.parametrize("epsilon", [*EPSILONS, 6.0])
def test_reaches_the_maximum_and_proves_it(epsilon: float, people: int) -> None:
    shares, theta = problems(epsilon, people)
    found = maximum.maximize(shares, theta, np.full(30, GAP))
    assert found.converged.all()
    assert found.probabilities.min() >= 0.0
    assert np.abs(found.probabilities.sum(axis=1) - 1.0).max() < 1e-12
    gaps = maximum.likelihood_gap(shares, found.probabilities, theta)
    assert gaps.max() <= GAP


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_beats_em_in_a_tenth_of_the_iterations(epsilon: float) -> None:
    shares, theta = problems(epsilon, 20_000)
    found = maximum.maximize(shares, theta, np.full(30, GAP))
    plain = em.maximize(shares, theta, np.full(30, 1e-10))
    reached = mean_log_likelihood(shares, found.probabilities, theta)
    assert np.all(reached >= mean_log_likelihood(shares, plain.probabilities, theta))
    assert np.all(found.iterations <= plain.iterations / 10)


def test_agrees_with_a_general_solver() -> None:
    shares, theta = problems(1.0, 500)
    theta = theta.reshape(8, 8, -1).mean(axis=1)

    def loss(f: Array) -> float:
        p = np.exp(f - f.max())
        return -float(mean_log_likelihood(shares[0], p / p.sum(), theta))

    general = min(
        minimize(loss, start, method="BFGS", options={"gtol": 1e-10}).fun
        for start in np.random.default_rng(1).standard_normal((4, 8))
    )
    found = maximum.maximize(shares[:1], theta, np.array([GAP])).probabilities[0]
    assert -mean_log_likelihood(shares[0], found, theta) <= general + 1e-9
    assert -mean_log_likelihood(shares[0], found, theta) >= general - 1e-5


def test_batched_equals_one_by_one() -> None:
    shares, theta = problems(1.0, 5_000)
    batch = maximum.maximize(shares, theta, np.full(30, GAP))
    for row in range(30):
        one = maximum.maximize(shares[row : row + 1], theta, np.array([GAP]))
        assert one.iterations[0] == batch.iterations[row]
        chances = one.probabilities[0] @ theta
        assert np.abs(chances - batch.probabilities[row] @ theta).max() < 1e-12


def test_the_gap_bounds_what_is_missing() -> None:
    shares, theta = problems(1.0, 1_000)
    best = maximum.maximize(shares, theta, np.full(30, 1e-9)).probabilities
    top = mean_log_likelihood(shares, best, theta)
    rough = em.maximize(shares, theta, np.full(30, 1e-4)).probabilities
    missing = top - mean_log_likelihood(shares, rough, theta)
    assert np.all(missing <= maximum.likelihood_gap(shares, rough, theta) + 1e-12)


def test_says_so_when_it_ran_out_of_steps() -> None:
    shares, theta = problems(1.0, 1_000)
    found = maximum.maximize(shares, theta, np.full(30, GAP), max_iterations=2)
    assert not found.converged.any()
    assert np.isfinite(found.probabilities).all()


def test_certain_outputs_do_no_harm() -> None:
    theta = np.array([[1.0, 0.0, 0.0], [0.0, 0.5, 0.5]])
    shares = np.array([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]])
    found = maximum.maximize(shares, theta, np.full(2, GAP))
    assert np.allclose(found.probabilities, [[1.0, 0.0], [0.5, 0.5]], atol=1e-6)
