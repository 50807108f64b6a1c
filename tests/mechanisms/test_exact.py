from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noutput.mechanisms import exact


def true_exponential(epsilon: float) -> Fraction:
    with localcontext() as context:
        context.prec = 120
        return Fraction(Decimal(epsilon).exp())


@given(st.floats(0.0, 32.0))
def test_exponential_floor_is_below_and_close(epsilon: float) -> None:
    floor = Fraction(exact.exponential_floor(epsilon), 1 << 64)
    truth = true_exponential(epsilon)
    assert floor <= truth
    assert truth - floor < truth / (1 << 60)


@pytest.mark.parametrize("epsilon", [33.0, 1e6, 1e308])
def test_exponential_floor_is_bounded_for_huge_epsilon(epsilon: float) -> None:
    assert exact.exponential_floor(epsilon) == exact.exponential_floor(32.0)


def test_exponential_floor_of_the_smallest_float() -> None:
    assert exact.exponential_floor(5e-324) == 1 << 64


@given(st.integers(1, 1 << 31), st.integers(0, 1 << 31))
def test_loss_is_the_smallest_float_that_is_certified(low: int, extra: int) -> None:
    high = low + extra
    loss = exact.privacy_loss([high], [low])
    assert exact.certify([high], [low], loss) is None
    assert true_exponential(loss) >= Fraction(high, low)
    if loss:
        below = math.nextafter(loss, 0.0)
        assert true_exponential(below) < Fraction(high, low) * (1 + Fraction(1, 1 << 60))
        assert exact.certify([high], [low], below) == 0


@given(st.floats(0.01, 20.0), st.integers(1, 1 << 20))
def test_certificate_decides_at_one_unit(epsilon: float, low: int) -> None:
    most = int(true_exponential(epsilon) * low)
    assert exact.certify([most], [low], epsilon) is None
    assert exact.certify([most + 1], [low], epsilon) == 0


def test_certificate_is_stricter_than_floats() -> None:
    # ln 3 as a float lies below the real ln 3 by less than a rounding error of exp
    below = math.nextafter(math.log(3.0), 0.0)
    assert math.exp(below) >= 2.9999999999999987
    assert exact.certify([3], [1], below) == 0


def test_certify_names_the_first_violation() -> None:
    assert exact.certify([2, 9, 9], [1, 3, 1], 1.1) == 2


def test_zero_weight_is_never_private() -> None:
    assert exact.certify([1], [0], 1e300) == 0


def test_draw_uses_upper_bits_for_the_knot_and_lower_bits_for_the_output() -> None:
    axes = [[-1.0, 0.0, 1.0]]
    thresholds = [[1 << 31, 1 << 32], [1 << 30, 1 << 32], [1 << 29, 1 << 32]]
    half = 1 << 31
    assert exact.draw(axes, thresholds, [-0.5], [half << 32 | (half - 1)]) == 0
    assert exact.draw(axes, thresholds, [-0.5], [half << 32 | half]) == 1
    assert exact.draw(axes, thresholds, [-0.5], [(half - 1) << 32 | (half - 1)]) == 1
    assert exact.draw(axes, thresholds, [0.0], [(1 << 30) - 1]) == 0
    assert exact.draw(axes, thresholds, [0.0], [1 << 30]) == 1
    assert exact.draw(axes, thresholds, [1.0], [0xFFFF_FFFF << 32 | (1 << 29)]) == 1
