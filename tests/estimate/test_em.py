from __future__ import annotations

import numpy as np
import pytest

import noutput as no
from noutput.estimate import em
from noutput.estimate.fit import mean_log_likelihood
from noutput.planner import SHAPES as SMOOTH
from tests.estimate.samples import SHAPES, Array, campaigns, reference_em, sixteen


def shares_of(epsilon: float, people: int, size: int, seed: int = 0) -> Array:
    rng = np.random.default_rng(seed)
    table = sixteen(epsilon)
    parts = [campaigns(table, shape, people, size, rng) for shape in SHAPES]
    return np.concatenate(parts) / people


@pytest.mark.parametrize("iterations", [1, 2, 15, 16, 17, 40])
@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_equals_plain_em_at_equal_iterations(epsilon: float, iterations: int) -> None:
    theta = sixteen(epsilon).transition(24)
    shares = shares_of(epsilon, 2_000, 1)
    found = em.maximize(shares, theta, np.full(3, 1e-300), max_iterations=iterations)
    assert not found.converged.any()
    assert found.iterations.tolist() == [iterations] * 3
    for row, probabilities in zip(shares, found.probabilities, strict=True):
        assert np.abs(probabilities - reference_em(row, theta, iterations)).max() < 1e-10


def histogram_after(shares: Array, theta: Array, iterations: int) -> Array:
    if not iterations:
        return np.full(len(theta), 1.0 / len(theta))
    never = np.array([1e-300])
    found = em.maximize(shares[None, :], theta, never, max_iterations=iterations)
    result: Array = found.probabilities[0]
    return result


@pytest.mark.parametrize("tolerance", [1e-3, 1e-5, 1e-7])
def test_stops_by_the_change_of_the_likelihood(tolerance: float) -> None:
    theta = sixteen(1.0).transition(64)
    shares = shares_of(1.0, 5_000, 2)
    found = em.maximize(shares, theta, np.full(6, tolerance))
    assert found.converged.all()
    for row, probabilities, steps in zip(
        shares, found.probabilities, found.iterations.tolist(), strict=True
    ):
        paths = [histogram_after(row, theta, k) for k in range(max(steps - 2, 0), steps + 1)]
        changes = np.diff([mean_log_likelihood(row, path, theta) for path in paths])
        assert np.abs(paths[-1] - probabilities).max() < 1e-12
        assert changes[-1] <= tolerance
        assert np.all(changes[:-1] > tolerance)


@pytest.mark.parametrize("smooth", [False, True])
def test_batched_equals_one_by_one(smooth: bool) -> None:
    theta = sixteen(1.0).transition(64)
    shares = shares_of(1.0, 20_000, 100)
    limit = np.geomspace(1e-7, 1e-4, 300)
    batch = em.maximize(shares, theta, limit, smooth=smooth)
    for row in range(0, 300, 7):
        one = em.maximize(shares[row : row + 1], theta, limit[row : row + 1], smooth=smooth)
        assert one.iterations[0] == batch.iterations[row]
        assert np.abs(one.probabilities[0] - batch.probabilities[row]).max() < 1e-12


def test_the_likelihood_never_falls() -> None:
    theta = sixteen(3.0).transition(32)
    shares = shares_of(3.0, 1_000, 1)[:1]
    values = [
        mean_log_likelihood(
            shares,
            em.maximize(shares, theta, np.array([1e-300]), max_iterations=k).probabilities,
            theta,
        )[0]
        for k in range(1, 60)
    ]
    assert np.diff(values).min() > -1e-14


def test_smoothing_keeps_the_mass_and_the_uniform() -> None:
    matrix = em.smoothing(7)
    assert np.allclose(matrix.sum(axis=0), 1.0)
    assert np.allclose(matrix.sum(axis=1), 1.0)
    assert matrix[3, 2:5].tolist() == [0.25, 0.5, 0.25]


def test_smoothing_gives_smoother_histograms() -> None:
    theta = sixteen(3.0).transition(64)
    shares = shares_of(3.0, 2_000, 1)
    limit = np.full(3, 1e-6)
    plain = em.maximize(shares, theta, limit).probabilities
    smooth = em.maximize(shares, theta, limit, smooth=True).probabilities
    assert np.abs(np.diff(smooth, 2)).sum() < 0.5 * np.abs(np.diff(plain, 2)).sum()


def test_certain_outputs_do_no_harm() -> None:
    """A matrix with zeros: some outputs rule out some bins."""
    theta = np.array([[1.0, 0.0, 0.0], [0.0, 0.5, 0.5]])
    found = em.maximize(np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]), theta, np.full(2, 1e-12))
    assert found.probabilities.tolist() == [[1.0, 0.0], [0.0, 1.0]]


def test_no_rows_give_no_rows() -> None:
    assert em.maximize(np.empty((0, 3)), np.full((4, 3), 1 / 3), np.empty(0)).iterations.size == 0


@pytest.mark.parametrize("shape", SMOOTH)
def test_a_fixed_tolerance_stops_too_early_with_a_million_reports(shape: str) -> None:
    """But not where the uniform start is the truth."""
    rng = np.random.default_rng(11)
    truth = SMOOTH[shape]
    table = no.design(1.0, 16).mechanism
    chances = truth @ table.transition(64)
    counts = rng.multinomial(10**6, chances / chances.sum(), size=8).tolist()
    tallies = [no.Tally(table.fingerprint, tuple(row)) for row in counts]
    early, late = (
        np.mean([no.wasserstein(each.probabilities, truth) for each in found])
        for found in (
            no.estimate_distribution(table, tallies, tolerance=1e-5),
            no.estimate_distribution(table, tallies),
        )
    )
    if shape == "even":
        assert early / late < 0.2
    else:
        assert 4.0 < early / late < 10.0
