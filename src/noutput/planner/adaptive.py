r"""The range rule of adaptive campaigns: bounds for those who follow a first wave of people.

Notes
-----
The error of a campaign is proportional to the width of its bounds. Whoever follows the first wave
may use narrower bounds; numbers beyond them are clipped on the device, and the likelihood of both
waves knows it. Then only the first wave tells what lies beyond. For bounds from l to u of width w
(that of the declared ones is 1), with v the variance of a report of a table of width 1 and
:math:`n_2` people who follow the :math:`n_1` of the first wave, the second wave alone has the
squared error

.. math:: C = v \frac{w^2}{n_2} + \lambda \left( E[U_l^2] + E[U_u^2] \right) , \qquad
          U_u = \int (x - u)^+ \, dF(x), \quad U_l = \int (l - x)^+ \, dF(x) ,

where the expectations are over the posterior of `noutput.estimate.gaussian` given the first wave:
the known and the unknown part of what lies beyond count alike. :math:`U` is what clipping takes
from the mean, and from the area between two cumulative distributions. The first wave alone has
:math:`v / n_1`, and both together about :math:`1 / (1/C + n_1/v)`, which is

.. math:: R = \frac{n_1 + n_2}{n_1 + n_2 G}, \qquad
          G = \frac{v}{v w^2 + n_2 \lambda \left( E[U_l^2] + E[U_u^2] \right)}

times the squared error of a single wave. The rule takes the l and u with the largest G, of those
that leave at most 5% of the people beyond each end by the mean of the posterior. Before that the
ends move outward by a share of the width, because no estimate tells numbers at an end from those
beyond it, and to numbers that are easy to say, at most 100 in the declared bounds.

The fewer people follow, the more bias a narrow range may have before it costs them more than it
saves, and the worse it is if more come than were expected. So bounds are chosen for at least four
times as many people as the first wave has, however few are said to be expected.

:math:`\lambda` is far below 1: the posterior is that of smooth distributions, which have
tails, and most people's numbers do not. It was chosen, like the other constants, on populations
that the published results do not contain (``benchmarks/waves.py``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from noutput import _checks
from noutput._numbers import round_edges, show
from noutput.campaign.waves import FEWEST_REPORTS
from noutput.estimate import gaussian
from noutput.estimate.counts import Counts, check_tally, supported, transition_matrix
from noutput.estimate.goodness import conditional_goodness_of_fit
from noutput.interval import Interval, IntervalLike, as_interval
from noutput.mechanisms.answers import AnswerMechanism

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noutput.estimate.counts import Array
    from noutput.mechanisms.table import TableMechanism
    from noutput.tally import Tally

__all__ = [
    "OBJECTIVES",
    "NextRange",
    "RangeForecast",
    "choose_range",
    "find_range",
    "range_choices",
]

OBJECTIVES = ("balanced", "mean", "distribution")
_TAIL_WEIGHT = {"balanced": 0.06, "mean": 0.06, "distribution": 0.04}
_MARGIN = 0.3  # of the width, by which both ends move outward
_LARGEST = 0.65  # of the squared error of a single wave, or narrowing does not pay
_BEYOND = 0.05  # of the people, who may be beyond each end
_FOLLOWING = 4  # times the people of the first wave, for whom bounds are chosen at least
_STEPS = 100  # between the declared bounds
_BINS = 64
_MOST_PEOPLE = 10**15
_FORGED = 0.001  # p-value of goodness of fit below which nothing is narrowed


@dataclass(frozen=True, slots=True)
class RangeForecast:
    """What the rule expects, in the units of the bounds.

    Parameters
    ----------
    error_ratio : float
        The error of both waves together, as a multiple of that of a single wave; 1 where nothing
        is narrowed.
    share_beyond : float
        The share of people whose number lies beyond the chosen bounds, as estimated; at most 5%
        on each side.
    p_value : float
        Of the first wave's goodness of fit.
    """

    error_ratio: float
    share_beyond: float
    p_value: float


@dataclass(frozen=True, slots=True)
class NextRange:
    """Bounds and table for those who have not answered yet.

    Parameters
    ----------
    bounds : Interval or None
        In people's units; None for questions with answers, which have none.
    mechanism : TableMechanism or AnswerMechanism
        The table.
    narrowed : bool
        Whether the bounds differ from those of the first wave.
    reason : str
        Why, in words for a page.
    forecast : RangeForecast
    choices : int
        How many different results there could have been, for `noutput.Evidence`: intervals that
        are guaranteed allow for every one of them.

    Examples
    --------
    >>> import noutput as no
    >>> m = no.AnswerMechanism(1.1, [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
    >>> found = no.choose_range(m, no.Tally(m.fingerprint, (600, 400)), None, expected=9_000)
    >>> found.narrowed, found.bounds
    (False, None)
    """

    bounds: Interval | None
    mechanism: TableMechanism | AnswerMechanism
    narrowed: bool
    reason: str
    forecast: RangeForecast
    choices: int = 1


def choose_range(
    mechanism: TableMechanism | AnswerMechanism,
    tally: Tally,
    bounds: IntervalLike | None,
    *,
    expected: int,
    objective: str = "balanced",
) -> NextRange:
    """Choose bounds for those who follow a first wave of people.

    Parameters
    ----------
    mechanism : TableMechanism or AnswerMechanism
        The table of the first wave.
    tally : Tally
        Its reports.
    bounds : Interval or pair of numbers, or None
        Its bounds, in people's units; None for questions with answers.
    expected : int
        How many people are still expected. Bounds are chosen for four times as many as the first
        wave has where that is more: few who are expected do not make them narrower.
    objective : {"balanced", "mean", "distribution"}
        Which error is to be small: both, that of the mean, or that of the distribution.

    Returns
    -------
    NextRange
        With the bounds and the table of the first wave where narrower ones would not help, where
        there are fewer than 500 reports, where the reports fit no distribution, and for questions
        with answers.

    Raises
    ------
    InvalidArgumentError

    Notes
    -----
    The result is a function of the arguments alone: there is no random number in it, not even one
    from a fixed seed, and bounds are round numbers, so that everybody computes the same. See
    `noutput.planner.adaptive`.

    Guarantees
    ----------
    Bounds have no part in the privacy of a report: every person's number is clipped on the device
    before drawing, and the table is certified for all inputs.

    Examples
    --------
    >>> import numpy as np
    >>> import noutput as no
    >>> m, rng = no.design(1.0).mechanism, np.random.default_rng(7)
    >>> minutes = no.Interval(0, 600)
    >>> first = m.privatize(minutes.to_unit(rng.gamma(4.0, 10.0, 20_000), clip=True), rng)
    >>> found = choose_range(m, no.Tally.of(m, first), minutes, expected=80_000)
    >>> found.narrowed, found.bounds
    (True, Interval(lower=0.0, upper=140.0))
    """
    people = _checks.whole("expected", expected, 0, _MOST_PEOPLE)
    _checks.choice("objective", objective, OBJECTIVES)
    if isinstance(mechanism, AnswerMechanism):
        check_tally(mechanism, tally, mechanism.n_outputs)
        reason = "The question has answers, not a range: the same table is used."
        return NextRange(None, mechanism, False, reason, RangeForecast(1.0, 0.0, 1.0))
    declared = as_interval(bounds)
    check_tally(mechanism, tally, mechanism.n_outputs)

    choices = range_choices(declared)

    def same(reason: str, p_value: float = 1.0) -> NextRange:
        forecast = RangeForecast(1.0, 0.0, p_value)
        return NextRange(declared, mechanism, False, reason, forecast, choices)

    if tally.total < FEWEST_REPORTS:
        return same(
            f"{tally.total:,} reports are too few to narrow the range; {FEWEST_REPORTS} are needed."
        )
    p_value = conditional_goodness_of_fit(mechanism, tally).p_value
    if p_value < _FORGED:
        return same(
            f"The reports fit no distribution (p = {p_value:.2g}), so some of them may be forged: "
            "the range stays as declared.",
            p_value,
        )
    found = find_range(mechanism, tally, declared, people, objective)
    if found is None:
        return same(
            "The first reports leave no room for a narrower range that would make the error "
            "smaller.",
            p_value,
        )
    chosen, ratio, beyond = found
    gain = (
        f"With {people:,} people to follow, that range makes the error about {show(ratio)} times "
        "as large."
        if people
        else "Nobody is expected any more: it is the range of whoever comes."
    )
    reason = (
        f"The first {tally.total:,} reports put about {show(100.0 * (1.0 - beyond), digits=3)}% of "
        f"the numbers between {chosen.lower:g} and {chosen.upper:g}. {gain}"
    )
    forecast = RangeForecast(ratio, beyond, p_value)
    return NextRange(chosen, mechanism, True, reason, forecast, choices)


def range_choices(declared: Interval) -> int:
    """Return among how many pairs of bounds `choose_range` chooses, the declared one included."""
    return math.comb(len(_ends(declared)), 2)


def _ends(declared: Interval) -> list[float]:
    """Return the numbers that bounds are chosen from."""
    return round_edges(declared.lower, declared.upper, _STEPS)


def find_range(
    mechanism: TableMechanism, tally: Tally, declared: Interval, people: int, objective: str
) -> tuple[Interval, float, float] | None:
    """Return the best bounds, the forecast ratio and the share beyond; None if nothing pays.

    Unlike `choose_range` it does not ask whether the reports are honest.
    """
    ends = np.array(_ends(declared))
    places = (ends - ends[0]) / (ends[-1] - ends[0])
    places[-1] = 1.0
    counts = Counts.of([tally])
    shares, theta = supported(counts.shares, transition_matrix(mechanism, _BINS))
    rows = np.concatenate(_functions(places))
    means, variances = gaussian.moments(shares[0], counts.totals[0], theta, rows)
    low, high, _ = np.split(means**2 + variances, 3)
    beyond_low, beyond_high = _beyond(means[2 * len(places) :])
    lower, upper = _outward(places)
    weight = _TAIL_WEIGHT[objective] / (mechanism.worst_variance() / 4.0)
    wide, tails = (places[upper] - places[lower]) ** 2, weight * (low[:, None] + high[None, :])
    following = max(people, _FOLLOWING * tally.total)
    costs = wide + following * tails  # 1 / G
    costs[places[None, :] <= places[:, None]] = math.inf
    costs[(beyond_low[lower] > _BEYOND) | (beyond_high[upper] > _BEYOND)] = math.inf
    best = np.unravel_index(int(np.argmin(costs)), costs.shape)
    left, right = int(lower[best]), int(upper[best])
    if right - left == len(places) - 1 or _ratio(tally.total, following, costs[best]) > _LARGEST:
        return None
    chosen = Interval(float(ends[left]), float(ends[right]))
    ratio = _ratio(tally.total, people, wide[best] + people * tails[best])
    return chosen, math.sqrt(ratio), float(beyond_low[left] + beyond_high[right])


def _ratio(first: int, following: int, cost: float) -> float:
    """Return the squared error of both waves together, as a multiple of a single one's."""
    return float((first + following) / (first + following / cost))


def _beyond(at_most: Array) -> tuple[Array, Array]:
    """Return the shares of people below and above every place, of those up to it."""
    below, above = np.clip([at_most, 1.0 - at_most], 0.0, 1.0)
    below[0] = above[-1] = 0.0  # nobody is beyond the declared bounds
    return below, above


def _functions(places: Array) -> tuple[Array, Array, Array]:
    """Return the means over bins of (p - x)+, of (x - p)+ and of [x <= p], a row per place p."""
    edges = np.linspace(0.0, 1.0, _BINS + 1)
    inside = np.clip(places[:, None] - edges[:-1], 0.0, 1.0 / _BINS)
    center = (edges[1:] + edges[:-1]) / 2.0
    below = np.maximum(places[:, None] - edges[1:], 0.0) + inside**2 * (_BINS / 2.0)
    return below, below - (places[:, None] - center), inside * _BINS


def _outward(places: Array) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the places to which the ends move, for all pairs of ends."""
    step = _MARGIN * (places[None, :] - places[:, None])
    lower = np.searchsorted(places, places[:, None] - step + 1e-9, side="right") - 1
    upper = np.searchsorted(places, places[None, :] + step - 1e-9, side="left")
    return np.maximum(lower, 0), np.minimum(upper, len(places) - 1)
