r"""The expected errors of a campaign with a given table and number of people.

Notes
-----
The mean is estimated by the scores that `noutput.estimate_mean` takes for so many reports: for most
tables the decoded outputs, which are unbiased. The decoded report of a person whose number is x has
mean x and variance :math:`\mathrm{Var}[Y|x]`. If people's numbers have a density f and a variance
:math:`\sigma^2`, the average of n reports has the standard error

.. math:: \sqrt{\frac{1}{n} \left( \int \mathrm{Var}[Y|x] f(x)\,dx + \sigma^2 \right)} .

Both parts are exact for a table and a histogram, so the standard error of a plan is a formula, not
a simulation. It is what `noutput.estimate_mean` will find for numbers distributed as assumed. For
other scores, :math:`\sigma^2` is the variance of their expectation at x, and their largest bias is
part of the half widths. Where the mean's interval will be a slack interval, half its width is
simulated, and the standard errors are still those of scores.

Over all distributions with mean :math:`\mu` the sum of the two is at most
:math:`\hat s(\mu) - \mu^2`, where :math:`\hat s` is the least concave function above the second
moment :math:`s(x) = \mathrm{Var}[Y|x] + x^2` of decoded reports, and some mixture of two numbers
reaches that. The worst case is its maximum over :math:`\mu`.

The error of a distribution and the widths of its intervals have no formula. They are simulated:
see `noutput.planner.forecast`, and `noutput.planner.shapes` for what people's numbers may be like.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from noutput import _checks
from noutput._numbers import round_bins
from noutput._progress import shown_progress
from noutput.errors import InvalidArgumentError
from noutput.estimate.mean_scores import half_width, reports_for, scores_for
from noutput.estimate.mean_slack import is_shorter
from noutput.mechanisms.moments import mean_square
from noutput.planner.forecast import Widths, interval_widths, mean_half_width, wasserstein_error
from noutput.planner.shapes import SHAPES, Shape, shape_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noutput.interval import Interval
    from noutput.mechanisms.table import TableMechanism

__all__ = [
    "EVEN",
    "MOST_PEOPLE",
    "SCORE",
    "SHAPES",
    "Plan",
    "expect",
    "expected_half_width",
    "histogram_variance",
    "people_for",
]

LEVEL = 0.95
SCORE = half_width(1.0, 0.0, LEVEL)
"""Half the width of a 95% interval, in standard errors of an unbiased estimate."""
EVEN = np.ones(1)
"""The prior of people who are spread evenly."""
MOST_PEOPLE = 10**15
_STEPS = 12
_CLOSE = 0.02


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
    shapes : tuple of pairs
        Names and shapes that are simulated: `SHAPES`, or the prior alone where one was given.
    mechanism : TableMechanism
        The table that the plan is made for.
    bias_bound : float
        How far off the mean is on average, at most: 0 where `estimate_mean` is unbiased.
    prior : array
        What the numbers were assumed to be: the weights of equal bins.

    Examples
    --------
    >>> import noutput as no
    >>> found = no.plan(epsilon=1, people=50_000, bounds=no.Interval(0, 180), objective="worst")
    >>> round(found.half_width, 2), round(found.worst_half_width, 2), found.bits
    (1.64, 1.76, 4)
    >>> low, high = found.wasserstein_range
    >>> 0.5 < low < found.wasserstein_error < high < 12
    True
    >>> max(error for _, error in found.wasserstein_errors) == high
    True
    >>> low, high = found.interval_widths["median"]
    >>> 1 < low < high < 180, found.bars[0] <= found.bars[1]
    (True, True)
    >>> found.people_for(0.8) > 4 * found.people
    True
    """

    epsilon: float
    people: int
    bounds: Interval
    standard_error: float
    worst_standard_error: float
    respondents_error: float
    shapes: tuple[tuple[str, Shape], ...] = field(repr=False)
    mechanism: TableMechanism = field(repr=False)
    bias_bound: float = 0.0
    prior: NDArray[np.float64] = field(default_factory=EVEN.copy, repr=False, compare=False)

    @property
    def half_width(self) -> float:
        """Half the width of the 95% interval for the mean, at most that of the bounds."""
        expected = expected_half_width(self.mechanism, self.people, self.prior)
        return min(expected, 1.0) * self.bounds.half_width

    @property
    def worst_half_width(self) -> float:
        """The same for numbers distributed as unfavorably as possible."""
        bias = scores_for(self.mechanism, self.people).bias_bound * self.bounds.half_width
        half = half_width(self.worst_standard_error, bias, LEVEL)
        return min(max(half, self.half_width), self.bounds.half_width)

    @property
    def mean_method(self) -> str:
        """What the mean's estimate will be, as `MeanEstimate.method` says it.

        Examples
        --------
        >>> import noutput as no
        >>> no.plan(epsilon=1, people=20_000).mean_method
        'unbiased'
        """
        if is_shorter(self.mechanism, self.people):
            return "slack"
        return "nearly unbiased" if self.bias_bound else "unbiased"

    @property
    def wasserstein_errors(self) -> tuple[tuple[str, float], ...]:
        """The expected Wasserstein error of the estimated distribution for every shape.

        Simulated at first use.
        """
        unit, found = self.bounds.half_width, []
        with shown_progress("Simulating") as progress:
            for number, (name, shape) in enumerate(self.shapes, 1):
                error = wasserstein_error(self.mechanism, self.people, shape)
                found.append((name, unit * error))
                progress(number / len(self.shapes))
        return tuple(found)

    @property
    def wasserstein_range(self) -> tuple[float, float]:
        """The smallest and the largest of the expected Wasserstein errors."""
        errors = [error for _, error in self.wasserstein_errors]
        return min(errors), max(errors)

    @property
    def wasserstein_error(self) -> float:
        """The expected Wasserstein error, averaged over the shapes."""
        errors = [error for _, error in self.wasserstein_errors]
        return math.fsum(errors) / len(errors)

    @property
    def interval_widths(self) -> dict[str, tuple[float, float]]:
        """Widths of 95% intervals without assumptions: the narrowest and widest in simulations.

        Of the mean, the lower quartile and the median in the units of the bounds; of the share of
        people below the middle of the bounds and of the share in a quarter of them (four
        quarters' average) from 0 to 1. Simulated at first use.
        """
        unit, widths = self.bounds.half_width, self._widths
        return {
            "mean": _range(unit * each.mean for each in widths),
            "lower quartile": _range(unit * each.quartile for each in widths),
            "median": _range(unit * each.median for each in widths),
            "share below the middle": _range(each.below_middle for each in widths),
            "share of a quarter": _range(each.quarter for each in widths),
        }

    @property
    def bars(self) -> tuple[int, int]:
        """How many equal bars of a histogram can be told apart: the fewest and most in simulations.

        So many that the 95% intervals of their shares are, on average, no wider than an even
        share. Summaries draw no more.
        """
        found = [each.bars for each in self._widths]
        return min(found), max(found)

    @property
    def _widths(self) -> list[Widths]:
        most = round_bins(self.bounds.lower, self.bounds.upper)
        found: list[Widths] = []
        with shown_progress("Simulating") as progress:
            for number, (_, shape) in enumerate(self.shapes, 1):
                found += interval_widths(self.mechanism, self.people, shape, most)
                progress(number / len(self.shapes))
        return found

    @property
    def bits(self) -> int:
        """How many bits a report needs."""
        return self.mechanism.bits

    def people_for(self, error: float) -> int:
        """Return how many people bring the half width down to `error` at this epsilon."""
        return people_for(error, self.mechanism, self.bounds, self.prior)


def _range(values: Iterable[float]) -> tuple[float, float]:
    found = list(values)
    return min(found), max(found)


@shown_progress("Planning")
def expected_half_width(
    mechanism: TableMechanism, people: int, prior: NDArray[np.float64]
) -> float:
    """Return half the width of the mean's 95% interval, in units of half the bounds' width."""
    if is_shorter(mechanism, people):
        return mean_half_width(mechanism, people, shape_of(prior))
    scores = scores_for(mechanism, people)
    return half_width(math.sqrt(scores.expected(prior)[0] / people), scores.bias_bound, LEVEL)


@shown_progress("Planning")
def people_for(
    error: float, mechanism: TableMechanism, bounds: Interval, prior: NDArray[np.float64]
) -> int:
    """Return how many people bring half the width of the 95% interval down to an error."""
    wanted = _checks.positive("error", error) / bounds.half_width
    count = reports_for(mechanism, lambda scores: scores.expected(prior)[0], wanted)
    if not count <= MOST_PEOPLE:
        rule = f"be reachable with {MOST_PEOPLE:.0e} people"
        raise InvalidArgumentError("error", rule, error)
    found = max(2, math.ceil(count * (1.0 - 1e-12)))  # not one more for a rounding error
    for _ in range(_STEPS):  # slack intervals have no formula, but shrink about as others do
        if not is_shorter(mechanism, found):
            break
        ratio = expected_half_width(mechanism, found, prior) / wanted
        if 1.0 - _CLOSE < ratio <= 1.0:
            break
        found = math.ceil(found * (ratio * (1.0 + _CLOSE / 2.0)) ** 2)
    return found


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
    weights = EVEN if prior is None else prior
    shapes = SHAPES if prior is None else {"prior": shape_of(prior)}
    scores = scores_for(mechanism, people)
    variance, noise = scores.expected(weights)
    unit = bounds.half_width / math.sqrt(people)
    return Plan(
        epsilon=mechanism.epsilon,
        people=people,
        bounds=bounds,
        standard_error=math.sqrt(variance) * unit,
        worst_standard_error=math.sqrt(scores.worst_variance()) * unit,
        respondents_error=math.sqrt(noise) * unit,
        shapes=tuple(shapes.items()),
        mechanism=mechanism,
        bias_bound=0.0 if is_shorter(mechanism, people) else scores.bias_bound * bounds.half_width,
        prior=weights,
    )
