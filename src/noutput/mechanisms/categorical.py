r"""Frequency oracles: mechanisms made for categories, here equal bins of [-1, 1].

Each is given by two whole numbers in units of :math:`2^{-32}`: how likely its own bin is to be
reported, and how likely any other one. Write p and q for these probabilities. From the counts
:math:`n_v` of n reports, :math:`(n_v / n - q) / (p - q)` is an unbiased estimate of the share of
bin v.

References
----------
Wang et al., "Locally differentially private protocols for frequency estimation", USENIX Security
2017.
Erlingsson et al., "RAPPOR: randomized aggregatable privacy-preserving ordinal response", 2014,
doi:10.1145/2660267.2660348.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from noutput import _checks
from noutput.errors import InvalidArgumentError
from noutput.mechanisms import exact
from noutput.mechanisms.binning import average, bin_of, middles
from noutput.mechanisms.sampling import unit_array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["FrequencyOracle"]

_MOST_BINS = 1 << 12


@dataclass(frozen=True)
class FrequencyOracle(ABC):
    """What the oracles share: the estimator, and reports decoded to numbers."""

    epsilon: float
    bins: int = 64

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", _checks.positive("epsilon", self.epsilon))
        object.__setattr__(self, "bins", _checks.whole("bins", self.bins, 2, _MOST_BINS))

    @property
    def exact(self) -> bool:
        """True: the sampler compares whole numbers with certified thresholds."""
        return True

    @property
    @abstractmethod
    def _weights(self) -> tuple[int, int]:
        """How likely the own bin and any other one are reported, in units of 2^-32."""

    @property
    @abstractmethod
    def _variances(self) -> NDArray[np.float64]:
        """The variance of the decoded report in every bin."""

    @property
    def _shares(self) -> tuple[float, float]:
        """The probabilities p and q."""
        own, other = self._weights
        return own / exact.SCALE, other / exact.SCALE

    @property
    def _difference(self) -> float:
        own, other = self._weights
        return (own - other) / exact.SCALE

    def _spread(self, own: NDArray[np.float64]) -> NDArray[np.float64]:
        """Turn P(own bin is v) into P(v is reported)."""
        result: NDArray[np.float64] = self._shares[1] + self._difference * own
        return result

    def _people(self, x: ArrayLike) -> NDArray[np.intp]:
        """How many numbers every bin holds."""
        return np.bincount(bin_of(unit_array(x).reshape(-1), self.bins), minlength=self.bins)

    def estimate(self, counts: ArrayLike, n_reports: int) -> NDArray[np.float64]:
        """Return unbiased estimates of the shares of all bins; some may be negative.

        Parameters
        ----------
        counts : sequence of floats, one per bin
            How many reports name each bin.
        n_reports : int
            How many reports there are.

        See Also
        --------
        noutput.mechanisms.binning.norm_sub : the closest true distribution.
        """
        named = _checks.vector("counts", counts)
        if named.size != self.bins:
            raise InvalidArgumentError("counts", f"have {self.bins} entries", named.size)
        total = _checks.whole("n_reports", n_reports, 1, 1 << 62)
        shares: NDArray[np.float64] = named / total - self._shares[1]
        shares /= self._difference
        return shares

    def mean(self, x: ArrayLike) -> NDArray[np.float64]:
        """Return the mean of the decoded report at every x: the middle of its bin."""
        return middles(self.bins)[bin_of(unit_array(x), self.bins)]

    def variance(self, x: ArrayLike) -> NDArray[np.float64]:
        """Return the variance of the decoded report at every x."""
        return self._variances[bin_of(unit_array(x), self.bins)]

    def worst_variance(self) -> float:
        """Return the largest variance over all inputs."""
        return float(self._variances.max())

    def average_variance(self, prior: ArrayLike | None = None) -> float:
        """Return the variance averaged over a histogram of inputs: see `Mechanism`."""
        return average(self._variances, prior)
