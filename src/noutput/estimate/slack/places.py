r"""Places of numbers: where people's numbers can be, so that no position is left out.

Notes
-----
The row of a number between two neighboring knots is a mixture of theirs, so all numbers of a gap
cause what numbers at its ends cause. A statistic :math:`\int \ell \, d\pi` is bounded over all
populations by its values at finitely many places: let :math:`\ell^+` be linear between places and
nowhere below :math:`\ell`. Then the largest :math:`\int \ell^+ d\pi` over all :math:`\pi` with a
given fit is one of the mixtures of the places, since moving mass from inside of a gap to its ends
changes neither the fit nor :math:`\int \ell^+ d\pi`. For an indicator the places include its
jump, and the place of the jump counts as either side of it, whichever makes the interval wider.
Where the table itself has a jump between two places less than :math:`2^{-15}` apart, an indicator
jumps there, too: its end is exact up to that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from noutput.estimate.slack.program import Program

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from noutput.estimate.counts import Array, CellModel

__all__ = ["Goal", "Places", "below", "between", "distance", "expected", "linear_knots", "position"]

_WIDEST = 1.0 / 32.0  # gap between places
NARROW = 2.0**-15  # a gap between two cells
_ALIKE = 1e-9  # of numbers, and of chances
_HALVINGS = 20  # of a gap with a jump
_INSIDE = 16  # points of a gap at which a function is looked at


@dataclass(frozen=True, eq=False)
class Goal:
    """A statistic: the mean over people of a function, between two functions linear in gaps.

    Parameters
    ----------
    upper, lower : array of shape (K,)
        Their values at the places; the mean lies between those of these.
    """

    upper: Array
    lower: Array


class Places:
    """The knots of a table, places between them, and numbers that statistics name.

    Parameters
    ----------
    channel : CellModel
    named : sequence of floats of [-1, 1]

    Attributes
    ----------
    x : array of shape (K,)
        Increasing, from -1 to 1.
    """

    def __init__(self, channel: CellModel, named: Sequence[float] = ()) -> None:
        knots = linear_knots(channel)
        parts = [
            np.linspace(a, b, int(np.ceil((b - a) / _WIDEST)) + 1)
            for a, b in pairwise(knots)
            if b - a > _WIDEST * 1.01
        ]
        self.x: Array = np.unique(np.concatenate([knots, *parts, list(named)]))
        self._channel = channel
        self._knots = knots

    @cached_property
    def program(self) -> Program:
        """All populations."""
        rows = np.asarray(self._channel.probabilities(self.x), np.float64)
        spare = ~np.isin(self.x, self._knots)
        return Program(rows / rows.sum(axis=1, keepdims=True), spare=spare, position=self.x)

    @cached_property
    def gaps(self) -> Array:
        """The wider of the gaps at either side of every place."""
        widths = np.diff(self.x)
        result: Array = np.maximum(np.append(widths, 0.0), np.insert(widths, 0, 0.0))
        return result

    @cached_property
    def starts_cell(self) -> NDArray[np.bool_]:
        """Where rows jump: less than 2^-15 below, another cell of the table ends."""
        return np.isin(self.x, self._knots[1:][np.diff(self._knots) < NARROW])

    @cached_property
    def cuts(self) -> NDArray[np.intp]:
        """The places at which shares of the numbers below are worth asking for."""
        ends = np.append(self.starts_cell[1:], np.True_)
        return np.flatnonzero(~ends)[1:]


def linear_knots(channel: CellModel) -> Array:
    """Return numbers between neighbors of which rows are linear; both sides of every jump."""
    inner = np.unique(np.asarray(channel.corners(), np.float64))
    inner = inner[(np.abs(inner) < 1.0 - _ALIKE) & np.insert(np.diff(inner) > _ALIKE, 0, True)]
    corners = np.concatenate([[-1.0], inner, [1.0]])
    start, end = corners[:-1], corners[1:]
    rows = channel.probabilities(corners)
    found = channel.probabilities(start + (end - start) / 3.0)
    jumps = np.abs(found - (2.0 * rows[:-1] + rows[1:]) / 3.0).max(axis=1) > _ALIKE
    low, high, before = start[jumps], end[jumps], rows[:-1][jumps]
    for _ in range(_HALVINGS if jumps.any() else 0):
        middle = (low + high) / 2.0
        same = np.abs(channel.probabilities(middle) - before).max(axis=1) < _ALIKE
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    return np.unique(np.concatenate([corners, low, high]))


def below(places: Places, end: float) -> Goal:
    """Return the share of numbers below an end, which is one of the places."""
    return between(places, -1.0, end)


def between(places: Places, start: float, end: float) -> Goal:
    """Return the share of numbers from one place up to another.

    Where a cell starts at an end, numbers there belong to what follows. Elsewhere they may belong
    to either side: the interval holds for both.
    """
    x = places.x
    exact = places.starts_cell
    first, last = np.searchsorted(x, [start, end])
    order = np.arange(len(x))
    upper = (order >= first) & (order <= last)
    lower = (order > first) & (order < last)
    if exact[first] or start <= -1.0:
        lower[first] = upper[first]
    if end >= 1.0:
        lower[last] = True
    elif exact[last]:
        upper[last] = False
    return Goal(upper.astype(np.float64), lower.astype(np.float64))


def position(places: Places) -> Goal:
    """Return the mean."""
    return Goal(places.x, places.x)


def distance(places: Places, center: float) -> Goal:
    """Return the mean square of the distance from a center.

    A parabola lies below its chord over a gap of width w, by at most :math:`w^2 / 4`.
    """
    squares = (places.x - center) ** 2
    return Goal(squares, squares - places.gaps**2 / 4.0)


def expected(places: Places, function: Callable[[Array], Array]) -> Goal:
    """Return the mean of a function, which is looked at between the places, too."""
    x = places.x
    shares = np.linspace(0.0, 1.0, _INSIDE + 1)
    inner = x[:-1, None] * (1.0 - shares) + x[1:, None] * shares
    values = np.asarray(function(inner), np.float64)
    chords = values[:, :1] * (1.0 - shares) + values[:, -1:] * shares
    above, under = (values - chords).max(axis=1), (values - chords).min(axis=1)
    ends = np.append(values[:, 0], values[-1, -1])
    rise = np.maximum(np.append(above, 0.0), np.insert(above, 0, 0.0))
    fall = np.minimum(np.append(under, 0.0), np.insert(under, 0, 0.0))
    return Goal(ends + rise, ends + fall)
