r"""The variance of the people's own numbers, as far as a table's reports can tell.

Notes
-----
If scores :math:`h_j` of the outputs satisfy :math:`|\sum_j h_j P(j \mid x) - x^2| \le \delta` for
all x, then the mean score of the reports, less :math:`\delta`, is an estimate of the mean square
of the people's numbers that is too small on average, by no more than :math:`2\delta`. Less the
squared mean it is an estimate of their variance.

Where the mean is estimated by scores whose expectation g(x) is off x by at most a bias, the
squared mean is taken as large as the bias allows, and the standard deviation of g(x) over the
people is smaller than that of x by no more than the bias.

The scores come from least squares over the knots, with directions left out that would turn small
differences of the counts into large ones. Between knots the probabilities are linear and
:math:`x^2` lies below its chord by at most a quarter of the squared distance of the knots, which
:math:`\delta` takes in.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from noutput.estimate.counts import Array
    from noutput.estimate.mean_scores import MeanScores
    from noutput.mechanisms.table import TableMechanism

__all__ = ["input_variance"]

_SMALLEST_DIRECTION = 1e-3  # relative to the largest singular value


@dataclass(frozen=True)
class _Scores:
    scores: Array
    error: float


@lru_cache(maxsize=64)
def _square_scores(mechanism: TableMechanism) -> _Scores:
    """Return the scores of a table; equal tables share them."""
    knots = mechanism.knots
    rows = mechanism.weights / mechanism.scale
    scores: Array = np.linalg.lstsq(rows, knots**2, rcond=_SMALLEST_DIRECTION)[0].astype(np.float64)
    residual = float(np.abs(rows @ scores - knots**2).max())
    chord = float(np.diff(knots).max()) ** 2 / 4.0
    return _Scores(scores, residual + chord)


def input_variance(
    mechanism: TableMechanism,
    used: MeanScores,
    shares: list[float],
    mean: float,
    variance: float,
) -> float:
    """Return the variance of the people's expected scores, or less if the table cannot tell.

    For decoded reports that is the variance of the people's numbers.

    Parameters
    ----------
    mechanism : TableMechanism
    used : MeanScores
        What estimates the mean.
    shares : list of floats
        The share of every output in the reports.
    mean, variance : float
        Of the scores of the reports; the result leaves at least their smallest noise.
    """
    found, bias = _square_scores(mechanism), used.bias_bound
    likely = float(np.dot(shares, found.scores)) - found.error - (abs(mean) + bias) ** 2
    likely = max(math.sqrt(max(likely, 0.0)) - bias, 0.0) ** 2 if bias else likely
    return max(0.0, min(likely, variance - used.smallest_noise))
