r"""The best probabilities for given outputs and column minima, in closed form.

Notes
-----
Let :math:`a_1 < \dots < a_N` be the outputs, :math:`m_i` the least probability of output i over
all inputs and :math:`E = e^\varepsilon`. Privacy says that every row is
:math:`P_i(x) = m_i + h_i(x)` with :math:`0 \le h_i(x) \le u_i = (E - 1) m_i`. The row of least
second moment for one input x is a linear program with two equations. Its dual is

.. math::

   s(x) = \max_{\nu, \mu}\; \mu + \nu x
          + \sum_i m_i \big[\varphi(a_i) + (E - 1) \min(0, \varphi(a_i))\big],
   \qquad \varphi(a) = a^2 - \nu a - \mu .

*Windows.* :math:`\varphi < 0` on an interval, so the best h fills neighboring outputs
completely, except at the two ends: lay the capacities :math:`u_i` side by side on a line; then h
is what a window of length :math:`H = 1 - \sum_i m_i` covers. As the window slides to the right
the mean grows, and mean, second moment and probabilities are all linear while its ends stay
inside one output each. So s is convex and piecewise linear, the best mechanism is *exactly* a
table with at most 2N + 1 knots, and the maximum over :math:`(\nu, \mu)` is attained where both
ends are roots, :math:`\varphi(a) = (a - a_l)(a - a_r)`, for a pair of outputs l < r:

.. math::

   s(x) = \max_{l < r}\; (a_l + a_r) x - a_l a_r + \sum_i m_i c_{lr}(a_i), \qquad
   c_{lr}(a) = (a - a_l)(a - a_r) \cdot (E \text{ if } a_l < a < a_r \text{ else } 1).

*Worst case.* s has convex kinks, so :math:`s(x) - x^2` has no local maximum at a knot; each
piece peaks at :math:`x = (a_l + a_r)/2`, or at the border x = 1. The worst-case variance over
all real x is therefore the maximum of finitely many polynomials in (a, m), linear in m.

*Reach.* Input 1 has a row at all if and only if
:math:`\sum_i m_i (a_i - a_j)(E \text{ if } i > j \text{ else } 1) \ge 1 - a_j` for every j
(the extreme rays of the dual), and :math:`E \sum_i m_i \ge 1`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from noutput.designs.solution import Array

__all__ = ["Cuts", "Windows", "reach_rows", "slide", "table"]

Indexes = NDArray[np.int64]

_SAME_KNOT = 1e-10


@dataclass(frozen=True)
class Windows:
    """The pieces of s: piece p holds between knots p and p + 1 and ends in two outputs."""

    lefts: Indexes
    rights: Indexes
    positions: Array
    knots: Array


def slide(outputs: Array, minima: Array, epsilon: float, *, beyond: bool = False) -> Windows:
    """Slide the window over all capacities and list the pieces of s.

    With ``beyond`` the window goes on until one output is left under it, as if the
    outermost capacities were unlimited. That continues s by the remaining cuts to inputs that
    the minima do not reach, which keeps an optimizer's merit function convex in the minima.
    """
    capacities = np.expm1(epsilon) * minima
    ends = np.cumsum(capacities)
    length = max(1.0 - float(minima.sum()), 0.0)
    first, room = 0.0, max(float(ends[-1]) - length, 0.0)
    filled = np.concatenate([[0.0], ends])
    moment = np.concatenate([[0.0], np.cumsum(capacities * outputs)])
    if beyond:
        first, room = float(ends[0]) - length, float(ends[-2])
        filled = np.concatenate([[-1.0], filled, [ends[-1] + 1.0]])
        moment = np.concatenate([[-outputs[0]], moment, [moment[-1] + outputs[-1]]])
    positions = np.unique(np.concatenate([[first, room], ends, ends - length]))
    positions = positions[(positions >= first) & (positions <= room)]
    knots = (
        np.interp(positions + length, filled, moment)
        - np.interp(positions, filled, moment)
        + float(minima @ outputs)
    )
    middle = (positions[1:] + positions[:-1]) / 2
    last = outputs.size - 1
    lefts = np.minimum(np.searchsorted(ends, middle), last)
    rights = np.minimum(np.searchsorted(ends, middle + length), last)
    return Windows(lefts, rights, positions, knots)


class Cuts:
    r"""Lower bounds on s, one for each pair (l, r), as functions of the minima and the outputs.

    Parameters
    ----------
    outputs : ndarray
        The outputs, ascending.
    epsilon : float
        Privacy parameter.
    lefts, rights : ndarray of int
        The pairs l < r.
    inputs : ndarray, optional
        The x at which each cut is taken. By default the worst one for this pair,
        :math:`(a_l + a_r) / 2` clipped to [-1, 1].
    """

    def __init__(
        self,
        outputs: Array,
        epsilon: float,
        lefts: Indexes,
        rights: Indexes,
        inputs: Array | None = None,
    ) -> None:
        self.lefts, self.rights = lefts, rights
        low, high = outputs[lefts], outputs[rights]
        self.inputs = np.clip((low + high) / 2, -1.0, 1.0) if inputs is None else inputs
        self.constants = (low + high) * self.inputs - low * high
        self._to_low = outputs - low[:, None]
        self._to_high = outputs - high[:, None]
        index = np.arange(outputs.size)
        inside = (index > lefts[:, None]) & (index < rights[:, None])
        self._factors = np.where(inside, np.exp(epsilon), 1.0)
        self.slopes = self._to_low * self._to_high * self._factors
        self._low, self._high = low, high

    def second_moments(self, minima: Array) -> Array:
        """Return the cuts' values at these minima: second moments at ``inputs``."""
        return np.asarray(self.constants + self.slopes @ minima)

    def output_slopes(self, minima: Array) -> Array:
        r"""Return the derivatives of the cuts by each output, with x held fixed.

        Notes
        -----
        At a vertex x the derivative by x vanishes, at a border x is constant, and for an
        average x is the mean of the prior over the piece; so this is the whole derivative of
        the objective. It equals :math:`2 a_i P_i - \nu P_i` by the envelope theorem.
        """
        weights = self._factors * minima
        slopes = weights * (self._to_low + self._to_high)
        rows = np.arange(self.lefts.size)
        by_low = self.inputs - self._high - (weights * self._to_high).sum(axis=1)
        by_high = self.inputs - self._low - (weights * self._to_low).sum(axis=1)
        slopes[rows, self.lefts] += by_low
        slopes[rows, self.rights] += by_high
        return slopes


def reach_rows(outputs: Array, epsilon: float, side: int = 1) -> tuple[Array, Array]:
    r"""Return (rows, right-hand sides) with rows @ minima >= right-hand side: ``side`` is reached.

    Notes
    -----
    Row j has the slopes :math:`\pm(a_i - a_j)`, times E where positive; its derivative by the
    outputs is ``weights * side`` with -1 times the row sum of the weights added at j.
    """
    difference = side * (outputs - outputs[:, None])
    rows = difference * np.where(difference > 0, np.exp(epsilon), 1.0)
    return rows, 1.0 - side * outputs


def table(
    outputs: Array, minima: Array, epsilon: float, symmetric: bool
) -> tuple[Array, Array, Array]:
    """Return (outputs, knots, probabilities) of the best mechanism with these minima.

    The outputs are enlarged by the rounding error with which the inputs -1 and 1 are reached.
    """
    windows = slide(outputs, minima, epsilon)
    reach = min(float(windows.knots[-1]), -float(windows.knots[0]))
    if reach < 1.0:
        outputs = outputs / reach
        windows = slide(outputs, minima, epsilon)
    knots = windows.knots
    inner = (np.abs(knots) < 1.0 - _SAME_KNOT) & (np.diff(knots, prepend=-2.0) > _SAME_KNOT)
    if symmetric:
        inner &= knots > _SAME_KNOT
    rising = np.maximum.accumulate(knots + np.arange(knots.size) * 1e-18)
    borders = np.interp([-1.0, 1.0], rising, windows.positions)
    places = np.concatenate([borders[:1], windows.positions[inner], borders[1:]])
    ends = np.cumsum(np.expm1(epsilon) * minima)
    starts = np.concatenate([[0.0], ends[:-1]])
    length = max(1.0 - float(minima.sum()), 0.0)
    if symmetric:
        middle = (float(ends[-1]) - length) / 2
        on_zero = bool(np.any(np.abs(knots) <= _SAME_KNOT))
        places = np.concatenate([[middle] if on_zero else [], places[1:]])
    place = places[:, None]
    heights = np.minimum(ends, place + length) - np.maximum(starts, place)
    rows = minima + np.clip(heights, 0.0, ends - starts)
    if symmetric:
        if on_zero:
            rows[0] = (rows[0] + rows[0, ::-1]) / 2
        rows = np.concatenate([rows[::-1, ::-1][: rows.shape[0] - on_zero], rows])
    rows = rows / rows.sum(axis=1, keepdims=True)
    found = rows @ outputs
    found[0], found[-1] = -1.0, 1.0
    if symmetric:
        found = (found - found[::-1]) / 2
    return outputs, found, rows
