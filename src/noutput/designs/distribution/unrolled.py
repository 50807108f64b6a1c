r"""The error of EM and its exact gradient in the transition matrix, for a batch of collections.

Notes
-----
All collections of a batch share the matrix T, so an iteration of EM for all of them is two matrix
products. A collection leaves the batch at its own stopping rule. Backwards, with the gradient g of
the loss at an iterate :math:`\pi' = \pi \odot (r T^\top)`, :math:`r = c / q`, :math:`q = \pi T`,

.. math:: h = (\pi \odot g)\, T, \quad
          \frac{\partial}{\partial c} = \frac{h}{q}, \quad
          \frac{\partial}{\partial q} = -\frac{h \odot r}{q}, \quad
          \frac{\partial}{\partial \pi} = g \odot (r T^\top) + \frac{\partial}{\partial q} T^\top,

and :math:`\partial / \partial T` collects :math:`(\pi \odot g)^\top r + \pi^\top \partial /
\partial q` over all iterations. Which iteration is the last counts as constant.

The shares of the reports are those of a normal variable with the covariance of the multinomial
one, :math:`c = q_0 + (\sqrt{q_0} z - q_0 \langle \sqrt{q_0}, z \rangle) / \sqrt m` for reports
distributed as :math:`q_0`, without its negative parts and scaled to 1: differentiable in T.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["Batch", "Errors", "errors_and_gradient", "mirrored_mean"]

Real = TypeVar("Real", bound=np.floating[Any])
Array: TypeAlias = NDArray[Real]


@dataclass(frozen=True)
class Batch(Generic[Real]):
    """Collections to simulate.

    Parameters
    ----------
    truths : array of shape (B, d)
        The distributions of the people's numbers; rows add up to 1.
    people : array of shape (B,)
        How many people report.
    noise : array of shape (B, N)
        Standard normal numbers, from which the counts are made.
    tolerances : array of shape (B,)
        The change of the mean log-likelihood at which each stops.
    wasserstein_weights, variance_weights : array of shape (B,)
        What the loss multiplies the distance and the squared error of the variance with.
    """

    truths: NDArray[Real]
    people: NDArray[Real]
    noise: NDArray[Real]
    tolerances: NDArray[Real]
    wasserstein_weights: NDArray[Real]
    variance_weights: NDArray[Real]


@dataclass(frozen=True)
class Errors(Generic[Real]):
    """What became of every collection: its Wasserstein error, that of the variance, the loss."""

    wasserstein: NDArray[Real]
    variance: NDArray[Real]
    loss: NDArray[Real]
    iterations: NDArray[np.intp]


@dataclass(frozen=True)
class _Step(Generic[Real]):
    """One iteration of those collections that had not stopped before it."""

    rows: NDArray[np.intp]
    start: NDArray[Real]
    chances: NDArray[Real]
    ratios: NDArray[Real]
    factors: NDArray[Real]


def errors_and_gradient(
    transition: Array[Real], batch: Batch[Real], most_iterations: int
) -> tuple[Errors[Real], Array[Real]]:
    """Return the errors, and the gradient of the mean loss in the transition matrix."""
    shares, expected, scale = _shares(transition, batch)
    steps, last, count = _iterate(transition, shares, batch.tolerances, most_iterations)
    wasserstein, variance, loss, gradient = _loss(last, batch)
    by_transition = np.zeros_like(transition)
    by_shares = np.zeros_like(shares)
    for step in reversed(steps):
        above = gradient[step.rows]
        weighted = step.start * above
        inner = weighted @ transition
        inner /= step.chances
        by_shares[step.rows] += inner
        inner *= -step.ratios
        by_transition += weighted.T @ step.ratios
        by_transition += step.start.T @ inner
        gradient[step.rows] = above * step.factors + inner @ transition.T
    by_transition += batch.truths.T @ _by_expected(by_shares, shares, expected, scale, batch)
    by_transition /= len(shares)
    return Errors(wasserstein, variance, loss, count), by_transition


def _shares(
    transition: Array[Real], batch: Batch[Real]
) -> tuple[Array[Real], Array[Real], Array[Real]]:
    """Return the simulated shares, the expected ones, and by what the former were divided."""
    expected = batch.truths @ transition
    root = np.sqrt(expected)
    inner = (root * batch.noise).sum(axis=1, keepdims=True)
    raw = expected + (root * batch.noise - expected * inner) / np.sqrt(batch.people)[:, None]
    raw = np.maximum(raw, 0.0)
    scale = raw.sum(axis=1, keepdims=True)
    return raw / scale, expected, scale


def _by_expected(
    by_shares: Array[Real],
    shares: Array[Real],
    expected: Array[Real],
    scale: Array[Real],
    batch: Batch[Real],
) -> Array[Real]:
    """Return the gradient in the expected shares, given that in the simulated ones."""
    by_raw = (by_shares - (by_shares * shares).sum(axis=1, keepdims=True)) / scale
    by_raw = np.where(shares > 0.0, by_raw, 0.0)
    root = np.sqrt(expected)
    unit = 1.0 / np.sqrt(batch.people)[:, None]
    inner = (root * batch.noise).sum(axis=1, keepdims=True)
    moved = (by_raw * expected).sum(axis=1, keepdims=True)
    result: Array[Real] = by_raw * (1.0 - inner * unit)
    result += (by_raw - moved) * batch.noise * (0.5 * unit) / root
    return result


def _iterate(
    transition: Array[Real], shares: Array[Real], tolerances: Array[Real], most: int
) -> tuple[list[_Step[Real]], Array[Real], NDArray[np.intp]]:
    """Run EM from the even start; return the iterations and where each collection stopped."""
    size, bins = len(shares), len(transition)
    last = np.full((size, bins), 1.0 / bins, transition.dtype)
    count = np.zeros(size, np.intp)
    steps: list[_Step[Real]] = []
    rows = np.arange(size)
    current, counted, limits = last.copy(), shares, tolerances
    chances = current @ transition
    turned = np.ascontiguousarray(transition.T)
    while rows.size and len(steps) < most:
        ratios = counted / chances
        factors = ratios @ turned
        steps.append(_Step(rows, current, chances, ratios, factors))
        current = current * factors
        following = current @ transition
        gain = (counted * np.log(following / chances)).sum(axis=1)
        last[rows] = current
        count[rows] += 1
        going = gain > limits
        chances = following
        if not going.all():
            rows, current, counted = rows[going], current[going], counted[going]
            chances, limits = chances[going], limits[going]
    return steps, last, count


def _loss(
    last: Array[Real], batch: Batch[Real]
) -> tuple[Array[Real], Array[Real], Array[Real], Array[Real]]:
    """Return both errors, the loss of every collection, and its gradient in the histograms."""
    bins = last.shape[1]
    width = 2.0 / bins
    centers = ((np.arange(bins) + 0.5) * width - 1.0).astype(last.dtype)
    gaps = np.cumsum(last - batch.truths, axis=1)
    wasserstein = np.abs(gaps).sum(axis=1) * width
    mean, true_mean = last @ centers, batch.truths @ centers
    variance = last @ centers**2 - mean**2 - (batch.truths @ centers**2 - true_mean**2)
    loss = batch.wasserstein_weights * wasserstein + batch.variance_weights * variance**2
    signs = np.sign(gaps) * (batch.wasserstein_weights * width)[:, None]
    gradient = np.cumsum(signs[:, ::-1], axis=1)[:, ::-1].copy()
    slope = 2.0 * batch.variance_weights * variance
    gradient += slope[:, None] * (centers**2 - 2.0 * mean[:, None] * centers)
    return wasserstein, variance, loss, gradient


def mirrored_mean(gradient: Array[Real]) -> NDArray[np.float64]:
    """Return the mean of a gradient and of its mirror image, for a symmetric table."""
    exact = gradient.astype(np.float64)
    result: NDArray[np.float64] = (exact + exact[::-1, ::-1]) / 2.0
    return result
