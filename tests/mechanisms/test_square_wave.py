from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noutput.mechanisms.square_wave import half_width, square_wave

# Computed by other code than this project's.
REFERENCE = {0.5: 0.358155, 1.0: 0.256083, 2.0: 0.129337, 3.0: 0.063715, 4.0: 0.030428}


@pytest.mark.parametrize("epsilon", REFERENCE)
def test_the_half_width_is_the_known_one(epsilon: float) -> None:
    assert half_width(epsilon) == pytest.approx(REFERENCE[epsilon], abs=5e-7)


def by_fractions(epsilon: float) -> float:
    """Evaluate the closed form with e^epsilon as a fraction of 300 bits."""
    x = Fraction(epsilon)
    c, term = Fraction(1), Fraction(1)
    for k in range(1, 80):
        term = Fraction(int(term * x / k * 2**300), 2**300)
        c += term
    return float((x * c - c + 1) / (2 * c * (c - 1 - x)))


@given(epsilon=st.floats(1e-12, 8.0))
def test_the_half_width_is_stable(epsilon: float) -> None:
    assert half_width(epsilon) == pytest.approx(by_fractions(epsilon), rel=1e-13)


def test_there_is_no_step_between_the_two_forms() -> None:
    below, above = half_width(1.0), half_width(math.nextafter(1.0, 2.0))
    assert above == pytest.approx(below, rel=1e-14)


@given(epsilon=st.floats(0.05, 8.0))
def test_on_the_unit_interval_it_is_the_published_one(epsilon: float) -> None:
    found = square_wave(epsilon)
    b, c = half_width(epsilon), math.exp(epsilon)
    q = 1.0 / (2.0 * b * c + 1.0)
    rounding = 1.0 / found.grid.window  # the window holds a whole number of points
    assert 2.0 * found.outside_density == pytest.approx(q, rel=rounding)
    assert (found.reach + 1.0) / 2.0 == pytest.approx(1.0 + b, rel=1e-12)
    window = found.outside_density * c * 2.0 * found.half_width
    assert window == pytest.approx(2.0 * b * c * q, rel=rounding)
    assert found.grid.share == pytest.approx(2.0 * b / (1.0 + 2.0 * b), rel=rounding)


@given(epsilon=st.floats(0.2, 6.0))
def test_the_half_width_maximizes_the_mutual_information(epsilon: float) -> None:
    """Compare with neighbours: the bound of Li et al. on the information of a uniform input."""
    c = math.exp(epsilon)

    def information(b: float) -> float:
        return math.log((2.0 * b + 1.0) / (2.0 * b * c + 1.0)) + 2.0 * b * epsilon * c / (
            2.0 * b * c + 1.0
        )

    b = half_width(epsilon)
    nearby = [information(b * factor) for factor in np.linspace(0.9, 1.1, 5)]
    assert np.argmax(nearby) == 2
