"""The paper's errors, each with the numbers that show it (docs/errata.md)."""

from __future__ import annotations

import math

import numpy as np
import pytest

from noutput.designs.paper import analytical
from noutput.mechanisms.quantize import quantize


def variances(epsilon: float, n_outputs: int) -> tuple[float, float, float, float]:
    """Return Var_n and Var_1 of Theorem 4's outputs, and the true values of both theorems."""
    c = math.exp(epsilon)
    half = n_outputs // 2
    p0 = 1.0 / (c + n_outputs - 1) if n_outputs % 2 else 0.0
    p = (1.0 - p0) / (c + 2 * half - 1)
    p_star = (1.0 - 2 * (half - 1) * p - c * p0) / 2.0
    a = analytical._all_but_innermost(c, half, p)
    t = (c - 1.0) * p
    outermost = (a[-2] + a[-1]) ** 2 / 4 - t * a[-2] * a[-1] + 2 * p * (a @ a)
    slope = a[0] * (c * p + p - 2 * p_star) / t
    innermost = slope**2 / 4 + 2 * a[0] ** 2 * p_star + 2 * p * (a[1:] @ a[1:])
    fourth = analytical._table(c, n_outputs, a, p0)
    fifth = analytical._table(c, n_outputs, analytical._all_cells(c, n_outputs), p0)
    assert fourth is not None
    assert fifth is not None
    return outermost, innermost, fourth.worst_variance, fifth.worst_variance


@pytest.mark.parametrize(("epsilon", "n_outputs"), [(6.0, 4), (6.0, 5), (7.0, 6), (8.0, 8)])
def test_the_branches_of_algorithm_2_are_swapped(epsilon: float, n_outputs: int) -> None:
    """Where Var_n < Var_1 the algorithm takes Theorem 4, although Theorem 5 is better."""
    outermost, innermost, fourth, fifth = variances(epsilon, n_outputs)
    assert outermost < innermost
    assert fifth < fourth


def test_even_sizes_have_a_row_at_zero() -> None:
    table = analytical.solve(3.0, 4)
    assert table.probabilities.shape == (5, 4)
    assert (table.probabilities @ table.outputs)[2] == pytest.approx(0.0, abs=1e-12)


def test_the_bits_table_counts_one_bit_too_many() -> None:
    """At N = 4, 8 and 16 the paper's floor(log2 N) + 1 exceeds what a report needs."""
    for epsilon, n_outputs, needed in ((2.56, 4, 2), (5.43, 8, 3), (7.82, 16, 4)):
        assert analytical.best_size(epsilon, 24) == n_outputs
        real = analytical.solve(epsilon, n_outputs)
        assert quantize(epsilon, real.outputs, real.probabilities).bits == needed
        assert math.floor(math.log2(n_outputs)) + 1 == needed + 1


def test_three_bits_are_enough_up_to_5_8() -> None:
    sizes = {e: analytical.best_size(e, 24) for e in (0.68, 0.7, 3.4, 3.6, 5.7, 5.9, 7.8, 8.0)}
    bits = [(n - 1).bit_length() for n in sizes.values()]
    np.testing.assert_array_equal(bits, [1, 2, 2, 3, 3, 4, 4, 5])
