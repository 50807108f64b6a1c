r"""Models of a trend: how a statistic may move from round to round.

Notes
-----
A model is a linear Gaussian state-space model. In units of a typical standard error, the estimate
of round t and the true value :math:`\mu_t` are

.. math:: y_t = \mu_t + e_t, \qquad \mu_t = z_t^T \beta + x_t + \nu_t, \qquad
          x_t = \phi x_{t-1} + \eta_t ,

with independent normal :math:`e_t`, whose variance :math:`s_t^2` is known, :math:`\nu_t` of
variance :math:`\tau^2` (the variation of single rounds, the nugget) and :math:`\eta_t`. With
:math:`\phi < 1` the second part is a stationary AR(1) series, with :math:`\phi = 1` a random walk.
The effects :math:`\beta` do not change: the level, which may be anything, in some models a slope,
and the harmonics of a cycle. All sizes are on a grid, and each point of it is one model. There is
none without a nugget: no series is taken to be constant, so no band becomes arbitrarily narrow.

*Evidence.* The Kalman filter predicts each round from those before, with an error :math:`v_t` of
variance :math:`F_t`, and :math:`\ln p(y) = -\frac12 \sum_t (\ln F_t + v_t^2 / F_t)` up to a
constant (Durbin and Koopman, section 7.2). Models are averaged with weights proportional to prior
times :math:`p(y)` (Rasmussen and Williams, section 5.2).

*True values.* With :math:`C = \mathrm{Cov}(y)`, the noise is estimated by
:math:`s_t^2 (C^{-1} y)_t`, and its posterior variance is :math:`s_t^2 - s_t^4 (C^{-1})_{tt}`; so
:math:`\mu_t` has the mean :math:`y_t - s_t^2 (C^{-1} y)_t` and the same variance. Both come from
the disturbance smoother :math:`r_{t-1} = g_t + z_t u_t` with :math:`g_t = T^T r_t`,
:math:`u_t = v_t / F_t - k_t^T g_t = (C^{-1} y)_t`, and likewise :math:`N_{t-1}` for the variances
(Durbin and Koopman, section 4.5).

*Jumps.* Any model may also have one jump of the level by a normal number of variance
:math:`a^2` before one of the rounds. With u = 1 from that round on and 0 before,
:math:`u^T C^{-1} y` and :math:`u^T C^{-1} u` are the level's entries of :math:`r_{t-1}` and
:math:`N_{t-1}` (de Jong and Penzer, 1998). So the evidence of all jumps follows from one pass: with
:math:`d = 1 + a^2 u^T C^{-1} u` it grows by :math:`-\frac12 (\ln d - (a u^T C^{-1} y)^2 / d)`.
Models whose jump matters are smoothed again, with the jump in them.

The grid and its weights were chosen on the series of ``benchmarks.trends.CHOICE`` alone.

References
----------
Durbin and Koopman (2012), *Time Series Analysis by State Space Methods*,
10.1093/acprof:oso/9780199641178.001.0001; Rasmussen and Williams (2006), *Gaussian Processes for
Machine Learning*, chapter 5; de Jong and Penzer (1998), "Diagnosing shocks in time series",
10.1080/01621459.1998.10473743.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noutput.estimate.counts import Array

    Index = NDArray[np.intp]

__all__ = ["Forecast", "Posterior", "posterior"]

# Sizes are standard deviations in standard errors of a round.
_NUGGETS = (0.4, 0.6, 0.9, 1.35, 2.0, 3.0, 4.5, 9.0, 18.0, 36.0, 72.0, 144.0)
_CONSTANT_WEIGHT = 0.6
_SLOPE, _SLOPE_WEIGHT = 0.15, 0.4  # per round
_PERSISTENCES, _AR_WEIGHT = (0.5, 0.85), 1.2
_AR_SIZES = tuple(0.7 * 2.0**k for k in range(9))
_WALK_STEPS, _WALK_WEIGHT = tuple(0.1 * 2.0**k for k in range(12)), 2.0
_CYCLE_SIZES = (2.0, 16.0)
_MAX_HARMONICS = 6  # every pattern of up to 13 rounds; smooth ones of longer cycles
_LEVEL_SIZE = 1e3  # as good as anything
_JUMP_SIZES, _JUMP_WEIGHT = (4.0, 16.0), 0.3

_MIN_WEIGHT = 1e-4  # of models that are averaged over
_MAX_JUMPS = 200  # models with a jump that are smoothed
_MIN_LOG_WEIGHT = -20.0  # of models that still forecast
_LEVEL, _MOVING, _SLOPE_INDEX = 0, 1, 2  # in the state; harmonics follow


class _Models(NamedTuple):
    """The models of the grid, M of them, with states of length D."""

    persistence: Array  # (M,): how much of the moving part stays
    step: Array  # (M,): variance of what is added to it per round
    nugget: Array  # (M,): variance
    start: Array  # (M, D): variances of the state before the first round
    log_weight: Array  # (M,)

    def of(self, index: Index) -> _Models:
        return _Models(*(part[index] for part in self))

    @classmethod
    def grid(cls, cycle: int | None) -> _Models:
        moving = [(0.0, 0.0, 0.0, _CONSTANT_WEIGHT), (0.0, 0.0, _SLOPE, _SLOPE_WEIGHT)]
        autoregressive = list(product(_PERSISTENCES, _AR_SIZES))
        moving += [(*ar, 0.0, _AR_WEIGHT / len(autoregressive)) for ar in autoregressive]
        moving += [(1.0, step, 0.0, _WALK_WEIGHT / len(_WALK_STEPS)) for step in _WALK_STEPS]
        sizes = (0.0,) if cycle is None else _CYCLE_SIZES
        flat = [(*part, nugget, size) for part, nugget, size in product(moving, _NUGGETS, sizes)]
        persistence, moving_size, slope, weight, nugget, size = np.array(flat).T
        is_walk = persistence == 1.0
        step = moving_size**2 * np.where(is_walk, 1.0, 1.0 - persistence**2)
        harmonics = _regressors(np.zeros(1), cycle).shape[1] - 3
        first = [np.full(len(flat), _LEVEL_SIZE), np.where(is_walk, 0.0, moving_size), slope]
        waves = [size * np.sqrt(2.0 / (cycle or 1))] * harmonics
        start = np.stack(first + waves, axis=1) ** 2
        return cls(persistence, step, nugget**2, start, np.log(weight))


def _regressors(rounds: Array, cycle: int | None) -> Array:
    """How much each part of the state counts in each round; of shape (T, D)."""
    columns = [np.ones_like(rounds), np.ones_like(rounds), rounds]
    for harmonic in range(1, min((cycle or 1) // 2, _MAX_HARMONICS) + 1):
        angle = 2.0 * np.pi * harmonic * rounds / (cycle or 1)
        if 2 * harmonic == cycle:
            columns.append(np.cos(angle) * np.sqrt(0.5))
        else:
            columns += [np.cos(angle), np.sin(angle)]
    return np.stack(columns, axis=1)


class _Filter:
    """Kalman filter of all models at once."""

    def __init__(self, models: _Models) -> None:
        self.models = models
        self.mean = np.zeros_like(models.start)
        self.covariance = models.start[:, :, None] * np.eye(models.start.shape[1])
        self.stays = np.ones_like(models.start)
        self.stays[:, _MOVING] = models.persistence

    def predict(self, row: Array, noise: float) -> tuple[Array, Array]:
        """Mean and variance of the next observation."""
        self._row, self._reach = row, self.covariance @ row
        return self.mean @ row, self._reach @ row + noise + self.models.nugget

    def update(self, error: Array, variance: Array) -> Array:
        """Take an observation that differs from its mean by `error`; return the gain."""
        gain: Array = self._reach / variance[:, None]
        self.mean = self.mean + gain * error[:, None]
        self.covariance = self.covariance - gain[:, :, None] * self._reach[:, None, :]
        return gain

    def advance(self) -> None:
        """Go to the next round."""
        self.mean = self.mean * self.stays
        self.covariance = self.covariance * (self.stays[:, :, None] * self.stays[:, None, :])
        self.covariance[:, _MOVING, _MOVING] += self.models.step

    def keep(self, index: Index) -> None:
        """Drop all other models."""
        self.models = self.models.of(index)
        self.mean, self.covariance = self.mean[index], self.covariance[index]
        self.stays = self.stays[index]


class _Smoothed(NamedTuple):
    """What each model says, given all observations; arrays of shape (T, M) but for the first."""

    evidence: Array  # (M,)
    means: Array
    variances: Array
    pull: Array  # u' C^-1 y for a jump before each round
    pull_variance: Array  # u' C^-1 u


def _smooth(
    models: _Models, rows: Array, y: Array, noise: Array, jumps: tuple[Index, Array] | None = None
) -> _Smoothed:
    """Filter and smooth; `jumps` has the round and the variance of each model's jump."""
    state = _Filter(models)
    shape = (len(y), len(models.step))
    scaled, precision = np.empty(shape), np.empty(shape)
    gains = np.empty((*shape, rows.shape[1]))
    evidence = np.zeros(shape[1])
    for t, row in enumerate(rows):
        if t:
            state.advance()
        if jumps is not None:
            state.covariance[:, _LEVEL, _LEVEL] += np.where(jumps[0] == t, jumps[1], 0.0)
        mean, variance = state.predict(row, noise[t])
        error = y[t] - mean
        gains[t] = state.update(error, variance)
        scaled[t], precision[t] = error / variance, 1.0 / variance
        evidence -= 0.5 * (np.log(variance) + error * scaled[t])
    means, variances, pull, pull_variance = (np.empty(shape) for _ in range(4))
    score, spread = np.zeros_like(state.mean), np.zeros_like(state.covariance)
    stays = state.stays
    for t in range(len(y) - 1, -1, -1):
        score, spread = score * stays, spread * (stays[:, :, None] * stays[:, None, :])
        row, gain = rows[t], gains[t]
        reach = (spread @ gain[:, :, None])[:, :, 0]
        own = scaled[t] - np.einsum("md,md->m", gain, score)
        own_precision = precision[t] + np.einsum("md,md->m", gain, reach)
        cross = reach[:, :, None] * row
        score = score + own[:, None] * row
        spread = spread - cross - cross.transpose(0, 2, 1)
        spread += own_precision[:, None, None] * np.outer(row, row)
        means[t] = y[t] - noise[t] * own
        variances[t] = noise[t] - noise[t] ** 2 * own_precision
        pull[t], pull_variance[t] = score[:, _LEVEL], spread[:, _LEVEL, _LEVEL]
    return _Smoothed(evidence, means, variances, pull, pull_variance)


@dataclass(frozen=True)
class Posterior:
    """A mixture of normal distributions per round: one per model that matters.

    Parameters
    ----------
    weights : array of shape (M,)
        They add up to 1.
    means, deviations : arrays of shape (M, T)
    jumps : array of shape (T,)
        The chance of a jump just before each round; the first is 0.
    """

    weights: Array
    means: Array
    deviations: Array
    jumps: Array


def posterior(y: Array, noise: Array, cycle: int | None) -> Posterior:
    """Return what all models together say about the true values.

    Parameters
    ----------
    y : array of shape (T,)
        Observations, near 0.
    noise : array of shape (T,)
        Their variances, in the unit in which a typical one is 1.
    cycle : int, optional
        The length of a cycle, in rounds.

    Examples
    --------
    >>> trend = posterior(np.zeros(8), np.ones(8), None)
    >>> bool(np.isclose(trend.weights.sum(), 1.0)), bool((trend.deviations < 1.0).all())
    (True, True)
    """
    models, rows = _Models.grid(cycle), _regressors(np.arange(float(len(y))), cycle)
    smoothed = _smooth(models, rows, y, noise)
    rounds, sizes, log_weights = _jump_weights(models, smoothed)
    weights = np.exp(log_weights - log_weights.max())
    weights /= weights.sum()
    with_jump = weights[1:].ravel()
    chosen = np.argsort(-with_jump, kind="stable")[:_MAX_JUMPS]
    chosen = chosen[with_jump[chosen] >= _MIN_WEIGHT]
    jump, model = np.unravel_index(chosen, weights[1:].shape)
    jump = jump + 1
    # A jump that is not smoothed again makes hardly any difference to its model.
    without = weights.sum(axis=0) - np.bincount(model, weights[jump, model], len(models.step))
    kept = without >= _MIN_WEIGHT
    again = _smooth(models.of(model), rows, y, noise, (rounds[jump], sizes[jump] ** 2))
    averaged = np.concatenate([without[kept], weights[jump, model]])
    variances = np.concatenate([smoothed.variances[:, kept], again.variances], axis=1)
    jumps = weights[1:].sum(axis=1).reshape(len(_JUMP_SIZES), -1).sum(axis=0)
    return Posterior(
        averaged / averaged.sum(),
        np.concatenate([smoothed.means[:, kept], again.means], axis=1).T,
        np.sqrt(np.maximum(variances.T, 1e-12)),
        np.concatenate([[0.0], jumps]),
    )


def _jump_weights(models: _Models, smoothed: _Smoothed) -> tuple[Index, Array, Array]:
    """Return rounds and sizes of jumps, first none, and the log weight of each with each model."""
    last = len(smoothed.pull) - 1
    rounds = np.concatenate([[0], np.tile(np.arange(1, last + 1), len(_JUMP_SIZES))])
    sizes = np.concatenate([[0.0], np.repeat(_JUMP_SIZES, last)])
    share = np.where(rounds == 0, 1.0 - _JUMP_WEIGHT, _JUMP_WEIGHT / max(len(rounds) - 1, 1))
    d = 1.0 + sizes[:, None] ** 2 * smoothed.pull_variance[rounds]
    gain = -0.5 * (np.log(d) - (sizes[:, None] * smoothed.pull[rounds]) ** 2 / d)
    return rounds, sizes, models.log_weight + smoothed.evidence + np.log(share)[:, None] + gain


class Forecast:
    r"""Surprise of each round, given those before it.

    Parameters
    ----------
    cycle : int, optional
        The length of a cycle, in rounds.

    Notes
    -----
    All models together predict a mixture of normal distributions. If its distribution function is
    :math:`G_t` and the values move as the models say, :math:`G_t(y_t)` are independent and uniform,
    and :math:`\Phi^{-1}(G_t(y_t))` independent standard normal numbers, exactly (Rosenblatt, 1952,
    10.1214/aoms/1177729394). Models whose weight has become negligible are dropped.

    Examples
    --------
    >>> forecast = Forecast(None)
    >>> surprises = [forecast.surprise(t, y, 1.0) for t, y in enumerate([0.0, 1.0, 0.0, 9.0])]
    >>> [round(each) for each in surprises]
    [0, 0, 0, 2]
    """

    def __init__(self, cycle: int | None) -> None:
        self._cycle = cycle
        self._state = _Filter(_Models.grid(cycle))
        self._log_weights = self._state.models.log_weight
        self._first = 0
        self._last: int | None = None

    def surprise(self, number: int, y: float, noise: float) -> float:
        """Standardized deviation of a round, whose number is larger than that before.

        Parameters
        ----------
        number : int
        y, noise : float
            Observation and its variance, as in `posterior`.
        """
        if self._last is None:
            self._first = self._last = number
        for _ in range(number - self._last):
            self._state.advance()
        self._last = number
        row = _regressors(np.array([float(number)]), self._cycle)[0]
        row[_SLOPE_INDEX] -= self._first
        mean, variance = self._state.predict(row, noise)
        error = y - mean
        scaled = error / np.sqrt(variance)
        weights = np.exp(self._log_weights)
        below, above = (float(weights @ ndtr(side)) for side in (scaled, -scaled))
        self._state.update(error, variance)
        self._log_weights = self._log_weights - 0.5 * (np.log(variance) + scaled**2)
        self._log_weights -= self._log_weights.max()
        kept = np.flatnonzero(self._log_weights > _MIN_LOG_WEIGHT)
        if len(kept) < len(self._log_weights):
            self._state.keep(kept)
            self._log_weights = self._log_weights[kept]
        # The smaller tail is inverted: it has all its digits.
        surprise = ndtri(min(below, above) / (below + above))
        return float(surprise if below < above else -surprise)
