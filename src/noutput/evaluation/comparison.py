"""Comparing measured errors: which is smaller, and whether that is more than noise."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from scipy.special import stdtrit

if TYPE_CHECKING:
    from noutput.evaluation.results import Row

__all__ = ["CHANCE", "SAME", "Comparison", "compare", "limit"]

CHANCE = math.erfc(3.0 / math.sqrt(2.0))
"""How often two equal errors count as different: 0.27%, as beyond 3 standard errors of a normal
distribution."""

SAME = 1e-6
"""Computed values that differ by no more than this share are equal."""


@lru_cache(maxsize=4096)
def limit(freedom: float) -> float:
    """Return by how many standard errors a difference must leave zero to be more than noise.

    Parameters
    ----------
    freedom : float
        Degrees of freedom of the standard error: a Student's t quantile, as few runs know their
        own spread badly.

    Examples
    --------
    >>> [round(limit(freedom), 2) for freedom in (4, 8, 99, math.inf)]
    [6.62, 4.28, 3.08, 3.0]
    """
    return float(-stdtrit(min(freedom, 1e9), CHANCE / 2.0))


@dataclass(frozen=True, slots=True)
class Comparison:
    """One error against another, both measured.

    Parameters
    ----------
    first, second : Row
    """

    first: Row
    second: Row

    @property
    def ratio(self) -> float:
        """How many times larger the second error is; infinite or NaN where the first is 0."""
        if self.first.value == 0.0:
            return math.inf if self.second.value else math.nan
        return self.second.value / self.first.value

    @property
    def ratio_error(self) -> float:
        """The standard error of the ratio; the runs of two mechanisms are independent."""
        if self.first.value == 0.0:
            return math.nan
        scaled = (self.second.standard_error, self.ratio * self.first.standard_error)
        return math.hypot(*scaled) / self.first.value

    @property
    def predicted(self) -> float:
        """How many times larger the second error is by theory; NaN where theory is silent."""
        return self.second.predicted / self.first.predicted

    def exceeds(self, factor: float = 1.0) -> int:
        r"""Whether the second error is at least `factor` times the first.

        Returns
        -------
        int
            1 if it is beyond noise, -1 if it is not beyond noise, 0 if the runs do not tell.

        Notes
        -----
        :math:`b - f a` is compared with its standard error by Welch's test. Where all runs of both
        are equal, their spread does not tell what further runs would give.
        """
        parts = (factor * self.first.standard_error, self.second.standard_error)
        difference = self.second.value - factor * self.first.value
        error = math.hypot(*parts)
        if error == 0.0 and (self.first.runs or self.second.runs):
            return 0
        if error == 0.0:
            reach = SAME * self.second.value
        else:
            reach = limit(_freedom(parts, (self.first.runs, self.second.runs))) * error
        if math.isnan(reach):  # the spread of a single run is not known
            return 0
        return (difference >= reach) - (difference <= -reach)

    @property
    def better(self) -> bool:
        """Whether the first error is smaller, beyond noise."""
        return self.exceeds() > 0

    @property
    def worse(self) -> bool:
        """Whether the first error is larger, beyond noise."""
        return self.exceeds() < 0

    def __str__(self) -> str:
        return f"{self.ratio:.2f} ± {self.ratio_error:.2f}"


def _freedom(errors: tuple[float, float], runs: tuple[int, int]) -> float:
    """Return the degrees of freedom of a difference (Welch and Satterthwaite)."""
    total = math.hypot(*errors)
    shares = [(e / total) ** 4 / max(n - 1, 1) for e, n in zip(errors, runs, strict=True) if e]
    return 1.0 / math.fsum(shares)


def compare(rows: Iterable[Row], first: str, others: Iterable[str]) -> list[Comparison]:
    """Compare a mechanism with each of several others at the same dataset and epsilon."""
    names, places = set(others), {}
    found = list(rows)
    for row in found:
        if row.mechanism == first:
            places[row.dataset, row.epsilon] = row
    return [
        Comparison(places[row.dataset, row.epsilon], row)
        for row in found
        if row.mechanism in names and (row.dataset, row.epsilon) in places
    ]
