r"""The expected errors of a campaign with a given table and number of people.

Notes
-----
A decoded report of a person whose number is x has mean x and variance :math:`\mathrm{Var}[Y|x]`.
If people's numbers have a density f and a variance :math:`\sigma^2`, the average of n reports has
the standard error

.. math:: \sqrt{\frac{1}{n} \left( \int \mathrm{Var}[Y|x] f(x)\,dx + \sigma^2 \right)} .

Both parts are exact for a table and a histogram, so the standard error of a plan is a formula, not
a simulation. It is what `noutput.estimate_mean` will find for numbers distributed as assumed.

Over all distributions with mean :math:`\mu` the sum of the two is at most
:math:`\hat s(\mu) - \mu^2`, where :math:`\hat s` is the least concave function above the second
moment :math:`s(x) = \mathrm{Var}[Y|x] + x^2`, and some mixture of two numbers reaches that. The
worst case is its maximum over :math:`\mu`.

The error of a distribution has no formula. It is simulated: campaigns are drawn from reference
shapes (`SHAPES`), always with the same seed, and estimated by the default method.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from noutput import _checks
from noutput.errors import InvalidArgumentError
from noutput.estimate.distance import wasserstein
from noutput.estimate.distribution import estimate_distribution
from noutput.mechanisms.moments import largest_variance, mean_square
from noutput.tally import Tally

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noutput.interval import Interval
    from noutput.mechanisms.table import TableMechanism

__all__ = ["MOST_PEOPLE", "SCORE", "SHAPES", "Plan", "expect", "histogram_variance", "whole_people"]

SCORE = NormalDist().inv_cdf(0.975)
"""Half the width of a 95% interval, in standard errors."""
MOST_PEOPLE = 10**15
_BINS = 64
_CAMPAIGNS = 16
_SEED = 5


def _shapes() -> dict[str, NDArray[np.float64]]:
    x = (np.arange(_BINS) + 0.5) * (2.0 / _BINS) - 1.0
    humps = np.exp(-0.5 * ((x[:, None] - [-0.5, 0.5]) / 0.15) ** 2)
    densities = {
        "even": np.ones(_BINS),
        "one hump": np.exp(-0.5 * (x / 0.25) ** 2),
        "two humps": humps.sum(axis=1),
        "skewed": np.exp(-(x + 1.0) / 0.4),
    }
    return {name: weights / weights.sum() for name, weights in densities.items()}


SHAPES = _shapes()
"""Histograms of 64 bins of [-1, 1] that stand for what people's numbers may look like.

Even: all numbers alike. One hump: normal around the middle, with an eighth of the range as its
standard deviation. Two humps: normal around the quarters. Skewed: exponential from the lower end,
with a fifth of the range as its mean.
"""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to expect of a campaign, in the units of its bounds.

    Parameters
    ----------
    epsilon : float
        The privacy loss of a report.
    people : int
        How many people report.
    bounds : Interval
    standard_error : float
        Of the mean of the population that the people are drawn from, for numbers distributed as
        assumed: as the prior, or evenly over the bounds where none was given.
    worst_standard_error : float
        The same for numbers distributed as unfavorably as possible.
    respondents_error : float
        The standard error for the mean of just these people, for numbers as assumed.
    wasserstein_errors : tuple of pairs
        The expected Wasserstein error of the estimated distribution for every reference shape,
        or for the prior alone where one was given.
    mechanism : TableMechanism
        The table that the plan is made for.

    Examples
    --------
    >>> import noutput as no
    >>> found = no.plan(epsilon=1, people=50_000, bounds=no.Interval(0, 180), objective="worst")
    >>> round(found.half_width, 2), round(found.worst_half_width, 2), found.bits
    (1.64, 1.76, 4)
    >>> 1.0 < found.wasserstein_error < 1.3
    True
    >>> found.people_for(0.8) > 4 * found.people
    True
    """

    epsilon: float
    people: int
    bounds: Interval
    standard_error: float
    worst_standard_error: float
    respondents_error: float
    wasserstein_errors: tuple[tuple[str, float], ...]
    mechanism: TableMechanism = field(repr=False)

    @property
    def half_width(self) -> float:
        """Half the width of the 95% interval for the mean, at most that of the bounds."""
        return min(SCORE * self.standard_error, self.bounds.half_width)

    @property
    def worst_half_width(self) -> float:
        """The same for numbers distributed as unfavorably as possible."""
        return min(SCORE * self.worst_standard_error, self.bounds.half_width)

    @property
    def wasserstein_error(self) -> float:
        """The expected Wasserstein error, averaged over the shapes."""
        errors = [error for _, error in self.wasserstein_errors]
        return math.fsum(errors) / len(errors)

    @property
    def bits(self) -> int:
        """How many bits a report needs."""
        return self.mechanism.bits

    def people_for(self, error: float) -> int:
        """Return how many people bring the half width down to `error` at this epsilon."""
        wanted = _checks.positive("error", error)
        return whole_people(self.people * (SCORE * self.standard_error / wanted) ** 2, wanted)


def whole_people(count: float, error: float) -> int:
    """Return a number of people that is large enough, for an error that was wanted."""
    if not count <= MOST_PEOPLE:
        rule = f"be reachable with {MOST_PEOPLE:.0e} people"
        raise InvalidArgumentError("error", rule, error)
    return max(2, math.ceil(count * (1.0 - 1e-12)))  # not one more for a rounding error


def histogram_variance(weights: NDArray[np.float64]) -> float:
    """Return the variance of numbers that are distributed as a histogram of [-1, 1]."""
    centers = (np.arange(len(weights)) + 0.5) * (2.0 / len(weights)) - 1.0
    return mean_square(weights) - float(weights @ centers) ** 2


def expect(
    mechanism: TableMechanism,
    people: int,
    bounds: Interval,
    prior: NDArray[np.float64] | None = None,
) -> Plan:
    """Return what to expect of a table; the prior adds up to 1."""
    weights = np.ones(1) if prior is None else prior
    shapes = SHAPES if prior is None else {"prior": prior}
    noise = mechanism.average_variance(weights)
    unit = bounds.half_width / math.sqrt(people)
    return Plan(
        epsilon=mechanism.epsilon,
        people=people,
        bounds=bounds,
        standard_error=math.sqrt(noise + histogram_variance(weights)) * unit,
        worst_standard_error=math.sqrt(_largest_variance(mechanism)) * unit,
        respondents_error=math.sqrt(noise) * unit,
        wasserstein_errors=tuple(
            (name, _simulate(mechanism, people, bounds, shape)) for name, shape in shapes.items()
        ),
        mechanism=mechanism,
    )


def _largest_variance(mechanism: TableMechanism) -> float:
    """Return the largest variance of a decoded report over all distributions of numbers."""
    x = mechanism.knots
    s = mechanism.variance(x) + x**2
    hull: list[int] = []
    for c in range(len(x)):
        while len(hull) > 1:
            a, b = hull[-2:]
            if (s[b] - s[a]) * (x[c] - x[a]) > (s[c] - s[a]) * (x[b] - x[a]):
                break
            hull.pop()  # b lies on or below the line from a to c
        hull.append(c)
    return largest_variance(x[hull], s[hull])


def _simulate(
    mechanism: TableMechanism, people: int, bounds: Interval, shape: NDArray[np.float64]
) -> float:
    """Return the average Wasserstein error of simulated campaigns."""
    rng = np.random.default_rng(_SEED)
    chances = shape @ mechanism.transition(len(shape))
    drawn = rng.multinomial(people, chances / chances.sum(), size=_CAMPAIGNS)
    tallies = [Tally(mechanism.fingerprint, tuple(row)) for row in drawn.tolist()]
    found = estimate_distribution(mechanism, tallies, _BINS)
    sums = np.concatenate([[0.0], np.cumsum(shape)])
    places = np.linspace(0.0, 1.0, len(sums))
    truth = np.diff(np.interp(np.linspace(0.0, 1.0, _BINS + 1), places, sums))
    estimates = np.array([estimate.probabilities for estimate in found])
    return float(np.mean(wasserstein(estimates, truth, bounds)))
