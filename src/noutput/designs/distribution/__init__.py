r"""The best table for the distribution: trained by the error of the estimator that will be used.

Notes
-----
A table has one row for each of 64 equal bins of [-1, 1], so two knots a bin: its lower edge, and
its upper edge less :math:`2^{-18}`. Whatever the number is inside its bin, the report has almost
the same distribution. So the transition matrix of the estimator is right for any distribution of
numbers inside the bins, and atoms, which real data are full of, do no harm; tables that are linear
over wider cells lose most of the gain. The rows at the two knots of a bin differ by a small tilt
alone, which makes their means equal to the knots: the table decodes to an unbiased mean as every
other does.

`training` moves the rows, `parameters` keeps them private and unbiased, `unrolled` computes the
error of EM and its gradient, `prior` says what people's numbers may look like, and `error` measures
the result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from noutput.designs.distribution.parameters import Parameters, Rows, Shape
from noutput.designs.distribution.prior import BINS
from noutput.designs.distribution.training import Schedule, train
from noutput.mechanisms.square_wave import square_wave

if TYPE_CHECKING:
    from noutput.mechanisms.table import TableMechanism

__all__ = ["LONG", "SHORT", "SIZES", "Solution", "solve"]

Array: TypeAlias = NDArray[np.float64]

SIZES = (8, 256)
"""The least and the largest number of outputs."""
LONG = Schedule(steps=800)
"""For a start from Square Wave."""
SHORT = Schedule(steps=300, step_size=0.06)
"""For a start from a table trained for an epsilon nearby."""

_EDGES = np.linspace(-1.0, 1.0, BINS + 1)
_CENTERS = (_EDGES[1:] + _EDGES[:-1]) / 2.0
_GAP = 2.0**-18
_WAVE_LOGIT, _TABLE_LOGIT = 3.0, 6.0


@dataclass(frozen=True)
class Solution:
    """A trained table, before it is quantized.

    Parameters
    ----------
    outputs : array of shape (N,)
    probabilities : array of shape (128, N)
    iterations : int
        Steps of the training.
    """

    outputs: Array
    probabilities: Array
    iterations: int


def solve(
    epsilon: float,
    n_outputs: int,
    near: TableMechanism | None = None,
    *,
    schedule: Schedule | None = None,
    progress: Callable[[float], None] | None = None,
) -> Solution:
    """Train a table for the distribution.

    Parameters
    ----------
    epsilon : float
    n_outputs : int
    near : TableMechanism, optional
        A trained table with as many outputs for an epsilon nearby: training is shorter then. The
        start is Square Wave with its reports in N cells otherwise.
    schedule : Schedule, optional
        `SHORT` with a table nearby and `LONG` without one by default.
    progress : callable, optional
        Called with the share of the work that is done.

    Notes
    -----
    The outputs begin as the decoded middles of the cells of Square Wave, stretched a little:
    else no row but one would have the mean that is wanted at the ends of the range.
    """
    wave = square_wave(epsilon)
    baseline = wave.transition(BINS, n_outputs)
    shape = Shape(epsilon, _CENTERS)
    if near is None:
        edges = wave.edges(n_outputs)
        outputs = _gain(epsilon) * (edges[1:] + edges[:-1]) / 2.0
        start = Parameters.near(baseline, outputs, epsilon, _WAVE_LOGIT)
    else:
        outputs = near.outputs * (_gain(epsilon) / _gain(near.epsilon))
        start = Parameters.near(near.transition(BINS), outputs, near.epsilon, _TABLE_LOGIT)
    chosen = schedule or (LONG if near is None else SHORT)
    found = train(start.symmetric(), shape, baseline, chosen, progress or (lambda _share: None))
    centered = found.symmetric().rows(shape)
    outputs = centered.parameters.outputs
    order = np.argsort(outputs)
    return Solution(outputs[order], _tilt(centered)[:, order], chosen.steps)


def _gain(epsilon: float) -> float:
    """Return what reports of Square Wave are multiplied with: more than decodes them."""
    return (1.05 + 0.25 / epsilon) / square_wave(epsilon).gain


def _tilt(centered: Rows) -> Array:
    """Return two rows for every bin, whose means are its ends."""
    knots = np.stack([_EDGES[:-1], _EDGES[1:] - _GAP], axis=1).ravel()
    knots[-1] = 1.0
    doubled = np.repeat(centered.parameters.logits, 2, axis=0)
    both = replace(centered.parameters, logits=doubled)
    return both.rows(Shape(centered.shape.epsilon, knots)).probabilities
