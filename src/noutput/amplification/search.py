r"""Search over c and over pairs of rows; what is returned has been verified, whatever the path.

Notes
-----
Neither search needs a proof of its own. `smallest_c` returns a c at which a proven upper bound of
delta was at most the wanted one for every pair of rows, at this c or at a smaller one: delta, as
the hockey-stick divergence of two fixed laws, falls with c. The first step follows the slope
:math:`d \ln\delta / dc \approx -pn\lambda` of a shift of the mean, further ones the last two
points.

A table with many rows may have thousands of pairs that are about as bad as the worst. Where cheap
bounds leave more than a thousand of them, c (or delta) is raised by a fraction of a percent, and by
more only if that is not enough, until they prove the others: what is returned stays an upper bound,
and the work is bounded.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from noutput.amplification.pairs import PairBound, Problem

__all__ = ["Found", "largest_delta", "smallest_c"]

_TOLERANCE = 5e-3  # of ln(delta); of epsilon it is 0.02% at delta = 1e-8
_STEPS = 100
_MOST = 1000  # pairs that may get a lattice
_GIVEN = (0.0, 0.003, 0.01, 0.03, 0.1, 0.3)  # of c, where more pairs are about as bad
_STEEP = 30.0  # ln(delta) changes about so many times as fast as ln(c)


@dataclass(frozen=True)
class Found:
    """A value of c, and the pair of rows that needs it."""

    c: float
    bound: PairBound


def smallest_c(problem: Problem, delta: float, highest: float) -> Found | None:
    """Return about the smallest c whose delta is proven for all pairs, or None below `highest`."""
    wanted = math.log(delta)
    found = _solve(problem, problem.likely_worst(), wanted, 0.0, highest)
    if found is None:
        return None
    first = found.bound.first, found.bound.second
    for given in _GIVEN:
        c, tilting = found.c * (1.0 + given), found.bound.tilt * (1.0 + given)
        pairs = problem.unproven(c, tilting, wanted, _MOST)
        if pairs is not None:
            break
    if pairs is None or c >= highest:
        return None
    found = Found(c, found.bound)
    for pair in problem.suspects(pairs, c, tilting, wanted):
        # every other pair is proven at this c, and stays so where c grows
        if pair != first and problem.bound(*pair, found.c).log_delta > wanted:
            found = _solve(problem, pair, wanted, found.c, highest)
            if found is None:
                return None
    return found


def _solve(
    problem: Problem, pair: tuple[int, int], wanted: float, low: float, high: float
) -> Found | None:
    """Return a c above `low` and below `high` that is proven for one pair of rows, or None."""
    best: Found | None = None
    nothing = 1e-9 * high
    previous: tuple[float, float] | None = None
    c = low if low > 0.0 else min(problem.guess(pair, wanted), high / 2.0)
    for _ in range(_STEPS):
        bound = problem.bound(*pair, c)
        excess = bound.log_delta - wanted
        if excess <= 0.0:
            best, high = Found(c, bound), c
            if excess >= -_TOLERANCE:
                break
        else:
            low = c
        if high - low <= 1e-6 * high or high <= nothing:
            break
        slope = -problem.reports * problem.blanket.share * bound.tilt
        if previous is not None and (previous[1] - excess) * (previous[0] - c) < 0.0:
            slope = (previous[1] - excess) / (previous[0] - c)
        previous = c, excess
        c -= (excess + 0.5 * _TOLERANCE) / slope
        if not low < c < high:
            c = 0.5 * (low + high)
    return best


def largest_delta(problem: Problem, c: float) -> PairBound:
    """Return the bound of the pair of rows with the largest upper bound of delta."""
    worst = problem.bound(*problem.likely_worst(), c)
    if worst.log_delta == -math.inf:
        worst = problem.bound(*_locally_worst(problem, c), c)
    if worst.log_delta == -math.inf:
        return worst
    for given in _GIVEN:
        wanted = worst.log_delta + _STEEP * given
        pairs = problem.unproven(c, worst.tilt, wanted, _MOST)
        if pairs is not None:
            break
    if pairs is None:
        return replace(worst, log_delta=0.0)  # delta = 1 is always true
    worst = replace(worst, log_delta=wanted)
    for pair in problem.suspects(pairs, c, worst.tilt, wanted):
        found = problem.bound(*pair, c)
        if found.log_delta > worst.log_delta:
            worst = found
    return worst


def _locally_worst(problem: Problem, c: float) -> tuple[int, int]:
    """Return the pair of rows with the largest delta of a single report."""
    rows = problem.blanket.rows
    best, pair = -1.0, (0, 0)
    for first, row in enumerate(rows):
        deltas = np.maximum(row - (1.0 + c) * rows, 0.0).sum(axis=1)
        second = int(deltas.argmax())
        if deltas[second] > best:
            best, pair = float(deltas[second]), (first, second)
    return pair
