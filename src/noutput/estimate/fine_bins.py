r"""Bins for the evidence of several parts: fine where some part has narrow bounds.

Notes
-----
The Gaussian-process estimator is made for 64 bins that divide the bounds of a table. A part with
narrow bounds tells more about the numbers within them than equal bins of all bounds can say,
and lengths that are right for the widest bounds are too long there. So bins have the width

.. math:: h(x) = \min_j \Big( \frac{u_j - l_j}{b_j} + g\, d(x, [l_j, u_j]) \Big) ,

with d the distance of x to the bounds of part j. :math:`b_j` is 64, and 16 for bounds that contain
narrower ones: within the narrowest bounds there are 64 bins, and those beyond grow with the
distance by 8% from one to the next. The estimator takes neighbors to be equally far apart,
whatever their widths. Where all bounds are the same, the bins are 64 equal ones.

Both constants were chosen on the training family of ``benchmarks/wave_populations.py``. With fewer
or faster growing bins, people whom the bounds cut off are found less well. With 64 bins in the
wide bounds, more of the smooth prior lies where nobody is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from noutput.estimate.stacked import StackedChannel

if TYPE_CHECKING:
    from noutput.estimate.counts import Array, CellModel
    from noutput.estimate.stacked import Layer

__all__ = ["FineBins", "default_bins", "fine_bins"]

_INSIDE = 64
_AROUND = 16  # in bounds that contain narrower ones
_GROWTH = 0.08  # of a bin's width, from one to the next beyond narrow bounds
_PLACES = 1 << 14
_ROUNDING = 1e-9
_MOST = 1024


@dataclass(frozen=True, eq=False)
class FineBins:
    """Bins of unequal widths.

    Parameters
    ----------
    edges : array of shape (d + 1,)
        From -1 to 1.
    theta : array of shape (d, cells)
        The chances of the cells for people who are spread evenly in a bin.
    step : float
        How far apart neighbors are, in the unit of the kernels' lengths.
    """

    edges: Array
    theta: Array
    step: float

    def spread(self, shares: Array, bins: int) -> Array:
        """Return the shares of equal bins, with numbers uniform inside of these ones."""
        sums = np.pad(np.cumsum(shares, axis=1), ((0, 0), (1, 0)))
        sums /= sums[:, -1:]
        equal = np.linspace(-1.0, 1.0, bins + 1)
        result: Array = np.diff([np.interp(equal, self.edges, row) for row in sums], axis=1)
        return result


@lru_cache(maxsize=64)
def fine_bins(stack: StackedChannel) -> FineBins:
    """Return the bins for the parts of a stack."""
    ends = [end for layer in stack.layers for end in (layer.lower, layer.upper)]
    x = np.unique(np.concatenate([np.linspace(-1.0, 1.0, _PLACES + 1), ends]))
    widths = np.full(len(x), math.inf)
    for layer in stack.layers:
        beyond = np.maximum(np.maximum(layer.lower - x, x - layer.upper), 0.0)
        bins = _AROUND if any(_contains(layer, other) for other in stack.layers) else _INSIDE
        widths = np.minimum(widths, (layer.upper - layer.lower) / bins + _GROWTH * beyond)
    steps = np.diff(x) * (1.0 / widths[1:] + 1.0 / widths[:-1]) / 2.0
    passed = np.concatenate([[0.0], np.cumsum(steps)])
    count = math.ceil(passed[-1] - _ROUNDING)
    step = float(passed[-1]) / count
    edges = np.interp(step * np.arange(count + 1), passed, x)
    edges[[0, -1]] = -1.0, 1.0
    theta = np.ascontiguousarray(stack.averages(edges))
    edges.flags.writeable = theta.flags.writeable = False
    return FineBins(edges, theta, step)


def _contains(layer: Layer, other: Layer) -> bool:
    """Say whether bounds contain narrower ones."""
    within = layer.lower <= other.lower and other.upper <= layer.upper
    return within and other.upper - other.lower < layer.upper - layer.lower


def default_bins(channel: CellModel) -> int:
    """Return how many equal bins put 64 into the narrowest bounds of all parts; at most 1024."""
    if not isinstance(channel, StackedChannel):
        return _INSIDE
    narrowest = min(layer.upper - layer.lower for layer in channel.layers)
    return min(_INSIDE * math.ceil(2.0 / narrowest - _ROUNDING), _MOST)
