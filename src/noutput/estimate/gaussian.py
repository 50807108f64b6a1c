r"""Histograms under a Gaussian-process prior: smooth where the counts do not say otherwise.

Notes
-----
The histogram is :math:`\pi = \mathrm{softmax}(f)` with :math:`f \sim N(0, K)`. For each of six
kernels the most probable f is found and the evidence for the kernel is approximated by Laplace's
method; the answer is the average of the six histograms, weighted by evidence. So the counts
choose how smooth the histogram is.

In bins of 1/64 of the range, at distance D,

.. math:: K = s_1^2 e^{-D^2 / 2 \ell^2} + s_2^2 I + s_e^2 E,

where E is 1 at the two end bins (people pile up at the ends of a scale), and K is centered in
rows and columns because the softmax ignores constants. With K = :math:`L L^T` from its
eigenvectors, :math:`f = L z` and :math:`z \sim N(0, I)`. The log posterior is increased by Fisher
scoring,

.. math:: z \leftarrow z + (I + G^T G)^{-1} \nabla, \qquad
          G = \mathrm{diag}(m / q)^{1/2} \, \partial q / \partial z,

with backtracking, and the log evidence is its maximum less
:math:`\frac12 \ln\det(I + G^T G)`. Whichever of :math:`G^T G` and :math:`G G^T` is smaller is
used: a table of 16 outputs needs 16 by 16 systems only.

References
----------
Rasmussen and Williams (2006), *Gaussian Processes for Machine Learning*, section 3.4, for
Laplace's method; Leonard (1973), 10.1093/biomet/60.2.297, for the logistic prior on histograms.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import solve_triangular

from noutput.estimate.fit import Fit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noutput.estimate.counts import Array

__all__ = ["KERNELS", "Kernel", "average", "draw", "moments"]

MAX_ITERATIONS = 100  # for each kernel
_DECREMENT = 1e-2  # in units of the log posterior: far below what one report can tell
_HALVINGS = 8
_NEGLIGIBLE = 1e-3  # the weight of a kernel that need not have converged
_SHORTEN = 0.4
_SMALLEST_EIGENVALUE = 1e-5
_SMALLEST_CHANCE = 1e-300
_LARGEST_TOTAL = 1e12  # more reports than this count as so many: rounding hides the prior there
_ROWS = 64  # histograms at once


@dataclass(frozen=True, slots=True)
class Kernel:
    """Standard deviations of the prior's parts, and the length of the smooth one.

    Parameters
    ----------
    smooth, length : float
        The smooth part, and its length in bins of 1/64 of the range.
    rough, ends : float
        What every bin adds on its own, and what the two end bins add.
    """

    smooth: float
    length: float
    rough: float
    ends: float


KERNELS = (
    Kernel(0.3, 12.0, 0.0, 0.0),
    Kernel(5.0, 40.0, 0.0, 0.0),
    Kernel(5.0, 12.0, 0.0, 0.0),
    Kernel(5.0, 16.0, 0.0, 6.0),
    Kernel(5.0, 16.0, 0.7, 0.0),
    Kernel(8.0, 24.0, 2.0, 0.0),
)


def average(shares: Array, totals: Array, theta: Array, step: float | None = None) -> Fit:
    """Return the histograms averaged over the kernels.

    Parameters
    ----------
    shares : array of shape (B, J)
        Rows that add up to 1.
    totals : array of shape (B,)
        How many reports each row stands for.
    theta : array of shape (d, J)
        No column is zero everywhere.
    step : float, optional
        How far apart neighboring bins are, in the unit of the kernels' lengths; 64 / d by default.
    """
    rows, bins = len(shares), len(theta)
    result = Fit(np.empty((rows, bins)), np.zeros(rows, np.intp), np.ones(rows, np.bool_))
    for start in range(0, rows, _ROWS):
        some = slice(start, start + _ROWS)
        modes = _all_modes(shares[some], totals[some], theta, step)
        weights = _weights(modes)
        stack = np.stack([mode.probabilities for mode in modes])
        result.probabilities[some] = np.einsum("kb,kbd->bd", weights, stack)
        for mode, weight in zip(modes, weights, strict=True):
            result.iterations[some] += mode.iterations
            result.converged[some] &= mode.converged | (weight < _NEGLIGIBLE)
    return result


def draw(
    shares: Array,
    total: float,
    theta: Array,
    size: int,
    rng: np.random.Generator,
    step: float | None = None,
) -> Array:
    r"""Draw histograms from the approximate posterior of one row of counts, shape (size, d).

    Notes
    -----
    Under each kernel, z is normal with covariance :math:`(I + G^T G)^{-1}` around its mode. The
    softmax is linearized there: where a bin is nearly empty the counts say little about f, and
    the exponential of its wide posterior would put mass where the likelihood forbids it. A drawn
    cumulative distribution that is not monotone is put in order, which never moves it away from
    the true one (Chernozhukov, Fernández-Val and Galichon, 2010, 10.3982/ECTA7880).
    """
    total = min(total, _LARGEST_TOTAL)
    modes = _all_modes(shares[None, :], np.array([total]), theta, step)
    sizes = rng.multinomial(size, _weights(modes)[:, 0])
    parts = []
    for kernel, mode, count in zip(KERNELS, modes, sizes, strict=True):
        basis = _basis(kernel, len(theta), step).basis
        slope = _slopes(mode, basis, theta)[0] * np.sqrt(total / mode.chances[0])[:, None]
        factor = np.linalg.cholesky(np.eye(basis.shape[1]) + slope.T @ slope)
        noise = rng.standard_normal((basis.shape[1], count))
        change = solve_triangular(factor, noise, lower=True, trans="T").T @ basis.T
        center = mode.probabilities[0]
        parts.append(center * (1.0 + change - (change @ center)[:, None]))
    sums = np.clip(np.cumsum(rng.permutation(np.concatenate(parts)), axis=1), 0.0, 1.0)
    sums[:, -1] = 1.0
    result: Array = np.diff(np.sort(sums, axis=1), axis=1, prepend=0.0)
    return result


def moments(shares: Array, total: float, theta: Array, rows: Array) -> tuple[Array, Array]:
    r"""Return the posterior means and variances of linear functions of one histogram.

    Parameters
    ----------
    shares : array of shape (J,)
    total : float
    theta : array of shape (d, J)
    rows : array of shape (F, d)
        One function per row.

    Notes
    -----
    The posterior is that of `draw` before its cumulative distributions are put in order: under
    each kernel the histogram is normal with covariance :math:`D (I + G^T G)^{-1} D^T`, where D is
    the derivative of the histogram by z. Means and variances of the mixture are exact, without
    any random number.
    """
    total = min(total, _LARGEST_TOTAL)
    modes = _all_modes(shares[None, :], np.array([total]), theta)
    weights = _weights(modes)[:, 0]
    means, variances = np.empty((2, len(modes), len(rows)))
    for place, (kernel, mode) in enumerate(zip(KERNELS, modes, strict=True)):
        basis, center = _basis(kernel, len(theta)).basis, mode.probabilities[0]
        slope = _slopes(mode, basis, theta)[0] * np.sqrt(total / mode.chances[0])[:, None]
        factor = np.linalg.cholesky(np.eye(basis.shape[1]) + slope.T @ slope)
        changes = (rows * center) @ (basis - center @ basis)
        means[place] = rows @ center
        variances[place] = (solve_triangular(factor, changes.T, lower=True) ** 2).sum(axis=0)
    mean: Array = weights @ means
    variance: Array = weights @ (variances + (means - mean) ** 2)
    return mean, variance


@dataclass(frozen=True)
class _Basis:
    """L of the kernel matrix (bins x rank), and the projection of any f back to z."""

    basis: Array
    projector: Array


@lru_cache(maxsize=64)
def _basis(kernel: Kernel, bins: int, step: float | None = None) -> _Basis:
    place = np.arange(bins) * (64.0 / bins if step is None else step)
    distance = place[:, None] - place
    matrix = kernel.smooth**2 * np.exp(-0.5 * (distance / kernel.length) ** 2)
    matrix += kernel.rough**2 * np.eye(bins)
    matrix[[0, -1], [0, -1]] += kernel.ends**2
    matrix -= matrix.mean(axis=0)
    matrix -= matrix.mean(axis=1, keepdims=True)
    values, vectors = np.linalg.eigh(matrix)
    kept = values > _SMALLEST_EIGENVALUE * max(1.0, values.max())
    basis = np.ascontiguousarray((vectors[:, kept] * np.sqrt(values[kept]))[:, ::-1])
    ridge = basis.T @ basis + 1e-2 * np.eye(basis.shape[1])
    return _Basis(basis, np.linalg.solve(ridge, basis.T))


@dataclass
class _Modes:
    """Places of B rows under one kernel; they move uphill until each is at its mode."""

    z: Array
    probabilities: Array
    chances: Array
    value: Array
    evidence: Array
    iterations: NDArray[np.intp]
    converged: NDArray[np.bool_]

    @classmethod
    def at(cls, z: Array, counts: Array, basis: Array, theta: Array) -> _Modes:
        """Evaluate the log posterior, less the log-likelihood of the shares themselves.

        That constant is nearly all of the log-likelihood, and so of its rounding.
        """
        probabilities = _softmax(z @ basis.T)
        chances = np.maximum(probabilities @ theta, _SMALLEST_CHANCE)
        shares = counts / counts.sum(axis=1, keepdims=True)
        ratios = np.divide(chances, shares, out=np.ones_like(chances), where=counts > 0.0)
        value = (counts * np.log(ratios)).sum(axis=1) - 0.5 * (z**2).sum(axis=1)
        rows = len(z)
        return cls(
            z,
            probabilities,
            chances,
            value,
            np.empty(rows),
            np.zeros(rows, np.intp),
            np.zeros(rows, np.bool_),
        )

    def take(self, rows: NDArray[np.intp]) -> _Modes:
        """Copy some rows."""
        return _Modes(*(part[rows] for part in vars(self).values()))

    def put(self, rows: NDArray[np.intp], other: _Modes) -> None:
        """Move some rows to another place."""
        for name in ("z", "probabilities", "chances", "value"):
            getattr(self, name)[rows] = getattr(other, name)


def _all_modes(
    shares: Array, totals: Array, theta: Array, step: float | None = None
) -> list[_Modes]:
    """Return the modes of every kernel; those of one row are kept for its draws."""
    if len(shares) > 1:
        return _find_modes(shares, totals, theta, step)
    return _kept_modes(shares.tobytes(), float(totals[0]), theta.tobytes(), len(theta), step)


@lru_cache(maxsize=16)
def _kept_modes(
    shares: bytes, total: float, theta: bytes, bins: int, step: float | None
) -> list[_Modes]:
    matrix = np.frombuffer(theta, np.float64).reshape(bins, -1)
    return _find_modes(np.frombuffer(shares, np.float64)[None, :], np.array([total]), matrix, step)


def _find_modes(
    shares: Array, totals: Array, theta: Array, step: float | None = None
) -> list[_Modes]:
    """Return the modes of every kernel; each starts from the one before."""
    totals = np.minimum(totals, _LARGEST_TOTAL)
    counts = shares * totals[:, None]
    f = np.zeros((len(shares), len(theta)))
    result = []
    for kernel in KERNELS:
        parts = _basis(kernel, len(theta), step)
        modes = _climb(f @ parts.projector.T, counts, totals, parts.basis, theta)
        f = modes.z @ parts.basis.T
        result.append(modes)
    return result


def _weights(modes: list[_Modes]) -> Array:
    evidence = np.stack([mode.evidence for mode in modes])
    weights = np.exp(evidence - evidence.max(axis=0))
    result: Array = weights / weights.sum(axis=0)
    return result


def _climb(start: Array, counts: Array, totals: Array, basis: Array, theta: Array) -> _Modes:
    modes = _Modes.at(np.zeros_like(start), counts, basis, theta)
    warm = _Modes.at(start, counts, basis, theta)
    better = np.flatnonzero(warm.value > modes.value)
    modes.put(better, warm.take(better))
    active = np.arange(len(start))
    for iteration in range(MAX_ITERATIONS + 1):
        here = modes.take(active)
        step = _scoring(here, counts[active], totals[active], basis, theta)
        modes.iterations[active] = iteration
        modes.converged[active] = step.decrement < _DECREMENT
        going = np.flatnonzero(~modes.converged[active])
        moved = np.zeros(len(active), np.bool_)
        if iteration < MAX_ITERATIONS:
            rows = active[going]
            moved[going] = _search(modes, rows, step.direction[going], counts[rows], basis, theta)
        # only rows that stop here need the determinant, a sixth of an iteration's time
        stops = np.flatnonzero(~moved)
        modes.evidence[active[stops]] = here.value[stops] - 0.5 * _log_determinants(
            step.matrix[stops]
        )
        active = active[moved]
        if not active.size:
            break
    return modes


def _search(
    modes: _Modes,
    active: NDArray[np.intp],
    direction: Array,
    counts: Array,
    basis: Array,
    theta: Array,
) -> NDArray[np.bool_]:
    """Go along the direction, shorter until the log posterior rises; say which rows moved."""
    moved = np.zeros(len(active), np.bool_)
    length = 1.0
    for _ in range(_HALVINGS):
        rest = np.flatnonzero(~moved)
        if not rest.size:
            break
        trial = modes.z[active[rest]] + length * direction[rest]
        there = _Modes.at(trial, counts[rest], basis, theta)
        rises = np.flatnonzero(there.value >= modes.value[active[rest]])
        modes.put(active[rest[rises]], there.take(rises))
        moved[rest[rises]] = True
        length *= _SHORTEN
    return moved


@dataclass(frozen=True)
class _Step:
    """Where to go from B places, how much that promises, and I + G^T G (or I + G G^T)."""

    direction: Array
    decrement: Array
    matrix: Array


def _scoring(here: _Modes, counts: Array, totals: Array, basis: Array, theta: Array) -> _Step:
    """Return the step of Fisher scoring."""
    slopes = _slopes(here, basis, theta)
    gradient = np.matmul((counts / here.chances)[:, None, :], slopes)[:, 0] - here.z
    slopes *= np.sqrt(totals[:, None] / here.chances)[:, :, None]
    outputs, rank = slopes.shape[1:]
    flipped = slopes.transpose(0, 2, 1)
    if outputs < rank:
        matrix = np.matmul(slopes, flipped) + np.eye(outputs)
        right = np.matmul(slopes, gradient[..., None])
        direction = gradient - np.matmul(flipped, np.linalg.solve(matrix, right))[..., 0]
    else:
        matrix = np.matmul(flipped, slopes) + np.eye(rank)
        direction = np.linalg.solve(matrix, gradient[..., None])[..., 0]
    return _Step(direction, (gradient * direction).sum(axis=1), matrix)


def _log_determinants(matrix: Array) -> Array:
    diagonal = np.diagonal(np.linalg.cholesky(matrix), axis1=1, axis2=2)
    result: Array = 2.0 * np.log(diagonal).sum(axis=1)
    return result


def _slopes(here: _Modes, basis: Array, theta: Array) -> Array:
    """Return the derivatives of the chances by z, of shape (B, J, rank)."""
    result: Array = np.matmul(theta.T * here.probabilities[:, None, :], basis)
    result -= here.chances[:, :, None] * (here.probabilities @ basis)[:, None, :]
    return result


def _softmax(f: Array) -> Array:
    powers = np.exp(f - f.max(axis=1, keepdims=True))
    result: Array = powers / powers.sum(axis=1, keepdims=True)
    return result
