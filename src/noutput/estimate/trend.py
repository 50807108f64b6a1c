"""Trend of a statistic over rounds: estimates of single rounds, smoothed together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np
from scipy.special import ndtr

from noutput import _checks
from noutput.errors import InvalidArgumentError
from noutput.estimate.mean_estimate import MeanEstimate
from noutput.estimate.trend_models import Posterior, posterior

if TYPE_CHECKING:
    from noutput.estimate.counts import Array

__all__ = ["Course", "Estimated", "Round", "Trend", "read_rounds", "trend"]

_LEAST = 3  # rounds with an estimate
_MOST = 1000
_UNKNOWN = 1e3  # standard errors of a round without an estimate, in units of a typical one
_HALVINGS = 32


class Estimated(Protocol):
    """An estimate of one round, such as `MeanEstimate`."""

    @property
    def value(self) -> float:
        """What was estimated, without bias, or with one that `bias_bound` bounds."""

    @property
    def standard_error(self) -> float:
        """Of the value."""


Round: TypeAlias = Estimated | tuple[float, float] | None


@dataclass(frozen=True, eq=False)
class Trend:
    """The course of a statistic over rounds.

    Parameters
    ----------
    values : array of shape (T,)
        The smoothed value of every round.
    low, high : arrays of shape (T,)
        The ends of its band. Each round's part covers the true value of that round with a chance
        near `level`, if the value moves in one of the ways that
        `noutput.estimate.trend_models` lists. Unlike other intervals this rests on an assumption.
    jumps : array of shape (T,)
        The chance of a jump just before each round; the first is 0.
    level : float

    Examples
    --------
    >>> import noutput as no
    >>> rounds = [(30.2, 0.5), (29.8, 0.5), None, (30.1, 0.5), (33.9, 0.5), (34.2, 0.4)]
    >>> found = no.trend(rounds)
    >>> len(found), int(found.jumps.argmax()), bool(found.jumps[4] > 0.5)
    (6, 4, True)
    >>> bool(found.low[-1] > found.high[0])
    True
    """

    values: Array
    low: Array
    high: Array
    jumps: Array
    level: float = 0.95

    def __len__(self) -> int:
        return len(self.values)


def trend(rounds: Sequence[Round], *, cycle: int | None = None, level: float = 0.95) -> Trend:
    r"""Return the trend through the estimates of rounds.

    Parameters
    ----------
    rounds : sequence of estimates
        One per round, in order and at equal distances, from 3 to 1,000 of them: anything with a
        `value` and a `standard_error`, a pair of both, or None for a round without an estimate.
    cycle : int, optional
        The length of a cycle, in rounds: 7 for days with weekends.
    level : float
        Of the band.

    Notes
    -----
    The noise of every round is known: it is that of the table and the number of reports. How the
    true value moves is not. So the band is the average over many models, each a Gaussian process
    (`noutput.estimate.trend_models`), weighted by how likely it makes the estimates: constant and
    straight series are averaged over all their rounds, jumps stay sharp.

    Noise averages out over rounds, a bias that they share does not. Where estimates have a
    `bias_bound`, the band allows for the largest of them in full, as `MeanEstimate.interval` does.
    Of an estimate whose interval is a slack interval, the average score is taken (`by_scores`):
    the middle of such an interval has a bias that nothing bounds.

    The trend of the mean takes only published estimates, so it costs no privacy.

    Examples
    --------
    >>> import numpy as np
    >>> import noutput as no
    >>> rng = np.random.default_rng(1)
    >>> truth = np.linspace(30.0, 36.0, 30)
    >>> found = no.trend([(value + rng.normal(), 1.0) for value in truth])
    >>> bool(np.abs(found.values - truth).mean() < 0.5)
    True
    """
    _checks.inner_share("level", level)
    return Course(rounds, cycle).trend(level)


class Course:
    """What all models say about the true values of rounds, in the units of the estimates.

    Parameters
    ----------
    rounds, cycle
        As in `trend`.
    bias : float
        How far all values may be off, at most, beyond what the estimates say of themselves.
    """

    def __init__(
        self, rounds: Sequence[Round], cycle: int | None = None, bias: float = 0.0
    ) -> None:
        if cycle is not None:
            _checks.whole("cycle", cycle, 2, _MOST)
        values, errors = read_rounds(rounds)
        known = np.isfinite(values)
        self._unit = float(1.0 / np.sqrt(np.mean(errors[known] ** -2.0)))
        self._center = float(np.average(values[known], weights=errors[known] ** -2.0))
        y = np.where(known, (values - self._center) / self._unit, 0.0)
        noise = np.where(known, errors / self._unit, _UNKNOWN) ** 2
        self._found = posterior(y, noise, cycle)
        self._bias = max([bias, *(_bias_bound(each) for each in rounds)]) / self._unit

    def trend(self, level: float) -> Trend:
        """Return the trend with its band."""
        found = self._found
        smoothed = found.weights @ found.means
        if self._bias:
            half = _half_width(found, smoothed, self._bias, level)
            low, high = smoothed - half, smoothed + half
        else:
            low, high = (_quantile(found, p) for p in ((1.0 - level) / 2.0, (1.0 + level) / 2.0))
        values, low, high = (self._center + self._unit * each for each in (smoothed, low, high))
        return Trend(values, low, high, found.jumps, level)

    def below(self, value: float) -> Array:
        """Return the chance that the true value of each round is below a value."""
        found = self._found
        place = (value - self._center) / self._unit
        result: Array = found.weights @ ndtr((place - found.means) / found.deviations)
        return result


def read_rounds(
    rounds: Sequence[Round], least: int = _LEAST, most: int = _MOST
) -> tuple[Array, Array]:
    """Return values and standard errors; NaN where there is no estimate."""
    if len(rounds) > most:
        raise InvalidArgumentError("rounds", f"be at most {most}", len(rounds))
    values, errors = np.full(len(rounds), np.nan), np.full(len(rounds), np.nan)
    for index, each in enumerate(rounds):
        if each is None:
            continue
        values[index], errors[index] = _read(each, f"rounds[{index}]")
    known = int(np.isfinite(values).sum())
    if known < least:
        raise InvalidArgumentError("rounds", f"have at least {least} estimates", known)
    return values, errors


def _read(each: Estimated | tuple[float, float], name: str) -> tuple[float, float]:
    if isinstance(each, tuple):
        value, error = each
    else:
        found = _linear(each)
        if found is None:
            rule = 'be a mean of one table, or one estimated with method="unbiased"'
            raise InvalidArgumentError(name, rule, "the middle of an interval")
        value, error = found.value, found.standard_error
    if not math.isfinite(value):
        raise InvalidArgumentError(name, "have a finite value", value)
    if not (math.isfinite(error) and error > 0.0):
        rule = "have a standard error that is positive and finite"
        raise InvalidArgumentError(name, rule, error)
    return value, error


def _linear(each: Estimated) -> Estimated | None:
    """Return the average score where the value is the middle of a slack interval."""
    if isinstance(each, MeanEstimate) and each.slack is not None:
        return each.by_scores
    return each


def _bias_bound(each: Round) -> float:
    found = None if each is None or isinstance(each, tuple) else _linear(each)
    return float(getattr(found, "bias_bound", 0.0))


def _half_width(found: Posterior, center: Array, bias: float, level: float) -> Array:
    """Return the half width that covers, whichever bias there is: the worst are the largest."""
    low = np.zeros(len(center))
    high = np.abs(found.means - center).max(axis=0) + 9.0 * found.deviations.max(axis=0) + bias
    for _ in range(_HALVINGS):
        half = (low + high) / 2.0
        least = np.ones(len(center))
        for side in (-bias, bias):
            ends = (center + side + sign * half for sign in (1.0, -1.0))
            top, bottom = (ndtr((end - found.means) / found.deviations) for end in ends)
            least = np.minimum(least, found.weights @ (top - bottom))
        low, high = np.where(least < level, half, low), np.where(least < level, high, half)
    result: Array = high
    return result


def _quantile(found: Posterior, share: float) -> Array:
    """Return a quantile of the mixture per round, by bisection."""
    low = (found.means - 9.0 * found.deviations).min(axis=0)
    high = (found.means + 9.0 * found.deviations).max(axis=0)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        below = found.weights @ ndtr((middle - found.means) / found.deviations)
        low, high = np.where(below < share, middle, low), np.where(below < share, high, middle)
    result: Array = (low + high) / 2.0
    return result
