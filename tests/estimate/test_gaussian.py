from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from noutput.estimate import em, gaussian
from noutput.estimate.distance import wasserstein
from tests.estimate.samples import EPSILONS, SHAPES, Array, campaigns, population, sixteen


def problems(epsilon: float, people: int, size: int = 4) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(people)
    table = sixteen(epsilon)
    rows = [campaigns(table, shape, people, size, rng) for shape in SHAPES]
    shares = np.concatenate(rows) / people
    return shares, np.full(len(shares), float(people)), table.transition(64)


def kernel_matrix(kernel: gaussian.Kernel, bins: int) -> Array:
    """Return the centered kernel, entry by entry."""
    matrix = np.zeros((bins, bins))
    for i in range(bins):
        for j in range(bins):
            distance = (i - j) * 64 / bins
            matrix[i, j] = kernel.smooth**2 * np.exp(-0.5 * (distance / kernel.length) ** 2)
        matrix[i, i] += kernel.rough**2
    matrix[0, 0] += kernel.ends**2
    matrix[-1, -1] += kernel.ends**2
    center = np.eye(bins) - 1.0 / bins
    return np.asarray(center @ matrix @ center)


@pytest.mark.parametrize("bins", [16, 64])
@pytest.mark.parametrize("kernel", gaussian.KERNELS)
def test_the_basis_spans_the_kernel(kernel: gaussian.Kernel, bins: int) -> None:
    basis = gaussian._basis(kernel, bins).basis
    exact = kernel_matrix(kernel, bins)
    assert np.abs(basis @ basis.T - exact).max() < 1e-4 * max(1.0, exact.max())


def test_every_mode_is_a_maximum_and_its_evidence_is_laplaces() -> None:
    shares, totals, theta = problems(1.0, 3_000, 1)
    counts = shares[0] * totals[0]
    modes = gaussian._all_modes(shares[:1], totals[:1], theta)
    own = float((counts * np.log(shares[0])).sum())
    for kernel, mode in zip(gaussian.KERNELS, modes, strict=True):
        basis = gaussian._basis(kernel, 64).basis

        def loss(z: Array, basis: Array = basis) -> float:
            f = basis @ z
            p = np.exp(f - f.max())
            return float(0.5 * z @ z - counts @ np.log(p / p.sum() @ theta))

        best = minimize(loss, mode.z[0], method="BFGS").fun
        assert loss(mode.z[0]) <= best + 0.02
        assert loss(mode.z[0]) == pytest.approx(-mode.value[0] - own, abs=1e-6)
        slopes = gaussian._slopes(mode, basis, theta)[0]
        fisher = slopes.T @ (slopes * (totals[0] / mode.chances[0])[:, None])
        logdet = np.linalg.slogdet(np.eye(len(fisher)) + fisher)[1]
        assert mode.evidence[0] == pytest.approx(mode.value[0] - 0.5 * logdet, abs=1e-6)


def test_slopes_are_derivatives() -> None:
    shares, totals, theta = problems(1.0, 500, 1)
    basis = gaussian._basis(gaussian.KERNELS[2], 64).basis
    z = np.random.default_rng(0).standard_normal((1, basis.shape[1]))
    counts = shares[:1] * totals[:1, None]
    slopes = gaussian._slopes(gaussian._Modes.at(z, counts, basis, theta), basis, theta)[0]
    for k in range(basis.shape[1]):
        step = np.zeros_like(z)
        step[0, k] = 1e-6
        ahead = gaussian._Modes.at(z + step, counts, basis, theta).chances[0]
        behind = gaussian._Modes.at(z - step, counts, basis, theta).chances[0]
        assert np.abs((ahead - behind) / 2e-6 - slopes[:, k]).max() < 1e-8


@pytest.mark.parametrize("people", [100, 10_000])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_batched_equals_one_by_one(epsilon: float, people: int) -> None:
    shares, totals, theta = problems(epsilon, people)
    batch = gaussian.average(shares, totals, theta)
    assert batch.converged.all()
    assert np.abs(batch.probabilities.sum(axis=1) - 1.0).max() < 1e-12
    for row in range(len(shares)):
        one = gaussian.average(shares[row : row + 1], totals[:1], theta)
        assert one.iterations[0] == batch.iterations[row]
        assert np.abs(one.probabilities[0] - batch.probabilities[row]).max() < 1e-12


@pytest.mark.parametrize("epsilon", [0.5, 1.0])
def test_is_closer_to_smooth_truths_than_em(epsilon: float) -> None:
    shares, totals, theta = problems(epsilon, 5_000, 20)
    truths = [np.histogram(population(shape), 64, (-1.0, 1.0))[0] / 20_000 for shape in SHAPES]
    truth = np.repeat(truths, 20, axis=0)
    ours = np.mean(wasserstein(gaussian.average(shares, totals, theta).probabilities, truth))
    paper = em.maximize(shares, theta, np.full(60, 1e-5)).probabilities
    assert ours < 0.9 * np.mean(wasserstein(paper, truth))


def test_draws_are_histograms_around_the_estimate(rng: np.random.Generator) -> None:
    shares, totals, theta = problems(1.0, 20_000, 1)
    center = gaussian.average(shares[:1], totals[:1], theta).probabilities[0]
    draws = gaussian.draw(shares[0], totals[0], theta, 400, rng)
    assert draws.shape == (400, 64)
    assert draws.min() >= 0.0
    assert np.abs(draws.sum(axis=1) - 1.0).max() < 1e-12
    assert wasserstein(draws.mean(axis=0), center) < 0.03
