r"""Worst pair of rows: upper bounds of delta over all pairs, most of them without an FFT.

Notes
-----
A pair is skipped only where a proven upper bound of its delta is below the value that counts, so
skipping is always safe. The bounds used are, from cheap to tight: products of matrices for all
pairs (`noutput.amplification.screening`); the normal approximation with its error, for the
remaining pairs together; a lattice that they share, at the same lambda; and for each pair that
still remains the smaller of both at its own lambda.

A pair whose delta is below the wanted one at some c stays below it at every larger c, because the
hockey-stick divergence falls with c: pairs are checked once, at the c of the worst pair so far.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from noutput.amplification.lattice import lattice_bounds
from noutput.amplification.normal import normal_bound
from noutput.amplification.screening import screen
from noutput.amplification.tilt import best_tilts

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from noutput.amplification.law import Blanket, Floats, Laws

__all__ = ["PairBound", "Problem"]

_NUMBERS = 1 << 18  # per block of pairs
_BLOCK = 1 << 14  # pairs between two looks at how many are left
_FEW = 4  # pairs that are looked at one by one
_MANY = 500  # pairs for which a coarser lattice is tried first
_ERROR_SHARE = 0.05  # of delta: with less the normal approximation is tight enough
_SMALLEST, _LARGEST = 1 << 11, 1 << 16


@dataclass(frozen=True)
class PairBound:
    """Upper bound of delta for one pair of rows, and how it was found.

    Attributes
    ----------
    first, second : int
        Places of the two rows among the different rows of the table.
    log_delta : float
        Upper bound of ln(delta).
    tilt : float
        Lambda at which the bound was computed.
    lattice : int
        Points of the lattice; 0 where the normal approximation was used.
    step : float
        Step of the lattice.
    errors : dict
        Parts of delta that bound errors: of the normal approximation, of wrap-around, of rounding.
    """

    first: int
    second: int
    log_delta: float
    tilt: float
    lattice: int
    step: float
    errors: dict[str, float]


@dataclass(frozen=True, eq=False)
class Problem:
    """A table, the number of reports, and how fine the lattice is (None: as fine as needed)."""

    blanket: Blanket
    reports: int
    lattice: int | None = None

    def lattice_size(self) -> int:
        r"""Return a lattice on which the split adds little to the variance.

        A window of about 15 standard deviations of the sum has a step of :math:`15 \sigma
        \sqrt n / G`; the split adds at most :math:`p\gamma/4` times its square to the variance
        of a term, so :math:`G = 100 \sqrt{p\gamma n}` makes that at most 0.6%.
        """
        if self.lattice is not None:
            return self.lattice
        covered = self.blanket.gamma * self.blanket.share * self.reports
        wanted = 100.0 * math.sqrt(covered)
        return min(max(1 << math.ceil(math.log2(max(wanted, 1.0))), _SMALLEST), _LARGEST)

    def bound(self, first: int, second: int, c: float) -> PairBound:
        """Return an upper bound of delta for one pair of rows: the smaller of both methods."""
        laws = self.blanket.laws(np.array([first]), np.array([second]), c)
        if laws.values.max() <= 0.0:  # no output is more than 1 + c times as likely
            return PairBound(first, second, -math.inf, 1.0, 0, 0.0, {})
        tilts = best_tilts(laws, self.reports)
        tilting = float(tilts[0])
        log_deltas, shares = normal_bound(laws, self.reports, tilts)
        log_delta = float(log_deltas[0])
        errors = {"normal": math.exp(min(log_delta, 0.0)) * float(shares[0])}
        best = PairBound(first, second, log_delta, tilting, 0, 0.0, errors)
        if self.lattice is None and shares[0] <= _ERROR_SHARE:
            return best
        found = lattice_bounds(laws, self.reports, tilting, self.lattice_size())
        if self.lattice is None and found.log_delta[0] >= log_delta:
            return best
        errors = {"wrap-around": float(found.wrap_around[0]), "rounding": float(found.rounding[0])}
        log_delta = float(found.log_delta[0])
        return PairBound(first, second, log_delta, tilting, found.size, found.step, errors)

    def likely_worst(self) -> tuple[int, int]:
        """Return the pair of rows with the largest variance at c = 0, a good first guess."""
        rows = self.blanket.rows.astype(np.float64)
        scaled = rows / self.blanket.minima
        squares = (rows * scaled).sum(axis=1)
        spread = squares[:, None] + squares[None, :] - 2.0 * (rows @ scaled.T)
        first, second = np.unravel_index(int(spread.argmax()), spread.shape)
        return int(first), int(second)

    def guess(self, pair: tuple[int, int], log_delta: float) -> float:
        """Return about the c that a pair needs for this delta, where n is large."""
        laws = self.blanket.laws(np.array([pair[0]]), np.array([pair[1]]), 0.0)
        variance = float(laws.values[0] ** 2 @ laws.probabilities)
        return math.sqrt(-2.0 * log_delta * variance / self.reports) / self.blanket.share

    def unproven(
        self, c: float, tilting: float, log_delta: float, most: int
    ) -> NDArray[np.intp] | None:
        """Return the pairs that no cheap bound proves; None where there are more than `most`."""

        def by_normal_law(laws: Laws) -> Floats:
            return normal_bound(laws, self.reports, np.full(len(laws.values), tilting))[0]

        left = [np.empty((0, 2), np.intp)]
        width = self.blanket.minima.size
        for first, second in screen(self.blanket, self.reports, c, tilting, log_delta):
            pairs = np.stack([first, second], axis=1)
            for start in range(0, len(pairs), _BLOCK):
                part = pairs[start : start + _BLOCK]
                left.append(self._above(part, c, log_delta, by_normal_law, width))
                if sum(map(len, left)) > most:
                    return None
        return np.concatenate(left)

    def suspects(
        self, pairs: NDArray[np.intp], c: float, tilting: float, log_delta: float
    ) -> list[tuple[int, int]]:
        """Return those of the pairs that a lattice for all of them does not prove either."""
        size = max(self.lattice_size() // 2, _SMALLEST)  # coarse is enough for most
        for few, points in ((_MANY, size // 4), (_FEW, size)):  # coarser still, where many are left

            def by_lattice(laws: Laws, points: int = points) -> Floats:
                return lattice_bounds(laws, self.reports, tilting, points).log_delta

            if len(pairs) > few:
                pairs = self._above(pairs, c, log_delta, by_lattice, points)
        return [(int(first), int(second)) for first, second in pairs]

    def _above(
        self,
        pairs: NDArray[np.intp],
        c: float,
        log_delta: float,
        bounds: Callable[[Laws], Floats],
        width: int,
    ) -> NDArray[np.intp]:
        """Return the pairs whose bound is above the given one; `width` numbers are made of each."""
        left = [pairs[:0]]
        chunk = max(_NUMBERS // width, 1)
        for start in range(0, len(pairs), chunk):
            part = pairs[start : start + chunk]
            laws = self.blanket.laws(part[:, 0], part[:, 1], c)
            some = np.flatnonzero(laws.values.max(axis=1) > 0.0)  # the others have delta 0
            if some.size:
                found = bounds(laws.subset(some))
                left.append(part[some[~(found <= log_delta)]])
        return np.concatenate(left)
