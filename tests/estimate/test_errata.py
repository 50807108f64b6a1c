"""The paper's stopping rule (docs/errata.md, section 5)."""

from __future__ import annotations

import numpy as np

from noutput.estimate import em
from tests.estimate.samples import campaigns, sixteen

TAU = 1e-5


def test_the_stopping_rule_needs_normalized_counts() -> None:
    """On raw counts, the same shares are iterated the longer the more people there are.

    The log-likelihood of m raw counts changes by at most tau where that of the shares changes by
    at most tau / m.
    """
    table = sixteen(1.0)
    theta = table.transition(64)
    shares = campaigns(table, "two-humped", 20_000, 1, np.random.default_rng(3)) / 20_000
    people = np.array([1.0, 100.0, 10_000.0])
    found = em.maximize(np.repeat(shares, 3, axis=0), theta, TAU / people)
    assert found.converged.all()
    normalized, hundred, many = found.iterations
    assert 50 < normalized < 200
    assert hundred > 3 * normalized
    assert many > 3 * hundred
