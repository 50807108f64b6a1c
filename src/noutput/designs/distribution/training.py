r"""Gradient descent on the error of simulated collections.

Notes
-----
Every step simulates collections of people whose histograms are drawn at random, with 500 to
20,000 reports each, estimates them by EM as far as its stopping rule, and moves the parameters of
the rows against the exact gradient of the loss (Adam, 10.48550/arXiv.1412.6980, with a step size
that falls as a cosine). The result is the average of the parameters over the last steps.

The loss of a collection of m people is :math:`(m / m_0)^{1/3}\,W / W_0 + \rho\,(m / m_0)^{2/3}\,
(v / V_0)^2` with its Wasserstein error W and the error v of the variance; :math:`W_0` and
:math:`V_0` are the mean and the root mean square of both, so scaled, for Square Wave. So the loss
has the same size at every epsilon, and collections of every size count.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from noutput.designs.distribution.training_shapes import draw_histograms
from noutput.designs.distribution.unrolled import Batch, errors_and_gradient
from noutput.estimate import methods

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noutput.designs.distribution.private_rows import Gradient, Parameters, Shape
    from noutput.designs.solution import Array, Progress

__all__ = ["Scales", "Schedule", "train"]

_LOG_PEOPLE = (math.log(500.0), math.log(20_000.0))
_TYPICAL_PEOPLE = 3000.0
_VARIANCE_SHARE = 0.1
_MEMORY, _SQUARE_MEMORY = 0.9, 0.99
_LAST_STEP = 1e-4
_SHARED_STEP = 0.3  # of the parameters that a whole column or the whole table shares
_AVERAGED = 0.4
_POOL = 1 << 14
_MEASURED = 640


@dataclass(frozen=True)
class Schedule:
    """How long and how carefully to train.

    Parameters
    ----------
    steps : int
    collections : int
        How many are simulated at every step.
    step_size : float
        The first one.
    tolerance : float or "auto"
        The stopping rule of EM, as `noutput.estimate_distribution` has it; "auto" goes by the
        number of people of every collection.
    most_iterations : int
        Where EM is stopped otherwise.
    seed : int
    """

    steps: int
    collections: int = 128
    step_size: float = 0.16
    tolerance: methods.Tolerance = 1e-5
    most_iterations: int = 400
    seed: int = 9

    def __post_init__(self) -> None:
        methods.check_tolerance("em", self.tolerance)


def train(
    start: Parameters,
    shape: Shape,
    baseline: Array,
    schedule: Schedule,
    progress: Progress,
) -> Parameters:
    """Return trained parameters; those to start with, and so the result, are symmetric.

    Parameters
    ----------
    start : Parameters
        One row for every bin.
    shape : Shape
    baseline : array of shape (64, M)
        The transition matrix whose errors the loss is scaled with.
    schedule : Schedule
    progress : callable
        Called with the share of the work that is done.
    """
    rng = np.random.default_rng(schedule.seed)
    pool = draw_histograms(rng, _POOL).astype(np.float32)
    collections = _Collections(pool, schedule.tolerance, rng)
    scales = _measure(baseline, collections, schedule.most_iterations)
    adam = _Adam(start)
    parameters = average = start
    first_averaged = int((1.0 - _AVERAGED) * schedule.steps)
    for step in range(schedule.steps):
        rows = parameters.rows(shape)
        batch = collections.draw(schedule.collections, len(rows.least), scales)
        transition = rows.probabilities.astype(np.float32)
        gradient = errors_and_gradient(transition, batch, schedule.most_iterations)[1]
        size = schedule.step_size * 0.5 * (1.0 + math.cos(math.pi * step / schedule.steps))
        change = adam.step(rows.gradient(_symmetric(gradient)), size + _LAST_STEP)
        parameters = rows.parameters.moved(change)
        if step >= first_averaged:
            average = average.towards(parameters, 1.0 / (step - first_averaged + 1))
        progress((step + 1) / schedule.steps)
    return average


def _symmetric(gradient: NDArray[np.float32]) -> Array:
    exact = gradient.astype(np.float64)
    result: Array = (exact + exact[::-1, ::-1]) / 2.0
    return result


@dataclass(frozen=True)
class Scales:
    """The typical Wasserstein error and the typical error of the variance, at 3000 people."""

    wasserstein: float
    variance: float


@dataclass(frozen=True)
class _Collections:
    """Where collections come from.

    They are in single precision: the gradient is off by about 1%, far less than by the choice
    of collections, and a step takes 40% less time.
    """

    pool: NDArray[np.float32]
    tolerance: methods.Tolerance
    rng: np.random.Generator

    def draw(self, count: int, n_outputs: int, scales: Scales) -> Batch[np.float32]:
        people = np.exp(self.rng.uniform(*_LOG_PEOPLE, count))
        growth = (people / _TYPICAL_PEOPLE) ** (1.0 / 3.0)
        tolerances = methods.limits(self.tolerance, people)
        weights = growth / scales.wasserstein
        squares = _VARIANCE_SHARE * (growth / scales.variance) ** 2
        return Batch(
            truths=self.pool[self.rng.integers(len(self.pool), size=count)],
            people=people.astype(np.float32),
            noise=self.rng.standard_normal((count, n_outputs), np.float32),
            tolerances=tolerances.astype(np.float32),
            wasserstein_weights=weights.astype(np.float32),
            variance_weights=squares.astype(np.float32),
        )


def _measure(baseline: Array, collections: _Collections, most_iterations: int) -> Scales:
    """Return the typical errors of a transition matrix."""
    batch = collections.draw(_MEASURED, baseline.shape[1], Scales(1.0, 1.0))
    errors, _ = errors_and_gradient(baseline.astype(np.float32), batch, most_iterations)
    growth = batch.wasserstein_weights
    return Scales(
        float(np.mean(growth * errors.wasserstein)),
        float(np.sqrt(np.mean((growth * errors.variance) ** 2))),
    )


class _Adam:
    """Running means of the gradient and of its square, and the changes they suggest."""

    def __init__(self, like: Parameters) -> None:
        self._means = [np.zeros_like(part) for part in (like.logits, like.columns, like.total)]
        self._squares = [mean.copy() for mean in self._means]
        self._count = 0

    def step(self, gradient: Gradient, size: float) -> Gradient:
        """Return the change of the parameters after one more gradient."""
        self._count += 1
        for mean, square, slope in zip(self._means, self._squares, gradient, strict=True):
            mean += (1.0 - _MEMORY) * (slope - mean)
            square += (1.0 - _SQUARE_MEMORY) * (slope**2 - square)
        logits, columns, total = map(self._direction, self._means, self._squares)
        shared = _SHARED_STEP * size
        return -size * logits, -shared * columns, -shared * total

    def _direction(self, mean: Array, square: Array) -> Array:
        spread = np.sqrt(square / (1.0 - _SQUARE_MEMORY**self._count))
        result: Array = mean / (1.0 - _MEMORY**self._count) / (spread + 1e-8)
        return result
