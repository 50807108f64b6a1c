"""Search for the best table for answers with few outputs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from noutput.designs.answers.bound import optimum
from noutput.designs.answers.error import worst_error
from noutput.designs.answers.fewer import fewest, reduced
from noutput.designs.answers.objective import AnswerObjective
from noutput.designs.answers.saddle import MOST_ENUMERATED, Aim, Saddle, solve

if TYPE_CHECKING:
    from noutput.designs.solution import Array, Progress

__all__ = ["find_table"]

_WITHIN = 0.01
_SAME = 1e-4
_ALL_SHARES = 3e-4


def find_table(
    epsilon: float,
    objective: AnswerObjective,
    bound: float,
    n_outputs: int | None,
    most: int,
    progress: Progress,
) -> Array:
    """Return a table of shape (k, N): the best with `n_outputs`, or few within 1% of a bound.

    Above 16 answers, where bounds are weaker, it is within 1% of the best table found.
    """
    if objective.name == "mean":
        found = solve(epsilon, Aim(_with_all_shares(objective)))
    else:
        found = optimum(epsilon, objective)
    progress(0.5)
    aim = Aim(objective.factor)

    def error(table: Array) -> float:
        return worst_error(table, aim)

    if n_outputs is not None:
        found = reduced(found, n_outputs)
    limit = (1.0 + _SAME) * error(found.table)
    if n_outputs is None:
        best = bound if objective.n_answers <= MOST_ENUMERATED else error(found.table)
        limit = max(limit, (1.0 + _WITHIN) * best)
    return _ordered(fewest(found, n_outputs or most, limit, error)).table


def _with_all_shares(objective: AnswerObjective) -> Array:
    """Return the factor of the mean, with a little of the CDF added.

    The best table for the mean alone need not tell all answers apart. With 0.03% of the error of
    the CDF (in the same unit), all shares can be estimated.
    """
    edges = AnswerObjective("cdf", objective.n_answers).factor
    return np.hstack([objective.factor, 2.0 * np.sqrt(_ALL_SHARES) * edges])


def _ordered(found: Saddle) -> Saddle:
    """Sort the columns by the answers that they stand for."""
    places = np.arange(found.members.shape[1])
    middles = found.members @ places / found.members.sum(axis=1)
    order = np.lexsort((*found.members.T, middles))
    return replace(found, members=found.members[order], weights=found.weights[order])
