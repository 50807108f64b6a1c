"""The paper's stopping rule (docs/errata.md, section 5)."""

from __future__ import annotations

import numpy as np

from noutput.estimate import em
from noutput.estimate.distance import wasserstein
from tests.estimate.samples import campaigns, population, sixteen

TAU = 1e-5


def test_the_stopping_rule_needs_normalized_counts() -> None:
    """On raw counts, tau bounds a sum over all people: EM runs on until it fits the noise.

    The log-likelihood of m raw counts changes by at most tau where that of the shares changes by
    at most tau / m.
    """
    table, people = sixteen(1.0), 20_000
    theta = table.transition(64)
    drawn = campaigns(table, "two-humped", people, 20, np.random.default_rng(3))
    truth = np.histogram(population("two-humped"), 64, (-1.0, 1.0))[0] / 20_000
    shares = drawn / people
    normalized = em.maximize(shares, theta, np.full(20, TAU))
    raw = em.maximize(shares, theta, np.full(20, TAU / people), max_iterations=5_000)
    assert normalized.converged.all()
    assert np.all(raw.iterations > 10 * normalized.iterations)
    distances = [np.mean(wasserstein(fit.probabilities, truth)) for fit in (normalized, raw)]
    assert distances[0] < distances[1]
