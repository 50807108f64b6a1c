r"""Law of the privacy loss that one blanket report contributes, for pairs of rows.

Notes
-----
**The theorem** (privacy blanket; Balle, Bell, Gascón and Nissim, "The Privacy Blanket of the
Shuffle Model", CRYPTO 2019, here for one table). Let W be a certified table with rows that add up
to :math:`S = 2^{32}`, :math:`m_j = \min_k W_{kj}` its column minima, and :math:`\gamma = \sum_j
m_j / S`. Reports of n people are counted, and only the n counts per output are published. Person
1 has row r or row s; the others have any rows, which the adversary knows.

1. *Give away more.* Every row is :math:`m + (W_k - m)`, so each of the others draws from the
   blanket :math:`m / (\gamma S)` with probability :math:`\gamma`, independently of the person's
   value, and from a rest otherwise. Tell the adversary who drew from the rest, and what. By data
   processing this can only increase the divergence. What stays hidden is person 1 among
   :math:`M - 1 \sim \mathrm{Bin}(n - 1, \gamma)` draws from the blanket.
2. *Exact divergence for M.* Let :math:`B_M(h)` be the probability that M draws from the blanket
   give the counts h. One draw from r and M - 1 from the blanket give h with probability
   :math:`B_M(h) \frac1M \sum_j h_j \frac{r_j}{m_j/\gamma}` (in units of S: multiply the multinomial
   out). So with :math:`e^\epsilon = 1 + c` the divergence is :math:`E[(L_1 + ... + L_M)_+] / M`
   with :math:`L = \gamma\,(r_J - (1 + c) s_J) / m_J` and J drawn from the blanket.
3. *Mix over M.* :math:`\binom{n-1}{M-1}\gamma^{M-1}(1-\gamma)^{n-M}/M = \frac{1}{\gamma n}
   \binom nM \gamma^M (1-\gamma)^{n-M}`: the mixture is a compound binomial, which is a sum of n
   independent terms. The factor :math:`\gamma` cancels, and

   .. math:: \delta(c) \le \frac1n E\bigl[(Z_1 + \dots + Z_n)_+\bigr],\qquad
             P\Bigl(Z = \frac{r_j - (1 + c)\, s_j}{m_j}\Bigr) = \frac{m_j}{S},\quad
             P(Z = 0) = 1 - \gamma .

   No binomial coefficient is computed anywhere, so there is no mixing error to bound. The mean of
   Z is -c for every pair of rows.

Where only a share p of the n reports counts (a person answers one of 1/p questions at random, and
the question is public), step 3 with :math:`p\gamma` in place of :math:`\gamma` gives the same sum
with :math:`P(Z = z_j) = p\,m_j/S`, divided by :math:`p n`.

**The worst inputs.** An input selects a mixture of rows. Z is linear in (r, s) while its
probabilities do not depend on them, and :math:`(\cdot)_+` is convex: the bound is jointly convex
in (r, s), so its maximum over all pairs of inputs is at a pair of rows. Both orders count.

**Rounding.** :math:`m_j / S` and :math:`1 - \gamma` are exact floats (32 bits). The number c is
taken as the exact value of its float; only the result :math:`\ln(1 + c)` is rounded, upward.
Three rounded operations make a value, each within :math:`u = 2^{-53}`, so its error is below
:math:`4u\,(|r_j - s_j| + c\,s_j)/m_j`; twice that is added. As :math:`(\cdot)_+` increases, larger
values give an upper bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from noutput.mechanisms import exact

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Rows = NDArray[np.int64]

__all__ = ["UNDERFLOW", "UNIT_ROUNDOFF", "Blanket", "Laws", "column_minima"]

UNIT_ROUNDOFF = 2.0**-53
UNDERFLOW = 1e-250  # relative; more than anything that underflows to 0 can add up to


def column_minima(weights: Rows) -> Rows:
    """Return the smallest weight of every column: the blanket that all rows share."""
    smallest: Rows = weights.min(axis=0)
    return smallest


@dataclass(frozen=True, eq=False)
class Blanket:
    """What the reports of others hide one report with: rows, their minima and the share counted."""

    rows: Rows
    minima: Rows
    share: float

    @classmethod
    def of(cls, weights: Rows, share: float = 1.0) -> Blanket:
        """Return the blanket of a table; equal rows are kept once."""
        rows = np.unique(weights, axis=0)
        return cls(rows, column_minima(rows), share)

    @property
    def gamma(self) -> float:
        """The share of a report that does not depend on the value."""
        return int(self.minima.sum()) / exact.SCALE

    @property
    def probabilities(self) -> Floats:
        """P(Z = z_j), one per output."""
        result: Floats = self.minima / exact.SCALE * self.share
        return result

    def laws(self, first: NDArray[np.intp], second: NDArray[np.intp], c: float) -> Laws:
        """Return the laws of Z for pairs of rows, with values rounded up."""
        own, other = self.rows[first], self.rows[second]
        apart, scaled = (own - other).astype(np.float64), c * other
        slack = 8.0 * UNIT_ROUNDOFF * (np.abs(apart) + scaled)
        values = (apart - scaled) / self.minima + slack / self.minima
        return Laws(values, self.probabilities, self.share)


@dataclass(frozen=True, eq=False)
class Laws:
    """Laws of Z, one per pair of rows: values of shape (P, N).

    Probabilities are one per output, the same for all pairs, or have the shape of the values.
    """

    values: Floats
    probabilities: Floats
    share: float

    @property
    def rest(self) -> Floats:
        """P(Z = 0) apart from outputs whose value happens to be 0."""
        left: Floats = np.maximum(1.0 - self.probabilities.sum(axis=-1), 0.0)
        return left

    def subset(self, places: NDArray[np.intp]) -> Laws:
        """Return some of the laws."""
        return Laws(self.values[places], self.probabilities, self.share)
