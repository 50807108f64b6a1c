r"""The best table with N outputs: a search over outputs with exact inner solutions.

Notes
-----
For given outputs and column minima the best probabilities are known in closed form (`envelope`),
for given outputs the best minima are a small linear programme (`programme`), and outputs and
minima together are moved to a local optimum by sequential quadratic programming (`refine`). Which
local optimum is the right one is the business of `search`. The result is tabulated at the at most
2N + 1 inputs where the probabilities bend, and knots that are not needed are dropped (`knots`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from noutput.designs.certificate import EPSILON_RANGE
from noutput.designs.optimal.envelope import Array, table
from noutput.designs.optimal.knots import needed_knots
from noutput.designs.optimal.prior import Prior
from noutput.designs.optimal.search import NESTED_UP_TO, Candidate, Search
from noutput.errors import InvalidArgumentError
from noutput.mechanisms.moments import average_variance, largest_variance

__all__ = ["Solution", "optimize", "optimize_sizes"]

Objective = Literal["worst", "average"]


@dataclass(frozen=True)
class Solution:
    """A table found by `optimize`.

    Attributes
    ----------
    outputs : ndarray
        The N outputs, ascending.
    knots : ndarray
        The K inputs at which probabilities are given, from -1 to 1.
    probabilities : ndarray
        K x N; between knots they are linear.
    value : float
        The worst-case variance over all real inputs, or the average variance.
    iterations : int
        Number of local searches.
    converged : bool
        Whether the last exchange of outputs brought no improvement.
    """

    outputs: Array
    knots: Array
    probabilities: Array
    value: float
    iterations: int
    converged: bool


def optimize(
    epsilon: float,
    n_outputs: int,
    objective: Objective = "worst",
    prior: Array | None = None,
    *,
    start: Array | None = None,
    progress: Callable[[float], None] | None = None,
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
        Outputs, knots, probabilities and the true value.

    Examples
    --------
    >>> solution = optimize(1.0, 3)
    >>> round(solution.value, 4)
    4.2062
    """
    _check(epsilon, n_outputs, objective, prior, start)
    search = Search(epsilon, Prior.of(prior) if objective == "average" else None)
    report = progress or _ignore
    best, allowed = search.from_scratch(n_outputs, report)
    if start is not None:
        rival = search.from_start(n_outputs, np.sort(np.asarray(start, float)))
        best = min(best, rival, key=lambda candidate: candidate.value)
    report(1.0)
    return _finish(search, best, allowed)


def optimize_sizes(
    epsilon: float,
    objective: Objective = "worst",
    prior: Array | None = None,
    *,
    progress: Callable[[float], None] | None = None,
) -> dict[int, Solution]:
    """Find the best table for every number of outputs from 2 to 16 in one pass.

    The parameters are those of `optimize`, which makes the same pass for its last number.

    Examples
    --------
    >>> solutions = optimize_sizes(0.25)
    >>> values = [solution.value for solution in solutions.values()]
    >>> values == sorted(values, reverse=True)
    True
    """
    _check(epsilon, NESTED_UP_TO, objective, prior, None)
    search = Search(epsilon, Prior.of(prior) if objective == "average" else None)
    solved = search.chain(NESTED_UP_TO, progress or _ignore)
    return {n: _finish(search, best, search.allowance(n, solved)) for n, best in solved.items()}


def _ignore(_: float) -> None:
    """Report nothing."""


def _check(
    epsilon: float, n_outputs: int, objective: str, prior: object, start: Array | None
) -> None:
    lowest, highest = EPSILON_RANGE
    if not lowest <= epsilon <= highest:
        raise InvalidArgumentError("epsilon", f"be in [{lowest}, {highest}]", epsilon)
    if not 2 <= n_outputs <= 256:
        raise InvalidArgumentError("n_outputs", "be in [2, 256]", n_outputs)
    if objective not in ("worst", "average"):
        raise InvalidArgumentError("objective", "be 'worst' or 'average'", objective)
    if objective == "worst" and prior is not None:
        raise InvalidArgumentError("prior", "be None for the worst case", prior)
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
    value = _true_value(search.prior, knots, moments)
    kept = needed_knots(
        knots, moments, max(allowed, value * (1 + 1e-12)), search.prior, search.symmetric
    )
    return Solution(
        outputs=outputs,
        knots=knots[kept],
        probabilities=rows[kept],
        value=_true_value(search.prior, knots[kept], moments[kept]),
        iterations=search.iterations,
        converged=search.converged,
    )


def _true_value(prior: Prior | None, knots: Array, moments: Array) -> float:
    if prior is None:
        return largest_variance(knots, moments)
    return average_variance(knots, moments, prior.masses)
