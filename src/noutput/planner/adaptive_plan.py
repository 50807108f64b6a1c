r"""Forecasts of adaptive campaigns: what a first wave of people will find, and what that saves.

Notes
-----
For several shapes that use a part of the declared bounds at their lower end, the reports of a first
wave are drawn with a fixed seed, and `noutput.choose_range` finds the bounds of all others. The
error that is forecast is

.. math:: \sqrt{\frac{\mathrm{Var}[Y]}{n_2} + \left(E[X] - E[\bar X]\right)^2} ,

the root mean square error of the mean of the :math:`n_2` people who follow, whose numbers
:math:`\bar X` are clipped: exact for the bounds that were found. The first wave's reports, which
`noutput.estimate_mean` uses as well, are left out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from noutput import _checks
from noutput._progress import shown_progress
from noutput.campaign.draft_adaptive import SHARE
from noutput.campaign.waves import FEWEST_REPORTS
from noutput.errors import InvalidArgumentError
from noutput.planner.adaptive import choose_range
from noutput.planner.shapes import SHAPES
from noutput.tally import Tally

if TYPE_CHECKING:
    from noutput.estimate.counts import Array
    from noutput.interval import Interval
    from noutput.mechanisms.table import TableMechanism
    from noutput.planner.expectation import Plan

__all__ = ["OCCUPANCIES", "AdaptivePlan", "RangeOutlook", "plan_adaptive"]

OCCUPANCIES = (0.05, 0.1, 0.25, 0.5, 1.0)
"""Shares of the declared bounds that the numbers use."""
_SHAPES = ("even", "one hump", "two humps", "skewed")
_SHARES = (0.05, 0.5)
_OBJECTIVES = {"worst": "mean", "average": "mean"}
_SEED = 0


@dataclass(frozen=True, slots=True)
class RangeOutlook:
    """What to expect where numbers use a part of the declared bounds.

    Parameters
    ----------
    occupancy : float
        The share of the bounds that they use.
    narrowest, widest : Interval
        Of the bounds that were found for the shapes.
    errors : pair of floats
        The smallest and the largest standard error of the mean, in the units of the bounds.
    ratios : pair of floats
        The same as multiples of a single wave with the declared bounds.
    """

    occupancy: float
    narrowest: Interval
    widest: Interval
    errors: tuple[float, float]
    ratios: tuple[float, float]


@dataclass(frozen=True, slots=True)
class AdaptivePlan:
    """What to expect of a campaign whose first people find the range for all others.

    Parameters
    ----------
    plan : Plan
        The same people in a single wave.
    first : int
        How many people are the first wave.
    outlooks : tuple of RangeOutlook
        By the share of the bounds that the numbers use.
    """

    plan: Plan
    first: int
    outlooks: tuple[RangeOutlook, ...]

    @property
    def too_few(self) -> bool:
        """Whether the first wave has fewer reports than the rule needs: it narrows nothing."""
        return self.first < FEWEST_REPORTS

    def to_dict(self) -> dict[str, object]:
        """Return the forecasts as plain JSON."""
        return {
            "first": self.first,
            "too_few": self.too_few,
            "outlooks": [
                {
                    "occupancy": each.occupancy,
                    "narrowest": [each.narrowest.lower, each.narrowest.upper],
                    "widest": [each.widest.lower, each.widest.upper],
                    "standard_errors": list(each.errors),
                    "ratios": list(each.ratios),
                }
                for each in self.outlooks
            ],
        }


@shown_progress("Simulating waves")
def plan_adaptive(plan: Plan, first: float = SHARE, *, objective: str = "balanced") -> AdaptivePlan:
    """Forecast a campaign whose first people find the range for all others.

    Parameters
    ----------
    plan : Plan
        A single wave of the same people with the declared bounds.
    first : float
        The share of the people who are the first wave, from 0.05 to 0.5.
    objective : str
        That of the plan's table: "balanced", "worst", "average" or "distribution".

    Examples
    --------
    >>> import noutput as no
    >>> from noutput.planner.adaptive_plan import plan_adaptive
    >>> found = plan_adaptive(no.plan(epsilon=1, people=50_000, bounds=(0, 600)))
    >>> found.first, [each.occupancy for each in found.outlooks]
    (10000, [0.05, 0.1, 0.25, 0.5, 1.0])
    >>> low, high = found.outlooks[1].ratios  # of numbers in the lowest tenth
    >>> low < high < 0.6
    True
    """
    share = _checks.finite("first", first)
    if not _SHARES[0] <= share <= _SHARES[1]:
        rule = f"be a share of the people from {_SHARES[0]} to {_SHARES[1]}"
        raise InvalidArgumentError("first", rule, first)
    asked = _OBJECTIVES.get(objective, objective)
    people = max(round(share * plan.people), 1)
    outlooks = tuple(_outlook(plan, people, occupancy, asked) for occupancy in OCCUPANCIES)
    return AdaptivePlan(plan, people, outlooks)


def _outlook(plan: Plan, first: int, occupancy: float, objective: str) -> RangeOutlook:
    found, errors, ratios = [], [], []
    for name in _SHAPES:
        shares = np.array(SHAPES[name].weights)
        edges = np.linspace(0.0, occupancy, len(shares) + 1)
        x = edges[1:] + edges[:-1] - 1.0  # centers, in [-1, 1]
        bounds = _first_wave(plan, first, x, shares, objective)
        single = _error(plan.mechanism, plan.people, plan.bounds, plan.bounds, x, shares)
        error = single
        if bounds != plan.bounds:
            others = plan.people - first
            error = _error(plan.mechanism, others, plan.bounds, bounds, x, shares)
        found.append(bounds)
        errors.append(error)
        ratios.append(error / single)
    found.sort(key=lambda each: each.half_width)
    return RangeOutlook(
        occupancy,
        found[0],
        found[-1],
        (min(errors), max(errors)),
        (min(ratios), max(ratios)),
    )


def _first_wave(plan: Plan, first: int, x: Array, shares: Array, objective: str) -> Interval:
    """Return the bounds that simulated people of a first wave find."""
    m = plan.mechanism
    chances = shares @ m.probabilities(x)
    drawn = np.random.default_rng(_SEED).multinomial(first, chances / chances.sum())
    tally = Tally(m.fingerprint, tuple(drawn.tolist()))
    expected = plan.people - first
    return choose_range(m, tally, plan.bounds, expected=expected, objective=objective).bounds or (
        plan.bounds
    )


def _error(
    m: TableMechanism, people: int, declared: Interval, bounds: Interval, x: Array, shares: Array
) -> float:
    """Return the root mean square error of the mean of people who use these bounds."""
    numbers = declared.lower + (x + 1.0) * declared.half_width
    clipped = np.clip(numbers, bounds.lower, bounds.upper)
    chances = shares @ m.probabilities(bounds.to_unit(clipped))
    mean = float(chances @ m.outputs)
    variance = float(chances @ (m.outputs - mean) ** 2) * bounds.half_width**2
    return math.hypot(math.sqrt(variance / people), float(shares @ (numbers - clipped)))
