r"""Gradient descent on the error of simulated collections, with the worst-case variance held.

Notes
-----
As in `noutput.designs.distribution.training`, with three differences. Every bin has two rows at all
times, whose mean is the row of the estimator. The outputs are trained, too. And the second moment
at each knot has a limit, :math:`\sum_j a_j^2 P_{kj} \le x_k^2 + V`, which is kept by an augmented
Lagrangian: with :math:`e_k = (\sum_j a_j^2 P_{kj} - x_k^2) / V - 1` the loss grows by the mean over
the knots of :math:`\max(0, y_k + \mu e_k)^2 / 2 \mu`, and the multipliers :math:`y_k \ge 0` follow
:math:`e_k`. (Bertsekas 1982, Constrained Optimization and Lagrange Multiplier Methods, section 2.)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from noutput.designs.balanced.reach import Reach
from noutput.designs.distribution.adam import Adam
from noutput.designs.distribution.bins import KNOTS, rows_at_knots
from noutput.designs.distribution.simulated import Collections, Schedule
from noutput.designs.distribution.unrolled import errors_and_gradient, mirrored_mean

if TYPE_CHECKING:
    from noutput.designs.distribution.private_rows import Parameters, Rows
    from noutput.designs.solution import Array, Progress

__all__ = ["Goal", "Point", "limited", "train"]

_RATES = (1.0, 0.3, 0.3, 0.05)  # of logits, columns, their total, and outputs
_STIFFNESS = 300.0
_BETWEEN = 10  # steps, before the multipliers follow
_LARGEST_REACH, _REACH = 0.02, 0.005
_STRONGEST, _HALVINGS = 20.0, 40


@dataclass(frozen=True)
class Goal:
    """What a table must have: epsilon, and the limit of the worst-case variance.

    Training meets the limit up to a fraction of a percent.
    """

    epsilon: float
    variance: float

    @property
    def reach(self) -> float:
        """The largest mean that a row could have."""
        return 1.0 + min(_LARGEST_REACH, _REACH * self.variance)


@dataclass(frozen=True)
class Point:
    """What is trained: the parameters of one row per bin, and outputs before they are scaled."""

    parameters: Parameters
    outputs: Array

    def scaled(self, goal: Goal) -> Reach:
        """Return the outputs as the table has them."""
        least = self.parameters.least(goal.epsilon)
        return Reach.of(self.outputs, least, goal.epsilon, goal.reach)

    def rows(self, goal: Goal) -> Rows:
        """Return the two rows of every bin."""
        outputs = self.scaled(goal).outputs
        return rows_at_knots(self.parameters, goal.epsilon, outputs, linear=True)

    def symmetric(self) -> Point:
        """Return a point whose table is its own mirror image."""
        return Point(self.parameters.symmetric(), (self.outputs - self.outputs[::-1]) / 2.0)

    def towards(self, other: Point, share: float) -> Point:
        """Return the point a share of the way to another."""
        outputs = self.outputs + share * (other.outputs - self.outputs)
        return Point(self.parameters.towards(other.parameters, share), outputs)

    def moved(self, change: tuple[Array, ...]) -> Point:
        """Return the point after a step; that of the outputs is relative to the largest."""
        *rows, outputs = change
        unit = np.abs(self.outputs).max()
        return Point(self.parameters.moved(tuple(rows)), self.outputs + unit * outputs)


def _excess(rows: Rows, variance: float) -> Array:
    """Return by how much the second moments exceed the limit, as shares of the variance."""
    moments = rows.probabilities @ rows.shape.outputs**2
    result: Array = (moments - KNOTS**2) / variance - 1.0
    return result


def limited(rows: Rows, variance: float) -> Rows:
    r"""Return the closest rows within the limit, where training left some a little above it.

    Their logits change by :math:`-\rho_k a_j^2`, with the least :math:`\rho_k \ge 0` that does it.
    """
    parameters, squares = rows.parameters, (rows.shape.outputs / rows.shape.outputs.max()) ** 2

    def less(strength: Array) -> Rows:
        logits = parameters.logits - strength[:, None] * squares
        return replace(parameters, logits=logits).rows(rows.shape, linear=True)

    low = np.zeros(len(KNOTS))
    high = np.where(_excess(rows, variance) > 0.0, _STRONGEST, 0.0)
    for _ in range(_HALVINGS if high.any() else 0):
        middle = (low + high) / 2.0
        above = _excess(less(middle), variance) > 0.0
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return less(high) if high.any() else rows


class _Limit:
    """The limit of the second moments: its multipliers, and how it pulls at a table."""

    def __init__(self, variance: float) -> None:
        self._variance = variance
        self._multipliers = np.zeros(len(KNOTS))

    def pulls(self, rows: Rows) -> Array:
        """Return the derivatives of the loss in the second moments of the rows."""
        forces = np.maximum(0.0, self._multipliers + _STIFFNESS * _excess(rows, self._variance))
        result: Array = forces / (len(KNOTS) * self._variance)
        return result

    def follow(self, rows: Rows) -> None:
        """Move the multipliers."""
        change = _STIFFNESS * _excess(rows, self._variance)
        self._multipliers = np.maximum(0.0, self._multipliers + change)


def train(
    start: Point,
    goal: Goal,
    baseline: Array,
    schedule: Schedule,
    progress: Progress,
) -> Point:
    """Return a trained point; that to start with, and so the result, is symmetric.

    Parameters
    ----------
    start : Point
    goal : Goal
    baseline : array of shape (64, M)
        The transition matrix whose errors the loss is scaled with.
    schedule : Schedule
    progress : callable
        Called with the share of the work that is done.
    """
    collections = Collections.of(schedule)
    scales = collections.measure(baseline, schedule.most_iterations)
    adam = Adam((*start.parameters.parts, start.outputs), _RATES)
    limit = _Limit(goal.variance)
    point = average = start
    for step, size in enumerate(schedule.step_sizes()):
        rows = point.rows(goal)
        probabilities = rows.probabilities
        batch = collections.draw(schedule.collections, len(rows.least), scales)
        transition = ((probabilities[::2] + probabilities[1::2]) / 2.0).astype(np.float32)
        slope = errors_and_gradient(transition, batch, schedule.most_iterations)[1]
        gradient = _gradient(rows, point.scaled(goal), mirrored_mean(slope), limit.pulls(rows))
        if step % _BETWEEN == _BETWEEN - 1:
            limit.follow(rows)
        point = point.moved(adam.step(gradient, size)).symmetric()
        if step >= schedule.first_averaged:
            average = average.towards(point, 1.0 / (step - schedule.first_averaged + 1))
        progress((step + 1) / schedule.steps)
    return average


def _gradient(rows: Rows, reach: Reach, by_bins: Array, pulls: Array) -> tuple[Array, ...]:
    """Return the gradient of the loss in a point, given that in the rows of the bins."""
    outputs = reach.outputs
    by_rows = np.repeat(by_bins / 2.0, 2, axis=0) + pulls[:, None] * outputs**2
    by_outputs = 2.0 * outputs * (pulls @ rows.probabilities) + rows.by_outputs(by_rows)
    by_raw, by_least = reach.gradient(by_outputs)
    logits, columns, total = rows.gradient(by_rows)
    more_columns, more_total = rows.by_columns(by_least)
    joined = logits[::2] + logits[1::2]
    return joined, columns + more_columns, total + more_total, (by_raw - by_raw[::-1]) / 2.0
