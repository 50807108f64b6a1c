r"""Simulated collections: whose errors are the loss that tables are trained with.

The loss of a collection of m people is :math:`(m / m_0)^{1/3}\,W / W_0 + \rho\,(m / m_0)^{2/3}\,
(v / V_0)^2` with its Wasserstein error W and the error v of the variance; :math:`W_0` and
:math:`V_0` are the mean and the root mean square of both, so scaled, for Square Wave. So the loss
has the same size at every epsilon, and collections of every size count.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from noutput.designs.distribution.training_shapes import draw_histograms
from noutput.designs.distribution.unrolled import Batch, errors_and_gradient
from noutput.estimate import methods

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from noutput.designs.solution import Array

__all__ = ["Collections", "Scales", "Schedule"]

_LOG_PEOPLE = (math.log(500.0), math.log(20_000.0))
_TYPICAL_PEOPLE = 3000.0
_VARIANCE_SHARE = 0.1
_LAST_STEP = 1e-4
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

    def step_sizes(self) -> Iterator[float]:
        """Yield the size of every step: a cosine that falls to almost 0."""
        for step in range(self.steps):
            fall = 0.5 * (1.0 + math.cos(math.pi * step / self.steps))
            yield self.step_size * fall + _LAST_STEP

    @property
    def first_averaged(self) -> int:
        """The step from which on parameters are averaged."""
        return int((1.0 - _AVERAGED) * self.steps)


@dataclass(frozen=True)
class Scales:
    """The typical Wasserstein error and the typical error of the variance, at 3000 people."""

    wasserstein: float
    variance: float


@dataclass(frozen=True)
class Collections:
    """Where collections come from.

    They are in single precision: the gradient is off by about 1%, far less than by the choice
    of collections, and a step takes 40% less time.
    """

    pool: NDArray[np.float32]
    tolerance: methods.Tolerance
    rng: np.random.Generator

    @classmethod
    def of(cls, schedule: Schedule) -> Self:
        """Draw the histograms of a schedule."""
        rng = np.random.default_rng(schedule.seed)
        return cls(draw_histograms(rng, _POOL).astype(np.float32), schedule.tolerance, rng)

    def draw(self, count: int, n_outputs: int, scales: Scales) -> Batch[np.float32]:
        """Draw people and reports of some collections; errors count relative to the scales."""
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

    def measure(self, transition: Array, most_iterations: int) -> Scales:
        """Return the typical errors of a transition matrix."""
        batch = self.draw(_MEASURED, transition.shape[1], Scales(1.0, 1.0))
        errors, _ = errors_and_gradient(transition.astype(np.float32), batch, most_iterations)
        growth = batch.wasserstein_weights
        return Scales(
            float(np.mean(growth * errors.wasserstein)),
            float(np.sqrt(np.mean((growth * errors.variance) ** 2))),
        )
