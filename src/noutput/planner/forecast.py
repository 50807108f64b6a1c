"""Simulated campaigns: errors of the estimated distribution, and widths of its intervals.

Notes
-----
Neither has a formula. Campaigns are drawn from shapes, always with the same seed, and estimated
by the default method; what people will see is computed as it will be for them. Everything is in
units of [-1, 1], and kept for as long as the program runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from noutput.estimate.distribution import estimate_distribution
from noutput.estimate.intervals import Intervals
from noutput.estimate.summary.bars import bar_edges, told_apart
from noutput.interval import UNIT
from noutput.tally import Tally

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noutput.mechanisms.table import TableMechanism
    from noutput.planner.shapes import Shape

__all__ = ["Widths", "interval_widths", "mean_half_width", "wasserstein_error"]

_BINS = 64
_POINTS = 1024  # at which distributions are compared
_CAMPAIGNS = 12  # for errors
_SHOWN = 2  # for widths
_MEANS = 4  # for the mean's
_SEED = 5
_KEPT = 512


@dataclass(frozen=True, slots=True)
class Widths:
    """Widths of 95% intervals in one campaign, in units of [-1, 1]; shares are from 0 to 1.

    Parameters
    ----------
    mean, quartile, median, below_middle : float
        Of the mean, the lower quartile, the median and the share of numbers below 0.
    quarter : float
        Of the share in a quarter of the range, on average over the four.
    bars : int
        How many equal bars can be told apart: see `noutput.estimate.summary.bars`.
    """

    mean: float
    quartile: float
    median: float
    below_middle: float
    quarter: float
    bars: int


@lru_cache(maxsize=_KEPT)
def wasserstein_error(mechanism: TableMechanism, people: int, shape: Shape) -> float:
    """Return the average Wasserstein error of simulated campaigns."""
    drawn = _drawn(mechanism, people, shape, _CAMPAIGNS)
    tallies = [Tally(mechanism.fingerprint, tuple(row)) for row in drawn.tolist()]
    x = np.linspace(-1.0, 1.0, _POINTS + 1)
    truth = shape.below(x)
    found = estimate_distribution(mechanism, tallies, _BINS)
    return 2.0 * float(np.mean([np.abs(each.cdf(x) - truth).mean() for each in found]))


@lru_cache(maxsize=_KEPT)
def mean_half_width(mechanism: TableMechanism, people: int, shape: Shape) -> float:
    """Return half the average width of the mean's slack interval in simulated campaigns."""
    widths = []
    for counts in _drawn(mechanism, people, shape, _MEANS):
        tally = Tally(mechanism.fingerprint, tuple(counts.tolist()))
        low, high = Intervals(mechanism, tally, UNIT).mean()
        widths.append(high - low)
    return float(np.mean(widths)) / 2.0


@lru_cache(maxsize=_KEPT)
def interval_widths(
    mechanism: TableMechanism, people: int, shape: Shape, most: int
) -> tuple[Widths, ...]:
    """Return the widths of intervals of some simulated campaigns, for so many bars at most."""
    drawn = _drawn(mechanism, people, shape, _SHOWN)
    return tuple(_widths(mechanism, row, most) for row in drawn)


def _widths(mechanism: TableMechanism, counts: NDArray[np.int64], most: int) -> Widths:
    tally = Tally(mechanism.fingerprint, tuple(counts.tolist()))
    edges = bar_edges(-1.0, 1.0, most)
    found = Intervals(mechanism, tally, UNIT, named=np.concatenate(edges))
    four = np.linspace(-1.0, 1.0, 5)
    (quartile, median), (mean,), (below,), quarters = (
        np.subtract(high, low)
        for low, high in (
            found.quantiles([0.25, 0.5]),
            np.reshape(found.mean(), (2, 1)),
            found.cdf([0.0]),
            found.shares(four[:-1], four[1:]),
        )
    )
    return Widths(
        mean=float(mean),
        quartile=float(quartile),
        median=float(median),
        below_middle=float(below),
        quarter=float(quarters.mean()),
        bars=len(told_apart(found, edges)[1]),
    )


def _drawn(
    mechanism: TableMechanism, people: int, shape: Shape, campaigns: int
) -> NDArray[np.int64]:
    rng = np.random.default_rng(_SEED)
    return rng.multinomial(people, shape.chances(mechanism), size=campaigns)
