r"""Convex problems over the weights of all extreme columns of a private table.

One solver for several objectives: the least worst-case variance (a linear program), the best
table for the shares or the CDF of few answers, and the balance of mean and distribution. The
parts are

- `problem`: extreme columns, and the linear constraints on their weights;
- `criterion`: the error of an efficient estimate of a histogram, with exact derivatives;
- `interior_point`: the solver for given columns;
- `pricing`: the columns that would improve a solution, and the lower bound that they prove;
- `generation`: the loop of both.

Examples
--------
The best table for a choice of three answers, up to its gap, is randomized response:

>>> import numpy as np
>>> shares = np.full((1, 3), 1 / 3)
>>> error = HistogramError(shares, np.ones(1), np.ones(1), np.eye(3))
>>> found = solve(Problem(1.0, 3, error))
>>> np.round(found.table[:, found.weights > 0.01], 3).tolist()
[[0.212, 0.212, 0.576], [0.212, 0.576, 0.212], [0.576, 0.212, 0.212]]
"""

from noutput.designs.columns.criterion import HistogramError, cumulative_error
from noutput.designs.columns.generation import Optimal, solve
from noutput.designs.columns.problem import Columns, Moments, Problem

__all__ = [
    "Columns",
    "HistogramError",
    "Moments",
    "Optimal",
    "Problem",
    "cumulative_error",
    "solve",
]
