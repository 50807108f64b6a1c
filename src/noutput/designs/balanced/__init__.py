r"""One table for the mean and the distribution: the variance held, the rest trained.

Notes
-----
The worst-case variance stays within 10% of the proven limit; among all such tables, the one is
sought with the least error of the estimated distribution. `split` makes the start: a table that is
best for the mean, whose outputs are split so that they tell more and cost nothing. `training` then
follows the gradient of the estimator's error, with the variance held. Rows are those of
`noutput.designs.distribution`: one for each of 64 bins, tilted for its two ends.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from noutput.designs.balanced.split import split
from noutput.designs.balanced.training import Goal, Point, limited, train
from noutput.designs.distribution.bins import BETWEEN_KNOTS, unbiased
from noutput.designs.distribution.private_rows import Parameters
from noutput.designs.distribution.simulated import Schedule
from noutput.designs.distribution.training_shapes import BINS
from noutput.designs.solution import Array, Progress, Solution
from noutput.errors import DesignError, InvalidArgumentError
from noutput.mechanisms.square_wave import square_wave

if TYPE_CHECKING:
    from noutput.mechanisms.table import TableMechanism

__all__ = ["LARGEST_EXCESS", "SIZES", "base_size", "solve"]

SIZES = (8, 256)
"""The least and the largest number of outputs."""
LARGEST_EXCESS = 0.10
"""By how much the worst-case variance may exceed the limit, as a share of it."""

_TRAINED_EXCESS, _KEPT_EXCESS, _MARGIN = 0.096, 0.0995, 0.001  # training is not exact
_STEPS = 1500
_SPREAD = 0.02  # of the largest output: outputs that are the same could not part
_LARGEST_LOGIT = 4.0
_FEW_OUTPUTS = 32


def base_size(n_outputs: int, epsilon: float) -> int:
    """Return how many outputs the table for the mean has that training starts from.

    The fewer there are, the more pieces of each tell about the distribution; but the larger
    epsilon is, the more are needed for a variance close to the limit.
    """
    if n_outputs < _FEW_OUTPUTS and epsilon <= 2.0:
        least = 4
    else:
        least = 8 + 2 * math.ceil(2.0 * max(0.0, epsilon - 3.0))
    base = min(least, max(16, n_outputs // 2), n_outputs - n_outputs % 2)
    return base - 1 if n_outputs % 2 else base


def solve(
    mean_table: TableMechanism,
    bound: float,
    n_outputs: int,
    *,
    schedule: Schedule | None = None,
    progress: Progress | None = None,
) -> Solution:
    """Train a balanced table.

    Parameters
    ----------
    mean_table : TableMechanism
        A symmetric table that is best for the mean, with `base_size` outputs.
    bound : float
        The proven limit of the worst-case variance.
    n_outputs : int
    schedule : Schedule, optional
    progress : callable, optional
        Called with the share of the work that is done.

    Raises
    ------
    InvalidArgumentError
        If no such table exists for this epsilon and this number of outputs.
    DesignError
        If the trained table is biased, or its variance is more than 10% above the limit.
    """
    epsilon = mean_table.epsilon
    chosen = schedule or Schedule(_STEPS)
    _refuse_the_impossible(mean_table, bound, n_outputs)
    kept = _kept(bound)
    goal = Goal(epsilon, min((1.0 + _TRAINED_EXCESS) * bound, kept - _MARGIN * bound))
    found = train(
        _start(mean_table, n_outputs, chosen.seed),
        goal,
        square_wave(epsilon).transition(BINS, n_outputs),
        chosen,
        progress or (lambda _share: None),
    )
    rows = limited(found.rows(goal), kept)
    order = np.argsort(rows.shape.outputs)
    solution = Solution(rows.shape.outputs[order], unbiased(rows)[:, order], chosen.steps)
    _check(solution, bound, epsilon)
    return solution


def _start(mean_table: TableMechanism, n_outputs: int, seed: int) -> Point:
    found = split(mean_table, n_outputs)
    half = np.random.default_rng(seed).uniform(-1.0, 1.0, n_outputs // 2)
    noise: Array = np.concatenate([half, np.zeros(n_outputs % 2), -half[::-1]])
    outputs = found.outputs + _SPREAD * np.abs(found.outputs).max() * noise
    epsilon = mean_table.epsilon
    start = Parameters.above(found.least, found.probabilities, epsilon, _LARGEST_LOGIT)
    return Point(start, outputs).symmetric()


def _refuse_the_impossible(mean_table: TableMechanism, bound: float, n_outputs: int) -> None:
    """Refuse before minutes are spent, where not even a table for the mean is within the limit."""
    epsilon = mean_table.epsilon
    if _kept(bound) <= (1.0 + _MARGIN) * bound:
        rule = "be smaller where the objective is 'balanced' (take 'worst')"
        raise InvalidArgumentError("epsilon", rule, epsilon)
    excess = mean_table.worst_variance() / bound - 1.0
    if mean_table.n_outputs == n_outputs and excess > LARGEST_EXCESS:
        rule = (
            f"be larger where the objective is 'balanced' and epsilon is {epsilon:g}: the best "
            f"table for the mean with so many outputs is {excess:.0%} above the limit"
        )
        raise InvalidArgumentError("n_outputs", rule, n_outputs)


def _kept(bound: float) -> float:
    """Return the variance at knots that keeps the variance everywhere within the limit."""
    return (1.0 + _KEPT_EXCESS) * bound - BETWEEN_KNOTS


def _check(solution: Solution, bound: float, epsilon: float) -> None:
    excess = solution.worst_variance / bound - 1.0
    if excess > LARGEST_EXCESS:
        rule = f"training left a worst-case variance {excess:.1%} above the limit"
        raise DesignError(f"{rule} for epsilon {epsilon} and {len(solution.outputs)} outputs")
