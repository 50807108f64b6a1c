"""How close the methods come to the true distributions of real data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from noutput import registry
from noutput.estimate import methods
from noutput.estimate.counts import Counts
from noutput.estimate.distance import wasserstein
from noutput.evaluation.datasets import DATASETS
from tests.estimate.datasets import Array, load

EPSILONS = (0.5, 1.0, 2.0, 3.0)
MECHANISMS = ("square-wave", "pm", "n-output-average")
BINS = 64
RUNS = 2


def collect(mechanism: Any, values: Array, rng: np.random.Generator) -> Counts:
    """Let every person report one attribute drawn at random, and count by attribute."""
    attribute = rng.integers(0, values.shape[1], size=len(values))
    theta = mechanism.transition(bins=BINS)
    counts = np.zeros((values.shape[1], theta.shape[1]))
    for index in range(values.shape[1]):
        reports = mechanism.privatize(values[attribute == index, index], rng=rng)
        counts[index] = np.bincount(mechanism.cells(reports), minlength=theta.shape[1])
    totals = counts.sum(axis=1)
    return Counts(counts / totals[:, None], totals)


def errors(mechanism: Any, values: Array, rng: np.random.Generator) -> Array:
    """Return the mean Wasserstein errors of em at 1e-5, em at "auto", and gp."""
    theta = mechanism.transition(bins=BINS)
    truth = np.stack(
        [np.histogram(column, BINS, (-1.0, 1.0))[0] / len(column) for column in values.T]
    )
    found = []
    for _ in range(RUNS):
        counts = collect(mechanism, values, rng)
        fits = [
            methods.fit(counts, theta, "em", 1e-5),
            methods.fit(counts, theta, "em"),
            methods.fit(counts, theta, "gp"),
        ]
        found.append([np.mean(wasserstein(fit.probabilities, truth)) for fit in fits])
    return np.asarray(np.mean(found, axis=0))


@pytest.mark.slow
def test_gp_and_auto_beat_the_fixed_tolerance() -> None:
    ratios = []
    for number, dataset in enumerate(DATASETS):
        values = load(dataset)
        for epsilon in EPSILONS:
            for name in MECHANISMS:
                rng = np.random.default_rng([number, round(10 * epsilon)])
                fixed, auto, gp = errors(registry.mechanism(name, epsilon), values, rng)
                ratios.append([auto / fixed, gp / fixed])
    auto_ratio, gp_ratio = np.exp(np.log(ratios).mean(axis=0))
    assert auto_ratio <= 0.9
    assert gp_ratio <= 0.80
