r"""The variance of the people's own numbers, as far as a table's reports can tell.

Notes
-----
If scores :math:`h_j` of the outputs satisfy :math:`|\sum_j h_j P(j \mid x) - x^2| \le \delta` for
all x, then the mean score of the reports, less :math:`\delta`, is an estimate of the mean square
of the people's numbers that is too small on average, by no more than :math:`2\delta`. Less the
squared mean it is an estimate of their variance.

The scores come from least squares over the knots, with directions left out that would turn small
differences of the counts into large ones. Between knots the probabilities are linear and
:math:`x^2` lies below its chord by at most a quarter of the squared distance of the knots, which
:math:`\delta` takes in.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from noutput.estimate.counts import Array
    from noutput.mechanisms.table import TableMechanism

__all__ = ["input_variance", "smallest_noise"]

_SMALLEST_DIRECTION = 1e-3  # relative to the largest singular value


@dataclass(frozen=True)
class _Scores:
    scores: Array
    error: float
    smallest_noise: float


@lru_cache(maxsize=64)
def _square_scores(mechanism: TableMechanism) -> _Scores:
    """Return the scores of a table; equal tables share them."""
    knots = mechanism.knots
    rows = mechanism.weights / mechanism.scale
    scores: Array = np.linalg.lstsq(rows, knots**2, rcond=_SMALLEST_DIRECTION)[0].astype(np.float64)
    residual = float(np.abs(rows @ scores - knots**2).max())
    chord = float(np.diff(knots).max()) ** 2 / 4.0
    noise = float(mechanism.variance(knots).min())  # concave between knots
    return _Scores(scores, residual + chord, noise)


def smallest_noise(mechanism: TableMechanism) -> float:
    """Return the smallest variance that a decoded report of a person can have."""
    return _square_scores(mechanism).smallest_noise


def input_variance(
    mechanism: TableMechanism, shares: list[float], mean: float, variance: float
) -> float:
    """Return the variance of the people's numbers, or less where the table cannot tell.

    Parameters
    ----------
    mechanism : TableMechanism
    shares : list of floats
        The share of every output in the reports.
    mean, variance : float
        Of the decoded reports; the result leaves at least the smallest noise of the mechanism.
    """
    found = _square_scores(mechanism)
    likely = float(np.dot(shares, found.scores)) - found.error - mean**2
    return max(0.0, min(likely, variance - found.smallest_noise))
