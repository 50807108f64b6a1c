"""Verdicts: how the settings of a claim are combined into one word.

A claim is about settings: a dataset, an epsilon, a baseline. In each of them the numbers speak for
the claim, against it, or leave it open, because the difference is within noise. The rules are the
same for all claims, and were fixed before any number was known:

- a difference is more than noise where it leaves zero by a Student's t quantile that chance passes
  in 0.27% of the cases (3 standard errors with many runs, more with few);
- where theory gives the errors exactly, theory decides a setting; one in which the measured errors
  contradict it beyond noise speaks against the claim;
- numbers of the paper (1.5, 4 or 5 times, "nearly identical", "similar") are met within 5%;
- "high privacy" is an epsilon of at most 1, which the paper leaves open.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from noutput.evaluation.comparison import SAME, Comparison

__all__ = [
    "FAILS",
    "HIGH_PRIVACY",
    "HOLDS",
    "NEARLY",
    "NO_ROWS",
    "PART",
    "UNDECIDED",
    "UNTESTED",
    "VERDICTS",
    "Finding",
    "Score",
    "alike",
    "smaller",
    "untested",
]

HOLDS, PART, FAILS = "holds", "holds in part", "does not hold"
UNDECIDED, UNTESTED = "undecided", "not tested"
VERDICTS = (HOLDS, PART, FAILS, UNDECIDED, UNTESTED)

NEARLY = 0.05
HIGH_PRIVACY = 1.0


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found about a claim."""

    verdict: str
    numbers: tuple[str, ...]


def untested(reason: str) -> Finding:
    """Return what is said about a claim that there are no numbers for."""
    return Finding(UNTESTED, (reason,))


NO_ROWS = untested("no setting of this claim was computed")


@dataclass(frozen=True, slots=True)
class Score:
    """How many settings speak for a claim, against it, and neither.

    Parameters
    ----------
    better, open, worse : int
        Most claims say that an error is smaller than another.
    """

    better: int
    open: int
    worse: int

    @classmethod
    def of(cls, stands: Iterable[int]) -> Score:
        """Count settings that speak for (1), against (-1), or leave open (0)."""
        found = list(stands)
        return cls(found.count(1), found.count(0), found.count(-1))

    @property
    def total(self) -> int:
        """How many settings there are."""
        return self.better + self.open + self.worse

    def __str__(self) -> str:
        return f"{self.better} better, {self.open} equal within noise, {self.worse} worse"

    def everywhere(self) -> str:
        """Judge a claim about all settings.

        Returns
        -------
        str
            "not tested" without settings; "undecided" if more settings are open than decided;
            "holds" if none speaks against it, "holds in part" if at least as many speak for as
            against it, and "does not hold" otherwise.

        Examples
        --------
        >>> Score(30, 8, 0).everywhere(), Score(30, 8, 2).everywhere()
        ('holds', 'holds in part')
        >>> Score(0, 40, 0).everywhere()
        'undecided'
        """
        if not self.total:
            return UNTESTED
        if self.open > self.better + self.worse:
            return UNDECIDED
        if not self.worse:
            return HOLDS
        return PART if self.better >= self.worse else FAILS

    def mostly(self) -> str:
        """Judge a claim about most settings: more than half, whatever the open ones may be.

        Examples
        --------
        >>> Score(21, 19, 0).mostly(), Score(3, 17, 20).mostly(), Score(20, 1, 19).mostly()
        ('holds', 'does not hold', 'undecided')
        """
        if not self.total:
            return UNTESTED
        if 2 * self.better > self.total:
            return HOLDS
        return UNDECIDED if 2 * (self.better + self.open) > self.total else FAILS

    def somewhere(self) -> str:
        """Judge a claim about at least one setting.

        Examples
        --------
        >>> Score(1, 0, 9).somewhere(), Score(0, 0, 9).somewhere(), Score(0, 1, 9).somewhere()
        ('holds', 'does not hold', 'undecided')
        """
        if not self.total:
            return UNTESTED
        if self.better:
            return HOLDS
        return UNDECIDED if self.open else FAILS


def smaller(pair: Comparison) -> int:
    """Whether the first error is smaller: by theory where there is one, else as measured."""
    measured, predicted = pair.exceeds(), pair.predicted
    if math.isnan(predicted):
        return measured
    if predicted < 1.0 - SAME or measured < 0:
        return -1
    return 1 if predicted > 1.0 + SAME else 0


def alike(pair: Comparison) -> int:
    """Whether two errors are nearly identical: by theory where there is one, else as measured."""
    above, below = pair.exceeds(1.0 + NEARLY), -pair.exceeds(1.0 - NEARLY)
    measured = -max(above, below)  # -1 outside, 1 inside of both limits, 0 too close to one
    if math.isnan(pair.predicted):
        return measured
    return 1 if abs(pair.predicted - 1.0) <= NEARLY and measured >= 0 else -1
