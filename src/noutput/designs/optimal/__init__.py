r"""The best table with N outputs: a search over outputs with exact inner solutions.

Notes
-----
For given outputs and column minima the best probabilities are known in closed form (`best_rows`),
for given outputs the best minima are a small linear program (`linear_program`), and outputs and
minima together are moved to a local optimum by sequential quadratic programming (`refine`). Which
local optimum is the right one is the business of `search`. The result is tabulated at the at most
2N + 1 inputs where the probabilities bend, and knots that are not needed are dropped (`knots`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from noutput.designs.optimal.best_rows import table
from noutput.designs.optimal.density import Density, check_request
from noutput.designs.optimal.knots import needed_knots
from noutput.designs.optimal.search import NESTED_UP_TO, Candidate, Search
from noutput.designs.solution import Array, Progress, Solution
from noutput.errors import InvalidArgumentError
from noutput.mechanisms.moments import average_variance, largest_variance

if TYPE_CHECKING:
    from noutput.designs.objective import VarianceNorm

__all__ = ["optimize", "optimize_sizes"]


def optimize(
    epsilon: float,
    n_outputs: int,
    objective: VarianceNorm = "worst",
    prior: Array | None = None,
    *,
    start: Array | None = None,
    progress: Progress | None = None,
) -> Solution:
    r"""Find the epsilon-LDP, unbiased table with N outputs of least variance.

    Parameters
    ----------
    epsilon : float
        Privacy parameter, in [0.05, 12].
    n_outputs : int
        Number of outputs, from 2 to 256.
    objective : {"worst", "average"}
        Worst-case variance over [-1, 1], or average variance under ``prior``.
    prior : ndarray, optional
        Histogram on equal bins of [-1, 1], for the average only. Default uniform.
    start : ndarray, optional
        Outputs of a neighboring design (same number of outputs, nearby epsilon): one more
        place to start from.
    progress : callable, optional
        Called with the finished fraction of the work.

    Returns
    -------
    Solution
        Its iterations are local searches; it has converged where the last exchange of outputs
        brought no improvement.

    Examples
    --------
    >>> solution = optimize(1.0, 3)
    >>> round(solution.worst_variance, 4)
    4.2062
    """
    _check(epsilon, n_outputs, objective, prior, start)
    search = Search(epsilon, Density.of(prior) if objective == "average" else None)
    report = progress or _ignore
    best, allowed = search.from_scratch(n_outputs, report)
    if start is not None:
        rival = search.from_start(n_outputs, np.sort(np.asarray(start, float)))
        best = min(best, rival, key=lambda candidate: candidate.value)
    report(1.0)
    return _finish(search, best, allowed)


def optimize_sizes(
    epsilon: float,
    objective: VarianceNorm = "worst",
    prior: Array | None = None,
    *,
    largest: int = NESTED_UP_TO,
    progress: Progress | None = None,
) -> dict[int, Solution]:
    """Find the best table for every number of outputs from 2 to `largest` (at most 16).

    The other parameters are those of `optimize`, which makes the same pass for its last number.

    Examples
    --------
    >>> solutions = optimize_sizes(1.0, largest=4)
    >>> {size: round(solution.worst_variance, 3) for size, solution in solutions.items()}
    {2: 4.683, 3: 4.206, 4: 4.154}
    """
    _check(epsilon, min(largest, NESTED_UP_TO), objective, prior, None)
    search = Search(epsilon, Density.of(prior) if objective == "average" else None)
    solved = search.chain(min(largest, NESTED_UP_TO), progress or _ignore)
    return {
        n: _finish(search, best, search.allowance(best, solved.get(n - 1)))
        for n, best in solved.items()
    }


def _ignore(_: float) -> None:
    """Report nothing."""


def _check(
    epsilon: float, n_outputs: int, objective: str, prior: object, start: Array | None
) -> None:
    check_request(epsilon, objective, prior)
    if not 2 <= n_outputs <= 256:
        raise InvalidArgumentError("n_outputs", "be in [2, 256]", n_outputs)
    if start is not None:
        array = np.asarray(start, dtype=np.float64)
        if array.shape != (n_outputs,) or not np.all(np.isfinite(array)):
            raise InvalidArgumentError("start", f"be {n_outputs} finite outputs", array.tolist())


def _finish(search: Search, best: Candidate, allowed: float) -> Solution:
    """Tabulate the candidate and drop the knots that are not needed."""
    outputs, knots, rows = table(
        best.layout.outputs(best.outputs),
        best.layout.minima(best.minima),
        search.epsilon,
        search.symmetric,
    )
    moments = rows @ (outputs * outputs)
    if search.density is None:
        value = largest_variance(knots, moments)
    else:
        value = average_variance(knots, moments, search.density.masses)
    kept = needed_knots(
        knots, moments, max(allowed, value * (1 + 1e-12)), search.density, search.symmetric
    )
    return Solution(outputs, rows[kept], search.iterations, search.converged)
