r"""Scores of the cells of stacked tables whose averages are right for every population.

Notes
-----
The average of scores :math:`b_{ji}` over all reports is an unbiased estimate of the mean of a
function :math:`t` of the people's numbers, whatever they are, if and only if

.. math:: \sum_{j, i} b_{ji} P(j, i \mid x) = t(x) \quad \text{for all } x .

Both sides are linear between the corners of the stack, so the equations at the corners are all.
*Every part's clipped mean has such scores:* its own decoded outputs, divided by its share of the
reports, make :math:`t(x)` the number clipped to the part's bounds. The mean itself has some as soon
as the bounds of one part cover those of all. Of all solutions that with the least variance for
people who are spread evenly over the bounds of the *lead* is taken: with
:math:`u = \sqrt{q}\,b` the shortest u, by least squares. The lead is the part that
knows its own clipped mean best, by its number of reports, the width of its bounds and the average
variance of its table. None of that depends on what the reports say.

Beyond the bounds of the other parts, unbiased scores have only the part with the widest bounds to
rely on. Where that has few reports, unbiased means are no better than its own: there
`noutput.estimate.combined` uses the likelihood.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from noutput.estimate.counts import Array
    from noutput.estimate.stacked import Layer, StackedChannel

__all__ = ["clipped_scores", "lead", "reference", "unbiased_scores"]

_SMALLEST_DIRECTION = 1e-12  # relative to the largest singular value
_REFINEMENTS = 2
_ROUNDING = 1e-10  # of half the width of the bounds: what unbiased scores may be off


def lead(stack: StackedChannel) -> Layer:
    """Return the part that knows the mean of its own clipped numbers best."""

    def precision(layer: Layer) -> float:
        width = (layer.upper - layer.lower) / 2.0
        return layer.reports / (width * width * layer.channel.average_variance())

    return max(stack.layers, key=precision)


@lru_cache(maxsize=64)
def reference(stack: StackedChannel) -> Array:
    """Return the shares of the cells if people are spread evenly over the bounds of the lead."""
    first = lead(stack)
    edges = np.unique([-1.0, first.lower, first.upper, 1.0])
    place = int(np.searchsorted(edges, first.lower))
    even = stack.averages(edges)[place]
    result: Array = even / even.sum()
    return result


@lru_cache(maxsize=64)
def unbiased_scores(stack: StackedChannel) -> Array | None:
    """Return scores whose average estimates the mean without bias; None if there are none."""
    return _least_variance(stack, stack.corners())


@lru_cache(maxsize=64)
def clipped_scores(stack: StackedChannel) -> Array:
    """Return unbiased scores for the mean of the numbers clipped to the bounds of the lead."""
    first = lead(stack)
    found = _least_variance(stack, np.clip(stack.corners(), first.lower, first.upper))
    if found is None:  # pragma: no cover (the decoded outputs of the lead are a solution)
        raise ArithmeticError("least squares found no scores")
    return found


def _least_variance(stack: StackedChannel, target: Array) -> Array | None:
    """Return the scores with given expectations at the corners; None if there are none."""
    roots = np.sqrt(reference(stack))
    system = stack.rows / roots
    found = np.zeros(stack.n_cells)
    for _ in range(1 + _REFINEMENTS):
        rest = target - stack.rows @ found
        found += np.linalg.lstsq(system, rest, rcond=_SMALLEST_DIRECTION)[0] / roots
    return found if np.abs(stack.rows @ found - target).max() < _ROUNDING else None
