r"""Mechanisms that report a real number which is more likely close to the true one.

Given x, the density of the report y is constant inside a window around :math:`s x` and smaller by
the factor :math:`e^\epsilon` everywhere else:

.. math:: f(y \mid x) = \begin{cases}
            c\, q & L(x) \le y \le R(x) \\
            q & \text{elsewhere in } [-s - h, s + h]
          \end{cases}
          \qquad L(x) = s x - h, \quad R(x) = s x + h, \quad c = e^\epsilon .

All members of the Piecewise family and Square Wave are of this form; they differ in the slope s
and the half width h of the window alone.
"""

from __future__ import annotations

import hashlib
import math
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from noutput import _checks
from noutput.errors import InvalidArgumentError
from noutput.mechanisms import sampling
from noutput.mechanisms.exact import LARGEST_EXPONENT
from noutput.mechanisms.moments import mean_square
from noutput.mechanisms.sampling import unit_array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["OUTPUT_BINS", "SMALLEST_EPSILON", "WindowMechanism", "check_epsilon", "uniform"]

OUTPUT_BINS = 64
"""How many equal bins real-valued reports are counted in."""

SMALLEST_EPSILON = 1e-9
"""Below, the numbers that describe a mechanism would overflow or drown in rounding."""

_MOST_BINS = 1 << 16
_ROUNDING = 1e-9  # by which reports may pass the reach, relative to it


def uniform(words: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Turn 64-bit words into numbers of [0, 1): multiples of 2^-53."""
    numbers: NDArray[np.float64] = (words >> np.uint64(11)).astype(np.float64)
    numbers *= 2.0**-53
    return numbers


def check_epsilon(epsilon: float) -> float:
    """Return an epsilon that windows can be made for."""
    if _checks.positive("epsilon", epsilon) >= SMALLEST_EPSILON:
        return float(epsilon)
    raise InvalidArgumentError("epsilon", f"be at least {SMALLEST_EPSILON:g}", epsilon)


@dataclass(frozen=True)
class WindowMechanism:
    r"""A real-valued mechanism with a window around the true value.

    Parameters
    ----------
    epsilon : float
        The privacy loss, at least 1e-9; everything above 32 counts as 32.
    slope : float
        s: the middle of the window is at s x.
    half_width : float
        h: the window reaches from s x - h to s x + h.

    Notes
    -----
    The total mass is :math:`q\,(2 (s + h) + (c - 1)\, 2 h) = 1`, so :math:`q = 1 / (2 (s + c h))`.
    The mean of a report is :math:`g x` with the gain :math:`g = 2 q s h (c - 1)`, and its second
    moment is

    .. math:: \frac{2 q}{3} \left[(s + h)^3 + (c - 1) h^3\right] + g s x^2 ,

    because the window contributes :math:`(c - 1) q \int_L^R y^2 dy = (c - 1) q\, (2 h s^2 x^2 +
    2 h^3 / 3)`. Reports decode to :math:`y / g`, an unbiased estimate of x with variance

    .. math:: \frac{2 q}{3 g^2} \left[(s + h)^3 + (c - 1) h^3\right]
              + \left(\frac{s}{g} - 1\right) x^2 ,

    which is largest at :math:`|x| = 1` since :math:`s / g = (s / h + c) / (c - 1) > 1`.

    Guarantees
    ----------
    The density above is :math:`\epsilon`-locally differentially private: for every y it takes no
    values but q and :math:`e^\epsilon q`. The sampler is **not exact**: it computes with floats,
    and which floats can come out depends on x. Whoever sees all 64 bits of reports can learn
    more than epsilon allows (Mironov 2012). This class serves research and simulation; deploy a
    `TableMechanism`.

    References
    ----------
    Mironov, "On significance of the least significant bits for differential privacy", 2012,
    doi:10.1145/2382196.2382264.

    Examples
    --------
    >>> import noutput as no
    >>> m = no.mechanism("pm", epsilon=1.0)
    >>> m.privatize([-1.0, 0.5], rng=np.random.default_rng(7)).shape
    (2,)
    >>> round(m.worst_variance(), 4)
    5.2236
    """

    epsilon: float
    slope: float
    half_width: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))
        for name in ("slope", "half_width"):
            object.__setattr__(self, name, _checks.positive(name, getattr(self, name)))

    @property
    def exact(self) -> bool:
        """False: the sampler computes with floats."""
        return False

    @property
    def bits(self) -> int:
        """How many bits a report needs: those of a float."""
        return 64

    @property
    def n_cells(self) -> int:
        """How many cells reports are counted in: equal bins of the range of reports."""
        return OUTPUT_BINS

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the parameters, as 64 hexadecimal digits."""
        parts = struct.pack("<ddd", self.epsilon, self.slope, self.half_width)
        return hashlib.sha256(b"noutput-window 1\n" + parts).hexdigest()

    @property
    def reach(self) -> float:
        """The largest report; the smallest is its negative."""
        return self.slope + self.half_width

    @property
    def _excess(self) -> float:
        return math.expm1(min(self.epsilon, LARGEST_EXPONENT))

    @property
    def outside_density(self) -> float:
        """The density q of reports outside the window."""
        return 0.5 / (self.reach + self._excess * self.half_width)

    @property
    def gain(self) -> float:
        """By what a report is divided to decode it."""
        return 2.0 * self.outside_density * self.slope * self.half_width * self._excess

    def density(self, y: ArrayLike, x: ArrayLike) -> NDArray[np.float64]:
        """Return the density of reports y given inputs x (arrays broadcast)."""
        reports = np.asarray(y, np.float64)
        away = np.abs(reports - self.slope * unit_array(x)) - self.half_width
        factor = np.where(away <= 0.0, 1.0 + self._excess, 1.0)
        result: NDArray[np.float64] = (
            self.outside_density * factor * (np.abs(reports) <= self.reach)
        )
        return result

    def privatize(
        self, x: ArrayLike, rng: np.random.Generator | None = None, *, clip: bool = False
    ) -> NDArray[np.float64]:
        """Turn private numbers into reports.

        Parameters
        ----------
        x : float or array of floats
            Numbers in [-1, 1], in any shape.
        rng : numpy Generator, optional
            For reproducible simulation. By default the randomness is secure.
        clip : bool
            Move numbers outside [-1, 1] to the nearer end instead of refusing them.

        Returns
        -------
        float, or array of floats of the same shape as x
            Numbers in [-reach, reach]. The i-th number uses the i-th random word.
        """
        return sampling.report(x, rng, self.draw, np.dtype(np.float64), clip=clip)

    def draw(
        self, x: NDArray[np.float64], words: NDArray[np.uint64], out: NDArray[np.float64]
    ) -> None:
        r"""Write the reports for numbers of [-1, 1], one word each.

        Notes
        -----
        A uniform u is a length along the window first, at :math:`c q` a unit, then along the
        rest, at q a unit. With :math:`t = u / (c q) - 2 h` the report is :math:`R(x) + t` where
        t is negative; else :math:`c t` is the length along the rest, which continues behind the
        window where it is longer than :math:`L(x) + s + h = s (x + 1)`.
        """
        factor = 1.0 + self._excess
        center = x * self.slope
        length = uniform(words)
        length *= 1.0 / (factor * self.outside_density)
        length -= 2.0 * self.half_width
        outside = length * factor
        behind = outside >= center + self.slope
        outside -= self.reach
        outside += behind * (2.0 * self.half_width)
        center += self.half_width
        center += length
        np.copyto(out, np.where(length < 0.0, center, outside))
        np.clip(out, -self.reach, self.reach, out=out)

    def decode(self, reports: ArrayLike) -> NDArray[np.float64]:
        """Return the unbiased estimate of x that each report stands for."""
        result: NDArray[np.float64] = np.asarray(reports, np.float64) / self.gain
        return result

    def mean(self, x: ArrayLike) -> NDArray[np.float64]:
        """Return the mean of the decoded report at every x: x itself."""
        return unit_array(x)

    @property
    def _variance_parts(self) -> tuple[float, float]:
        """The variance at 0, and what x squared adds."""
        cubes = self.reach**3 + self._excess * self.half_width**3
        at_zero = 2.0 * self.outside_density * cubes / (3.0 * self.gain**2)
        return at_zero, self.slope / self.gain - 1.0

    def variance(self, x: ArrayLike) -> NDArray[np.float64]:
        """Return the variance of the decoded report at every x."""
        at_zero, curvature = self._variance_parts
        result: NDArray[np.float64] = at_zero + curvature * unit_array(x) ** 2
        return result

    def worst_variance(self) -> float:
        """Return the largest variance over all inputs: that at the ends."""
        return sum(self._variance_parts)

    def average_variance(self, prior: ArrayLike | None = None) -> float:
        """Return the variance averaged over a histogram of inputs.

        Parameters
        ----------
        prior : sequence of floats, optional
            Weights of equal bins of [-1, 1], uniform within a bin. Uniform if not given.
        """
        bins = _checks.histogram("prior", [1.0] if prior is None else prior)
        at_zero, curvature = self._variance_parts
        return at_zero + curvature * mean_square(bins)

    def edges(self, output_bins: int = OUTPUT_BINS) -> NDArray[np.float64]:
        """Return the edges of equal bins of the reports, from -reach to reach."""
        count = _checks.whole("output_bins", output_bins, 1, _MOST_BINS)
        return np.linspace(-self.reach, self.reach, count + 1)

    def cells(self, reports: ArrayLike, output_bins: int = OUTPUT_BINS) -> NDArray[np.intp]:
        """Return the output bin that each report falls into.

        Raises
        ------
        InvalidArgumentError
            If a report is no number of [-reach, reach].
        """
        array = np.asarray(reports)
        most = self.reach * (1.0 + _ROUNDING)
        numbers = array.dtype.kind in "fiu"
        if array.size and not (numbers and -most <= array.min() <= array.max() <= most):
            rule = f"be numbers from {-self.reach:g} to {self.reach:g}"
            raise InvalidArgumentError("reports", rule, reports)
        place = np.searchsorted(self.edges(output_bins), array, side="right") - 1
        return np.clip(place, 0, output_bins - 1)

    def probabilities(self, x: ArrayLike, output_bins: int = OUTPUT_BINS) -> NDArray[np.float64]:
        """Return P(report in output bin | x), of shape ``x.shape + (output_bins,)``."""
        edges = self.edges(output_bins)
        left = (self.slope * unit_array(x) - self.half_width)[..., None]
        overlap = np.clip(edges - left, 0.0, 2.0 * self.half_width)
        return self._mass(edges, np.diff(overlap, axis=-1))

    def corners(self, output_bins: int = OUTPUT_BINS) -> NDArray[np.float64]:
        """Return inputs whose rows of `probabilities` span all others.

        Rows are linear in x between those x at which an end of the window meets the edge of an
        output bin.
        """
        edges = self.edges(output_bins)
        bends = np.concatenate([edges - self.half_width, edges + self.half_width]) / self.slope
        return np.unique(np.clip(bends, -1.0, 1.0))  # the first and last edge give -1 and 1

    def transition(self, bins: int = 64, output_bins: int = OUTPUT_BINS) -> NDArray[np.float64]:
        r"""Return P(report in output bin | x uniform in a bin), of shape (bins, output_bins).

        Parameters
        ----------
        bins : int
            How many equal bins of [-1, 1] the inputs fall into.
        output_bins : int
            How many equal bins the reports fall into.

        Notes
        -----
        With :math:`z = t - s x` clipped to [-h, h], the length of the window below an edge t is
        :math:`z + h`. So its integral over a bin of inputs is a difference of

        .. math:: K(t, x) = -\frac{h}{s} \left[\frac{(z + h)^2}{2 h} + 2 (t - s x - h)_+\right] .

        The second differences of K over both sets of edges are the paper's two sums of three
        integrals: one formula holds whether the window is wider than an output bin or not.
        """
        edges = self.edges(output_bins)
        inputs = np.linspace(-1.0, 1.0, _checks.whole("bins", bins, 1, _MOST_BINS) + 1)
        width = self.half_width
        position: NDArray[Any] = edges - self.slope * inputs[:, None]
        inside = np.clip(position, -width, width) + width
        integral = inside**2 / (2.0 * width) + 2.0 * np.maximum(position - width, 0.0)
        differences = np.diff(np.diff(integral, axis=0), axis=1) / np.diff(inputs)[:, None]
        overlap = differences * (-width / self.slope)
        return self._mass(edges, overlap)

    def _mass(
        self, edges: NDArray[np.float64], overlap: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        result: NDArray[np.float64] = self.outside_density * (
            np.diff(edges) + self._excess * overlap
        )
        return result
