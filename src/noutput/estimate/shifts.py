r"""Shift alarm for a series of rounds: two two-sided CUSUMs with a stated rate of false alarms.

Notes
-----
Every round is predicted from those before it, by all models of `noutput.estimate.trend_models`
without a jump: a level or a line, variation of single rounds, AR(1) series or random walks, and a
cycle if one is named. While the value moves as one of the models says, the surprises :math:`w_t`
of the rounds are independent standard normal numbers (`noutput.estimate.trend_models.Forecast`):
exactly, on average over the models as their weights say, and nearly for each of them, once enough
rounds have told which it is. An alarm is false if it is raised meanwhile: the value only goes on
to vary as before. Page's sums :math:`U_t = \max(0, U_{t-1} + w_t - k)` and, for falls, the same of
:math:`-w_t` raise an alarm where they exceed h. The average number of rounds between false alarms
of one of them is close to :math:`(e^{2 k b} - 1 - 2 k b) / (2 k^2)` with b = h + 1.166 (Siegmund,
1985, *Sequential Analysis*, 10.1007/978-1-4757-1862-1), which is solved for h.

A sum is quickest for shifts by 2 k standard deviations of a prediction. There are sums for k = 2
and for k = 1; these and those, up and down, have a quarter of the false alarms each. Sums with a
smaller k would see smaller shifts, and take the beginning of a random walk for one, before it is
known that the value walks. For the same reason, all are set for three quarters of the stated rate.

No alarm can see every shift soon. One that is false in one of N rounds is false within two
given rounds in 2 of N cases, so by Neyman and Pearson it sees a shift by three standard errors
within two rounds with a chance of at most :math:`\Phi(3 \sqrt 2 - z)`, with the quantile z of
1 - 1 / N for both directions together.

After an alarm all begins anew with the next round: the rounds that raised it are no fair sample.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scipy.optimize import brentq

from noutput import _checks
from noutput.errors import InvalidArgumentError
from noutput.estimate.trend import Round, read_rounds
from noutput.estimate.trend_models import Forecast

if TYPE_CHECKING:
    from noutput.estimate.counts import Array

__all__ = ["Shift", "find_shifts", "shift_thresholds"]

_ALLOWANCES = (2.0, 1.0)  # k: half of the shifts, in standard errors, that are found soonest
_OVERSHOOT = 1.166
_CAUTION = 0.75  # share of the stated false alarms: how much the value varies must be learned
_HIGHEST = 200.0  # threshold times allowance: false alarms never come
_MOST = 1_000_000  # rounds


@dataclass(frozen=True, slots=True)
class Shift:
    """An alarm: the value seems to have changed.

    Parameters
    ----------
    alarm : int
        The round that raised it.
    since : int
        The round in which the change began, as far as the series tells.
    direction : "up" or "down"

    Examples
    --------
    >>> import noutput as no
    >>> no.find_shifts([(30.0, 0.5)] * 9 + [None] + [(27.0, 0.5)] * 2)
    [Shift(alarm=10, since=10, direction='down')]
    """

    alarm: int
    since: int
    direction: str


def shift_thresholds(false_alarms_per_year: float, rounds_per_year: float) -> tuple[float, ...]:
    """Return the thresholds h for a rate of false alarms of all sums together.

    Examples
    --------
    >>> [round(each, 2) for each in shift_thresholds(1.0, 365.25)]
    [1.25, 2.97]
    """
    rate = _CAUTION * _checks.positive("false_alarms_per_year", false_alarms_per_year)
    rounds = _checks.positive("rounds_per_year", rounds_per_year)
    sums = 2.0 * len(_ALLOWANCES)
    wanted, least = sums * rounds / rate, max(_between(0.0, k) for k in _ALLOWANCES)
    if wanted < least:
        rule = f"be at most {sums * rounds / least / _CAUTION:.3g}, with so many rounds per year"
        raise InvalidArgumentError("false_alarms_per_year", rule, false_alarms_per_year)
    return tuple(
        float(brentq(lambda h, k=k: math.log(_between(h, k) / wanted), 0.0, _HIGHEST / k))
        for k in _ALLOWANCES
    )


def _between(h: float, allowance: float) -> float:
    """Return the average number of rounds between two false alarms of one sum."""
    twice = 2.0 * allowance * (h + _OVERSHOOT)
    return (math.exp(twice) - 1.0 - twice) / (2.0 * allowance**2)


def find_shifts(
    rounds: Sequence[Round],
    *,
    rounds_per_year: float = 365.25,
    false_alarms_per_year: float = 1.0,
    cycle: int | None = None,
) -> list[Shift]:
    """Return the alarms of a series, in order.

    Parameters
    ----------
    rounds : sequence of estimates
        As in `trend`.
    rounds_per_year : float
        365.25 for days.
    false_alarms_per_year : float
        How many alarms there are in a year in which the value only varies as before, on average
        and at most.
    cycle : int, optional
        The length of a cycle, in rounds: its pattern is no change.

    Notes
    -----
    At one false alarm per year of days, a change of five standard errors of a round is found
    within two rounds if the value hardly varied in 30 rounds before, and one of three in 40 of 100
    cases; after 200 rounds in 70. Where the value varies, a change must stand out from that.

    Examples
    --------
    >>> import noutput as no
    >>> before = [(30.0 + 0.4 * (-1) ** day, 0.5) for day in range(20)]
    >>> after = [(32.0, 0.5)] * 3
    >>> no.find_shifts(before + after)
    [Shift(alarm=20, since=20, direction='up')]
    """
    thresholds = shift_thresholds(false_alarms_per_year, rounds_per_year)
    if cycle is not None:
        _checks.whole("cycle", cycle, 2, 1000)
    values, errors = read_rounds(rounds, least=0, most=_MOST)
    result: list[Shift] = []
    start = 0
    while True:
        found = _first(values, errors, start, cycle, thresholds)
        if found is None:
            return result
        result.append(found)
        start = found.alarm + 1


def _first(
    values: Array, errors: Array, start: int, cycle: int | None, thresholds: Sequence[float]
) -> Shift | None:
    """Return the first alarm of a series that begins at a round."""
    forecast = Forecast(cycle)
    sums = [
        _Sum(sign, allowance, threshold, start)
        for allowance, threshold in zip(_ALLOWANCES, thresholds, strict=True)
        for sign in (1.0, -1.0)
    ]
    origin = None
    for index in range(start, len(values)):
        if not math.isfinite(values[index]):
            continue
        if origin is None:  # later rounds must not change what earlier ones raise
            origin, unit = values[index], errors[index]
        y, noise = (values[index] - origin) / unit, (errors[index] / unit) ** 2
        surprise = forecast.surprise(index, y, noise)
        raised = [each for each in sums if each.add(surprise, index)]
        if raised:
            return Shift(index, raised[0].since, "up" if raised[0].sign > 0.0 else "down")
    return None


@dataclass(slots=True)
class _Sum:
    """Page's sum of deviations to one side."""

    sign: float
    allowance: float
    threshold: float
    since: int
    value: float = 0.0

    def add(self, residual: float, index: int) -> bool:
        """Add a deviation, and say whether the sum raises an alarm."""
        if self.value <= 0.0:
            self.since = index
        self.value = max(0.0, self.value + self.sign * residual - self.allowance)
        return self.value > self.threshold
