r"""Unary encoding, optimized and symmetric: one random bit per bin of [-1, 1]."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from noutput import _checks
from noutput.errors import InvalidArgumentError
from noutput.mechanisms import exact, sampling
from noutput.mechanisms.binning import bin_of, middles
from noutput.mechanisms.categorical import FrequencyOracle
from noutput.mechanisms.sampling import unit_array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["UnaryEncoding", "oue", "sue"]


@dataclass(frozen=True)
class UnaryEncoding(FrequencyOracle):
    r"""Unary encoding: a report has one bit per bin, each drawn on its own.

    Parameters
    ----------
    epsilon : float
        The privacy loss.
    bins : int
        d, from 2 to 4096.
    own_weight, other_weight : int
        How likely the bit of the own bin and every other bit are set, in units of
        :math:`2^{-32}`; see `oue` and `sue` for the two usual choices.

    Notes
    -----
    With p and q for the two probabilities, a report decodes to :math:`\sum_v m_v b_v / (p - q)`
    where :math:`m_v` is the middle of bin v and :math:`b_v` its bit. The middles add up to 0, so
    this is unbiased for the middle of the own bin.

    Guarantees
    ----------
    :math:`\epsilon`-locally differentially private: two inputs of different bins change the
    probabilities of two bits, by :math:`p (1 - q) / (q (1 - p))` at most, and the constructor
    proves in whole-number arithmetic that this is at most :math:`e^\epsilon`. Every bit of every
    report is randomized, whatever the bin.

    Examples
    --------
    >>> m = oue(1.0, bins=16)
    >>> reports = m.privatize([-0.9, 0.3], rng=np.random.default_rng(7))
    >>> reports.shape, reports.dtype, m.bits
    ((2, 2), dtype('uint8'), 16)
    """

    own_weight: int = field(kw_only=True)
    other_weight: int = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("own_weight", "other_weight"):
            value = _checks.whole(name, getattr(self, name), 1, exact.SCALE - 1)
            object.__setattr__(self, name, value)
        if self.other_weight >= self.own_weight:
            rule = f"be smaller than own_weight ({self.own_weight})"
            raise InvalidArgumentError("other_weight", rule, self.other_weight)
        if exact.certify(*self._odds, self.epsilon) is not None:
            rule = f"make the odds of a bit differ by at most e^epsilon (epsilon = {self.epsilon})"
            raise InvalidArgumentError("own_weight", rule, self.own_weight)

    @property
    def _weights(self) -> tuple[int, int]:
        return self.own_weight, self.other_weight

    @property
    def _odds(self) -> tuple[list[int], list[int]]:
        own, other = self.own_weight, self.other_weight
        return [own * (exact.SCALE - other)], [other * (exact.SCALE - own)]

    @property
    def bits(self) -> int:
        """How many bits a report needs: one per bin."""
        return self.bins

    def privacy_loss(self) -> float:
        """Return the exact loss, rounded up."""
        return exact.privacy_loss(*self._odds)

    def privatize(
        self, x: ArrayLike, rng: np.random.Generator | None = None, *, clip: bool = False
    ) -> NDArray[np.uint8]:
        """Turn private numbers into packed bits: see `Mechanism.privatize`.

        Reports are bytes (uint8) in rows of ``ceil(bins / 8)``; bit ``v % 8`` of byte ``v // 8``
        belongs to bin v. Every number uses ``ceil(bins / 2)`` words of its own: 32 bits per bit.
        """
        return sampling.report(
            x, rng, self._draw, np.dtype(np.uint8), clip=clip,
            shape=(-(-self.bins // 8),), words_each=-(-self.bins // 2),
        )  # fmt: skip

    def _draw(
        self, x: NDArray[np.float64], words: NDArray[np.uint64], out: NDArray[np.uint8]
    ) -> None:
        numbers = words.astype("<u8", copy=False).view("<u4").reshape(len(x), -1)
        bits = numbers[:, : self.bins] < np.uint32(self.other_weight)
        rows, own = np.arange(len(x)), bin_of(x, self.bins)
        bits[rows, own] = numbers[rows, own] < np.uint32(self.own_weight)
        out[:] = np.packbits(bits, axis=-1, bitorder="little")

    def unpack(self, reports: ArrayLike) -> NDArray[np.uint8]:
        """Return the bits of reports, of shape ``reports.shape[:-1] + (bins,)``."""
        packed = np.asarray(reports)
        if packed.dtype != np.uint8 or packed.shape[-1:] != (-(-self.bins // 8),):
            rule = f"be packed bits: bytes in rows of {-(-self.bins // 8)}"
            raise InvalidArgumentError("reports", rule, (packed.dtype.name, packed.shape))
        return np.unpackbits(packed, axis=-1, count=self.bins, bitorder="little")

    def decode(self, reports: ArrayLike) -> NDArray[np.float64]:
        """Return the number that each report stands for."""
        result: NDArray[np.float64] = self.unpack(reports) @ middles(self.bins) / self._difference
        return result

    @property
    def _variances(self) -> NDArray[np.float64]:
        squares = middles(self.bins) ** 2
        own, other = self._shares
        noise = other * (1.0 - other)
        result: NDArray[np.float64] = noise * squares.sum() + (own * (1.0 - own) - noise) * squares
        result /= self._difference**2
        return result

    def bit_probabilities(self, x: ArrayLike) -> NDArray[np.float64]:
        """Return the probability that each bit is set, of shape ``x.shape + (bins,)``."""
        return self._spread(np.eye(self.bins)[bin_of(unit_array(x), self.bins)])

    def log_likelihood(self, reports: ArrayLike, x: ArrayLike) -> NDArray[np.float64]:
        """Return the logarithm of the probability of each row of bits given x (arrays broadcast).

        All bits but that of the own bin are drawn alike, so how many are set is enough.
        """
        bits = self.unpack(reports)
        bin_ = bin_of(unit_array(x), self.bins)
        shape = np.broadcast_shapes(bits.shape[:-1], bin_.shape)
        bits = np.broadcast_to(bits, (*shape, self.bins))
        place = np.broadcast_to(bin_, shape)[..., None]
        own = np.take_along_axis(bits, place, axis=-1)[..., 0]
        others = bits.sum(axis=-1, dtype=np.int64) - own
        likely, unlikely = self._shares
        result: NDArray[np.float64] = np.where(own, math.log(likely), math.log1p(-likely))
        result += others * math.log(unlikely)
        result += (self.bins - 1 - others) * math.log1p(-unlikely)
        return result

    def counts(self, reports: ArrayLike) -> NDArray[np.int64]:
        """Return how many reports have each bit set."""
        packed = np.asarray(reports)
        packed = packed.reshape(-1, packed.shape[-1]) if packed.ndim else packed
        total = np.zeros(self.bins, np.int64)
        for start in range(0, max(len(packed), 1), 1 << 14):
            total += self.unpack(packed[start : start + (1 << 14)]).sum(axis=0, dtype=np.int64)
        return total

    def simulate(self, x: ArrayLike, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return counts with the distribution of ``counts(privatize(x))``, without the reports.

        The bits are independent, so each count is the sum of two binomial numbers.
        """
        people = self._people(x)
        own, other = self._shares
        counts: NDArray[np.int64] = rng.binomial(people, own)
        counts += rng.binomial(people.sum() - people, other)
        return counts


def oue(epsilon: float, bins: int = 64) -> UnaryEncoding:
    r"""Return optimized unary encoding of Wang et al. 2017: p = 1/2, q = 1 / (e^epsilon + 1).

    Examples
    --------
    >>> m = oue(1.0)
    >>> m.own_weight / 2**32, round(m.other_weight / 2**32, 6)
    (0.5, 0.268941)
    """
    floor = exact.exponential_floor(_checks.positive("epsilon", epsilon))
    other = -(-exact.SCALE * exact.UNIT // (floor + exact.UNIT))
    return UnaryEncoding(epsilon, bins, own_weight=exact.SCALE // 2, other_weight=other)


def sue(epsilon: float, bins: int = 64) -> UnaryEncoding:
    r"""Return symmetric unary encoding (basic RAPPOR) of Erlingsson et al. 2014.

    Here p = e^(epsilon/2) / (e^(epsilon/2) + 1) and q = 1 - p.

    Examples
    --------
    >>> m = sue(1.0)
    >>> round(m.own_weight / 2**32, 6), m.own_weight + m.other_weight == 2**32
    (0.622459, True)
    """
    floor = exact.exponential_floor(_checks.positive("epsilon", epsilon))
    root = math.isqrt(floor * exact.UNIT)  # of e^epsilon, in units of 2^-64, rounded down
    other = -(-exact.SCALE * exact.UNIT // (root + exact.UNIT))
    return UnaryEncoding(epsilon, bins, own_weight=exact.SCALE - other, other_weight=other)
