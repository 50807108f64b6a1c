r"""The best table for the distribution: trained by the error of the estimator that will be used.

Notes
-----
A table has one row for each of 64 equal bins of [-1, 1], so two knots per bin: its lower edge, and
its upper edge less :math:`2^{-18}`. Whatever the number is inside its bin, the report has almost
the same distribution. So the transition matrix of the estimator is right for any distribution of
numbers inside the bins, and atoms, which real data are full of, do no harm; tables that are linear
over wider cells lose most of the gain. The rows at the two knots of a bin differ by a small tilt
alone, which makes their means equal to the knots: the table decodes to an unbiased mean as every
other does.

`training` moves the rows, `private_rows` keeps them private and unbiased, `unrolled` computes the
error of EM and its gradient, `training_shapes` says what people's numbers may look like, and
`error` measures the result.
"""

from __future__ import annotations

import math

import numpy as np

from noutput.designs.distribution.bins import CENTERS, rows_at_knots, unbiased
from noutput.designs.distribution.private_rows import Parameters, Shape
from noutput.designs.distribution.simulated import Schedule
from noutput.designs.distribution.training import train
from noutput.designs.distribution.training_shapes import BINS
from noutput.designs.solution import Array, Progress, Solution
from noutput.mechanisms.square_wave import square_wave

__all__ = ["SIZES", "solve"]

SIZES = (8, 256)
"""The least and the largest number of outputs."""

_LEAST_MOVE = 4.0
_BOTH_KINDS = 1.5
_FEW_OUTPUTS = 32
_FEW_STEPS, _STEPS = 1500, 800  # a step with few outputs takes less time, and gains less


def solve(
    epsilon: float,
    n_outputs: int,
    *,
    schedule: Schedule | None = None,
    progress: Progress | None = None,
) -> Solution:
    """Train a table for the distribution, from Square Wave with its reports in N cells.

    Parameters
    ----------
    epsilon : float
    n_outputs : int
    schedule : Schedule, optional
        1500 steps by default, 800 for more than 32 outputs.
    progress : callable, optional
        Called with the share of the work that is done.
    """
    wave = square_wave(epsilon)
    baseline = wave.transition(BINS, n_outputs)
    shape = Shape(epsilon, CENTERS, _outputs(epsilon, n_outputs))
    start = Parameters.near(baseline, epsilon).symmetric()
    chosen = schedule or Schedule(_FEW_STEPS if n_outputs <= _FEW_OUTPUTS else _STEPS)
    found = train(start, shape, baseline, chosen, progress or (lambda _share: None))
    centered = found.symmetric().rows(shape).parameters
    rows = unbiased(rows_at_knots(centered, epsilon, shape.outputs))
    order = np.argsort(shape.outputs)
    return Solution(shape.outputs[order], rows[:, order], chosen.steps)


def _outputs(epsilon: float, n_outputs: int) -> Array:
    """Return what the outputs stand for: decoded cells of Square Wave, moved up and down in turn.

    The decoded cells alone would do: they give Square Wave the right means. But then a row's
    mean could only be changed by moving its window, and the rows at the two ends of a bin would
    look to the estimator like other bins. With neighbors apart, a row gets its mean from how it
    divides a window between the two kinds of outputs, which tells nothing else. They move by a
    standard deviation of Square Wave. That is little where epsilon is large, and rows would have
    to be divided so unevenly that it does tell: they move by 4 at least, as long as a window
    holds both kinds.
    """
    wave = square_wave(epsilon)
    edges = wave.edges(n_outputs)
    decoded = wave.decode((edges[1:] + edges[:-1]) / 2.0)
    half = (-1.0) ** np.arange(n_outputs // 2)
    turns = np.concatenate([half, np.zeros(n_outputs % 2), -half[::-1]])
    in_window = n_outputs * wave.half_width / wave.reach
    move = max(math.sqrt(wave.worst_variance()), _LEAST_MOVE if in_window > _BOTH_KINDS else 0.0)
    return np.asarray(decoded + move * turns)
