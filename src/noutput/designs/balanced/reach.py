r"""How far outputs reach: the largest mean that a row can have.

Notes
-----
Given the least entries :math:`s_j` of the columns, the row of the largest mean has
:math:`e^\epsilon s_j` for the largest outputs, :math:`s_j` for the smallest, and an entry in
between for the one output where it adds up to 1. A table whose rows have all means from -1 to 1
exists if and only if this mean is at least 1. Outputs are scaled so that it is a little more,
whatever training makes of them: the row at 1 would have no freedom otherwise. That adds to its
second moment, so it is little relative to the variance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from noutput.designs.solution import Array

__all__ = ["Reach"]


@dataclass(frozen=True)
class Reach:
    """Outputs that reach a little beyond 1, and the derivatives of the scaling.

    Parameters
    ----------
    outputs : array of shape (N,)
        After the scaling.
    largest : float
        The largest mean after the scaling.
    factor : float
        By which they were multiplied.
    row : array of shape (N,)
        That of the largest mean.
    by_least : array of shape (N,)
        The derivative of the logarithm of that mean in the least entries.
    """

    outputs: Array
    largest: float
    factor: float
    row: Array
    by_least: Array

    @classmethod
    def of(cls, outputs: Array, least: Array, epsilon: float, largest: float) -> Reach:
        """Scale outputs so that the largest mean is `largest`."""
        order = np.argsort(-outputs)
        room = 1.0 - least.sum()
        gains = np.cumsum(least[order] * math.expm1(epsilon))
        whole = min(int(np.searchsorted(gains, room)), len(order) - 1)
        row = least.copy()
        row[order[:whole]] *= math.exp(epsilon)
        row[order[whole]] += room - (gains[whole - 1] if whole else 0.0)
        mean = float(row @ outputs)
        above = outputs - outputs[order[whole]]
        slopes = above * np.where(above > 0.0, math.exp(epsilon), 1.0)
        factor = largest / mean
        return cls(outputs * factor, largest, factor, row, slopes / mean)

    def gradient(self, by_outputs: Array) -> tuple[Array, Array]:
        """Return the gradient in the outputs before the scaling, and in the least entries."""
        along = float(by_outputs @ self.outputs)
        by_raw = self.factor * (by_outputs - along / self.largest * self.row)
        return by_raw, -along * self.by_least
