r"""The Hybrid mechanism: Piecewise or Duchi, by the toss of a coin that x does not influence."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from noutput.errors import InvalidArgumentError
from noutput.mechanisms import exact, sampling
from noutput.mechanisms.duchi import duchi
from noutput.mechanisms.kernel import TableKernel
from noutput.mechanisms.piecewise import pm
from noutput.mechanisms.sampling import unit_array
from noutput.mechanisms.window import OUTPUT_BINS, check_epsilon

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from noutput.mechanisms.table import TableMechanism
    from noutput.mechanisms.window import WindowMechanism

__all__ = ["REPORT", "SMALLEST_MIXED_EPSILON", "Hybrid"]

REPORT = np.dtype([("part", np.uint8), ("value", np.float64)])
_DUCHI, _PIECEWISE = 0, 1

SMALLEST_MIXED_EPSILON = math.log(
    (
        -5.0
        + 2.0 * math.cbrt(6353.0 - 405.0 * math.sqrt(241.0))
        + 2.0 * math.cbrt(6353.0 + 405.0 * math.sqrt(241.0))
    )
    / 27.0
)


@dataclass(frozen=True)
class Hybrid:
    r"""The Hybrid mechanism of Wang et al. 2019.

    Parameters
    ----------
    epsilon : float
        The privacy loss of both parts, at least 1e-9.

    Notes
    -----
    A report is a record of two fields, of the numpy type `REPORT`: ``part`` says which mechanism
    made it (0: Duchi, 1: Piecewise), ``value`` is that mechanism's unbiased estimate of x: one of
    2 numbers, or one of :math:`2^{24}`. The cells of `cells`, `probabilities` and `transition` are
    Duchi's two outputs followed by the output bins of Piecewise.

    Piecewise is chosen with probability :math:`\beta = 1 - e^{-\epsilon / 2}`, rounded to a whole
    number of :math:`2^{-32}`, where epsilon exceeds 0.61 (`SMALLEST_MIXED_EPSILON`), else never.
    What x squared adds to the variance of Piecewise, :math:`1 / (e^{\epsilon / 2} - 1)`, and takes
    from Duchi's, 1, cancel for this :math:`\beta`: the variance is the same for every x, up to the
    rounding of the coin and of the window to whole numbers.

    Guarantees
    ----------
    The coin does not depend on x, so the pair of part and value is as private as the parts: the
    certified grid of Piecewise (`WindowMechanism`) and the certified table of Duchi.

    References
    ----------
    Wang et al., "Collecting and analyzing multidimensional data with local differential privacy",
    2019, doi:10.1109/ICDE.2019.00063.

    Examples
    --------
    >>> m = Hybrid(1.0)
    >>> reports = m.privatize([0.5, 0.5, 0.5], rng=np.random.default_rng(7))
    >>> reports["part"].shape, round(m.worst_variance(), 3)
    ((3,), 4.289)
    """

    epsilon: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))
        _ = self.duchi  # refuses what its table cannot express

    @property
    def exact(self) -> bool:
        """True: both parts draw with certified whole-number weights."""
        return True

    @property
    def bits(self) -> int:
        """How many bits a report needs: the part, and the longer of both reports."""
        return 1 + max(self.duchi.bits, self.piecewise.bits)

    @property
    def n_cells(self) -> int:
        """How many cells reports are counted in: Duchi's outputs and Piecewise's bins."""
        return self.duchi.n_cells + self.piecewise.n_cells

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the parts, as 64 hexadecimal digits."""
        parts = (
            f"noutput-hybrid 2\n{self.piecewise_weight}\n{self.duchi.fingerprint}"
            f"\n{self.piecewise.fingerprint}"
        )
        return hashlib.sha256(parts.encode()).hexdigest()

    @property
    def piecewise_weight(self) -> int:
        """The probability of the Piecewise part, in units of 2^-32."""
        if self.epsilon <= SMALLEST_MIXED_EPSILON:
            return 0
        return round(-math.expm1(-self.epsilon / 2.0) * exact.SCALE)

    @property
    def piecewise_share(self) -> float:
        """The probability of the Piecewise part."""
        return self.piecewise_weight / exact.SCALE

    @cached_property
    def duchi(self) -> TableMechanism:
        """The Duchi part."""
        return duchi(self.epsilon)

    @cached_property
    def piecewise(self) -> WindowMechanism:
        """The Piecewise part."""
        return pm(self.epsilon)

    @cached_property
    def _duchi_kernel(self) -> TableKernel:
        return TableKernel(self.duchi.knots, self.duchi.weights)

    def privacy_loss(self) -> float:
        """Return the larger of the exact losses of both parts, rounded up."""
        return max(self.duchi.privacy_loss(), self.piecewise.privacy_loss())

    def privatize(
        self, x: ArrayLike, rng: np.random.Generator | None = None, *, clip: bool = False
    ) -> NDArray[np.void]:
        """Turn private numbers into records: see `Mechanism.privatize`.

        The fields are ``part`` and ``value``. The i-th number uses the words 2i (lower half: which
        part; upper half: which position of the window) and 2i + 1 (the report).
        """
        return sampling.report(x, rng, self._draw, REPORT, clip=clip, words_each=2)

    def _draw(
        self, x: NDArray[np.float64], words: NDArray[np.uint64], out: NDArray[np.void]
    ) -> None:
        first, own = words[0::2], np.ascontiguousarray(words[1::2])
        part = (first & np.uint64(exact.SCALE - 1)) < np.uint64(self.piecewise_weight)
        indexes = np.empty(x.shape, np.uint8)
        self._duchi_kernel.draw(x, own, indexes)
        values = self._values_of(self.piecewise.grid.draw(x, first, own))
        out["part"] = part
        out["value"] = np.where(part, values, self.duchi.outputs.take(indexes))

    def _values_of(self, points: NDArray[np.int64]) -> NDArray[np.float64]:
        return self.piecewise.decode(self.piecewise.values_of(points))

    def decode(self, reports: ArrayLike) -> NDArray[np.float64]:
        """Return the unbiased estimate of x that each report stands for."""
        result: NDArray[np.float64] = _records(reports)["value"].astype(np.float64)
        return result

    def mean(self, x: ArrayLike) -> NDArray[np.float64]:
        """Return the mean of the decoded report at every x: x itself."""
        return unit_array(x)

    def variance(self, x: ArrayLike) -> NDArray[np.float64]:
        """Return the variance of the decoded report at every x."""
        share = self.piecewise_share
        result: NDArray[np.float64] = (1.0 - share) * self.duchi.variance(x)
        result += share * self.piecewise.variance(x)
        return result

    def worst_variance(self) -> float:
        """Return the largest variance over all inputs: next to 0 or next to 1."""
        grid = self.piecewise.grid
        bend = self.piecewise_share * (1.0 + grid.variance_parts[1])
        return float(self.variance(grid.peaks(bend)).max())

    def average_variance(self, prior: ArrayLike | None = None) -> float:
        """Return the variance averaged over a histogram of inputs: see `Mechanism`."""
        share = self.piecewise_share
        parts = self.duchi.average_variance(prior), self.piecewise.average_variance(prior)
        return (1.0 - share) * parts[0] + share * parts[1]

    def cells(self, reports: ArrayLike, output_bins: int = OUTPUT_BINS) -> NDArray[np.intp]:
        """Return the cell that each report falls into.

        Raises
        ------
        InvalidArgumentError
            If a report is no record that this mechanism can make.
        """
        records = _records(reports)
        value = records["value"]
        continuous = records["part"] == _PIECEWISE
        other = value[~continuous]
        outputs = self.duchi.outputs
        known = np.isclose(np.abs(other), outputs[-1]).all()
        if not (known and (continuous | (records["part"] == _DUCHI)).all()):
            rule = f"be records of part 0 with value -{outputs[-1]:g} or {outputs[-1]:g}, or part 1"
            raise InvalidArgumentError("reports", rule, reports)
        cells = np.empty(records.shape, np.intp)
        cells[~continuous] = other > 0.0
        inside = self.piecewise.cells(value[continuous] * self.piecewise.gain, output_bins)
        cells[continuous] = inside + self.duchi.n_outputs
        return cells

    def log_likelihood(self, reports: ArrayLike, x: ArrayLike) -> NDArray[np.float64]:
        """Return the logarithm of the probability of each record given x (arrays broadcast).

        It is minus infinity for a record that no input can give.
        """
        records, numbers = np.broadcast_arrays(_records(reports), unit_array(x))
        part, value = records["part"], records["value"]
        rows = self.duchi.probabilities(numbers)
        small = np.where(value == self.duchi.outputs[1], rows[..., 1], rows[..., 0])
        small = np.where(np.isin(value, self.duchi.outputs), small, 0.0)
        points = self.piecewise.points_of(value * self.piecewise.gain)
        large = self.piecewise.grid.probability(points, numbers)
        large = np.where(self._values_of(points) == value, large, 0.0)
        share = self.piecewise_share
        mixed = [(1.0 - share) * small, share * large]
        with np.errstate(divide="ignore"):
            return np.log(np.select([part == _DUCHI, part == _PIECEWISE], mixed, 0.0))

    def probabilities(self, x: ArrayLike, output_bins: int = OUTPUT_BINS) -> NDArray[np.float64]:
        """Return P(cell | x), of shape ``x.shape + (2 + output_bins,)``."""
        return self._side_by_side(
            self.duchi.probabilities(x), self.piecewise.probabilities(x, output_bins)
        )

    def corners(self, output_bins: int = OUTPUT_BINS) -> NDArray[np.float64]:
        """Return inputs whose rows of `probabilities` span all others: Piecewise's.

        Duchi's rows are linear in x from -1 to 1.
        """
        return self.piecewise.corners(output_bins)

    def transition(self, bins: int = 64, output_bins: int = OUTPUT_BINS) -> NDArray[np.float64]:
        """Return P(cell | x uniform in a bin), of shape (bins, 2 + output_bins).

        Piecewise reports fall into `output_bins` equal bins.
        """
        return self._side_by_side(
            self.duchi.transition(bins), self.piecewise.transition(bins, output_bins)
        )

    def _side_by_side(
        self, duchi_part: NDArray[np.float64], piecewise_part: NDArray[np.float64]
    ) -> NDArray[Any]:
        share = self.piecewise_share
        return np.concatenate([(1.0 - share) * duchi_part, share * piecewise_part], axis=-1)


def _records(reports: ArrayLike) -> NDArray[Any]:
    array = np.asarray(reports)
    names = array.dtype.names or ()
    fields = [array[name].dtype.kind for name in ("part", "value") if name in names]
    if len(fields) < 2 or fields[0] not in "iu" or fields[1] != "f":
        raise InvalidArgumentError("reports", "be records of part and value", reports)
    return array
