"""Comparing measured errors: which is smaller, and whether that is more than noise."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from noutput.evaluation.results import Row

__all__ = ["SIGNIFICANT", "Comparison", "Score", "compare", "score"]

SIGNIFICANT = 3.0
"""Standard errors by which two errors must differ to count as different. Among the hundreds of
comparisons of a claim, about 1 in 400 passes it by chance."""


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
        """How many times larger the second error is."""
        return self.second.value / self.first.value

    @property
    def ratio_error(self) -> float:
        """The standard error of the ratio; the runs of two mechanisms are independent."""
        shares = [row.standard_error / row.value for row in (self.first, self.second)]
        return self.ratio * math.hypot(*shares)

    @property
    def distance(self) -> float:
        """By how many standard errors the second error is larger."""
        error = math.hypot(self.first.standard_error, self.second.standard_error)
        difference = self.second.value - self.first.value
        if error == 0.0:
            return math.copysign(math.inf, difference) if difference else 0.0
        return difference / error

    @property
    def better(self) -> bool:
        """Whether the first error is smaller, beyond noise."""
        return self.distance >= SIGNIFICANT

    @property
    def worse(self) -> bool:
        """Whether the first error is larger, beyond noise."""
        return self.distance <= -SIGNIFICANT

    def __str__(self) -> str:
        return f"{self.ratio:.2f} ± {self.ratio_error:.2f}"


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


@dataclass(frozen=True, slots=True)
class Score:
    """How often the first error was smaller, larger, or neither beyond noise."""

    better: int
    worse: int
    total: int

    @property
    def not_worse(self) -> float:
        """The share of comparisons that do not speak against the first."""
        return 1.0 - self.worse / self.total

    def __str__(self) -> str:
        ties = self.total - self.better - self.worse
        return f"{self.better} better, {ties} equal within noise, {self.worse} worse"


def score(comparisons: Iterable[Comparison]) -> Score:
    """Count comparisons."""
    found = list(comparisons)
    better, worse = sum(c.better for c in found), sum(c.worse for c in found)
    return Score(better, worse, len(found))
