"""Rows at the bins: two knots per bin, at its ends."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from noutput.designs.distribution.private_rows import Parameters, Rows, Shape
from noutput.designs.distribution.training_shapes import BINS
from noutput.errors import DesignError

if TYPE_CHECKING:
    from noutput.designs.solution import Array

__all__ = ["BETWEEN_KNOTS", "CENTERS", "KNOTS", "rows_at_knots", "unbiased"]

_GAP = 2.0**-18
_ROUNDING = 1e-9
_EDGES = np.linspace(-1.0, 1.0, BINS + 1)
CENTERS = (_EDGES[1:] + _EDGES[:-1]) / 2.0
KNOTS = np.append(np.stack([_EDGES[:-1], _EDGES[1:] - _GAP], axis=1).ravel()[:-1], 1.0)
"""The lower edge of every bin, and its upper edge less 2^-18; the last one is 1."""
BETWEEN_KNOTS = 1.0 / BINS**2
"""By how much the variance inside a bin may exceed that at its ends.

Second moments are linear between knots and squared means are not: a quarter of the squared width.
"""


def rows_at_knots(
    parameters: Parameters, epsilon: float, outputs: Array, *, linear: bool = False
) -> Rows:
    """Return two rows for every bin, which differ by the tilt that makes their means its ends."""
    doubled = np.repeat(parameters.logits, 2, axis=0)
    return replace(parameters, logits=doubled).rows(Shape(epsilon, KNOTS, outputs), linear=linear)


def unbiased(rows: Rows) -> Array:
    """Return the probabilities.

    Raises
    ------
    DesignError
        If the outputs do not reach far enough for the means of some rows.
    """
    found = rows.probabilities
    if np.abs(found.sum(axis=1) - 1.0).max() > _ROUNDING:
        epsilon, size = rows.shape.epsilon, found.shape[1]
        raise DesignError(f"training found no unbiased table of {size} outputs for {epsilon}")
    return found
