from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noutput.designs.paper import analytical
from noutput.errors import DesignError, InvalidArgumentError
from noutput.mechanisms.moments import largest_variance
from noutput.mechanisms.quantize import _CLOSEST_KNOTS, quantize
from noutput.mechanisms.table import TableMechanism
from tests.tables import epsilons, tables


@given(epsilons, st.integers(2, 16))
def test_the_value_lost_is_below_a_millionth(epsilon: float, n_outputs: int) -> None:
    try:
        real = analytical.solve(epsilon, n_outputs)
    except DesignError:
        return
    table = quantize(epsilon, real.outputs, real.probabilities)
    assert table.privacy_loss() <= epsilon
    assert table.worst_variance() == pytest.approx(real.worst_variance, rel=1e-6)
    assert table.knots[0] == -1.0
    assert table.knots[-1] == 1.0


@given(epsilons, st.integers(2, 40), st.integers(2, 20), st.integers(0, 2**32))
def test_any_private_probabilities_can_be_quantized(
    epsilon: float, n_outputs: int, n_knots: int, seed: int
) -> None:
    """Random, unsymmetric rows inside the ratio."""
    rng = np.random.default_rng(seed)
    c = math.exp(epsilon)
    low = rng.uniform(0.2, 1.0, n_outputs)
    low *= (1.0 / c + rng.uniform(0.3, 0.7) * (1.0 - 1.0 / c)) / low.sum()
    room = (c - 1.0) * low
    outputs = np.sort(rng.normal(size=n_outputs)) + np.arange(n_outputs) * 0.1
    tilt = np.linspace(-3.0, 3.0, n_knots)[:, None] * np.linspace(-1.0, 1.0, n_outputs)
    share = 1.0 / (1.0 + np.exp(-tilt))
    # scale the shares so that every row adds up to one
    shift = np.array([_shift(row, room, 1.0 - low.sum()) for row in share])
    rows = low + room * shift
    means = rows @ outputs
    outputs = (outputs - (means[0] + means[-1]) / 2.0) * (2.0 / (means[-1] - means[0]))
    table = quantize(epsilon, outputs, rows)
    # Rows that coincide are dropped; how many do depends on how the processor rounds.
    rows = rows[np.diff(rows @ outputs, prepend=-np.inf) > _CLOSEST_KNOTS]
    before = largest_variance(rows @ outputs, rows @ outputs**2)
    assert table.privacy_loss() <= epsilon
    assert table.worst_variance() == pytest.approx(before, rel=1e-5)


def _shift(share: np.ndarray[Any, Any], room: np.ndarray[Any, Any], total: float) -> Any:
    """Raise shares to a power so that they take `total` of the room."""
    low, high = -20.0, 20.0
    for _ in range(100):
        power = (low + high) / 2.0
        if (room * share ** math.exp(power)).sum() > total:
            low = power
        else:
            high = power
    return share ** math.exp(power)


@given(tables())
def test_symmetric_designs_give_symmetric_tables(table: TableMechanism) -> None:
    np.testing.assert_array_equal(table.outputs, -table.outputs[::-1])
    np.testing.assert_array_equal(table.weights, table.weights[::-1, ::-1])
    np.testing.assert_array_equal(table.knots, -table.knots[::-1])


def test_an_output_without_weight_is_dropped() -> None:
    rows = [[0.75, 0.0, 0.25], [0.25, 0.0, 0.75]]
    assert quantize(1.1, [-2.0, 0.0, 2.0], rows).outputs.tolist() == [-2.0, 2.0]


def test_rows_that_coincide_are_merged() -> None:
    rows = [[0.75, 0.25], [0.5, 0.5], [0.5, 0.5], [0.25, 0.75]]
    assert quantize(1.1, [-2.0, 2.0], rows).knots.tolist() == [-1.0, 0.0, 1.0]


def test_small_violations_are_repaired() -> None:
    c = math.exp(1.0)
    p = 1.0 / (1.0 + c)
    rows = np.array([[c * p, p], [p, c * p]]) * (1 + 3e-8) + [[2e-8, -4e-8], [0.0, 0.0]]
    a = (c + 1.0) / (c - 1.0)
    table = quantize(1.0, [-a, a], rows)
    assert table.privacy_loss() <= 1.0
    assert table.worst_variance() == pytest.approx(a**2, rel=1e-6)


@pytest.mark.parametrize(
    ("outputs", "rows", "match"),
    [
        ([-2, 2], [[0.8, 0.2], [0.2, 0.8]], "ratios"),
        ([-2, 2], [[0.7, 0.2], [0.2, 0.7]], "add up to 1"),
        ([-2, 2], [[1.2, -0.2], [-0.2, 1.2]], "nonnegative"),
        ([-2, 2], [[math.nan, 0.2], [0.2, 0.7]], "nonnegative"),
        ([-2, 2, 3], [[0.7, 0.3], [0.3, 0.7]], "rows of 3"),
        ([-2, 2], [0.7, 0.3], "rows of 2"),
        ([-2, 2], [[0.5, 0.5], [0.5, 0.5]], "coincide"),
    ],
)
def test_what_cannot_be_repaired_is_refused(outputs: Any, rows: Any, match: str) -> None:
    with pytest.raises((InvalidArgumentError, DesignError), match=match):
        quantize(1.0, outputs, rows)


def test_epsilon_too_small_for_32_bits_is_refused() -> None:
    for epsilon in (1e-12, 1e-300):
        with pytest.raises(DesignError):
            quantize(epsilon, [-1e12, 1e12], [[0.5, 0.5], [0.5, 0.5]])


@pytest.mark.parametrize("epsilon", [15.0, 25.0, 800.0])
def test_huge_epsilon_works(epsilon: float) -> None:
    tiny = 2.0**-20
    a = 1.0 / (1.0 - 2.0 * tiny)
    table = quantize(epsilon, [-a, a], [[1 - tiny, tiny], [tiny, 1 - tiny]])
    assert table.privacy_loss() <= epsilon


@pytest.mark.parametrize("middle", [5, 6, 7, 9, 15])
def test_a_middle_output_without_room_stays_private(middle: int) -> None:
    epsilon = 0.05
    c = math.exp(epsilon)
    rare = middle / 2**32
    p = (1.0 - rare) / (c + 1.0)
    a = (c + 1.0) / (c - 1.0)
    half = (1.0 - rare) / 2.0
    rows = [[c * p, rare, p], [half, rare, half], [p, rare, c * p]]
    table = quantize(epsilon, [-a, 0.0, a], rows)
    assert table.privacy_loss() <= epsilon


@pytest.mark.parametrize("epsilon", [1e-6, 1e-8])
def test_an_epsilon_that_32_bits_cannot_express_is_refused(epsilon: float) -> None:
    real = analytical.solve(epsilon, 2)
    with pytest.raises(DesignError, match="too small"):
        quantize(epsilon, real.outputs, real.probabilities)
