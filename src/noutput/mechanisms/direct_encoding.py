r"""Direct encoding: randomized response over the bins of [-1, 1]."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from noutput import _checks
from noutput.errors import InvalidArgumentError
from noutput.mechanisms import exact, sampling
from noutput.mechanisms.binning import bin_of, middles, overlaps
from noutput.mechanisms.categorical import FrequencyOracle
from noutput.mechanisms.sampling import unit_array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["DirectEncoding"]


@dataclass(frozen=True)
class DirectEncoding(FrequencyOracle):
    r"""Direct encoding (generalized randomized response): a report names one bin.

    Parameters
    ----------
    epsilon : float
        The privacy loss. It must exceed about :math:`2^{-32} d^2`: below, rounding leaves the own
        bin no likelier than the others, and the mechanism is refused.
    bins : int
        d, from 2 to 4096.

    Notes
    -----
    The own bin is reported with probability :math:`e^\epsilon / (e^\epsilon + d - 1)`, each of
    the others with :math:`1 / (e^\epsilon + d - 1)`. The latter is rounded up to a whole number w
    of :math:`2^{-32}`, the former is what :math:`d - 1` of them leave. A report decodes to the
    middle of its bin divided by :math:`p - q`; the middles add up to 0, so this is unbiased for
    the middle of the own bin.

    Guarantees
    ----------
    :math:`\epsilon`-locally differentially private: w is the smallest whole number for which
    :math:`2^{32} - (d - 1) w \le e^\epsilon w` has been proven in whole-number arithmetic, and the
    constructor proves both ratios, own to other and other to own.

    Examples
    --------
    >>> m = DirectEncoding(1.0, bins=4)
    >>> counts = m.simulate([-0.9, -0.9, 0.1], np.random.default_rng(7))
    >>> counts.sum(), m.bits
    (np.int64(3), 2)
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.own_weight <= self.other_weight:
            rule = f"be larger for {self.bins} bins: the own bin would not be the likeliest"
            raise InvalidArgumentError("epsilon", rule, self.epsilon)
        if exact.certify(*self._ratios, self.epsilon) is not None:  # pragma: no cover (by design)
            rule = f"keep {self.bins} bins within e^epsilon of each other"
            raise InvalidArgumentError("epsilon", rule, self.epsilon)

    @property
    def bits(self) -> int:
        """How many bits a report needs."""
        return (self.bins - 1).bit_length()

    @property
    def n_cells(self) -> int:
        """How many cells reports are counted in: one per bin."""
        return self.bins

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the weights and the number of bins, as 64 hexadecimal digits."""
        parts = f"noutput-direct-encoding 1\n{self.bins} {self.own_weight} {self.other_weight}"
        return hashlib.sha256(parts.encode()).hexdigest()

    @property
    def other_weight(self) -> int:
        """How likely any other bin is to be reported, in units of 2^-32."""
        floor = exact.exponential_floor(self.epsilon)
        return -(-exact.SCALE * exact.UNIT // (floor + (self.bins - 1) * exact.UNIT))

    @property
    def own_weight(self) -> int:
        """How likely the own bin is to be reported, in units of 2^-32."""
        return exact.SCALE - (self.bins - 1) * self.other_weight

    @property
    def _weights(self) -> tuple[int, int]:
        return self.own_weight, self.other_weight

    @property
    def _ratios(self) -> tuple[list[int], list[int]]:
        own, other = self.own_weight, self.other_weight
        return [own, other], [other, own]

    def privacy_loss(self) -> float:
        """Return the exact loss, rounded up: the larger of both directions."""
        return exact.privacy_loss(*self._ratios)

    def privatize(
        self, x: ArrayLike, rng: np.random.Generator | None = None, *, clip: bool = False
    ) -> NDArray[np.uint16]:
        """Turn private numbers into indexes of bins (uint16): see `Mechanism.privatize`.

        The i-th number uses the lower half of the i-th random word.
        """
        return sampling.report(x, rng, self._draw, np.dtype(np.uint16), clip=clip)

    def _draw(
        self, x: NDArray[np.float64], words: NDArray[np.uint64], out: NDArray[np.uint16]
    ) -> None:
        # numbers below own_weight keep the bin; the rest are d - 1 steps of equal length
        low = words.astype(np.uint32)
        own, other = np.uint32(self.own_weight), np.uint32(self.other_weight)
        steps = np.where(low < own, 0, (low - own) // other + 1)
        out[:] = (bin_of(x, self.bins) + steps) % self.bins

    def cells(self, reports: ArrayLike) -> NDArray[np.intp]:
        """Return the column of `transition` that each report counts for: itself."""
        array = np.asarray(reports)
        whole = array.dtype.kind in "iu"
        if array.size and not (whole and 0 <= array.min() <= array.max() < self.bins):
            raise InvalidArgumentError("reports", f"be indexes from 0 to {self.bins - 1}", reports)
        return array.astype(np.intp, copy=False)

    def decode(self, reports: ArrayLike) -> NDArray[np.float64]:
        """Return the number that each report stands for."""
        result: NDArray[np.float64] = middles(self.bins)[self.cells(reports)] / self._difference
        return result

    @property
    def _variances(self) -> NDArray[np.float64]:
        squares = middles(self.bins) ** 2
        spread = self._shares[1] * squares.sum() / self._difference
        result: NDArray[np.float64] = (spread + squares) / self._difference - squares
        return result

    def probabilities(self, x: ArrayLike) -> NDArray[np.float64]:
        """Return P(report | x), of shape ``x.shape + (bins,)``."""
        return self._spread(np.eye(self.bins)[bin_of(unit_array(x), self.bins)])

    def log_likelihood(self, reports: ArrayLike, x: ArrayLike) -> NDArray[np.float64]:
        """Return the logarithm of the probability of each report given x (arrays broadcast)."""
        own = self.cells(reports) == bin_of(unit_array(x), self.bins)
        return np.log(np.where(own, *self._shares))

    def corners(self) -> NDArray[np.float64]:
        """Return inputs whose rows of `probabilities` are all there are: one per bin."""
        return middles(self.bins)

    def transition(self, bins: int = 64) -> NDArray[np.float64]:
        """Return P(report | x uniform in a bin), of shape (bins, own bins)."""
        return self._spread(overlaps(_checks.whole("bins", bins, 1, 1 << 16), self.bins))

    def counts(self, reports: ArrayLike) -> NDArray[np.int64]:
        """Return how many reports name each bin."""
        return np.bincount(self.cells(reports).reshape(-1), minlength=self.bins)

    def simulate(self, x: ArrayLike, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return counts with the distribution of ``counts(privatize(x))``, without the reports."""
        rows = self._spread(np.eye(self.bins))
        counts: NDArray[np.int64] = rng.multinomial(self._people(x), rows).sum(axis=0)
        return counts
