"""The sampler itself is tested, and the test is shown to reject wrong samplers."""

from __future__ import annotations

import os

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chisquare

from noutput.designs.paper import analytical
from noutput.mechanisms.quantize import quantize
from noutput.mechanisms.table import TableMechanism
from tests.tables import window_table

DRAWS = 1_000_000
INPUTS = (-1.0, -0.613, 0.0, 0.25, 0.9, 1.0)
LEVEL = 1e-4


def p_value(reports: NDArray[np.uint8], probabilities: NDArray[np.float64]) -> float:
    counts = np.bincount(reports, minlength=len(probabilities))
    return float(chisquare(counts, probabilities * reports.size).pvalue)


def draws(table: TableMechanism, x: float, seed: int) -> NDArray[np.uint8]:
    return table.privatize(np.full(DRAWS, x), np.random.default_rng(seed))


def analytical_table(epsilon: float, n_outputs: int) -> TableMechanism:
    real = analytical.solve(epsilon, n_outputs)
    return quantize(epsilon, real.outputs, real.probabilities)


PAIRS = {
    "duchi": (analytical_table(1.0, 2), analytical_table(1.2, 2)),
    "five outputs": (analytical_table(4.0, 5), analytical_table(4.8, 5)),
    "sixteen outputs": (window_table(1.0, 16, 33, 0.4), window_table(1.2, 16, 33, 0.4)),
}


@pytest.mark.parametrize("name", PAIRS)
def test_the_sampler_fits_its_probabilities(name: str) -> None:
    table, _ = PAIRS[name]
    for seed, x in enumerate(INPUTS):
        assert p_value(draws(table, x, seed), table.probabilities(x)) > LEVEL


@pytest.mark.parametrize("name", PAIRS)
def test_a_sampler_for_a_larger_epsilon_is_rejected(name: str) -> None:
    table, wrong = PAIRS[name]
    for x in (-1.0, 1.0):
        assert p_value(draws(wrong, x, 0), table.probabilities(x)) < 1e-12


def test_secure_draws_fit_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a known key instead of the operating system's, so that the result is always the same."""
    monkeypatch.setattr(os, "urandom", lambda size: bytes(range(size)))
    table, _ = PAIRS["sixteen outputs"]
    reports = table.privatize(np.full(DRAWS, 0.3))
    assert p_value(reports, table.probabilities(0.3)) > LEVEL


def test_mean_and_variance_of_decoded_reports() -> None:
    table, _ = PAIRS["sixteen outputs"]
    for seed, x in enumerate(INPUTS):
        decoded = table.outputs[draws(table, x, seed)]
        variance = float(table.variance(x))
        assert abs(decoded.mean() - x) < 4.5 * (variance / DRAWS) ** 0.5
        assert decoded.var() == pytest.approx(variance, rel=0.01)


def test_reports_of_one_call_are_independent() -> None:
    table, _ = PAIRS["sixteen outputs"]
    decoded = table.outputs[draws(table, 0.1, 5)] - 0.1
    for lag in (1, 2, 16, 1 << 14):
        correlation = float(np.mean(decoded[lag:] * decoded[:-lag]) / decoded.var())
        assert abs(correlation) < 5 / DRAWS**0.5
