r"""Models of a trend: how a statistic may move from round to round.

Notes
-----
Each model is a Gaussian process for the true values :math:`\mu` of T rounds: a level that may be
anything, plus a centered process with covariance K. In units of the rounds' typical standard error:

- nothing: the value is the same in all rounds;
- a line whose rise over all rounds has a standard deviation of r;
- a random walk with steps of standard deviation q;
- a random walk of the slope: a line that bends, the prior of a cubic smoothing spline (Wahba);
- any of these plus a cycle: the same pattern again every so many rounds.

Any of them may also have one jump: a step by a normal number of standard deviation a before one
of the rounds, which adds :math:`a^2 u u^T` to K, with u = 1 from that round on and 0 before.

Of ten choices of weights and sizes, these cover most evenly over a family of 16 kinds of series:
96% on average and 87% at least, for random walks, sines, lines and jumps of several sizes, ramps
and a parabola. Series that ``docs/comparing.md`` reports are not among them, but for the sine.
Constant series and lines are covered more often: they look much like slow random walks, whose
bands must be wider, and no band can adapt to which of both it is (Low, 1997).

References
----------
Low (1997), "On nonparametric confidence intervals", 10.1214/aos/1030741084;
Durbin and Koopman (2012), *Time Series Analysis by State Space Methods*,
10.1093/acprof:oso/9780199641178.001.0001; Wahba (1978), 10.1111/j.2517-6161.1978.tb01050.x.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import cho_factor, cho_solve

if TYPE_CHECKING:
    from noutput.estimate.counts import Array

__all__ = ["Posterior", "posterior"]

_NONE = 0.15  # prior weights of the kinds of models
_LINES = (0.15, (3.0, 12.0, 50.0))
_WALKS = (0.5, (0.3, 0.6, 1.2))
_BENDS = (0.2, (0.01, 0.03, 0.1))
_RISE = 30.0  # of the line that bends
_CYCLES = (0.5, (1.0, 4.0, 16.0))
_JUMPS = (0.3, (4.0, 16.0))
_LEAST_WEIGHT = 1e-6


@dataclass(frozen=True)
class Posterior:
    """A mixture of normal distributions per round: one per model that matters.

    Parameters
    ----------
    weights : array of shape (M,)
        They add up to 1.
    means, deviations : arrays of shape (M, T)
    jumps : array of shape (M,)
        The round before which the model jumps; 0 where it does not.
    """

    weights: Array
    means: Array
    deviations: Array
    jumps: Array


@dataclass(frozen=True)
class _Restricted:
    r"""What one model says about observations, whatever the level is.

    Notes
    -----
    Let :math:`C = K + S` with the noise variances S, and
    :math:`P = C^{-1} - C^{-1} 1 1^T C^{-1} / 1^T C^{-1} 1`. Then the noise is estimated by
    :math:`S P y`, its posterior covariance is :math:`S - S P S`, and so are those of
    :math:`\mu = y - e`. The restricted log-likelihood is
    :math:`-\frac12 (\ln |C| + \ln 1^T C^{-1} 1 + y^T P y)` up to a constant (Patterson and
    Thompson, 1971, 10.1093/biomet/58.3.545). A jump with variance :math:`a^2` along u changes P
    to :math:`P - a^2 P u u^T P / d` with :math:`d = 1 + a^2 u^T P u`, and the sum of the two
    logarithms by :math:`\ln d`.
    """

    projected: Array  # P y
    diagonal: Array  # of P
    evidence: float
    steps: Array  # P U, where column j of U jumps before round j + 1

    @classmethod
    def of(cls, kernel: Array, noise: Array, y: Array, jumps: Array) -> _Restricted:
        factor = cho_factor(kernel + np.diag(noise), lower=True)
        inverse = cho_solve(factor, np.eye(len(y)))
        level = inverse.sum(axis=1)
        projection = inverse - np.outer(level, level) / level.sum()
        projected = projection @ y
        logarithms = 2.0 * np.log(np.diag(factor[0])).sum() + np.log(level.sum())
        evidence = -0.5 * float(logarithms + y @ projected)
        return cls(projected, np.diag(projection).copy(), evidence, projection @ jumps)


def posterior(y: Array, noise: Array, cycle: int | None) -> Posterior:
    """Return what all models together say about the true values.

    Parameters
    ----------
    y : array of shape (T,)
        Observations.
    noise : array of shape (T,)
        Their variances, in the unit in which a typical one is 1.
    cycle : int, optional
        The length of a cycle, in rounds.

    Examples
    --------
    >>> found = posterior(np.zeros(8), np.ones(8), None)
    >>> bool(np.isclose(found.weights.sum(), 1.0)), bool((found.deviations < 1.0).all())
    (True, True)
    """
    rounds = np.arange(len(y))
    jumps = (rounds[:, None] >= rounds[None, 1:]).astype(np.float64)
    share, sizes = _JUMPS
    evidence: list[Array] = []
    means: list[Array] = []
    variances: list[Array] = []
    places: list[Array] = []
    for kernel, prior in _kernels(len(y), cycle):
        found = _Restricted.of(kernel, noise, y, jumps)
        gain = np.einsum("tj,tj->j", jumps, found.steps)
        pull = jumps.T @ found.projected
        evidence.append(np.array([found.evidence + np.log(prior * (1.0 - share))]))
        means.append((y - noise * found.projected)[None])
        variances.append((noise - noise**2 * found.diagonal)[None])
        places.append(np.zeros(1))
        for size in sizes:
            d = 1.0 + size**2 * gain
            each = np.log(prior * share / (len(sizes) * max(1, jumps.shape[1])))
            evidence.append(found.evidence + each - 0.5 * (np.log(d) - (size * pull) ** 2 / d))
            moved = found.projected[:, None] - size**2 * found.steps * (pull / d)
            inner = found.diagonal[:, None] - size**2 * found.steps**2 / d
            means.append((y[:, None] - noise[:, None] * moved).T)
            variances.append((noise[:, None] - noise[:, None] ** 2 * inner).T)
            places.append(rounds[1:].astype(np.float64))
    logarithms = np.concatenate(evidence)
    weights = np.exp(logarithms - logarithms.max())
    weights /= weights.sum()
    kept = weights >= _LEAST_WEIGHT
    deviations = np.sqrt(np.maximum(np.concatenate(variances)[kept], 1e-12))
    return Posterior(
        weights[kept] / weights[kept].sum(),
        np.concatenate(means)[kept],
        deviations,
        np.concatenate(places)[kept],
    )


def _kernels(rounds: int, cycle: int | None) -> Iterator[tuple[Array, float]]:
    """Return covariances without jumps, and their prior weights."""
    repeats = None
    if cycle is not None:
        order = np.arange(rounds)
        repeats = (np.subtract.outer(order, order) % cycle == 0) - 1.0 / cycle
    share, sizes = _CYCLES
    for kernel, prior in _without_cycles(rounds):
        if repeats is None:
            yield kernel, prior
            continue
        yield kernel, prior * (1.0 - share)
        for size in sizes:
            yield kernel + size**2 * repeats, prior * share / len(sizes)


def _without_cycles(rounds: int) -> Iterator[tuple[Array, float]]:
    order = np.arange(rounds, dtype=np.float64)
    centered = (order - order.mean()) / rounds
    line = np.outer(centered, centered)
    first, last = np.minimum.outer(order, order), np.maximum.outer(order, order)
    bend = first**2 * (3.0 * last - first) / 6.0
    yield np.zeros((rounds, rounds)), _NONE
    for (share, sizes), kernel, rest in (
        (_LINES, line, 0.0),
        (_WALKS, first, 0.0),
        (_BENDS, bend, _RISE**2 * line),
    ):
        for size in sizes:
            yield size**2 * kernel + rest, share / len(sizes)
