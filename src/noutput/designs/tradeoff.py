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
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from noutput.designs.columns import Columns, HistogramError, Moments, Optimal, Problem, solve
from noutput.designs.columns.criterion import cumulative_error
from noutput.designs.distribution.training_shapes import BINS, draw_histograms
from noutput.mechanisms.square_wave import square_wave

if TYPE_CHECKING:
    from noutput.designs.solution import Array

__all__ = ["CELLS", "PEOPLE", "best_cdf", "best_tradeoff", "cdf_error", "least_variance"]

CELLS = 16
"""The number of cells of [-1, 1]."""

PEOPLE = 3_000
"""How many people take part in the reference collections."""

_DRAWS = 4_000
_SEED = 3
_MIDDLE = 1.0 / 3.0


@lru_cache(maxsize=8)
def cdf_error(epsilon: float, cells: int = CELLS) -> HistogramError:
    """Return the criterion: the squared error of the CDF relative to that of Square Wave.

    There are three populations of 3,000 people each: the mean histogram of those of the
    training family whose mean lies in the lowest third of the range, of those in the middle
    third, and of those in the highest. The prior covariance is that of the whole family. The
    value is the mean over the populations of the error relative to that of Square Wave.
    """
    drawn = draw_histograms(np.random.default_rng(_SEED), _DRAWS)
    drawn = drawn.reshape(_DRAWS, cells, BINS // cells).sum(axis=2)
    drawn = np.concatenate([drawn, drawn[:, ::-1]])
    means = drawn @ _middles(cells)
    low, middle = drawn[means < -_MIDDLE].mean(axis=0), drawn[np.abs(means) <= _MIDDLE].mean(axis=0)
    populations = np.stack([low, middle, low[::-1]])
    count = len(populations)
    people = np.full(count, float(PEOPLE))
    criterion = HistogramError(populations, people, np.ones(count), cumulative_error(cells))
    spread = np.cov(drawn @ criterion.contrasts.T, rowvar=False)
    precision = np.linalg.inv(spread).astype(np.float64)
    criterion = replace(criterion, precision=precision)
    rivals = criterion.values(square_wave(epsilon).transition(cells))
    return replace(criterion, weights=1.0 / (count * rivals))


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
        Columns of the solution for a smaller variance, which saves time.
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


def _middles(cells: int) -> Array:
    return (2.0 * np.arange(cells) + 1.0) / cells - 1.0


def _moments(cells: int) -> Moments:
    width, middles, ends = 2.0 / cells, _middles(cells), np.array([-1.0, 1.0])
    squares = np.concatenate([middles**2 + width**2 / 12.0, ends**2])
    return Moments(np.concatenate([middles, ends]), squares)
