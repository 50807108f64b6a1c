"""Whether ends of slack intervals reach given values, without following their paths any farther."""

from __future__ import annotations

import numpy as np

from benchmarks.populations import Array
from noutput.estimate.slack.pieces import REPLACED, Pieces
from noutput.estimate.slack.program import BestFit

__all__ = ["ratios"]

_ROUNDS = 400
_MOST = 100.0  # of a misfit: such a value is not reached with any factor
_ROUNDING = 1e-9


def ratios(
    fit: BestFit, goals: Array, targets: Array, limits: Array, replaced: float = REPLACED
) -> Array:
    """Return from which multiples of limits of the misfit on upper ends reach targets."""
    values = goals @ fit.mixture
    result = np.where(values >= targets - _ROUNDING, 0.0, np.inf)
    useful = fit.program.useful(goals)
    paths = Pieces(fit, fit.directions(goals))
    paths.keep(values < targets - _ROUNDING)
    for _ in range(_ROUNDS):
        following, which = paths.limits(useful[paths.names])
        moving = np.where(paths.inside, paths.slope, 0.0)
        growth = np.maximum((moving * goals[paths.names]).sum(axis=1), 1e-30)
        start = paths.at_lambda
        masses = np.where(paths.inside, paths.at + start[:, None] * paths.slope, 0.0)
        missing = targets[paths.names] - (masses * goals[paths.names]).sum(axis=1)
        final = start + np.maximum(missing - _ROUNDING, 0.0) / growth
        there = final <= following
        if there.any():
            excess = paths.excess + growth * (final**2 - start**2)
            lost = paths.lost(there, moving, growth, replaced)
            result[paths.names[there]] = excess[there] / np.interp(
                lost, np.arange(len(limits)), limits
            )
        ends = np.where(np.isfinite(following), following, start)
        paths.excess = paths.excess + growth * (ends**2 - start**2)
        paths.at_lambda = ends
        done = there | ~np.isfinite(following) | (paths.excess > _MOST)
        paths.keep(~done)
        if not len(paths):
            break
        paths.keep(~paths.exchange(which[~done]))
    return result
