"""How good are the mechanisms of the literature, and how good can any be? With a figure.

The worst-case variance over epsilon, as a multiple of a bound that no unbiased mechanism can beat,
and the error of the mean in 2,000 simulated campaigns::

    pip install '.[plot]'  # in the folder of the project; docs/install.md has other ways
    python examples/comparison.py comparison.png
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np

import noutput as no

mpl.use("agg")  # draws files, needs no screen
from matplotlib import pyplot as plt

NAMES = ("duchi", "three-output", "pm-sub", "hybrid", "n-output")
EPSILONS = (0.5, 0.75, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0)
PEOPLE = 2_000
CAMPAIGNS = 2_000


def multiples(name: str) -> list[float]:
    """Return the worst-case variance of a mechanism, divided by the lower bound."""
    result = []
    for epsilon in EPSILONS:
        bound = no.design(epsilon, 16, "worst").lower_bound
        assert bound is not None  # noqa: S101 (optimal designs have one)
        result.append(no.mechanism(name, epsilon).worst_variance() / bound)
    return result


def simulated_error(name: str, epsilon: float, rng: np.random.Generator) -> tuple[float, float]:
    """Return the root mean squared error of the mean over many campaigns, and what theory says."""
    mechanism = no.mechanism(name, epsilon)
    people = np.clip(rng.normal(0.2, 0.4, PEOPLE), -1.0, 1.0)
    errors = [
        mechanism.decode(mechanism.privatize(people, rng=rng)).mean() - people.mean()
        for _ in range(CAMPAIGNS)
    ]
    expected = np.sqrt(np.mean(mechanism.variance(people)) / PEOPLE)
    return float(np.sqrt(np.mean(np.square(errors)))), float(expected)


def draw(curves: dict[str, list[float]], target: Path) -> None:
    """Draw the multiples over epsilon; 1 is the limit."""
    figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
    for name, values in curves.items():
        axes.plot(EPSILONS, values, label=no.MECHANISMS[name].label, marker="o", markersize=3)
    axes.axhline(1.0, color="black", linewidth=1, linestyle=":")
    axes.annotate("no unbiased mechanism is below", (EPSILONS[-1], 0.98), ha="right", va="top")
    axes.set(xlabel="epsilon", ylabel="worst-case variance / lower bound", ylim=(0.85, 3.0))
    axes.legend(frameon=False)
    figure.savefig(target, dpi=150)
    plt.close(figure)


def main() -> None:
    """Print both comparisons, and draw the first."""
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "comparison.png")
    curves = {name: multiples(name) for name in NAMES}
    print("Worst-case variance as a multiple of the lower bound for all mechanisms")
    print("epsilon       " + "".join(f"{epsilon:7g}" for epsilon in EPSILONS))
    for name, values in curves.items():
        print(f"{name:14}" + "".join(f"{value:7.3f}" for value in values))
    draw(curves, target)
    print(f"Figure saved in {target}\n")

    rng = np.random.default_rng(7)
    print(f"Error of the mean of {PEOPLE:,} people at epsilon 1, {CAMPAIGNS:,} campaigns")
    for name in NAMES:
        found, expected = simulated_error(name, 1.0, rng)
        print(f"{name:14} simulated {found:.4f}   expected {expected:.4f}")


if __name__ == "__main__":
    main()
