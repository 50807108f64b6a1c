from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noutput.mechanisms.duchi import duchi
from noutput.mechanisms.moments import largest_variance
from noutput.mechanisms.three_output import three_output, zero_probability


def worst_variance(epsilon: float, zero: float) -> float:
    """Evaluate the published probabilities for any P(0 | 0)."""
    c = math.exp(epsilon)
    edge = c * (c + 1.0) / ((c - 1.0) * (c - zero))
    ends = 1.0 - zero / c
    return largest_variance(
        np.array([-1.0, 0.0, 1.0]), edge**2 * np.array([ends, 1.0 - zero, ends])
    )


@given(epsilon=st.floats(0.05, 8.0))
def test_no_other_zero_probability_is_better(epsilon: float) -> None:
    best = zero_probability(epsilon)
    most = math.exp(epsilon) / (math.exp(epsilon) + 2.0)
    assert 0.0 <= best <= most
    value = worst_variance(epsilon, best)
    others = [worst_variance(epsilon, zero) for zero in np.linspace(0.0, most, 101)]
    assert value <= min(others) * (1.0 + 1e-9)


@given(epsilon=st.floats(0.7, 8.0), x=st.floats(-1.0, 1.0))
def test_it_is_the_published_mechanism(epsilon: float, x: float) -> None:
    c, zero = math.exp(epsilon), zero_probability(epsilon)
    found = three_output(epsilon)
    middle = zero - zero * (1.0 - 1.0 / c) * abs(x)
    same = (1.0 - zero) / 2.0 + ((c - zero) / (c + 1.0) - (1.0 - zero) / 2.0) * abs(x)
    low, at_zero, high = found.probabilities(x)
    assert at_zero == pytest.approx(middle, abs=3e-9)
    assert (high if x >= 0.0 else low) == pytest.approx(same, abs=3e-9)
    assert found.worst_variance() == pytest.approx(worst_variance(epsilon, zero), rel=1e-6)


def test_two_outputs_are_enough_for_a_small_epsilon() -> None:
    assert three_output(0.6931) == duchi(0.6931)
    assert three_output(0.6932).n_outputs == 3


def test_the_branches_meet() -> None:
    for border in (math.log(2.0), math.log((3.0 + math.sqrt(65.0)) / 2.0)):
        assert zero_probability(border - 1e-9) == pytest.approx(
            zero_probability(border + 1e-9), abs=1e-6
        )
