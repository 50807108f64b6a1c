"""The result of fitting histograms, whichever method made it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noutput.estimate.counts import Array

__all__ = ["Fit", "mean_log_likelihood"]


@dataclass(frozen=True)
class Fit:
    """Histograms fitted to B rows of counts.

    Parameters
    ----------
    probabilities : array of shape (B, d)
    iterations : array of shape (B,)
        Of the method's own kind; a row stops by its own rule.
    converged : array of shape (B,)
        Whether that rule was met before the limit of iterations.
    """

    probabilities: Array
    iterations: NDArray[np.intp]
    converged: NDArray[np.bool_]


def mean_log_likelihood(shares: Array, probabilities: Array, theta: Array) -> Array:
    """Return the log-likelihood per report of every row; outputs without count do not matter."""
    chances = np.where(shares > 0.0, probabilities @ theta, 1.0)
    result: Array = (shares * np.log(chances)).sum(axis=-1)
    return result
