"""Units of work: a cell of a figure (dataset, mechanism, epsilon) and a block of its runs."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from noutput.evaluation.scenarios import CAMPAIGN_PEOPLE, CAMPAIGNS_A_RUN, MECHANISMS, Scenario

if TYPE_CHECKING:
    from collections.abc import Iterator

    from noutput.evaluation.datasets import Dataset
    from noutput.mechanisms.base import Mechanism

__all__ = ["BLOCK", "Unit", "identity", "units"]

BLOCK = 20
"""Runs of a unit: enough for the estimators to work on many histograms at once, and few enough
that little is lost when somebody stops the work."""

WORST_CASE = "worst-case"
"""What stands for a dataset where all people have the least favorable number."""

_SECONDS_A_REPORT = 1.5e-7
_SECONDS_A_FIT = 2.5e-3  # by gp; EM takes next to nothing


@dataclass(frozen=True, slots=True)
class Unit:
    """Some runs of one cell.

    Parameters
    ----------
    task : {"collection", "campaign"}
    dataset, mechanism : str
    epsilon : float
    first, runs : int
        The runs are numbered from `first`.
    seed : int
    """

    task: str
    dataset: str
    mechanism: str
    epsilon: float
    first: int
    runs: int
    seed: int

    @property
    def cell(self) -> tuple[str, str, str, float]:
        """What the unit contributes to."""
        return self.task, self.dataset, self.mechanism, self.epsilon

    def seconds(self, data: Dataset | None) -> float:
        """Guess how long it takes; progress and the order of the work are made from it."""
        if data is None:
            reports = CAMPAIGN_PEOPLE * CAMPAIGNS_A_RUN
            return self.runs * reports * _SECONDS_A_REPORT
        fits = data.n_attributes * ("gp" in MECHANISMS[self.mechanism].estimators)
        return self.runs * (data.people * _SECONDS_A_REPORT + fits * _SECONDS_A_FIT)


def units(scenario: Scenario) -> Iterator[Unit]:
    """Cut a scenario into units."""
    for task in sorted(scenario.tasks):
        for mechanism in scenario.mechanisms:
            entry = MECHANISMS[mechanism]
            if task == "campaign" and not entry.unbiased:
                continue
            for dataset in scenario.datasets if task == "collection" else (WORST_CASE,):
                for epsilon in scenario.epsilons:
                    for first in range(0, scenario.runs, BLOCK):
                        runs = min(BLOCK, scenario.runs - first)
                        yield Unit(task, dataset, mechanism, epsilon, first, runs, scenario.seed)


def identity(unit: Unit, data: Dataset | None, mechanism: Mechanism) -> str:
    """Return a name for everything that a unit's result follows from.

    A result is found again by it only while the data, the table of the mechanism and the
    estimators are the same.
    """
    parts = [
        unit.task, unit.dataset, unit.mechanism, unit.epsilon, unit.first, unit.runs, unit.seed,
        None if data is None else data.digest,
        getattr(mechanism, "fingerprint", repr(mechanism)),
        MECHANISMS[unit.mechanism].estimators,
    ]  # fmt: skip
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:24]
