"""Summary of one tally: everything that is printed, answered as JSON, and drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from noutput import _checks
from noutput._numbers import show
from noutput.estimate import histograms
from noutput.estimate.choices import DEFAULT_METHOD
from noutput.estimate.distribution import DistributionEstimate, estimate_distribution
from noutput.estimate.mean import MeanEstimate, estimate_mean
from noutput.estimate.resample import ends

if TYPE_CHECKING:
    from noutput.estimate.counts import Array
    from noutput.interval import Interval
    from noutput.mechanisms.table import TableMechanism
    from noutput.tally import Tally

__all__ = ["SHARES", "SUSPICIOUS", "Figure", "Histogram", "Summary", "summaries", "summarize"]

SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)
SUSPICIOUS = 0.05  # a p-value below it is told to people
_DRAWS = 200
_JOINED = 4  # bins of the distribution in one of the coarse histogram


@dataclass(frozen=True, slots=True)
class Figure:
    """Number with its interval.

    Examples
    --------
    >>> Figure(31.41592, 30.9, 32.1).texts
    ('31.42', '30.90', '32.10')
    """

    value: float
    low: float
    high: float

    @property
    def half(self) -> float:
        """Half the width of the interval."""
        return (self.high - self.low) / 2.0

    @property
    def texts(self) -> tuple[str, str, str]:
        """The number and the ends of its interval, with two digits of its uncertainty."""
        half = self.half or None
        return show(self.value, half), show(self.low, half), show(self.high, half)

    def to_dict(self) -> dict[str, object]:
        """Return the number and its interval as plain JSON."""
        return {"value": self.value, "interval": [self.low, self.high]}


@dataclass(frozen=True, slots=True)
class Histogram:
    """Shares of equal bins between the bounds, with an interval for each.

    Parameters
    ----------
    edges : list of n + 1 floats
    probabilities, lower, upper : list of n floats
    """

    edges: list[float]
    probabilities: list[float]
    lower: list[float]
    upper: list[float]


@dataclass(frozen=True, slots=True, eq=False)
class Summary:
    """Everything that is shown about the numbers of one group of people.

    Parameters
    ----------
    mean_estimate : MeanEstimate
    distribution : DistributionEstimate
    level : float
        The level of every interval on its own.
    mean, variance : Figure
    quantiles : mapping of float to Figure
        By the share of people below, one per share of `SHARES`.
    fine, coarse : Histogram
        The bins of the distribution, and those with four neighbors as one where their number
        allows it: what wider bins hold is known better.
    """

    mean_estimate: MeanEstimate
    distribution: DistributionEstimate
    level: float
    mean: Figure
    variance: Figure
    quantiles: Mapping[float, Figure]
    fine: Histogram
    coarse: Histogram

    @property
    def standard_deviation(self) -> Figure:
        """The square root of the variance and of the ends of its interval."""
        found = self.variance
        return Figure(found.value**0.5, found.low**0.5, found.high**0.5)

    @property
    def goodness(self) -> float:
        """How plausible the counts are if nobody forged a report: a p-value."""
        return self.distribution.p_value

    @property
    def forged(self) -> int:
        """One in a hundred reports, at least one."""
        return max(1, self.mean_estimate.n_reports // 100)

    @property
    def forgery(self) -> float:
        """How far the mean can have been moved if so many reports are forged."""
        return self.mean_estimate.poisoning_bound(self.forged)


def summarize(
    mechanism: TableMechanism,
    tally: Tally,
    bounds: Interval,
    *,
    people: int | None = None,
    bins: int = 64,
    method: str = DEFAULT_METHOD,
    level: float = 0.95,
) -> Summary:
    """Estimate mean, variance, quantiles and distribution, with intervals.

    Parameters
    ----------
    mechanism : TableMechanism
    tally : Tally
        Of at least two reports.
    bounds : Interval
        The units of all numbers.
    people : int, optional
        As in `estimate_mean`.
    bins, method
        As in `estimate_distribution`. Under gp the intervals are credible, else bootstrapped.
    level : float

    Notes
    -----
    All intervals but the mean's are of the same 200 draws from a fixed seed: equal counts give
    equal numbers.

    Examples
    --------
    >>> import noutput as no
    >>> m = no.TableMechanism(1.1, [-2.0, 2.0], [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
    >>> found = summarize(m, no.Tally(m.fingerprint, (4_000, 6_000)), no.Interval(0, 10), bins=8)
    >>> found.mean.texts, found.quantiles[0.5].low < found.quantiles[0.5].high
    (('7.00', '6.81', '7.19'), True)
    >>> len(found.fine.probabilities), found.coarse.edges
    (8, [0.0, 5.0, 10.0])
    """
    found = summaries(
        mechanism, tally, bounds, [level], people=people, bins=bins, method=method
    )  # fmt: skip
    return found[level]


def summaries(
    mechanism: TableMechanism,
    tally: Tally,
    bounds: Interval,
    levels: Iterable[float],
    *,
    people: int | None = None,
    bins: int = 64,
    method: str = DEFAULT_METHOD,
) -> dict[float, Summary]:
    """Return what `summarize` returns, for several levels at hardly more than the cost of one."""
    wanted = [_checks.inner_share("level", level) for level in levels]
    mean = estimate_mean(mechanism, tally, bounds, people=people)
    found = estimate_distribution(mechanism, tally, bins, method, bounds=bounds)
    draws = found.draws(_DRAWS, np.random.default_rng(0))
    edges, width = found.edges, _JOINED if bins % _JOINED == 0 else 1

    def both(statistic: Callable[[Array], Array]) -> tuple[Array, Array]:
        return statistic(found.probabilities[None, :])[0], statistic(draws)

    variances = both(lambda rows: histograms.variances(rows, edges))
    quantiles = both(lambda rows: histograms.quantiles(rows, edges, np.array(SHARES)))
    fine, coarse = (both(partial(_join, width=each)) for each in (1, width))

    def interval(
        statistic: tuple[Array, Array], level: float, least: float, most: float
    ) -> tuple[Array, Array, Array]:
        values, drawn = statistic
        return values, *ends(drawn, level, None if method == "gp" else values, least, most)

    def histogram(shares: tuple[Array, Array], steps: Array, level: float) -> Histogram:
        columns = interval(shares, level, 0.0, 1.0)
        return Histogram(steps.tolist(), *(column.tolist() for column in columns))

    def summary(level: float) -> Summary:
        values, low, high = interval(quantiles, level, bounds.lower, bounds.upper)
        ordered = zip(values.tolist(), np.sort(low).tolist(), np.sort(high).tolist(), strict=True)
        variance = interval(variances, level, 0.0, bounds.half_width**2)
        return Summary(
            mean_estimate=mean,
            distribution=found,
            level=level,
            mean=Figure(mean.value, *mean.interval(level)),
            variance=Figure(*map(float, variance)),
            quantiles={share: Figure(*row) for share, row in zip(SHARES, ordered, strict=True)},
            fine=histogram(fine, edges, level),
            coarse=histogram(coarse, edges[::width], level),
        )

    return {level: summary(level) for level in wanted}


def _join(rows: Array, width: int) -> Array:
    """Return rows of histograms with so many neighboring bins as one."""
    result: Array = rows.reshape(len(rows), -1, width).sum(axis=2)
    return result
