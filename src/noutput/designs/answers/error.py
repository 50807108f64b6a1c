"""The error of a table for answers, in the worst case over all populations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from noutput.designs.answers.saddle import worst_population

if TYPE_CHECKING:
    from noutput.designs.solution import Array

__all__ = ["worst_error"]


def worst_error(table: Array, factor: Array) -> float:
    r"""Return the error of a table, of shape (k, N), in the worst case over all populations.

    It is that of one unbiased estimate, :math:`\max_k \sum_j P_{kj} |B'(w_j - e_k)|^2`, so it
    holds for all populations whatever the search for the worst one did.
    """
    shares = worst_population(table, factor) @ table
    estimate = np.linalg.solve((table / shares) @ table.T, table / shares)
    wrong = (factor.T @ estimate)[:, None, :] - factor.T[:, :, None]
    return float(np.max(np.sum(np.square(wrong).sum(axis=0) * table, axis=1)))
