"""Fewer outputs: columns are dropped, and the weights of the others solved for again."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import nnls

from noutput.designs.answers.saddle import Saddle, restricted
from noutput.errors import DesignError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noutput.designs.solution import Array

__all__ = ["fewest", "reduced"]

_ACCURACY = 1e-5
_FINAL = 1e-7
_SHARE = 0.3
_TRIED = 6
_STEPS = 60  # tables that need more have too few outputs
_FEASIBLE = 1e-7


def fewest(found: Saddle, most: int, limit: float, error: Callable[[Array], float]) -> Saddle:
    """Return a table with few outputs whose error is at most a limit.

    Parameters
    ----------
    found : Saddle
        The best table.
    most : int
        How many outputs there may be, even if the limit is broken.
    limit : float
    error : callable
        Takes a table of shape (k, outputs).
    """
    best = reduced(found, most)
    share = _SHARE
    while error(best.table) <= limit and len(best.weights) > found.members.shape[1]:
        n_dropped = max(1, int(share * len(best.weights)))
        smaller = _next(best, n_dropped, limit, error)
        if smaller is not None:
            best = smaller
        elif n_dropped == 1:
            break
        else:
            share = min(share, n_dropped / len(best.weights)) / 2.0
    return _polished(best)


def reduced(found: Saddle, most: int) -> Saddle:
    """Return a table with at most so many outputs, and as little error as dropping finds."""
    best = found
    while len(best.weights) > most:
        n_dropped = max(1, int(_SHARE * (len(best.weights) - most)))
        smaller = None
        while smaller is None and n_dropped:
            smaller = _without(best, _lightest(best, n_dropped))
            n_dropped //= 2
        if smaller is None:
            raise DesignError(f"no table of {most} outputs was found")
        best = smaller
    return _polished(best)


def _next(
    best: Saddle, n_dropped: int, limit: float, error: Callable[[Array], float]
) -> Saddle | None:
    """Return a table within the limit without some columns: one of the lightest if only one."""
    order = _lightest(best, n_dropped if n_dropped > 1 else _TRIED)
    for chosen in [order] if n_dropped > 1 else order[:, None]:
        smaller = _without(best, chosen)
        if smaller is not None and error(smaller.table) <= limit:
            return smaller
    return None


def _lightest(found: Saddle, count: int) -> NDArray[np.intp]:
    """Return the places of the columns with the least probability."""
    probabilities = found.weights * found.entries.mean(axis=1)
    return np.argsort(probabilities, kind="stable")[: max(count, 0)]


def _without(found: Saddle, dropped: NDArray[np.intp]) -> Saddle | None:
    """Solve without some columns; None where too few are left to estimate all shares."""
    members = np.delete(found.members, dropped, axis=0)
    entries = np.delete(found.entries, dropped, axis=0)
    k = found.members.shape[1]
    if np.linalg.matrix_rank(entries) < k or nnls(entries.T, np.ones(k))[1] > _FEASIBLE:
        return None
    try:
        smaller = restricted(found.epsilon, found.aim, members, _ACCURACY, steps=_STEPS)
    except np.linalg.LinAlgError:  # pragma: no cover - only where rounding makes it singular
        return None
    return smaller if np.abs(smaller.table.sum(axis=1) - 1.0).max() <= _FEASIBLE else None


def _polished(found: Saddle) -> Saddle:
    return restricted(found.epsilon, found.aim, found.members, _FINAL)
