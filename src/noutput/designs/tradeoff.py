r"""The limit of the trade-off between the mean and the distribution of numbers.

Notes
-----
Cut [-1, 1] into B equal cells of width w. Take any unbiased :math:`\epsilon`-LDP mechanism whose
worst-case variance is V, with any output space. The mixture of its rows over a cell, with x uniform
in the cell, is a row with the mean :math:`c_b`, the middle of the cell, and a second moment of
:math:`c_b^2 + w^2/12 + V` at most; the rows at -1 and 1 have the second moment
:math:`1 + V` at most. These B + 2 rows are private against each other, so they are a table of
the kind that `noutput.designs.columns` optimizes over: no mechanism is better than its optimum.
The criterion is that of `cdf_error`, computed from the rows of the cells alone.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from noutput.designs.columns import Columns, HistogramError, Moments, Optimal, Problem, solve
from noutput.designs.columns.criterion import cumulative_error
from noutput.designs.distribution.training_shapes import BINS, draw_histograms
from noutput.designs.solution import Array
from noutput.mechanisms.square_wave import square_wave

__all__ = ["CELLS", "PEOPLE", "best_cdf", "best_tradeoff", "cdf_error", "least_variance"]

CELLS = 16
"""The number of cells of [-1, 1]."""

PEOPLE = (700, 3_000, 12_000)
"""How many people take part in the reference collections."""

_POPULATIONS = 6
_SMOOTHING = 0.3
_PRIOR_DRAWS = 20_000
_SEEDS = (3, 5)


def cdf_error(epsilon: float, cells: int = CELLS) -> HistogramError:
    """Return the criterion: the squared error of the CDF relative to that of Square Wave.

    Six histograms of the training family, each smoothed by 30% of the family's mean, and their
    mirror images are the populations. They report 700, 3,000 or 12,000 times, and the prior
    covariance is that of the family. Each population counts in proportion to the error that
    Square Wave has there.
    """
    prior = _merged(draw_histograms(np.random.default_rng(_SEEDS[0]), _PRIOR_DRAWS), cells)
    prior = np.concatenate([prior, prior[:, ::-1]])
    drawn = _merged(draw_histograms(np.random.default_rng(_SEEDS[1]), _POPULATIONS), cells)
    smooth = (1.0 - _SMOOTHING) * drawn + _SMOOTHING * prior.mean(axis=0)
    populations = np.concatenate([smooth, smooth[:, ::-1]])
    people = np.resize(np.array(PEOPLE, float), _POPULATIONS)
    criterion = HistogramError(
        populations,
        np.concatenate([people, people]),
        np.ones(len(populations)),
        cumulative_error(cells),
    )
    spread = np.cov(prior @ criterion.contrasts.T, rowvar=False)
    criterion = replace(criterion, precision=np.linalg.inv(spread))
    rivals = criterion.values(square_wave(epsilon).transition(cells))
    return replace(criterion, weights=1.0 / (len(rivals) * rivals))


def least_variance(epsilon: float, cells: int = CELLS, tolerance: float = 1e-6) -> Optimal:
    """Return the table of cells with the least worst-case variance, and its bound."""
    return solve(Problem(epsilon, cells + 2, moments=_moments(cells)), tolerance=tolerance)


def best_cdf(epsilon: float, cells: int = CELLS, tolerance: float = 1e-4) -> Optimal:
    """Return the best table for the CDF that need not have any mean."""
    return solve(Problem(epsilon, cells, cdf_error(epsilon, cells)), tolerance=tolerance)


def best_tradeoff(
    epsilon: float,
    variance: float,
    start: Columns | None = None,
    *,
    cells: int = CELLS,
    tolerance: float = 1e-4,
) -> Optimal:
    """Return the best table for the CDF among those with this worst-case variance.

    Parameters
    ----------
    epsilon : float
    variance : float
        The largest worst-case variance.
    start : Columns, optional
        Columns of the solution for another variance.
    cells : int
        Cells of [-1, 1]; the bound is proven for up to 16.
    tolerance : float
        The gap at which to stop.

    Raises
    ------
    DesignError
        If no unbiased mechanism has such a variance.
    """
    moments = replace(_moments(cells), variance=variance)
    problem = Problem(epsilon, cells + 2, cdf_error(epsilon, cells), moments)
    return solve(problem, start, tolerance=tolerance)


def _moments(cells: int) -> Moments:
    width = 2.0 / cells
    middles = -1.0 + width * (np.arange(cells) + 0.5)
    ends = np.array([-1.0, 1.0])
    squares = np.concatenate([middles**2 + width**2 / 12.0, ends**2])
    return Moments(np.concatenate([middles, ends]), squares)


def _merged(histograms: Array, cells: int) -> Array:
    """Add up neighboring bins."""
    merged: Array = histograms.reshape(len(histograms), cells, BINS // cells).sum(axis=2)
    return merged
