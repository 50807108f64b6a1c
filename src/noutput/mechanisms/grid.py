r"""Grid of report points with a window of likely ones: the discrete law of `WindowMechanism`.

The whole privacy argument of the windows stands here: the docstring of `WindowGrid` states it, its
constructor checks it in whole numbers, and `WindowGrid.draw` samples with whole numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from noutput import _checks
from noutput.errors import InvalidArgumentError, PrivacyError
from noutput.mechanisms import exact

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["POINTS", "POSITION_BITS", "SCALE", "WindowGrid"]

POINTS = 1 << 24
"""How many points the grids of the registry have: a report fits into 24 bits."""

SCALE = 1 << 64
"""What the weights of all points add up to: one 64-bit word draws a point."""

POSITION_BITS = 32
"""How many random bits round the position of the window."""

_MOST_POINTS = 1 << 30  # a position with its fraction fits into 62 bits


@dataclass(frozen=True)
class WindowGrid:
    r"""G points in a row, w neighbors of which are likelier than the others.

    Parameters
    ----------
    epsilon : float
        The privacy loss that the weights claim.
    points : int
        G, an even number from 4 to :math:`2^{30}`.
    window : int
        w, how many points the window holds: from 1 to G - 1.
    inside, outside : int
        The weights a > b of a point inside and outside the window, in units of :math:`2^{-64}`.

    Raises
    ------
    PrivacyError
        If a exceeds :math:`e^\epsilon b`.
    InvalidArgumentError
        If the parts do not make a grid.

    Notes
    -----
    *Positions.* The window at position p holds the points p to p + w - 1, for p from 0 to G - w.
    An input x of [-1, 1] stands for the real position :math:`\tau = (x + 1)(G - w) / 2`, which is
    rounded to one of its two whole neighbors at random so that its mean is :math:`\tau`. Position
    p is that of :math:`x_p = p \delta - 1` with :math:`\delta = 2 / (G - w)`.

    *Weights.* The weights add up to :math:`S = 2^{64}`, up to a rest
    :math:`r = S - a w - b (G - w)` of fewer units than there are points. The rest goes to the
    first r/2 and the last r/2 points, one unit each, *whatever x is*: r is even, which the
    constructor demands.

    *Mean.* Let point j have the value :math:`y_j = (2 j + 1 - G) / G`, and d = a - b. The values of
    all points add up to 0, and so do those that share the rest; those of the window at p add up to
    :math:`w (2 p + w - G) / G = w (1 - w / G)\, x_p`. So the mean given p is :math:`g x_p` with the
    gain :math:`g = d w (1 - w / G) / S`. It is linear in p, so rounding the position keeps it: the
    mean given x is :math:`g x`, without any error of the grid.

    *Second moment.* :math:`\sum_j y_j^2 = (G^2 - 1) / (3 G)`, and over the window at p it is
    :math:`w (1 - w / G)^2 x_p^2 + w (w^2 - 1) / (3 G^2)`. With :math:`E` for the sum over the
    points that share the rest, the second moment given p of the decoded report :math:`y / g` is
    :math:`v + \kappa x_p^2` where

    .. math:: v = \frac{1}{g^2 S} \left[\frac{b (G^2 - 1)}{3 G} + \frac{d w (w^2 - 1)}{3 G^2}
              + E\right], \qquad \kappa = \frac{S}{d w} .

    Between two positions it is linear. With f for the fraction of :math:`\tau`, the line through
    :math:`x_p^2` and :math:`x_{p+1}^2` lies :math:`f (1 - f)\, \delta^2` above :math:`x^2`, so

    .. math:: \mathrm{Var}[Y / g \mid x] = v + (\kappa - 1)\, x^2 + \kappa \delta^2 f (1 - f) .

    *Cells.* Of k neighboring points starting at the first, the window at p holds
    :math:`\min(\max(k - p, 0), w)`. This is linear in p between whole numbers, so its mean given x
    is the same formula at :math:`\tau`: the points of any run have the probability that a
    continuous window of the densities a and b gives to the interval that they fill. The grid is the
    continuous mechanism with every report moved to the middle of its interval of length 1.

    Guarantees
    ----------
    :math:`\epsilon`-locally differentially private for all real inputs. Whatever the input, a
    report is drawn from the row of one of G - w + 1 positions, so its distribution is a mixture of
    rows; every point has the weight a or b in every row, or a + 1 or b + 1 in every row; and the
    constructor has proven :math:`a \le e^\epsilon b` in whole-number arithmetic, from which
    :math:`a + 1 \le e^\epsilon (b + 1)` follows.

    Examples
    --------
    >>> grid = WindowGrid.fitted(1.0, 0.25, points=64)
    >>> grid.window, grid.inside / grid.outside
    (16, 2.718281828459045)
    >>> 0 <= grid.rest < 64
    True
    """

    epsilon: float
    points: int
    window: int
    inside: int
    outside: int

    def __post_init__(self) -> None:
        points = _checks.whole("points", self.points, 4, _MOST_POINTS)
        window = _checks.whole("window", self.window, 1, points - 1)
        outside = _checks.whole("outside", self.outside, 1, SCALE)
        inside = _checks.whole("inside", self.inside, outside + 1, SCALE)
        if points % 2:
            raise InvalidArgumentError("points", "be an even number", points)
        if not (0 <= self.rest < points and self.rest % 2 == 0):
            rule = f"add up to 2^64, up to an even rest below {points}"
            raise InvalidArgumentError("weights", rule, SCALE - self.rest)
        if exact.certify([inside], [outside], self.epsilon) is not None:
            raise PrivacyError(0, 0, points - window, (inside, outside), self.epsilon)

    @classmethod
    def fitted(cls, epsilon: float, share: float, points: int = POINTS) -> WindowGrid:
        r"""Return the grid whose window holds about a share of all points.

        Parameters
        ----------
        epsilon : float
        share : float
            The wanted w / G, in (0, 1); w is the whole number closest to it.
        points : int

        Raises
        ------
        InvalidArgumentError
            If epsilon is so small that a and b would be the same whole number.

        Notes
        -----
        With a whole number :math:`E \le 2^{64} (e^\epsilon - 1)` and :math:`U = 2^{64}`, the best
        real b is :math:`B = S U / (G U + E w)`. Either b is B rounded down and d = a - b is
        :math:`E b / U`; or b is B rounded up and d is what that leaves, :math:`(S - b G) / w`,
        where :math:`(S - b G) U \le E w b` again means :math:`d U \le E b`. Either way d is rounded
        down (to an even number where w is odd), and what is left over goes to b as long as every
        point gets one more unit. That with the larger a / b is taken: the first for narrow windows
        and small epsilon, the second for large epsilon.
        """
        window = min(max(round(points * share), 1), points - 1)
        excess = exact.exponential_floor(epsilon) - exact.UNIT
        below, left = divmod(SCALE * exact.UNIT, points * exact.UNIT + excess * window)
        above = below + (left > 0)
        found = []
        for difference in (excess * below // exact.UNIT, (SCALE - above * points) // window):
            even = difference - (difference % 2 if window % 2 else 0)
            found.append((even, (SCALE - even * window) // points))
        difference, outside = max(found, key=lambda pair: Fraction(*pair))
        if difference < 1:
            rule = f"be larger for {window} likely ones of {points} points"
            raise InvalidArgumentError("epsilon", rule, epsilon)
        return cls(epsilon, points, window, outside + difference, outside)

    @property
    def rest(self) -> int:
        """How many units of weight the first and the last points share, whatever x is."""
        return SCALE - self.inside * self.window - self.outside * (self.points - self.window)

    @property
    def _difference(self) -> int:
        return self.inside - self.outside

    @property
    def share(self) -> float:
        """Which share of all points the window holds."""
        return self.window / self.points

    @property
    def gain(self) -> float:
        """The mean value of a report at x = 1, where the values of points reach from -1 to 1."""
        held = self._difference * self.window * (self.points - self.window)
        return held / (SCALE * self.points)

    def privacy_loss(self) -> float:
        """Return the exact loss, rounded up."""
        return exact.privacy_loss([self.inside], [self.outside])

    def draw(
        self, x: NDArray[np.float64], rounding: NDArray[np.uint64], words: NDArray[np.uint64]
    ) -> NDArray[np.int64]:
        r"""Return the points drawn for numbers of [-1, 1].

        Parameters
        ----------
        x : array of floats
        rounding : array of random words
            The upper 32 bits of each round the position.
        words : array of other random words
            Each selects a point: the first a w words stand for those of the window, a words each;
            then b words for each of the others; then the rest.

        Notes
        -----
        The position is a whole number of :math:`2^{-32}`. A random number below 1 is added, and
        the fraction cut off: that cannot pass G - w, whatever the float operations before round.
        """
        position = _fixed_point(x, self.points - self.window)
        position += (rounding >> np.uint64(64 - POSITION_BITS)).view(np.int64)
        position >>= POSITION_BITS
        held = self.inside * self.window
        own = np.ascontiguousarray(words)  # numpy divides neighbors ten times as fast
        drawn = (own // np.uint64(self.inside)).view(np.int64)
        drawn += position
        others = ((own - np.uint64(held)) // np.uint64(self.outside)).view(np.int64)
        others += (others >= position) * np.int64(self.window)
        # products select several times as fast as np.where does by random choices
        others -= drawn
        others *= own >= np.uint64(held)
        drawn += others
        first = SCALE - self.rest
        if first < SCALE and own.size and int(own.max()) >= first:
            self._share_rest(own, drawn)
        return drawn

    def _share_rest(self, words: NDArray[np.uint64], drawn: NDArray[np.int64]) -> None:
        """Move the points of the last words to the ends of the grid."""
        last = np.flatnonzero(words >= np.uint64(SCALE - self.rest))
        place = (words[last] - np.uint64(SCALE - self.rest)).view(np.int64)
        behind = np.where(place >= self.rest // 2, self.points - self.rest, 0)
        drawn[last] = place + behind

    def probability(self, point: NDArray[np.int64], x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return P(point | x) (arrays broadcast); 0 for what is no point."""
        shift = point - self._position(x)
        covered = np.clip(shift + 1.0, 0.0, self.window) - np.clip(shift, 0.0, self.window)
        half = self.rest // 2
        shared = (point < half) | (point >= self.points - half)
        weight = float(self.outside) + shared + float(self._difference) * covered
        known = (point >= 0) & (point < self.points)
        result: NDArray[np.float64] = np.where(known, weight / SCALE, 0.0)
        return result

    def _position(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        result: NDArray[np.float64] = (x + 1.0) * ((self.points - self.window) / 2.0)
        return result

    def bounds(self, cells: int) -> NDArray[np.float64]:
        """Return how many points lie below each edge of equal cells."""
        wholes = [-(-(2 * i * self.points - cells) // (2 * cells)) for i in range(cells + 1)]
        return np.array(wholes, np.float64)

    def masses(self, bounds: NDArray[np.float64], x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return P(point between two bounds | x), of shape ``x.shape + (cells,)``."""
        held = np.clip(bounds - self._position(x)[..., None], 0.0, self.window)
        return self._mass(bounds, np.diff(held, axis=-1))

    def mean_masses(
        self, bounds: NDArray[np.float64], inputs: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        r"""Return P(point between two bounds | x uniform between two inputs).

        Notes
        -----
        The window at :math:`\tau` holds :math:`z = \min(\max(k - \tau, 0), w)` of the k points
        below a bound. So the integral over :math:`\tau` is a difference of

        .. math:: K(k, \tau) = -\frac{z^2}{2} - w\, (k - \tau - w)_+ .

        The second differences of K over bounds and inputs are the paper's two sums of three
        integrals: one formula holds whether the window is wider than a cell or not.
        """
        unit = float(self.points)
        positions = self._position(inputs) / unit
        window = self.window / unit
        ahead = bounds / unit - positions[:, None]
        held = np.clip(ahead, 0.0, window)
        integral = held**2 / 2.0 + window * np.maximum(ahead - window, 0.0)
        differences = np.diff(np.diff(integral, axis=0), axis=1)
        return self._mass(bounds, differences / -np.diff(positions)[:, None] * unit)

    def bends(self, bounds: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the inputs between which `masses` are linear.

        There an end of the window meets a bound.
        """
        positions = np.concatenate([bounds - self.window, bounds])
        inputs = positions * (2.0 / (self.points - self.window)) - 1.0
        return np.unique(np.clip(inputs, -1.0, 1.0))  # the first and the last bound give -1 and 1

    def _mass(self, bounds: NDArray[np.float64], held: NDArray[np.float64]) -> NDArray[np.float64]:
        half = self.rest // 2
        shared = np.minimum(bounds, half) + np.maximum(bounds - (self.points - half), 0.0)
        always = float(self.outside) * np.diff(bounds) + np.diff(shared)
        result: NDArray[np.float64] = (always + float(self._difference) * held) / SCALE
        return result

    @property
    def variance_parts(self) -> tuple[float, float, float]:
        r"""The variance v at 0, what x squared adds, and what :math:`f (1 - f)` adds."""
        points, window, difference = self.points, self.window, self._difference
        half, last = self.rest // 2, self.points - 1
        # sum of (last - 2 i)^2 over the first r/2 points, twice
        ends = 2 * half * last**2 - 4 * last * half * (half - 1)
        ends += 4 * half * (half - 1) * (2 * half - 1) // 3
        # everything in units of 1 / (3 G^2)
        squares = self.outside * points * (points**2 - 1)
        squares += difference * window * (window**2 - 1) + 3 * ends
        held = difference * window
        # divided by g^2 S = (d w (G - w) / (S G))^2 S
        at_zero = squares * SCALE / (3 * (held * (points - window)) ** 2)
        step = 2.0 / (points - window)
        return at_zero, (SCALE - held) / held, SCALE / held * step**2

    def variance(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the variance of the decoded report at every x."""
        at_zero, curvature, rounding = self.variance_parts
        fraction = np.mod(self._position(x), 1.0)
        result: NDArray[np.float64] = at_zero + curvature * x**2
        result += rounding * (fraction * (1.0 - fraction))
        return result

    def worst_variance(self) -> float:
        """Return the largest variance over all inputs."""
        return float(self.variance(self.peaks(1.0 + self.variance_parts[1])).max())

    def peaks(self, bend: float) -> NDArray[np.float64]:
        r"""Return two inputs, at one of which a line through :math:`B x_p^2` is highest above x^2.

        Notes
        -----
        Between the positions on both sides of a middle m, the line less :math:`x^2` is a parabola
        with its vertex at B m. Where that is between them, its height is
        :math:`B (B - 1) m^2 + B \delta^2 / 4`; else the position closer to the vertex is highest,
        with :math:`(B - 1) x_p^2`. Both grow with :math:`|m|` for B > 1 and fall for B < 1, so the
        highest of all is next to 1 or next to 0.
        """
        positions = self.points - self.window
        half = 1.0 / positions
        middles = np.array([0.0 if positions % 2 else half, 1.0 - half])
        return np.clip(bend * middles, middles - half, np.minimum(middles + half, 1.0))

    def average_variance(self, prior: NDArray[np.float64], mean_square: float) -> float:
        r"""Return the variance averaged over a histogram of equal bins of [-1, 1].

        Notes
        -----
        :math:`\int_0^\tau f (1 - f) = \lfloor \tau \rfloor / 6 + f^2 / 2 - f^3 / 3`.
        """
        at_zero, curvature, rounding = self.variance_parts
        positions = self._position(np.linspace(-1.0, 1.0, len(prior) + 1))
        whole = np.floor(positions)
        part = positions - whole
        integral = whole / 6.0 + part**2 / 2.0 - part**3 / 3.0
        spread = float(prior @ (np.diff(integral) / np.diff(positions)))
        return at_zero + curvature * mean_square + rounding * spread


def _fixed_point(x: NDArray[np.float64], positions: int) -> NDArray[np.int64]:
    """Return positions in units of 2^-32, from 0 to ``positions * 2^32``."""
    scaled = x + 1.0
    scaled *= positions * 2.0 ** (POSITION_BITS - 1)
    return scaled.astype(np.int64)
