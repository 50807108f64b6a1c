"""Tidy results: one row per dataset, mechanism, estimator and epsilon."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import astuple, dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from noutput.evaluation.provenance import commit, versions
from noutput.evaluation.scenarios import CONTENDERS
from noutput.evaluation.units import WORST_CASE

if TYPE_CHECKING:
    from pathlib import Path

    from noutput.evaluation.run import FinishedRun
    from noutput.evaluation.scenarios import Scenario

__all__ = ["BINNED", "BOUND", "RAW", "Results", "Row", "tidy", "write_csv"]

BOUND = "lower-bound"
"""What stands for a mechanism in the rows of the lower bound."""

RAW, BINNED = "values", "bins"
"""What an error of a variance may be taken against; see `work.true_variances`."""


_ROUNDING = 1e-9  # of a number; sums of the same reports in another order differ by less


@dataclass(frozen=True, slots=True)
class Row:
    """One point of a figure.

    Parameters
    ----------
    figure, dataset, mechanism : str
    estimator : str
        How the reports were turned into the estimate; empty for what has one way only.
    epsilon : float
    value : float
        The error (or the variance, in the second figure).
    standard_error : float
        Of the value, from the spread of the runs; 0 for what is computed.
    runs : int
        How many runs the value is averaged over; 0 for what is computed.
    predicted : float
        What theory says; NaN where it does not.
    truth : {"", "values", "bins"}
        What an error of a variance is taken against: the variance of the numbers, or that of their
        histogram. Empty in all other figures.
    """

    figure: str
    dataset: str
    mechanism: str
    estimator: str
    epsilon: float
    value: float
    standard_error: float = 0.0
    runs: int = 0
    predicted: float = math.nan
    truth: str = ""

    @property
    def deviation(self) -> float:
        """How many standard errors the value lies above what theory predicts.

        NaN where all runs are equal: a spread of 0 says nothing about the noise of further runs.
        """
        if self.standard_error == 0.0:
            return math.nan
        return (self.value - self.predicted) / self.standard_error


@dataclass(frozen=True)
class Results:
    """All rows of a scenario.

    Parameters
    ----------
    scenario : Scenario
    rows : tuple of Row
        In the order of figures, datasets, mechanisms, estimators and epsilons.
    """

    scenario: Scenario
    rows: tuple[Row, ...]

    def of(self, figure: str, **wanted: str | float) -> list[Row]:
        """Return the rows of a figure that have the wanted fields."""
        return [
            row
            for row in self.rows
            if row.figure == figure and all(getattr(row, k) == v for k, v in wanted.items())
        ]


def tidy(outcome: FinishedRun) -> Results:
    """Turn what was measured into rows."""
    scenario = outcome.scenario
    rows: list[Row] = []
    if "worst-case-variance" in scenario.figures:
        for (name, epsilon), mechanism in outcome.mechanisms.items():
            if CONTENDERS[name].for_means and epsilon in scenario.curve:
                value = mechanism.worst_variance()
                rows.append(Row("worst-case-variance", WORST_CASE, name, "", epsilon, value))
        for epsilon, value in outcome.bounds.items():
            rows.append(Row("worst-case-variance", WORST_CASE, BOUND, "", epsilon, value))
    for (task, dataset, name, epsilon), measures in outcome.measures.items():
        for measure, values in measures.items():
            figure, estimator, truth, reduce = _place(task, measure)
            if figure in scenario.figures:
                value, error = reduce(np.array(values))
                predicted = measures["predicted"][0] ** 0.5 if measure == "mean" else math.nan
                rows.append(
                    Row(
                        figure,
                        dataset,
                        name,
                        estimator,
                        epsilon,
                        value,
                        error,
                        len(values),
                        predicted,
                        truth,
                    )
                )
    return Results(scenario, tuple(sorted(rows, key=_order(scenario))))


def _order(scenario: Scenario) -> Callable[[Row], tuple[object, ...]]:
    datasets = [WORST_CASE, *scenario.datasets]
    names = [*CONTENDERS, BOUND]
    return lambda row: (
        scenario.figures.index(row.figure),
        datasets.index(row.dataset),
        names.index(row.mechanism),
        row.estimator,
        row.truth,
        row.epsilon,
    )


Reduce = Callable[["np.ndarray[tuple[int], np.dtype[np.float64]]"], tuple[float, float]]


def _place(task: str, measure: str) -> tuple[str, str, str, Reduce]:
    """Return the figure, estimator and truth of a measure, and how its runs become one number."""
    kind, estimator, truth, *_ = (*measure.split("/"), "", "")
    if kind == "predicted":
        return "", "", "", average
    if kind == "mean":
        return ("worst-case-rmse" if task == "campaign" else "mean"), "", "", root_mean
    if kind == "wasserstein":
        return "distribution", estimator, "", average
    return "variance", estimator, truth, root_mean


def average(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> tuple[float, float]:
    """Return the mean of the runs, and its standard error.

    Runs that differ by rounding alone are equal, with a standard error of 0.
    """
    mean = float(values.mean())
    if len(values) < 2:
        return mean, math.nan
    if float(np.ptp(values)) <= _ROUNDING * float(np.abs(values).max()):
        return mean, 0.0
    return mean, float(values.std(ddof=1)) / math.sqrt(len(values))


def root_mean(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> tuple[float, float]:
    r"""Return the root of the mean of square errors, and its standard error.

    By the delta method, that of :math:`\sqrt m` is that of m divided by :math:`2 \sqrt m`. A mean
    of 0 has no spread: all square errors are 0.
    """
    mean, error = average(values)
    root = math.sqrt(mean)
    return (root, error / (2.0 * root)) if root else (0.0, 0.0)


def header(scenario: Scenario) -> list[str]:
    """Return the remarks above a table: what it follows from, and nothing that varies else."""
    made = ", ".join(f"{name} {version}" for name, version in versions().items())
    return [
        f"# seed {scenario.seed}, runs {scenario.runs}, commit {commit() or 'unknown'}",
        f"# {made}",
    ]


def write_csv(
    path: Path, scenario: Scenario, columns: Sequence[str], lines: Iterable[Sequence[object]]
) -> None:
    """Write a table; the same numbers give the same bytes."""
    text = [*header(scenario), ",".join(columns)]
    text += [",".join(_cell(value) for value in line) for line in lines]
    path.write_text("\n".join(text) + "\n", encoding="utf-8")


def write_rows(path: Path, scenario: Scenario, rows: Iterable[Row]) -> None:
    """Write rows as CSV."""
    write_csv(path, scenario, [field.name for field in fields(Row)], map(astuple, rows))


def _cell(value: object) -> str:
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.8g}"
    return str(value)
