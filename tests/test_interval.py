from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noutput.errors import InvalidArgumentError
from noutput.interval import UNIT, Interval


@given(st.floats(-1e9, 1e9), st.floats(1e-3, 1e9), st.floats(0.0, 1.0))
def test_there_and_back(lower: float, width: float, share: float) -> None:
    interval = Interval(lower, lower + width)
    value = min(max(lower + share * width, interval.lower), interval.upper)
    unit = float(interval.to_unit(value))
    assert -1.0 <= unit <= 1.0
    assert interval.from_unit(unit) == pytest.approx(value, abs=1e-6 * (abs(lower) + width))


def test_ends_are_exact() -> None:
    interval = Interval(0.1, 0.7)
    np.testing.assert_array_equal(interval.to_unit([0.1, 0.7]), [-1.0, 1.0])
    assert UNIT.from_unit(0.25) == 0.25


@pytest.mark.parametrize(
    ("lower", "upper"),
    [(1, 1), (2, 1), (math.nan, 1), (0, math.inf), ("0", 1), (0, None), (-1e308, 1e308)],
)
def test_bad_bounds(lower: Any, upper: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="must"):
        Interval(lower, upper)


@pytest.mark.parametrize("values", [181, [0, -1], math.nan, [1, math.inf], "3", [None]])
def test_values_outside_are_refused(values: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="values"):
        Interval(0, 180).to_unit(values)


def test_clip_is_explicit() -> None:
    minutes = Interval(0, 180)
    np.testing.assert_array_equal(minutes.to_unit([-5, math.inf], clip=True), [-1.0, 1.0])
    with pytest.raises(InvalidArgumentError, match=r"values\[1\]"):
        minutes.to_unit([0, math.nan], clip=True)
