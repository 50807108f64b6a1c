"""Scenarios of the evaluation: its mechanisms, epsilons and figures, as plain data.

A further mechanism is one more line of `CONTENDERS`. Results are stored by what they were computed
from, so adding a line computes the new cells only.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from noutput.designs import catalog
from noutput.designs.design import design
from noutput.errors import InvalidArgumentError
from noutput.evaluation.datasets import DATASETS
from noutput.registry import mechanism

if TYPE_CHECKING:
    from noutput.evaluation.own_data import OwnFile
    from noutput.mechanisms.base import Mechanism

__all__ = [
    "BINS",
    "CONTENDERS",
    "FIGURES",
    "FULL",
    "QUICK",
    "READINGS",
    "READING_RUNS",
    "TOLERANCE",
    "Contender",
    "PaperFigure",
    "Scenario",
    "bound",
    "command",
    "make",
]

BINS = 64
"""Of an estimated distribution (the paper's d)."""

TOLERANCE = 1e-5
"""At which EM stops (the paper's tau)."""

READINGS: Mapping[str, str] = MappingProxyType(
    {
        "em": "mean per report",
        "em-relative": "relative improvement",
        "em-sum": "sum over reports",
    }
)
"""What the paper's stopping rule may mean: of which change of the log-likelihood its tau is the
limit. The first is what all figures use."""

READING_RUNS = 20
"""Runs in which EM is tried with the other readings, too; the sum takes a hundred times as long."""

CAMPAIGN_PEOPLE = 10_000
"""People of a campaign for the worst case, all at the least favorable number."""

CAMPAIGNS_PER_RUN = 10
"""Campaigns for the worst case that one run stands for: they are cheap, and errors of errors
shrink with their number."""


@dataclass(frozen=True, slots=True)
class Contender:
    """A mechanism that the evaluation compares with others.

    Parameters
    ----------
    label : str
        What figures and tables call it.
    make : callable
        Takes epsilon.
    for_means : bool
        Whether it takes part in figures 2 to 4, which are about means. Mechanisms whose reports
        have no unbiased mean do not, and unbiased ones that are designed for distributions do not
        either.
    estimators : tuple of str
        How its reports become distributions in figures 5 and 6: "em" and "ems" with the paper's
        tolerance, "em-relative" and "em-sum" with other readings of it, "gp", or "shares" (the
        unbiased shares of the bins, moved to the closest distribution). Empty where the paper
        leaves the mechanism out.
    role : {"paper", "baseline", "extra"}
        Whether the paper proposes it, compares with it, or leaves it out.
    curve : tuple of float, optional
        The only epsilons at which the second figure has it, where others would take minutes each.
    """

    label: str
    make: Callable[[float], Mechanism]
    for_means: bool = True
    estimators: tuple[str, ...] = ()
    role: str = "baseline"
    curve: tuple[float, ...] | None = None


def _named(name: str, **options: Any) -> Callable[[float], Mechanism]:
    return lambda epsilon: mechanism(name, epsilon, **options)


def _designed(n_outputs: int | None, objective: str, method: Any) -> Callable[[float], Mechanism]:
    return lambda epsilon: design(epsilon, n_outputs, objective, method).mechanism


_BOTH = ("em", "gp")
_PAPER = (*READINGS, "gp")  # what the paper draws with EM

CONTENDERS: Mapping[str, Contender] = MappingProxyType(
    {
        "numerical-worst": Contender(
            "N-output (worst)",
            _designed(None, "worst", "numerical"),
            estimators=_PAPER,
            role="paper",
        ),
        "numerical-average": Contender(
            "N-output (average)",
            _designed(None, "average", "numerical"),
            estimators=_PAPER,
            role="paper",
        ),
        "analytical": Contender(
            "N-output (analytical)", _designed(None, "worst", "analytical"), role="paper"
        ),
        "duchi": Contender("Duchi", _named("duchi")),
        "three-output": Contender("Three-output", _named("three-output")),
        "pm": Contender("PM", _named("pm"), estimators=_PAPER),
        "pm-sub": Contender("PM-sub", _named("pm-sub"), estimators=_PAPER),
        "square-wave": Contender(
            "Square Wave",
            _named("square-wave"),
            for_means=False,
            estimators=(*_PAPER, "ems"),
        ),
        "direct-encoding": Contender(
            "Direct encoding",
            _named("direct-encoding", bins=BINS),
            for_means=False,
            estimators=("shares", "em", "gp"),
        ),
        "oue": Contender("OUE", _named("oue", bins=BINS), for_means=False, estimators=("shares",)),
        "hybrid": Contender("Hybrid", _named("hybrid"), estimators=_BOTH, role="extra"),
        "pm-opt": Contender("PM-opt", _named("pm-opt"), estimators=_BOTH, role="extra"),
        "optimal-16": Contender(
            "optimal, N = 16", _designed(16, "worst", "optimal"), estimators=_BOTH, role="extra"
        ),
        "optimal-64": Contender(
            "optimal, N = 64", _designed(64, "worst", "optimal"), estimators=_BOTH, role="extra"
        ),
        "distribution-64": Contender(
            "N-output (distribution)",
            _named("n-output-distribution", n_outputs=64),
            for_means=False,
            estimators=_BOTH,
            role="extra",
        ),
        "balanced": Contender(
            "N-output (balanced)",
            _named("n-output-balanced"),
            estimators=_BOTH,
            role="extra",
            curve=catalog.TRAINED_EPSILONS,
        ),
    }
)
"""Every mechanism of the evaluation, in the order of legends and tables."""


@lru_cache(maxsize=512)
def make(name: str, epsilon: float) -> Mechanism:
    """Return a mechanism of the evaluation."""
    return CONTENDERS[name].make(epsilon)


def bound(epsilon: float) -> float:
    """Return a worst-case variance that no unbiased mechanism of any size can beat."""
    proven = catalog.lower_bound(epsilon)
    if proven is None:
        raise InvalidArgumentError("epsilon", "lie where a lower bound is known", epsilon)
    return proven


@dataclass(frozen=True, slots=True)
class PaperFigure:
    """A figure or table of the paper.

    Parameters
    ----------
    title : str
    task : str
        What is simulated for it: "collection" (people who each report one attribute drawn at
        random), "campaign" (people at the least favorable number), or nothing.
    """

    title: str
    task: str = ""


FIGURES: Mapping[str, PaperFigure] = MappingProxyType(
    {
        "example": PaperFigure("An example, N = 5 and epsilon = 1 (Figure 1)"),
        "worst-case-variance": PaperFigure("Worst-case variance of one report (Figure 2)"),
        "worst-case-rmse": PaperFigure("Worst-case error of the mean (Figure 3)", "campaign"),
        "mean": PaperFigure("Error of the mean on real data (Figure 4)", "collection"),
        "distribution": PaperFigure(
            "Error of the distribution on real data (Figure 5)", "collection"
        ),
        "variance": PaperFigure("Error of the variance on real data (Figure 6)", "collection"),
        "bits": PaperFigure("Bits of a report (Table 1)"),
    }
)
"""Every figure that can be reproduced, in the order of the paper."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """What one call runs.

    Parameters
    ----------
    runs : int
        How often every collection is repeated.
    seed : int
        Another one gives other noise.
    figures, mechanisms, datasets : tuple of str
    own : tuple of OwnFile
        Files of those datasets that are nobody else's.
    epsilons : tuple of float
        Of all figures but the second.
    curve : tuple of float
        The epsilons of the second figure.
    folder : str, optional
        Where the datasets lie.
    """

    runs: int = 100
    seed: int = 1
    figures: tuple[str, ...] = tuple(FIGURES)
    mechanisms: tuple[str, ...] = tuple(CONTENDERS)
    datasets: tuple[str, ...] = DATASETS
    own: tuple[OwnFile, ...] = ()
    epsilons: tuple[float, ...] = tuple(k / 2 for k in range(1, 11))
    curve: tuple[float, ...] = catalog.NUMERICAL_EPSILONS
    folder: str | None = field(default=None, compare=False)

    @property
    def tasks(self) -> frozenset[str]:
        """What has to be simulated."""
        return frozenset(FIGURES[name].task for name in self.figures) - {""}


FULL = Scenario()
"""The paper's: 100 runs at ten epsilons."""

_FEW = (1.0, 2.0, 4.0)
QUICK = replace(FULL, runs=5, epsilons=_FEW, curve=_FEW)
"""A first look that takes minutes: 5 runs at three epsilons."""


def command(scenario: Scenario) -> str:
    """Return the command that runs a scenario, wherever the data and the results are.

    Examples
    --------
    >>> command(FULL)
    'noutput reproduce --runs 100 --seed 1'
    """
    parts = ["noutput", "reproduce"]
    parts += [] if scenario.figures == FULL.figures else scenario.figures
    parts += ["--quick"] if scenario.epsilons == QUICK.epsilons else []
    parts += ["--runs", str(scenario.runs), "--seed", str(scenario.seed)]
    if scenario.datasets != FULL.datasets:
        paths = {file.name: file.path for file in scenario.own}
        for name in scenario.datasets:
            parts += ["--dataset", paths.get(name, name)]
    for given in dict.fromkeys(given for file in scenario.own for given in file.bounds):
        parts += ["--bounds", str(given)]
    return shlex.join(parts)
