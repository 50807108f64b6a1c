"""Which stopping rule of EM tables for distributions should be trained with.

``python -m benchmarks.stopping`` trains one table for every rule, with the same seed, and measures
both on the held-back family under every estimator. All mechanisms get the same people, and the
same uniform number for every report.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import click
import numpy as np
from numpy.typing import NDArray

import noutput as no
from benchmarks.distribution import BINS, RIVALS, RULES, estimate
from benchmarks.synthetic import held_back
from noutput.designs.distribution import solve
from noutput.designs.distribution.simulated import Schedule
from noutput.mechanisms.quantize import quantize

Array: TypeAlias = NDArray[np.float64]

TRAINED: dict[str, float | str] = {"1e-5": 1e-5, "auto": "auto"}
_SHAPES = 40
_PEOPLE = np.geomspace(600.0, 16_000.0, _SHAPES).astype(np.int64)


@dataclass(frozen=True)
class Ratio:
    """A ratio of errors and its standard error."""

    value: float
    error: float

    @classmethod
    def of(cls, upper: Array, lower: Array) -> Ratio:
        """Return the ratio of the means; what varies are the shapes, and both have the same."""
        value = float(upper.mean() / lower.mean())
        rest = (upper - value * lower) / lower.mean()
        return cls(value, float(rest.std(ddof=1) / np.sqrt(len(rest))))

    @classmethod
    def mean(cls, ratios: list[Ratio]) -> Ratio:
        """Return the geometric mean of independent ratios."""
        value = float(np.exp(np.mean([np.log(each.value) for each in ratios])))
        relative = np.array([each.error / each.value for each in ratios])
        return cls(value, value * float(np.sqrt((relative**2).sum())) / len(ratios))

    def __str__(self) -> str:
        return f"{self.value:.3f} ± {self.error:.3f}"


def count(theta: Array, truths: Array, run: int) -> Array:
    """Return counts of shape (shapes, outputs); of a person, bin and number depend on `run`."""
    rng = np.random.default_rng([run, 11])
    bins, outputs = theta.shape
    # the outputs of bin b are the pieces of [b, b + 1], so that one search finds all of them
    ends = (np.cumsum(theta, axis=1) + np.arange(bins)[:, None])[:, :-1]
    pieces = np.concatenate([ends, np.arange(1.0, bins + 1.0)[:, None]], axis=1).ravel()
    result = np.empty((len(truths), outputs))
    for row, (truth, people) in enumerate(zip(truths, _PEOPLE, strict=True)):
        own = np.repeat(np.arange(bins), rng.multinomial(people, truth / truth.sum()))
        found = np.searchsorted(pieces, own + rng.random(people), side="right") - own * outputs
        result[row] = np.bincount(found, minlength=outputs)
    return result


def transitions(epsilon: float, outputs: int, steps: int, seed: int) -> dict[str, Array]:
    """Return the transition matrices of the rivals, and of one table trained for every rule."""
    mechanisms: dict[str, Any] = {name: no.mechanism(name, epsilon) for name in RIVALS}
    for name, rule in TRAINED.items():
        found = solve(epsilon, outputs, schedule=Schedule(steps, tolerance=rule, seed=seed))
        mechanisms[name] = quantize(epsilon, found.outputs, found.probabilities)
    return {name: np.asarray(each.transition(BINS)) for name, each in mechanisms.items()}


def compare(thetas: dict[str, Array], rule: str, runs: int) -> dict[str, list[Ratio]]:
    """Return for every family: "auto" to 1e-5, and either to the best rival of the family."""
    result = {}
    for family, truths in held_back(np.random.default_rng(98), _SHAPES).items():
        errors: dict[str, Array] = {}
        for name, theta in thetas.items():
            counts = np.stack([count(theta, truths, run) for run in range(runs)])
            errors[name] = estimate(counts, truths, theta, rule).distance.mean(axis=0)
        best = min((errors[name] for name in RIVALS), key=np.mean)
        pairs = [(errors["auto"], errors["1e-5"]), (errors["1e-5"], best), (errors["auto"], best)]
        result[family] = [Ratio.of(*pair) for pair in pairs]
    return result


@click.command()
@click.option("--repetitions", default=16, show_default=True)
@click.option("--gp-repetitions", default=4, show_default=True)
@click.option("--outputs", default=64, show_default=True)
@click.option("--steps", default=800, show_default=True)
@click.option("--seed", default=9, show_default=True)
@click.option("--epsilon", "epsilons", multiple=True, type=float, default=(0.5, 1.0, 2.0))
def main(
    repetitions: int,
    gp_repetitions: int,
    outputs: int,
    steps: int,
    seed: int,
    epsilons: tuple[float, ...],
) -> None:
    """Print auto / 1e-5, 1e-5 / best rival and auto / best rival, by family and on average."""
    for epsilon in epsilons:
        thetas = transitions(epsilon, outputs, steps, seed)
        for rule, (method, _) in RULES.items():
            found = compare(thetas, rule, gp_repetitions if method == "gp" else repetitions)
            means = [Ratio.mean(list(column)) for column in zip(*found.values(), strict=True)]
            for family, ratios in {**found, "all": means}.items():
                shown = "   ".join(map(str, ratios))
                click.echo(f"epsilon {epsilon:<4g} {rule:5} {family:11} {shown}")


if __name__ == "__main__":
    main()
