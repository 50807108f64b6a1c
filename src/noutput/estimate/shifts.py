r"""Shift alarm for a series of rounds: two-sided CUSUM with a stated rate of false alarms.

Notes
-----
While the true value stays the same, the recursive residual of a round,

.. math:: w_t = (y_t - \hat\mu_{t-1}) / \sqrt{s_t^2 + v_{t-1}} ,

with the best estimate :math:`\hat\mu_{t-1}` from the rounds before and its variance
:math:`v_{t-1}`, is a standard normal number, independent of all others, since the noise
:math:`s_t` of every round is known (Brown, Durbin and Evans, 1975,
10.1111/j.2517-6161.1975.tb01532.x). With a cycle, the level of each of its phases is estimated.
Page's sums :math:`U_t = \max(0, U_{t-1} + w_t - k)` and, for falls, the same of :math:`-w_t` raise
an alarm where they exceed h. The average number of rounds between false alarms of one of them is
close to :math:`(e^{2 k b} - 1 - 2 k b) / (2 k^2)` with b = h + 1.166 (Siegmund, 1985,
*Sequential Analysis*, 10.1007/978-1-4757-1862-1), half of it for both, which is solved for h.
After an alarm all begins anew with the next round: the rounds that raised it are no fair sample.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import brentq

from noutput import _checks
from noutput.errors import InvalidArgumentError
from noutput.estimate.trend import Round, read_rounds

if TYPE_CHECKING:
    from noutput.estimate.counts import Array

__all__ = ["Shift", "find_shifts", "shift_threshold"]

_ALLOWANCE = 0.5  # k: half of the shift, in standard errors, that is found soonest
_OVERSHOOT = 1.166
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


def shift_threshold(false_alarms_per_year: float, rounds_per_year: float) -> float:
    """Return the threshold h for a rate of false alarms, up and down together.

    Examples
    --------
    >>> round(shift_threshold(1.0, 365.25), 2)
    4.75
    """
    rate = _checks.positive("false_alarms_per_year", false_alarms_per_year)
    rounds = _checks.positive("rounds_per_year", rounds_per_year)
    wanted = 2.0 * rounds / rate
    if wanted < _between(0.0):
        rule = f"be at most {2.0 * rounds / _between(0.0):.3g}, with so many rounds per year"
        raise InvalidArgumentError("false_alarms_per_year", rule, false_alarms_per_year)
    return float(brentq(lambda h: math.log(_between(h) / wanted), 0.0, 400.0))


def _between(h: float) -> float:
    """Return the average number of rounds between two false alarms of one sum."""
    twice = 2.0 * _ALLOWANCE * (h + _OVERSHOOT)
    return (math.exp(twice) - 1.0 - twice) / (2.0 * _ALLOWANCE**2)


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
        How many alarms there are in a year in which nothing changes, on average.
    cycle : int, optional
        The length of a cycle, in rounds: its pattern is no change.

    Notes
    -----
    A change of three standard errors of a round is found after two to three rounds, one of one
    standard error after about ten, at one false alarm per year of days.

    Examples
    --------
    >>> import noutput as no
    >>> before = [(30.0 + 0.4 * (-1) ** day, 0.5) for day in range(20)]
    >>> after = [(32.0, 0.5)] * 3
    >>> no.find_shifts(before + after)
    [Shift(alarm=21, since=20, direction='up')]
    """
    threshold = shift_threshold(false_alarms_per_year, rounds_per_year)
    if cycle is not None:
        _checks.whole("cycle", cycle, 2, 1000)
    values, errors = read_rounds(rounds, least=0, most=_MOST)
    result: list[Shift] = []
    start = 0
    while True:
        found = _first(values, errors, start, cycle or 1, threshold)
        if found is None:
            return result
        result.append(found)
        start = found.alarm + 1


def _first(values: Array, errors: Array, start: int, cycle: int, threshold: float) -> Shift | None:
    """Return the first alarm of a series that begins at a round."""
    precision, weighted = np.zeros(cycle), np.zeros(cycle)
    sums, since = [0.0, 0.0], [start, start]
    for index in range(start, len(values)):
        if not math.isfinite(values[index]):
            continue
        phase = index % cycle
        if precision[phase] > 0.0:
            spread = math.sqrt(errors[index] ** 2 + 1.0 / precision[phase])
            residual = (values[index] - weighted[phase] / precision[phase]) / spread
            for side, sign in enumerate((1.0, -1.0)):
                if sums[side] <= 0.0:
                    since[side] = index
                sums[side] = max(0.0, sums[side] + sign * residual - _ALLOWANCE)
                if sums[side] > threshold:
                    return Shift(index, since[side], ("up", "down")[side])
        precision[phase] += errors[index] ** -2.0
        weighted[phase] += values[index] * errors[index] ** -2.0
    return None
