"""Units of work: a cell of a figure (dataset, mechanism, epsilon) and a block of its runs."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, TypeAlias

from noutput.evaluation.code import code_version
from noutput.evaluation.scenarios import (
    BINS,
    CAMPAIGN_PEOPLE,
    CAMPAIGNS_PER_RUN,
    CONTENDERS,
    READING_RUNS,
    TOLERANCE,
    Scenario,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from noutput.evaluation.datasets import Dataset
    from noutput.mechanisms.base import Mechanism

__all__ = ["BLOCK", "Facts", "Unit", "describe", "identity", "units"]

Facts: TypeAlias = dict[str, object]

BLOCK = 20
"""Runs of a unit: enough for the estimators to work on many histograms at once, and few enough
that little is lost when somebody stops the work."""

WORST_CASE = "worst-case"
"""What stands for a dataset where all people have the least favorable number."""

_ESTIMATION = ("noutput.evaluation.work", "noutput.evaluation.datasets")  # and what they import
_SECONDS_PER_REPORT = 1.5e-7
_SECONDS_PER_FIT = 2.5e-3  # by gp; EM takes next to nothing
_SECONDS_PER_SUM = 8e-3  # by EM that stops late


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
            reports = CAMPAIGN_PEOPLE * CAMPAIGNS_PER_RUN
            return self.runs * reports * _SECONDS_PER_REPORT
        estimators = CONTENDERS[self.mechanism].estimators
        fits = _SECONDS_PER_FIT * ("gp" in estimators)
        fits += _SECONDS_PER_SUM * ("em-sum" in estimators and self.first < READING_RUNS)
        return self.runs * (data.people * _SECONDS_PER_REPORT + data.n_attributes * fits)


def units(scenario: Scenario) -> Iterator[Unit]:
    """Cut a scenario into units."""
    for task in sorted(scenario.tasks):
        for mechanism in scenario.mechanisms:
            entry = CONTENDERS[mechanism]
            if task == "campaign" and not entry.for_means:
                continue
            for dataset in scenario.datasets if task == "collection" else (WORST_CASE,):
                for epsilon in scenario.epsilons:
                    for first in range(0, scenario.runs, BLOCK):
                        runs = min(BLOCK, scenario.runs - first)
                        yield Unit(task, dataset, mechanism, epsilon, first, runs, scenario.seed)


def describe(unit: Unit, data: Dataset | None, mechanism: Mechanism) -> Facts:
    """Return everything that a unit's result follows from, by name.

    A stored result is used again only while all of it is the same: the numbers, the table of the
    mechanism, constants, and the versions of the code and of the packages that compute.
    """
    facts: Facts = {
        **asdict(unit),
        "fingerprint": getattr(mechanism, "fingerprint", repr(mechanism)),
        "mechanism_code": code_version(type(mechanism).__module__),
        "estimator_code": code_version(*_ESTIMATION),
        "numpy": version("numpy"),
        "scipy": version("scipy"),
    }
    if data is None:
        return facts | {"people": CAMPAIGN_PEOPLE, "campaigns": CAMPAIGNS_PER_RUN}
    return facts | {
        "data": data.digest,
        "estimators": list(CONTENDERS[unit.mechanism].estimators),
        "bins": BINS,
        "tolerance": TOLERANCE,
        "reading_runs": READING_RUNS,
    }


def identity(facts: Facts) -> str:
    """Return a short name for everything that a unit's result follows from."""
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:24]
