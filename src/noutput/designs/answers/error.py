"""The error of a table, in the worst case over all populations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from noutput.designs.answers.saddle import worst_population

if TYPE_CHECKING:
    from noutput.designs.answers.saddle import Aim
    from noutput.designs.solution import Array

__all__ = ["worst_error"]


def worst_error(table: Array, aim: Aim) -> float:
    r"""Return the error of a table, of shape (k, N), in the worst case over all populations.

    It is that of one unbiased estimate, :math:`\max_k \sum_j P_{kj} |B'(w_j - e_k)|^2`, so it
    holds for all populations whatever the search for the worst one did. Inside a span whose ends
    have the errors l and u, the error is :math:`(1 - t) l + t u + t (1 - t) w^2`, whose largest
    value is at an end, or at :math:`t = (1 + (u - l) / w^2) / 2`.
    """
    shares = aim.by_row(worst_population(table, aim)) @ table
    estimate = np.linalg.solve((table / shares) @ table.T, table / shares)
    wrong = (aim.factor.T @ estimate)[:, None, :] - aim.factor.T[:, :, None]
    errors = np.sum(np.square(wrong).sum(axis=0) * table, axis=1)
    if not aim.spans.size:
        return float(errors.max())
    low, high = errors[aim.spans].T
    rises = np.maximum(aim.rises, 1e-300)
    t = np.clip((1.0 + (high - low) / rises) / 2.0, 0.0, 1.0)
    return float(np.max((1.0 - t) * low + t * high + t * (1.0 - t) * aim.rises))
