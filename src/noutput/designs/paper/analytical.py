r"""The paper's analytical design, with its errors corrected.

Notes
-----
With :math:`c = e^\epsilon`, the structure is: output i has probability :math:`c p` at its own
knot and p at all others; output 0 (odd N only) has :math:`c p_0` at x = 0 and :math:`p_0`
elsewhere; and at x = 0 the outputs :math:`\pm 1` have :math:`p^*`, which is what the other
probabilities leave. With :math:`t = (c - 1) p` the knots are :math:`x_j = t a_j`.

Two sequences of outputs are candidates: Theorem 4 of the paper (all cells but the innermost share
their maximal variance) and Theorem 5 (the innermost too). The paper chooses between them by a
condition that its Algorithm 2 states the wrong way round. Here no condition is trusted: the true
worst-case variance of every feasible candidate is computed, and the smallest wins.

References
----------
Baek and Chung, "N-output Mechanism: Estimating Statistical Information from Numerical Data under
Local Differential Privacy", section 4.4 and appendix "Optimization algorithm".
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize_scalar

from noutput.designs.solution import Array, Solution
from noutput.errors import DesignError

__all__ = ["best_size", "solve"]

_GRID = 65


def solve(epsilon: float, n_outputs: int) -> Solution:
    """Return the best analytical design with exactly this many outputs.

    Raises
    ------
    DesignError
        If the structure has no solution because `n_outputs` is too large for `epsilon`.
    """
    table = _best_candidate(epsilon, n_outputs)
    if table is None:
        most = max(n for n in range(2, n_outputs) if _best_candidate(epsilon, n) is not None)
        raise DesignError(
            f"n_outputs = {n_outputs} is too large for the analytical design at "
            f"epsilon = {epsilon}: the largest is {most}"
        )
    return table


def best_size(epsilon: float, largest: int) -> int:
    """Return the number of outputs up to `largest` whose design has the smallest variance."""
    tables = ((n, _best_candidate(epsilon, n)) for n in range(2, largest + 1))
    values = [(table.worst_variance, n) for n, table in tables if table is not None]
    best = min(values)[0]
    return min(n for value, n in values if value <= best * (1.0 + 1e-9))


def _best_candidate(epsilon: float, n_outputs: int) -> Solution | None:
    c = math.exp(epsilon)
    half = n_outputs // 2
    largest_p0 = 1.0 / (c + 2 * half) if n_outputs % 2 else 0.0

    def equalized(p0: float) -> Solution | None:
        outputs = _all_but_innermost(c, half, (1.0 - p0) / (c + 2 * half - 1))
        return _table(c, n_outputs, outputs, p0)

    candidates = [
        equalized(_minimize(equalized, largest_p0)),
        _table(c, n_outputs, _all_cells(c, n_outputs), largest_p0),
    ]
    feasible = [table for table in candidates if table is not None]
    return min(feasible, key=lambda table: table.worst_variance, default=None)


def _minimize(family: Callable[[float], Solution | None], largest: float) -> float:
    """Return the p0 in [0, largest] whose design has the smallest variance.

    The variance is the larger of one that falls and one that rises with p0 where both are
    feasible; a grid brackets the minimum, a bounded search refines it.
    """
    if largest == 0.0:
        return 0.0

    def variance(p0: float) -> float:
        table = family(p0)
        return math.inf if table is None else table.worst_variance

    grid = np.linspace(0.0, largest, _GRID)
    values = [variance(p0) for p0 in grid]
    best = int(np.argmin(values))
    if math.isinf(values[best]):
        return 0.0
    bracket = (grid[max(best - 1, 0)], grid[min(best + 1, _GRID - 1)])
    found = minimize_scalar(
        lambda p0: min(variance(p0), 1e300),
        bounds=bracket,
        method="bounded",
        options={"xatol": 1e-14},
    )
    return float(found.x) if found.fun < values[best] else float(grid[best])


def _all_but_innermost(c: float, half: int, p: float) -> Array:
    """Return a_1 ... a_n of Theorem 4: each a_j is a combination of the last two outputs."""
    t = (c - 1.0) * p
    second = np.zeros(half + 2)  # coefficients of a_(n-1), then of a_n
    last = np.zeros(half + 2)
    second[half - 1], last[half] = 1.0, 1.0
    for j in range(half - 2, 0, -1):
        second[j] = (4.0 * t - 2.0) * second[j + 1] - second[j + 2]
        last[j] = (4.0 * t - 2.0) * last[j + 1] - last[j + 2]
    second, last = second[1 : half + 1], last[1 : half + 1]
    if half == 1:
        return last / t
    ratio = (2.0 * t - 1.0 - 8.0 * p * (second @ last)) / (1.0 + 8.0 * p * (second @ second))
    result: Array = (second * ratio + last) / t
    return result


def _all_cells(c: float, n_outputs: int) -> Array:
    """Return a_1 ... a_n of Theorem 5: every a_j is a fixed share of the next."""
    half = n_outputs // 2
    t = (c - 1.0) / (c + n_outputs - 1.0)
    outputs = np.full(half, 1.0 / t)
    shares = [0.0, 1.0 / (4.0 * t - (2.0 if n_outputs % 2 else 1.0))]
    for _ in range(2, half):
        quadratic = shares[-1] ** 2 + 2.0 * shares[-1] - 4.0 * t * shares[-1]
        root = quadratic + (2.0 * t - 1.0) ** 2
        if root < 0.0 or quadratic == 0.0:
            return np.full(half, math.nan)
        shares.append((1.0 - 2.0 * t + math.sqrt(root)) / quadratic)
    for j in range(half - 1, 0, -1):
        outputs[j - 1] = shares[j] * outputs[j]
    return outputs


def _table(c: float, n_outputs: int, positive: Array, p0: float) -> Solution | None:
    """Fill in the paper's structure; None where the outputs do not increase from 0."""
    half = n_outputs // 2
    p = (1.0 - p0) / (c + 2 * half - 1)
    p_star = (1.0 - 2 * (half - 1) * p - c * p0) / 2.0
    if not np.all(np.diff(positive, prepend=0.0) > 1e-9):
        return None
    size = 2 * half + 1
    outputs = np.concatenate([-positive[::-1], [0.0], positive])
    rows = np.full((size, size), p)
    np.fill_diagonal(rows, c * p)
    rows[:, half] = p0
    rows[half, [half - 1, half, half + 1]] = p_star, c * p0, p_star
    if n_outputs % 2 == 0:
        outputs, rows = np.delete(outputs, half), np.delete(rows, half, axis=1)
    return Solution(outputs, rows)
