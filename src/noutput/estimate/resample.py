"""Bootstrap: counts drawn again, and intervals from what is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from noutput.errors import InvalidArgumentError
from noutput.estimate.counts import Counts

if TYPE_CHECKING:
    from noutput.estimate.counts import Array

__all__ = ["ends", "generator", "redraw"]

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


def ends(
    values: Array, level: float, center: Array | None, least: float, most: float
) -> tuple[Array, Array]:
    """Return the ends of an interval from draws of a statistic, one row per draw.

    Parameters
    ----------
    values : array of shape (draws, ...)
    level : float
    center : array of shape (...), optional
        The statistic of the estimate, around which the draws are turned (the basic bootstrap
        interval); None for draws from the posterior, whose quantiles are the ends.
    least, most : float
        What is possible; the ends are kept within.

    Examples
    --------
    >>> draws = np.arange(101.0)
    >>> [float(end) for end in ends(draws, 0.5, None, 0.0, 60.0)]
    [25.0, 60.0]
    >>> [float(end) for end in ends(draws, 0.5, np.float64(20.0), 0.0, 60.0)]
    [0.0, 15.0]
    """
    low, high = np.quantile(values, [0.5 - level / 2.0, 0.5 + level / 2.0], axis=0)
    if center is not None:
        low, high = 2.0 * center - high, 2.0 * center - low
    return np.clip(low, least, most), np.clip(high, least, most)
