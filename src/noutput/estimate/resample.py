"""Bootstrap: counts drawn again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from noutput.errors import InvalidArgumentError
from noutput.estimate.counts import Counts

if TYPE_CHECKING:
    from noutput.estimate.counts import Array

__all__ = ["generator", "redraw"]

_LARGEST_TOTAL = 1 << 62  # with so many reports nothing is left to chance


def generator(rng: np.random.Generator | None) -> np.random.Generator:
    """Return the given generator, or a fresh one; nothing secret is drawn here."""
    if rng is None:
        return np.random.default_rng()
    if isinstance(rng, np.random.Generator):
        return rng
    raise InvalidArgumentError("rng", "be a numpy Generator or None", rng)


def redraw(chances: Array, total: int, size: int, rng: np.random.Generator) -> Counts:
    """Draw the counts of `size` campaigns with `total` reports of the given probabilities."""
    reports = min(total, _LARGEST_TOTAL)
    drawn = rng.multinomial(reports, chances / chances.sum(), size=size)
    return Counts(drawn / reports, np.full(size, float(reports)))
