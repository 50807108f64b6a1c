"""Balanced tables and those for distributions against PM, PM-sub and Square Wave.

``python -m benchmarks.distribution`` measures on the four datasets of the folder NOUTPUT_DATA, and
with ``--held-back`` on synthetic histograms that nothing was trained on. Every person reports one
attribute, drawn at random; all mechanisms get the same people and the same random words.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import click
import numpy as np
from numpy.typing import NDArray

import noutput as no
from benchmarks.synthetic import held_back
from noutput.estimate import methods
from noutput.estimate.counts import Counts
from noutput.estimate.distance import wasserstein
from noutput.evaluation.datasets import DATASETS, load

Array: TypeAlias = NDArray[np.float64]

BINS = 64
EPSILONS = (0.5, 1.0, 2.0, 3.0)
RIVALS = ("pm", "pm-sub", "square-wave")
RULES: dict[str, tuple[str, float | str]] = {
    "1e-5": ("em", 1e-5),
    "auto": ("em", "auto"),
    "gp": ("gp", "auto"),
}
_CENTERS = (np.arange(BINS) + 0.5) * (2.0 / BINS) - 1.0


@dataclass(frozen=True)
class Table:
    """Which of our tables is compared."""

    objective: str
    size: int | None

    def design(self, epsilon: float) -> no.Design:
        """Return it; without a size, as many outputs as it has by default."""
        return no.design(epsilon, self.size, self.objective)


@dataclass(frozen=True)
class Errors:
    """The errors of one mechanism under one rule, of shape (repetitions, attributes)."""

    distance: Array
    variance: Array

    @property
    def runs(self) -> Array:
        """The Wasserstein error of every repetition, averaged over the attributes."""
        return np.asarray(self.distance.mean(axis=1))

    @property
    def variance_error(self) -> float:
        """The root mean square error of the variance, averaged over the attributes."""
        return float(np.sqrt((self.variance**2).mean(axis=0)).mean())


@dataclass(frozen=True)
class Cell:
    """One comparison with the best of the rivals.

    Parameters
    ----------
    ratio, score : float
        Of the distance, to that of the rival with the least; and its gap in standard errors.
    variance_ratio, rival_variance_ratio : float
        Of the error of the variance: to the least of all rivals, and to that of `rival`.
    rival : str
    """

    ratio: float
    score: float
    variance_ratio: float
    rival: str
    rival_variance_ratio: float


def compare(found: Errors, rivals: dict[str, Errors]) -> Cell:
    """Compare with the rival of least distance, and with the least error of the variance."""
    rival = min(rivals, key=lambda name: float(rivals[name].runs.mean()))
    gaps = found.runs - rivals[rival].runs
    return Cell(
        float(found.runs.mean() / rivals[rival].runs.mean()),
        float(gaps.mean() / (gaps.std(ddof=1) / np.sqrt(len(gaps)))),
        found.variance_error / min(each.variance_error for each in rivals.values()),
        rival,
        found.variance_error / rivals[rival].variance_error,
    )


def _variances(histograms: Array) -> Array:
    result: Array = histograms @ _CENTERS**2 - (histograms @ _CENTERS) ** 2
    return result


def estimate(counts: Array, truths: Array, theta: Array, rule: str) -> Errors:
    """Return the errors of counts of shape (repetitions, attributes, outputs)."""
    flat = counts.reshape(-1, counts.shape[-1])
    totals = flat.sum(axis=1)
    method, tolerance = RULES[rule]
    fit = methods.fit(Counts(flat / totals[:, None], totals), theta, method, tolerance)
    shape = (*counts.shape[:2], BINS)
    goals = np.broadcast_to(truths, shape).reshape(-1, BINS)
    distance = np.asarray(wasserstein(fit.probabilities, goals)).reshape(shape[:2])
    return Errors(distance, (_variances(fit.probabilities.reshape(shape)) - _variances(truths)))


def collect(mechanism: Any, values: Array, repetitions: int) -> Array:
    """Return counts of shape (repetitions, attributes, outputs)."""
    people, attributes = values.shape
    outputs = mechanism.n_cells
    counts = np.empty((repetitions, attributes, outputs))
    for run in range(repetitions):
        rng = np.random.default_rng([run, 7])
        asked = rng.integers(attributes, size=people)
        reports = mechanism.privatize(values[np.arange(people), asked], rng=rng)
        cells = asked * outputs + mechanism.cells(reports)
        counts[run] = np.bincount(cells, minlength=attributes * outputs).reshape(attributes, -1)
    return counts


def _dataset_cells(
    epsilon: float, dataset: str, ours: Table, repetitions: int, rules: tuple[str, ...]
) -> Iterator[tuple[str, Cell]]:
    values = load(dataset).values
    truths = np.stack([np.histogram(each, BINS, (-1.0, 1.0))[0] / len(each) for each in values.T])
    mechanisms: dict[str, Any] = {name: no.mechanism(name, epsilon) for name in RIVALS}
    mechanisms["ours"] = ours.design(epsilon).mechanism
    counts = {name: collect(each, values, repetitions) for name, each in mechanisms.items()}
    for rule in rules:
        errors = {
            name: estimate(counts[name], truths, np.asarray(each.transition(BINS)), rule)
            for name, each in mechanisms.items()
        }
        yield rule, compare(errors.pop("ours"), errors)


def _synthetic_cells(
    epsilon: float, ours: Table, repetitions: int, rules: tuple[str, ...]
) -> Iterator[tuple[str, str, Cell]]:
    mechanisms: dict[str, Any] = {name: no.mechanism(name, epsilon) for name in RIVALS}
    mechanisms["ours"] = ours.design(epsilon).mechanism
    people = np.geomspace(600.0, 16_000.0, 40).astype(np.int64)
    for family, truths in held_back(np.random.default_rng(98), len(people)).items():
        for rule in rules:
            errors = {}
            for name, each in mechanisms.items():
                theta = np.asarray(each.transition(BINS))
                chances = truths @ theta
                chances /= chances.sum(axis=1, keepdims=True)
                rng = np.random.default_rng(3)
                counts = [rng.multinomial(people, chances) for _ in range(repetitions)]
                errors[name] = estimate(np.array(counts, np.float64), truths, theta, rule)
            yield family, rule, compare(errors.pop("ours"), errors)


def _mean(values: list[float]) -> float:
    return float(np.exp(np.mean(np.log(values))))


def _show(cells: list[tuple[float, str, str, Cell]], rules: tuple[str, ...]) -> None:
    for epsilon, name, rule, cell in cells:
        click.echo(
            f"epsilon {epsilon:<4g} {name:16} {rule:5} distance {cell.ratio:.3f} "
            f"({cell.score:+6.1f} s.e., {cell.rival}), variance {cell.variance_ratio:.3f} "
            f"(of {cell.rival} {cell.rival_variance_ratio:.3f})"
        )
    for rule in rules:
        mine = [cell for _, _, other, cell in cells if other == rule]
        won = sum(cell.score < -2.0 for cell in mine)
        lost = sum(cell.score > 2.0 for cell in mine)
        click.echo(
            f"{rule:5} geometric mean {_mean([cell.ratio for cell in mine]):.3f}, "
            f"variance {_mean([cell.variance_ratio for cell in mine]):.3f} "
            f"(of the same rival {_mean([cell.rival_variance_ratio for cell in mine]):.3f}); "
            f"better beyond 2 s.e. in {won} of {len(mine)}, worse in {lost}"
        )


@click.command()
@click.option("--repetitions", default=24, show_default=True)
@click.option("--objective", default="balanced", show_default=True)
@click.option("--outputs", type=int, help="As many as the objective has by default.")
@click.option("--epsilon", "epsilons", multiple=True, type=float, default=EPSILONS)
@click.option("--rule", "rules", multiple=True, type=click.Choice(list(RULES)), default=list(RULES))
@click.option("--held-back", "synthetic", is_flag=True, help="Synthetic histograms instead.")
def main(
    repetitions: int,
    objective: str,
    outputs: int | None,
    epsilons: tuple[float, ...],
    rules: tuple[str, ...],
    *,
    synthetic: bool,
) -> None:
    """Print every comparison, and their geometric means."""
    cells: list[tuple[float, str, str, Cell]] = []
    ours = Table(objective, outputs)
    for epsilon in epsilons:
        if synthetic:
            found = _synthetic_cells(epsilon, ours, repetitions, rules)
            cells += [(epsilon, family, rule, cell) for family, rule, cell in found]
            continue
        for dataset in DATASETS:
            runs = _dataset_cells(epsilon, dataset, ours, repetitions, rules)
            cells += [(epsilon, dataset, rule, cell) for rule, cell in runs]
    _show(cells, rules)


if __name__ == "__main__":
    main()
