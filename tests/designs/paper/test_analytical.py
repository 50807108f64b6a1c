from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noutput.designs.paper import analytical
from noutput.errors import DesignError
from tests.tables import epsilons

# computed independently: epsilon, best N, worst-case variance, positive outputs
REFERENCE = [
    (0.5, 2, 16.670792, [4.08299]),
    (1.0, 3, 4.455452, [2.41848]),
    (2.0, 3, 0.999918, [1.46955]),
    (3.0, 4, 0.377855, [0.52433, 1.20958]),
    (4.0, 5, 0.164235, [0.65913, 1.09329]),
    (5.0, 7, 0.077223, [0.45394, 0.82556, 1.04749]),
    (6.0, 9, 0.037005, [0.32249, 0.61675, 0.85705, 1.02236]),
    (7.0, 12, 0.018245, [0.11544, 0.34131, 0.55239, 0.73953, 0.89463, 1.01095]),
]
HALF_A_DIGIT = 5e-7  # the reference variances are rounded to six decimals


@pytest.mark.parametrize(("epsilon", "n_outputs", "variance", "outputs"), REFERENCE)
def test_reference_values(
    epsilon: float, n_outputs: int, variance: float, outputs: list[float]
) -> None:
    assert analytical.best_size(epsilon, 24) == n_outputs
    table = analytical.solve(epsilon, n_outputs)
    assert table.worst_variance == pytest.approx(variance, rel=1e-5, abs=HALF_A_DIGIT)
    np.testing.assert_allclose(table.outputs[-len(outputs) :], outputs, atol=1e-4)


@pytest.mark.parametrize(("n_outputs", "epsilon"), [(3, 0.69), (4, 2.54), (8, 5.41), (16, 7.8)])
def test_where_the_best_size_changes(n_outputs: int, epsilon: float) -> None:
    assert analytical.best_size(epsilon - 0.02, 24) < n_outputs
    assert analytical.best_size(epsilon + 0.02, 24) >= n_outputs


@pytest.mark.parametrize("n_outputs", [2, 3, 4, 5, 8])
def test_lemma_6_limit(n_outputs: int) -> None:
    """The worst-case variance tends to 1/(N-1)^2 as epsilon grows."""
    value = analytical.solve(10.0, n_outputs).worst_variance
    assert value * (n_outputs - 1) ** 2 == pytest.approx(1.0, rel=0.02)


@given(epsilons)
def test_two_outputs_are_duchis_mechanism(epsilon: float) -> None:
    c = math.exp(epsilon)
    table = analytical.solve(epsilon, 2)
    assert table.outputs[1] == pytest.approx((c + 1.0) / (c - 1.0), rel=1e-12)
    assert table.probabilities[-1, 1] == pytest.approx(c / (c + 1.0), rel=1e-12)


@given(st.floats(0.05, 6.0))
def test_three_outputs_are_the_three_output_mechanism(epsilon: float) -> None:
    """Zhao et al. 2020, 10.1109/JIOT.2020.3037194: a = P(0|0) in closed form."""
    c = math.exp(epsilon)
    if epsilon < math.log(2.0):
        a = 0.0
    elif epsilon > math.log((3.0 + math.sqrt(65.0)) / 2.0):
        a = c / (c + 2.0)
    else:
        d0 = c**4 + 14 * c**3 + 50 * c**2 - 2 * c + 25
        d1 = -2 * c**6 - 42 * c**5 - 270 * c**4 - 404 * c**3 - 918 * c**2 + 30 * c - 250
        angle = math.pi / 3 + math.acos(-d1 / (2 * d0**1.5)) / 3
        a = -(-(c**2) - 4 * c - 5 + 2 * math.sqrt(d0) * math.cos(angle)) / 6
    table = analytical.solve(epsilon, 3)
    outer = c * (c + 1.0) / ((c - 1.0) * (c - a))
    assert table.outputs[2] == pytest.approx(outer, rel=1e-6)
    assert table.probabilities[1, 1] == pytest.approx(a, abs=1e-5)


@pytest.mark.slow
@given(epsilons, st.integers(2, 16))
def test_every_solution_is_a_private_unbiased_table(epsilon: float, n_outputs: int) -> None:
    try:
        table = analytical.solve(epsilon, n_outputs)
    except DesignError as error:
        assert "largest is" in str(error)  # noqa: PT017
        return
    assert len(table.outputs) == n_outputs
    np.testing.assert_allclose(table.probabilities.sum(axis=1), 1.0, atol=1e-12)
    knots = table.probabilities @ table.outputs
    assert np.all(np.diff(knots) > 0.0)
    np.testing.assert_allclose(knots[[0, -1]], [-1.0, 1.0], atol=1e-9)
    ratio = table.probabilities.max(axis=0) / np.maximum(table.probabilities.min(axis=0), 1e-300)
    used = table.probabilities.max(axis=0) > 0.0
    assert np.all(ratio[used] <= math.exp(epsilon) * (1.0 + 1e-9))


def test_the_largest_size_is_named() -> None:
    with pytest.raises(DesignError, match=r"16 is too large .* epsilon = 1\.0: the largest is"):
        analytical.solve(1.0, 16)
