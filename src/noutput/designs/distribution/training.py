r"""Gradient descent on the error of simulated collections.

Notes
-----
Every step simulates collections of people whose histograms are drawn at random, with 500 to
20,000 reports each, estimates them by EM as far as its stopping rule, and moves the parameters of
the rows against the exact gradient of the loss (`simulated`), with a step size that falls as a
cosine. The result is the average of the parameters over the last steps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from noutput.designs.distribution.adam import Adam
from noutput.designs.distribution.simulated import Collections, Schedule
from noutput.designs.distribution.unrolled import errors_and_gradient, mirrored_mean

if TYPE_CHECKING:
    from noutput.designs.distribution.private_rows import Parameters, Shape
    from noutput.designs.solution import Array, Progress

__all__ = ["train"]

_RATES = (1.0, 0.3, 0.3)  # less for what a whole column or the whole table shares


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
    collections = Collections.of(schedule)
    scales = collections.measure(baseline, schedule.most_iterations)
    adam = Adam(start.parts, _RATES)
    parameters = average = start
    for step, size in enumerate(schedule.step_sizes()):
        rows = parameters.rows(shape)
        batch = collections.draw(schedule.collections, len(rows.least), scales)
        transition = rows.probabilities.astype(np.float32)
        gradient = errors_and_gradient(transition, batch, schedule.most_iterations)[1]
        change = adam.step(rows.gradient(mirrored_mean(gradient)), size)
        parameters = rows.parameters.moved(change)
        if step >= schedule.first_averaged:
            average = average.towards(parameters, 1.0 / (step - schedule.first_averaged + 1))
        progress((step + 1) / schedule.steps)
    return average
