from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noutput.errors import DesignError
from noutput.mechanisms.duchi import duchi


@given(epsilon=st.floats(0.01, 10.0), x=st.floats(-1.0, 1.0))
def test_it_is_the_published_mechanism(epsilon: float, x: float) -> None:
    c = math.exp(epsilon)
    found = duchi(epsilon)
    edge = (c + 1.0) / (c - 1.0)
    assert found.outputs == pytest.approx([-edge, edge], rel=1e-4)
    chance = 0.5 + x * (c - 1.0) / (2.0 * (c + 1.0))
    assert found.probabilities(x) == pytest.approx([1.0 - chance, chance], abs=2e-9)
    assert found.worst_variance() == pytest.approx(edge * edge, rel=1e-4)
    assert found.knots.tolist() == [-1.0, 1.0]


def test_it_reports_one_bit() -> None:
    assert duchi(1.0).bits == 1


def test_an_epsilon_below_the_resolution_is_named() -> None:
    with pytest.raises(DesignError):
        duchi(1e-12)
