r"""Expectation maximization for histograms, many at a time.

Notes
-----
With shares :math:`c_j` of the outputs, bins :math:`\pi_i` and
:math:`\Theta_{ij} = P(\text{output } j \mid x \text{ in bin } i)`, one iteration is

.. math:: \pi_i \leftarrow \pi_i \sum_j \Theta_{ij} \frac{c_j}{q_j}, \qquad
          q_j = \sum_i \pi_i \Theta_{ij}.

The new :math:`\pi` adds up to :math:`\sum_j c_j = 1` by itself. Over many histograms both sums
are matrix products. Looking at the likelihood costs as much as an iteration, so it is done for a
block of iterations at once; each row is then taken from the iteration at which its own rule was
met, as if it had been watched all along.

References
----------
Dempster, Laird and Rubin (1977), 10.1111/j.2517-6161.1977.tb01600.x. Li et al. (2020),
10.1145/3318464.3389700, section 5.5, for the smoothing step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from noutput.estimate.fit import Fit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noutput.estimate.counts import Array

__all__ = ["MAX_ITERATIONS", "maximize"]

MAX_ITERATIONS = 100_000
_BLOCK = 16  # iterations between two looks at the likelihood
_LONG_BLOCK = 48  # for few rows, where a look costs more than the iterations that it may save
_FEW_ROWS = 8
_ROWS = 128  # histograms at once: the history of a block stays in the processor's cache
_SMALLEST_CHANGE = 4e-16  # the rounding of a mean log-likelihood
_SMALLEST_CHANCE = 1e-300


def maximize(
    shares: Array,
    theta: Array,
    tolerance: Array,
    *,
    smooth: bool = False,
    max_iterations: int = MAX_ITERATIONS,
) -> Fit:
    """Run EM from the uniform start until the mean log-likelihood changes no more.

    Parameters
    ----------
    shares : array of shape (B, J)
        Rows that add up to 1.
    theta : array of shape (d, J)
        No column is zero everywhere.
    tolerance : array of shape (B,)
        A row stops after the iteration that changes its log-likelihood per report by no more.
    smooth : bool
        Apply the kernel [1/4, 1/2, 1/4] after every iteration.
    """
    rows, bins = len(shares), len(theta)
    result = Fit(np.empty((rows, bins)), np.zeros(rows, np.intp), np.zeros(rows, np.bool_))
    limit = np.maximum(tolerance, _SMALLEST_CHANGE)
    for start in range(0, rows, _ROWS):
        some = np.arange(start, min(start + _ROWS, rows))
        _run(shares, theta, limit, smooth, max_iterations, some, result)
    np.divide(
        result.probabilities,
        result.probabilities.sum(axis=1, keepdims=True),
        out=result.probabilities,
    )
    return result


def _run(
    shares: Array,
    theta: Array,
    limit: Array,
    smooth: bool,
    max_iterations: int,
    active: NDArray[np.intp],
    result: Fit,
) -> None:
    """Iterate the `active` rows and write each into `result` when it stops."""
    current = np.full((len(active), len(theta)), 1.0 / len(theta))
    kernel = smoothing(len(theta)) if smooth else None
    done = 0
    block: _Block | None = None
    while active.size and done < max_iterations:
        if block is None or len(block.shares) != len(active):
            block = _Block(shares[active], theta, kernel)
        steps = min(block.steps, max_iterations - done)
        changes = np.abs(block.advance(current, steps))
        met = changes <= limit[active]
        stops = met.any(axis=0)
        last = np.where(stops, met.argmax(axis=0), steps - 1) + 1
        latest = block.probabilities[last, np.arange(len(active))]
        result.probabilities[active] = latest
        result.iterations[active] = done + last
        result.converged[active] = stops
        done += steps
        active, current = active[~stops], latest[~stops]


class _Block:
    """Room for a block of iterations of some rows, and the iterations themselves."""

    def __init__(self, shares: Array, theta: Array, kernel: Array | None) -> None:
        rows, (bins, outputs) = len(shares), theta.shape
        self.shares = shares
        self.steps = _LONG_BLOCK if rows <= _FEW_ROWS else _BLOCK
        self._theta = theta
        self._transposed = np.ascontiguousarray(theta.T)
        self._kernel = kernel
        # a chance may vanish only where nothing was counted, and not under a private mechanism
        self._bounded = not theta.min() > 0.0
        self.probabilities = np.empty((self.steps + 1, rows, bins))
        self._chances = np.empty((self.steps + 1, rows, outputs))
        self._ratios = np.empty((rows, outputs))
        self._factors = np.empty((rows, bins))
        # views made once: slicing would take a third of the time of a small iteration
        self._pairs = list(zip(self.probabilities[:-1], self.probabilities[1:], strict=True))
        self._views = list(self._chances)

    def advance(self, start: Array, steps: int) -> Array:
        """Do `steps` iterations; return the change of the log-likelihood by each, per row."""
        # `dot` with a positional output takes half the time of `matmul` on small arrays
        dot, divide, multiply = np.dot, np.divide, np.multiply
        shares, theta, transposed = self.shares, self._theta, self._transposed
        ratios, factors, kernel, bounded = self._ratios, self._factors, self._kernel, self._bounded
        self.probabilities[0] = start
        for (old, new), chances in zip(self._pairs[:steps], self._views, strict=False):
            dot(old, theta, chances)
            if bounded:
                np.maximum(chances, _SMALLEST_CHANCE, out=chances)
            divide(shares, chances, ratios)
            dot(ratios, transposed, factors)
            multiply(old, factors, new)
            if kernel is not None:
                dot(new, kernel, factors)
                new[:] = factors
        dot(self.probabilities[steps], theta, self._views[steps])
        logs = np.log(np.maximum(self._chances[: steps + 1], _SMALLEST_CHANCE))
        result: Array = np.diff(np.einsum("sbj,bj->sb", logs, shares), axis=0)
        return result


def smoothing(bins: int) -> Array:
    """Return the matrix of the kernel [1/4, 1/2, 1/4]; what would leave at an end stays there."""
    inner = np.full(bins, 0.5)
    inner[[0, -1]] += 0.25
    beside = np.full(bins - 1, 0.25)
    return np.diag(inner) + np.diag(beside, 1) + np.diag(beside, -1)
