"""The limit of the trade-off holds for real mechanisms, and is that of the lower bound."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest

import noutput as no
from noutput.designs import tradeoff
from noutput.designs.columns import Optimal
from noutput.mechanisms.base import Channel

EPSILON = 1.0
CELLS = 4


def lower_bound(epsilon: float) -> float:
    found = no.design(epsilon, 16).lower_bound
    assert found is not None
    return found


@lru_cache
def best(slack: float) -> Optimal:
    limit = (1.0 + slack) * lower_bound(EPSILON)
    return tradeoff.best_tradeoff(EPSILON, limit, cells=CELLS, tolerance=1e-3)


@pytest.mark.parametrize("name", ["pm", "square-wave", "hybrid", "duchi", "n-output"])
def test_the_rows_of_mechanisms_fulfill_the_constraints(name: str) -> None:
    """Means of cells are their middles, and second moments at most c² + w²/12 + V."""
    moments = tradeoff._moments(CELLS)
    mechanism = no.mechanism(name, EPSILON)
    x = (np.arange(2000) + 0.5) / 1000.0 - 1.0
    second = (mechanism.variance(x) + x**2).reshape(CELLS, -1).mean(axis=1)
    means = mechanism.mean(x).reshape(CELLS, -1).mean(axis=1)
    np.testing.assert_allclose(means, moments.inputs[:CELLS], atol=1e-6)
    assert np.all(second <= moments.squares[:CELLS] + mechanism.worst_variance() + 1e-6)
    assert moments.inputs[CELLS:].tolist() == [-1.0, 1.0]


@pytest.mark.parametrize("name", ["pm", "square-wave", "hybrid", "n-output"])
def test_no_mechanism_is_below_the_limit(name: str) -> None:
    mechanism = no.mechanism(name, EPSILON)
    assert isinstance(mechanism, Channel)
    slack = mechanism.worst_variance() / lower_bound(EPSILON) - 1.0
    found = best(0.001 if slack < 0.001 else 0.1 if slack < 0.1 else 0.5)
    assert found.bound is not None
    value = tradeoff.cdf_error(EPSILON, CELLS).value(mechanism.transition(CELLS))
    assert value > found.bound


def test_more_variance_buys_information_up_to_a_limit() -> None:
    values = [best(slack).value for slack in (0.001, 0.1, 0.5)]
    assert values[0] > values[1] > values[2] * (1 - 1e-3)
    free = tradeoff.best_cdf(EPSILON, CELLS, tolerance=1e-4)
    assert free.bound is not None
    assert values[2] >= free.bound
    assert all((best(slack).gap or 1.0) <= 1e-3 for slack in (0.001, 0.1))


def test_square_wave_has_the_value_1() -> None:
    wave = no.mechanism("square-wave", EPSILON)
    assert isinstance(wave, Channel)
    value = tradeoff.cdf_error(EPSILON, CELLS).value(wave.transition(CELLS))
    assert value == pytest.approx(1.0, rel=1e-9)


def test_the_least_variance_of_few_cells_is_below_the_lower_bound() -> None:
    found = tradeoff.least_variance(EPSILON, CELLS)
    assert found.bound is not None
    assert 0.98 < found.bound / lower_bound(EPSILON) <= 1.0


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "share"), [(1.0, 0.9995), (3.0, 0.995)])
def test_the_least_variance_of_16_cells_is_the_lower_bound(epsilon: float, share: float) -> None:
    found = tradeoff.least_variance(epsilon)
    assert found.gap is not None
    assert found.gap <= 1e-6
    assert share < found.value / lower_bound(epsilon) <= 1.0
