r"""Mechanisms that report a number which is more likely close to the true one.

The model: given x, the density of the report y is constant inside a window around :math:`s x` and
smaller by the factor :math:`e^\epsilon` everywhere else:

.. math:: f(y \mid x) = \begin{cases}
            c\, q & L(x) \le y \le R(x) \\
            q & \text{elsewhere in } [-s - h, s + h]
          \end{cases}
          \qquad L(x) = s x - h, \quad R(x) = s x + h, \quad c = e^\epsilon .

All members of the Piecewise family and Square Wave are of this form; they differ in the slope s
and the half width h of the window alone. Reports are drawn on a grid of points that does not
depend on x, with weights that are whole numbers: see `noutput.mechanisms.grid`.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from noutput import _checks
from noutput.errors import InvalidArgumentError
from noutput.mechanisms import sampling
from noutput.mechanisms.grid import SCALE, WindowGrid
from noutput.mechanisms.moments import mean_square
from noutput.mechanisms.sampling import unit_array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["OUTPUT_BINS", "SMALLEST_EPSILON", "WindowMechanism", "check_epsilon"]

OUTPUT_BINS = 64
"""How many equal bins reports are counted in."""

SMALLEST_EPSILON = 1e-9
"""Below, the numbers that describe a mechanism would overflow or drown in rounding."""

_MOST_BINS = 1 << 16
_NO_POINT = 2.0**40  # no grid has as many points
_ROUNDING = 1e-9  # by which reports may pass the reach, relative to it


def check_epsilon(epsilon: float) -> float:
    """Return an epsilon that windows can be made for."""
    if _checks.positive("epsilon", epsilon) >= SMALLEST_EPSILON:
        return float(epsilon)
    raise InvalidArgumentError("epsilon", f"be at least {SMALLEST_EPSILON:g}", epsilon)


@dataclass(frozen=True)
class WindowMechanism:
    r"""A mechanism with many ordered reports and a window of likely ones around the true value.

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
    Reports are the middles of :math:`G = 2^{24}` equal steps of [-s - h, s + h]. The window holds
    the whole number w of them that is closest to :math:`G h / (s + h)`, and its position is
    rounded at random so that the mean of a report is exactly :math:`g x`. `WindowGrid` derives the
    gain g and the variance, which is

    .. math:: v + (\kappa - 1)\, x^2 + \kappa \delta^2 f (1 - f)

    for reports decoded to :math:`y / g`; f is the fraction of the position of x, and
    :math:`\delta = 2 / (G - w)` the step between positions.

    The model has :math:`q = 1 / (2 (s + c h))`, the gain :math:`2 q s h (c - 1)` and the variance

    .. math:: \frac{2 q}{3 g^2} \left[(s + h)^3 + (c - 1) h^3\right]
              + \left(\frac{s}{g} - 1\right) x^2 .

    The grid differs from it by the rounding of w (one part in 2 w at most), of the weights (about
    one part in b, and in a - b) and of reports and positions (about one part in :math:`G^2`). The
    variances of PM, PM-sub, PM-opt and Square Wave are within one part in :math:`10^6` of the
    model's for epsilon from :math:`10^{-4}` to 4, within one in :math:`10^4` from :math:`10^{-6}`
    to 10, and within 1% from :math:`10^{-9}` to 14. From about 20 on, the window of Square Wave
    would be narrower than one step; it is one step wide then.

    Guarantees
    ----------
    :math:`\epsilon`-locally differentially private for all real inputs, samples included: the
    points do not depend on x, every point is drawn with one of two whole-number weights, and
    their ratio has been proven to be at most :math:`e^\epsilon` (see `WindowGrid`). What floats
    tell in their low bits (Mironov 2012) is therefore nothing: a report is the number of a point.

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
    >>> round(m.worst_variance(), 4), m.bits, m.privacy_loss() <= 1.0
    (5.2236, 24, True)
    """

    epsilon: float
    slope: float
    half_width: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))
        for name in ("slope", "half_width"):
            object.__setattr__(self, name, _checks.positive(name, getattr(self, name)))
        _ = self.grid  # certified at birth

    def __reduce__(self) -> tuple[object, ...]:
        """Rebuild through the constructor, so that a pickle is certified too."""
        return type(self), (self.epsilon, self.slope, self.half_width)

    @cached_property
    def grid(self) -> WindowGrid:
        """The points and their whole-number weights."""
        return WindowGrid.fitted(self.epsilon, self.half_width / self.reach)

    @property
    def exact(self) -> bool:
        """True: the sampler compares whole numbers with certified thresholds."""
        return True

    @property
    def bits(self) -> int:
        """How many bits a report needs: those of the number of its point."""
        return (self.grid.points - 1).bit_length()

    @property
    def n_cells(self) -> int:
        """How many cells reports are counted in: equal bins of the range of reports."""
        return OUTPUT_BINS

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the parameters and of the grid, as 64 hexadecimal digits."""
        parts = struct.pack("<ddd", self.epsilon, self.slope, self.half_width)
        grid = self.grid
        weights = f"\n{grid.points} {grid.window} {grid.inside} {grid.outside}"
        return hashlib.sha256(b"noutput-window 2\n" + parts + weights.encode()).hexdigest()

    @property
    def reach(self) -> float:
        """The end of the range of reports; its start is the negative."""
        return self.slope + self.half_width

    @property
    def _unit(self) -> float:
        """Half the step from one report to the next."""
        return self.reach / self.grid.points

    @property
    def outside_density(self) -> float:
        """The density q of reports outside the window: per length, not per point."""
        return self.grid.outside / SCALE / (2.0 * self._unit)

    @property
    def gain(self) -> float:
        """By what a report is divided to decode it."""
        return self.reach * self.grid.gain

    def privacy_loss(self) -> float:
        """Return the exact loss, rounded up."""
        return self.grid.privacy_loss()

    def density(self, y: ArrayLike, x: ArrayLike) -> NDArray[np.float64]:
        """Return the density at y given inputs x (arrays broadcast).

        Every report stands for the step of the range that it is the middle of.
        """
        numbers = np.asarray(y, np.float64)
        point = np.floor((numbers / self._unit + self.grid.points) / 2.0)
        point -= numbers == self.reach  # the last step holds its end
        return self.grid.probability(_whole(point), unit_array(x)) / (2.0 * self._unit)

    def log_likelihood(self, reports: ArrayLike, x: ArrayLike) -> NDArray[np.float64]:
        """Return the logarithm of the probability of each report given x (arrays broadcast).

        It is minus infinity for a number that no input can give.
        """
        numbers = np.asarray(reports, np.float64)
        point = self.points_of(numbers)
        known = self.values_of(point) == numbers
        with np.errstate(divide="ignore"):
            result: NDArray[np.float64] = np.log(
                self.grid.probability(point, unit_array(x)) * known
            )
        return result

    def points_of(self, reports: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the number of the point closest to each report."""
        return _whole(np.rint((reports / self._unit + (self.grid.points - 1)) / 2.0))

    def values_of(self, points: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the report that each point stands for."""
        result: NDArray[np.float64] = points.astype(np.float64)
        result *= 2.0
        result += 1 - self.grid.points  # a whole number still, so that one product rounds
        result *= self._unit
        return result

    def privatize(
        self, x: ArrayLike, rng: np.random.Generator | None = None, *, clip: bool = False
    ) -> NDArray[np.float64]:
        """Turn private numbers into points of the grid: see `Mechanism.privatize`.

        Reports are floats between -reach and reach. The i-th number uses the words 2i (which
        position) and 2i + 1 (which point).
        """
        return sampling.report(x, rng, self._draw, np.dtype(np.float64), clip=clip, words_each=2)

    def _draw(
        self, x: NDArray[np.float64], words: NDArray[np.uint64], out: NDArray[np.float64]
    ) -> None:
        out[:] = self.values_of(self.grid.draw(x, words[0::2], words[1::2]))

    def decode(self, reports: ArrayLike) -> NDArray[np.float64]:
        """Return the unbiased estimate of x that each report stands for."""
        result: NDArray[np.float64] = np.asarray(reports, np.float64) / self.gain
        return result

    def mean(self, x: ArrayLike) -> NDArray[np.float64]:
        """Return the mean of the decoded report at every x: x itself."""
        return unit_array(x)

    def variance(self, x: ArrayLike) -> NDArray[np.float64]:
        """Return the variance of the decoded report at every x."""
        return self.grid.variance(unit_array(x))

    def worst_variance(self) -> float:
        """Return the largest variance over all inputs: that at the ends, or close to them."""
        return self.grid.worst_variance()

    def average_variance(self, prior: ArrayLike | None = None) -> float:
        """Return the variance averaged over a histogram of inputs: see `Mechanism`."""
        bins = _checks.histogram("prior", [1.0] if prior is None else prior)
        return self.grid.average_variance(bins, mean_square(bins))

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

    def _bounds(self, output_bins: int) -> NDArray[np.float64]:
        return self.grid.bounds(_checks.whole("output_bins", output_bins, 1, _MOST_BINS))

    def probabilities(self, x: ArrayLike, output_bins: int = OUTPUT_BINS) -> NDArray[np.float64]:
        """Return P(report in output bin | x), of shape ``x.shape + (output_bins,)``.

        The bins of the registry hold equally many points; where `output_bins` does not divide
        their number, bins differ by one point.
        """
        return self.grid.masses(self._bounds(output_bins), unit_array(x))

    def corners(self, output_bins: int = OUTPUT_BINS) -> NDArray[np.float64]:
        """Return inputs whose rows of `probabilities` span all others.

        Rows are linear in x between those x at which an end of the window meets the edge of an
        output bin.
        """
        return self.grid.bends(self._bounds(output_bins))

    def transition(self, bins: int = 64, output_bins: int = OUTPUT_BINS) -> NDArray[np.float64]:
        r"""Return P(report in output bin | x uniform in a bin), of shape (bins, output_bins).

        Reports fall into `output_bins` equal bins from -reach to reach.
        """
        inputs = np.linspace(-1.0, 1.0, _checks.whole("bins", bins, 1, _MOST_BINS) + 1)
        return self.grid.mean_masses(self._bounds(output_bins), inputs)


def _whole(numbers: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return whole numbers of floats; -1 for what is too large for any grid, and for NaN."""
    known = np.abs(numbers) < _NO_POINT
    return np.where(known, numbers, -1.0).astype(np.int64)
