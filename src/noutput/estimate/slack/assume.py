r"""Assumptions about the people's numbers that make intervals narrower, each with a name.

Notes
-----
Every assumption is about a density that is constant inside of 128 equal cells of the bounds (64
where its variation is limited). The set of such densities is convex, so its best fit and the ends
of intervals are those of a convex program. But for limited variation it is of the same kind as
without an assumption (`noutput.estimate.slack.program`). The masses :math:`\nu_i` of the cells,
whose widths are w, take the place of the masses of single numbers:

- *Density at most c*: :math:`\nu_i + s_i = c\,w`, with slacks :math:`s_i \ge 0`.
- *Variation at most c*: see `noutput.estimate.slack.variation`. Averages over cells never vary more
  than the density itself.
- *Unimodal with the mode in a few cells*: mixtures of uniform distributions from some edge up to
  them, from them up to some edge, and of these cells. If the mode is not known, the interval covers
  those of all cells, four at a time, that fit.

The limits c that are computed with are larger by a quarter than those that are named: thresholds
of the misfit (`noutput.estimate.slack.threshold`) are too small for populations at the very edge
of an assumption, whose density is c wherever it is not 0. With a density of at most 4 that lowered
the coverage of shares to 84%. What atoms lose to others that replace them is left out of the
thresholds: it is for people at few numbers, which no density has. Where the variation is limited,
one degree of freedom counts as lost: with none, the largest possible share of people below a number
was covered in as little as 75% of campaigns where nobody is above it, and with one in 93% or more.

An interval is one for all populations of the assumption, so it is wrong if none of them is the
people's. Where the best of them fits the reports so much worse than the best population without an
assumption that chance hardly explains it, there is no interval but an error: the reports
contradict the assumption. Where it does not, that is no proof of it.

References
----------
Groeneboom and Jongbloed (2014), *Nonparametric estimation under shape constraints*,
10.1017/CBO9781139020893.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np
from scipy.stats import chi2

from noutput import _checks
from noutput._numbers import show
from noutput.errors import InvalidArgumentError
from noutput.estimate.counts import transition_matrix
from noutput.estimate.slack.intervals import Slack
from noutput.estimate.slack.path import largest
from noutput.estimate.slack.places import Places
from noutput.estimate.slack.program import BestFit, Program
from noutput.estimate.slack.threshold import FACTOR, thresholds
from noutput.estimate.slack.variation import LimitedVariation
from noutput.interval import scale_to_unit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from noutput.estimate.counts import Array, CellModel
    from noutput.interval import Interval

__all__ = [
    "SMOOTH",
    "Assumed",
    "Assumption",
    "DensityAtMost",
    "Unimodal",
    "VariationAtMost",
    "as_assumption",
]

CELLS = 128
_WIDE_CELLS = 64  # where the variation is limited
_CUTS = 2 * CELLS  # at which quantiles are looked for
_BESIDE = 1e-9  # beside a number, so that shares jump there
_ROOM = 1.25  # populations at the very edge of an assumption need it
_CHANCE = 1e-3  # of an error where the assumption is right
_SMALLEST = 0.05  # threshold of a mode that hardly fits
_MODES = 4  # cells of which one holds the mode
_LOST = 2  # atoms that the fit of another mode may have lost
_EMPTY = 1  # degrees of freedom that a density of limited variation loses where it is 0


def _plain(number: float) -> str:
    """Return a number as people write it."""
    return f"{number:.6g}"


def _at_least(name: str, value: float, least: float) -> float:
    number = _checks.finite(name, value)
    if number < least:
        raise InvalidArgumentError(name, f"be at least {_plain(least)}", value)
    return number


@dataclass(frozen=True)
class DensityAtMost:
    """The assumption that no number is far more frequent than others.

    Parameters
    ----------
    times : float
        The largest density, as a multiple of the even density over the bounds; at least 1.

    Examples
    --------
    >>> print(DensityAtMost(4))
    a density of at most 4 times the even one
    """

    times: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "times", _at_least("times", self.times, 1.0))

    def __str__(self) -> str:
        return f"a density of at most {_plain(self.times)} times the even one"

    def _fits(self, rows: Array, bounds: Interval, shares: Array, reports: float) -> list[_Fit]:
        return [part.fit(shares, reports) for part in self._programs(rows, bounds)]

    def _programs(self, rows: Array, bounds: Interval) -> list[_Part]:  # noqa: ARG002 (modes have units)
        """Return the program: masses of the cells, and what is left of their limits."""
        size = len(rows)
        eye = np.eye(size)
        sums = np.vstack([np.repeat([1.0, 0.0], size)[None, :], np.hstack([eye, eye])])
        limit = _ROOM * self.times
        totals = np.append(1.0, np.full(size, limit / size))
        return [_Part.of(rows, sums, totals, most=limit)]


@dataclass(frozen=True)
class VariationAtMost:
    """The assumption that the density does not go up and down much.

    Parameters
    ----------
    times : float
        The total variation of the density, as a multiple of the even density over the bounds: all
        ups and downs together, with those from 0 at the lower and to 0 at the upper bound. That
        of a density with a single peak is twice the height of the peak. At least 2.

    Examples
    --------
    >>> print(VariationAtMost(10))
    a density that goes up and down by at most 10 times the even one in all
    """

    times: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "times", _at_least("times", self.times, 2.0))

    def __str__(self) -> str:
        times = _plain(self.times)
        return f"a density that goes up and down by at most {times} times the even one in all"

    def _fits(self, rows: Array, bounds: Interval, shares: Array, reports: float) -> list[_Fit]:  # noqa: ARG002 (modes have units)
        return [_WideFit(rows, _ROOM * self.times, shares, reports)]


@dataclass(frozen=True)
class Unimodal:
    """The assumption that the density has one peak: it never rises after it has fallen.

    Parameters
    ----------
    mode : float or pair of floats, optional
        Where the peak is, or between which numbers, in the units of the bounds. By default it may
        be anywhere.

    Examples
    --------
    >>> print(Unimodal()), print(Unimodal(30)), print(Unimodal((20, 40)))
    a density with one peak
    a density with one peak, at 30
    a density with one peak, between 20 and 40
    (None, None, None)
    """

    mode: float | tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if self.mode is None:
            return
        given = np.atleast_1d(_checks.numbers("mode", "be a number or a pair of them", self.mode))
        ends = [_checks.finite("mode", float(each)) for each in given.ravel()]
        if len(ends) not in (1, 2) or ends[0] > ends[-1]:
            raise InvalidArgumentError(
                "mode", "be a number or a pair in increasing order", self.mode
            )
        object.__setattr__(self, "mode", ends[0] if len(ends) == 1 else (ends[0], ends[1]))

    def __str__(self) -> str:
        if self.mode is None:
            return "a density with one peak"
        if isinstance(self.mode, tuple):
            first, last = map(_plain, self.mode)
            return f"a density with one peak, between {first} and {last}"
        return f"a density with one peak, at {_plain(self.mode)}"

    def _fits(self, rows: Array, bounds: Interval, shares: Array, reports: float) -> list[_Fit]:
        return [part.fit(shares, reports) for part in self._programs(rows, bounds)]

    def _programs(self, rows: Array, bounds: Interval) -> list[_Part]:
        """Return one program per few cells that can hold the mode."""
        size = len(rows)
        result = []
        for first, last in self._cells(size, bounds):
            inner = np.arange(first, last)
            starts = np.concatenate([np.arange(first), inner, np.full(size - last, last)])
            ends = np.concatenate([np.full(first, first), inner + 1, np.arange(last, size) + 1])
            result.append(_runs(rows, starts, ends))
        return result

    def _cells(self, size: int, bounds: Interval) -> list[tuple[int, int]]:
        """Return the first and one past the last of few cells that hold the mode, for all."""
        ends = [bounds.lower, bounds.upper] if self.mode is None else self.mode
        places = np.atleast_1d(np.asarray(ends, np.float64))
        if not np.all((places >= bounds.lower) & (places <= bounds.upper)):
            rule = f"lie within the bounds, {_plain(bounds.lower)} to {_plain(bounds.upper)}"
            raise InvalidArgumentError("mode", rule, self.mode)
        cells = (scale_to_unit(places, bounds) + 1.0) / 2.0 * size
        first = min(int(np.floor(cells[0])), size - 1)
        last = max(int(np.ceil(cells[-1])), first + 1)
        return [(at, min(at + _MODES, last)) for at in range(first, last, _MODES)]


Assumption: TypeAlias = DensityAtMost | VariationAtMost | Unimodal

SMOOTH = VariationAtMost(10.0)
"""What "smooth" stands for."""


def as_assumption(assume: object) -> Assumption | None:
    """Return an assumption, or what a word stands for.

    Examples
    --------
    >>> as_assumption("smooth")
    VariationAtMost(times=10.0)
    """
    if assume is None or isinstance(assume, Assumption):
        return assume
    if isinstance(assume, str) and assume == "smooth":
        return SMOOTH
    rule = 'be Unimodal, DensityAtMost or VariationAtMost, "smooth", or None'
    raise InvalidArgumentError("assume", rule, assume)


class _Fit(Protocol):
    """The best fit among the densities of an assumption, or of a part of it."""

    least: float

    def largest(self, goals: Array, thresholds: Array) -> Array:
        """Return upper ends of statistics, given by averages over the cells of shape (B, cells)."""


class _PathFit:
    """That of a program."""

    def __init__(self, part: _Part, shares: Array, reports: float) -> None:
        self._spread = part.spread
        self.best = BestFit(part.program, shares, reports)
        self.least = self.best.least

    def largest(self, goals: Array, thresholds: Array) -> Array:
        """Return upper ends of statistics."""
        return largest(self.best, goals @ self._spread.T, thresholds, replaced=0.0)


class _WideFit:
    """That of a limited variation, with pairs of cells."""

    def __init__(self, rows: Array, limit: float, shares: Array, reports: float) -> None:
        self._each = len(rows) // _WIDE_CELLS
        self.best = LimitedVariation(self._pairs(rows.T).T, limit, shares, reports)
        self.least = self.best.least

    def _pairs(self, values: Array) -> Array:
        result: Array = values.reshape(len(values), _WIDE_CELLS, self._each).mean(axis=2)
        return result

    def largest(self, goals: Array, thresholds: Array) -> Array:
        """Return upper ends of statistics."""
        return self.best.largest(self._pairs(goals), float(thresholds[_EMPTY]))


@dataclass(frozen=True, eq=False)
class _Part:
    """A program, and how its atoms spread over the cells, of shape (atoms, cells)."""

    program: Program
    spread: Array

    @classmethod
    def of(cls, rows: Array, sums: Array, totals: Array, most: float) -> _Part:
        """Return a program of single cells, and of others that have no mass."""
        others = sums.shape[1] - len(rows)
        filled = np.vstack([rows, np.zeros((others, rows.shape[1]))])
        spread = np.eye(sums.shape[1], len(rows))
        return cls(Program(filled, sums, totals, most), spread)

    def fit(self, shares: Array, reports: float) -> _PathFit:
        """Return the best fit."""
        return _PathFit(self, shares, reports)


def _runs(rows: Array, starts: NDArray[np.intp], ends: NDArray[np.intp]) -> _Part:
    """Return mixtures of uniform distributions over runs of cells."""
    sums = np.vstack([np.zeros(rows.shape[1]), np.cumsum(rows, axis=0)])
    widths = (ends - starts)[:, None]
    cells = np.arange(len(rows))
    spread = ((cells >= starts[:, None]) & (cells < ends[:, None])) / widths
    return _Part(Program((sums[ends] - sums[starts]) / widths), spread)


class _Cuts(Places):
    """Places with jumps at named numbers and at the edges of the cells."""

    def __init__(self, channel: CellModel, named: Sequence[float]) -> None:
        self.edges: Array = np.linspace(-1.0, 1.0, _CUTS + 1)
        jumps = np.unique(np.concatenate([self.edges, named]))
        beside = np.concatenate([jumps, jumps - _BESIDE, jumps + _BESIDE])
        super().__init__(channel, np.clip(beside, -1.0, 1.0).tolist())

    @cached_property
    def cuts(self) -> NDArray[np.intp]:
        """The edges at which shares of the numbers below are worth asking for."""
        return np.searchsorted(self.x, self.edges[1:-1]).astype(np.intp)

    @cached_property
    def averages(self) -> Array:
        """What turns values at the places, linear between them, into averages over the cells."""
        widths = np.diff(self.x)
        middles = (self.x[1:] + self.x[:-1]) / 2.0
        cells = np.minimum(((middles + 1.0) / 2.0 * CELLS).astype(np.intp), CELLS - 1)
        result = np.zeros((len(self.x), CELLS))
        order = np.arange(len(widths))
        for side in (order, order + 1):
            np.add.at(result, (side, cells), widths / 4.0 * CELLS)
        return result


class Assumed:
    """Ends over all populations of an assumption whose misfit is below a threshold.

    Parameters
    ----------
    channel, shares, reports, level, named
        As in `noutput.estimate.slack.intervals.Slack`.
    assumption : Assumption
    bounds : Interval
        The units of what the assumption names.

    Raises
    ------
    InvalidArgumentError
        If the reports contradict the assumption.
    """

    def __init__(
        self,
        channel: CellModel,
        shares: Array,
        reports: float,
        level: float,
        named: Sequence[float],
        assumption: Assumption,
        bounds: Interval,
    ) -> None:
        cuts = _Cuts(channel, named)
        self.places: Places = cuts
        self._averages = cuts.averages
        self._thresholds = thresholds(level)
        rows = transition_matrix(channel, CELLS)
        rows = rows / rows.sum(axis=1, keepdims=True)
        self._free = Slack(channel, shares, reports, level, self.places.x.tolist())
        fits = assumption._fits(rows, bounds, shares, reports)  # noqa: SLF001 (of this module)
        self._least = min(fit.least for fit in fits)
        far = self._least + float(self._thresholds[_LOST])
        self._fits = [fit for fit in fits if fit.least <= far]
        free = self._free.fit
        _check_fit(assumption, self._least - free.least, int(free.inside.sum()))

    def upper(self, goals: Array) -> Array:
        """Return upper ends of statistics: the largest of all modes.

        Where a path was broken off, or a threshold is larger, an end can be wider than without an
        assumption: then it is that one.
        """
        cells = goals @ self._averages
        ends = [
            fit.largest(cells, np.maximum(self._thresholds - (fit.least - self._least), _SMALLEST))
            for fit in self._fits
        ]
        result: Array = np.minimum(np.max(ends, axis=0), self._free.upper(goals))
        return result

    def at_level(self, level: float) -> Assumed:
        """Return ends at another level, of the same fit."""
        result = copy(self)
        result._thresholds = thresholds(level)  # noqa: SLF001 (another of the same kind)
        result._free = self._free.at_level(level)  # noqa: SLF001
        return result

    def shared(self, parts: int) -> Assumed:  # noqa: ARG002 (what is asked for is one statistic)
        """Return this: the misfit of one population is compared, whatever is asked of it."""
        return self

    def smooth(self) -> Assumed:
        """Return ends of statistics without jumps: they matter without the assumption alone."""
        result = copy(self)
        result._free = self._free.smooth()  # noqa: SLF001 (another of the same kind)
        return result

    @property
    def center(self) -> float:
        """The mean of the best fit without the assumption: so no variance is wider than there."""
        return self._free.center


def _check_fit(assumption: Assumption, excess: float, atoms: int) -> None:
    """Refuse an assumption under which no population fits nearly as well as without."""
    limit = FACTOR * float(chi2.ppf(1.0 - _CHANCE, max(atoms - 1, 1)))
    if excess > limit:
        rule = (
            f"be something that the reports do not contradict: {assumption} fits them worse than "
            f"chance explains (misfit larger by {show(excess)}, where {show(limit)} is possible)"
        )
        raise InvalidArgumentError("assume", rule, repr(assumption))
