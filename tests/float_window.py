"""A window sampler that computes with floats: not private, kept to show that tests notice.

Which floats can come out depends on x, so the low bits of reports tell what epsilon would hide
(Mironov 2012). Its density is the right one, so tests that look at the size of reports pass it.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np

from noutput.mechanisms.window import WindowMechanism

Numbers: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]


class FloatWindow:
    """The sampler of `WindowMechanism` before it drew on a grid."""

    def __init__(self, found: WindowMechanism) -> None:
        self.epsilon = found.epsilon
        self.slope, self.half_width = found.slope, found.half_width
        self.reach = found.reach

    def __call__(self, x: Numbers, rng: np.random.Generator) -> Numbers:
        """Draw one report for each number: a uniform length along the window, then the rest."""
        factor = math.exp(self.epsilon)
        density = 0.5 / (self.slope + factor * self.half_width)
        center = x * self.slope
        length = rng.random(x.size) / (factor * density) - 2.0 * self.half_width
        outside = length * factor
        behind = outside >= center + self.slope
        outside += behind * (2.0 * self.half_width) - self.reach
        reports = np.where(length < 0.0, center + self.half_width + length, outside)
        return np.clip(reports, -self.reach, self.reach)
