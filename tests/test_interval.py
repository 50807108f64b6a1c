from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import noutput as no
from noutput.errors import InvalidArgumentError
from noutput.interval import UNIT, Interval, as_interval


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
    [
        (1, 1),
        (2, 1),
        (math.nan, 1),
        (0, math.inf),
        ("0", 1),
        (0, None),
        (-1e308, 1e308),
        (0, 5e-324),
    ],
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


@pytest.mark.parametrize("pair", [(0, 10), [0.0, 10.0], np.array([0, 10]), Interval(0, 10)])
def test_pairs_are_intervals(pair: Any) -> None:
    assert as_interval(pair) == Interval(0, 10)


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        (5, r"bounds must be a pair of numbers such as \(0, 100\), or an Interval; found 5"),
        (None, "bounds must be a pair of numbers"),
        ("09", "bounds must be a pair of numbers"),
        ((1, 2, 3), r"bounds must be a pair of numbers.*found \(1, 2, 3\)"),
        ({"x": (0, 1)}, "bounds must be a pair of numbers"),
        ((3, 1), r"bounds must start with the smaller of two numbers; found \(3, 1\)"),
        ((0, "a"), r"bounds\[1\] must be a finite number; found 'a'"),
        ((math.nan, 1), r"bounds\[0\] must be a finite number; found nan"),
        ([(0, 1), (0, 1)], r"bounds\[0\] must be a finite number"),
        (np.array(5), r"bounds must be a pair of numbers.*found array\(5\)"),
        ((-1e308, 1e308), r"bounds must be a finite distance apart, and not too close to halve it"),
        ((0, 5e-324), r"bounds must be a finite distance apart, and not too close to halve it"),
    ],
)
def test_other_bounds_are_refused(bounds: Any, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        as_interval(bounds)


def test_every_public_function_takes_pairs() -> None:
    m = no.TableMechanism(1.1, [-2.0, 2.0], [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
    tally, minutes = no.Tally(m.fingerprint, (400, 600)), Interval(0, 180)

    def results(bounds: Any) -> list[Any]:
        return [
            no.estimate_mean(m, tally, bounds),
            no.estimate_means(m, [tally, tally], bounds).values.tolist(),
            no.estimate_variance(m, tally, bounds).value,
            no.estimate_distribution(m, tally, bounds=bounds).bounds,
            no.plan(epsilon=1, people=100, bounds=bounds),
            no.wasserstein([1, 0], [0, 1], bounds),
        ]

    assert results((0, 180)) == results(minutes)
    for call in (
        lambda: no.estimate_mean(m, tally, 3),  # type: ignore[arg-type]
        lambda: no.estimate_means(m, [tally], 3),  # type: ignore[arg-type]
        lambda: no.estimate_variance(m, tally, 3),  # type: ignore[arg-type]
        lambda: no.estimate_distribution(m, tally, bounds=3),  # type: ignore[call-overload]
        lambda: no.plan(epsilon=1, people=100, bounds=3),  # type: ignore[call-overload]
        lambda: no.wasserstein([1, 0], [0, 1], 3),  # type: ignore[arg-type]
    ):
        with pytest.raises(InvalidArgumentError, match="bounds must be a pair of numbers"):
            call()


def test_every_attribute_may_have_bounds_of_its_own() -> None:
    m = no.TableMechanism(1.1, [-2.0, 2.0], [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
    tallies = [no.Tally(m.fingerprint, (500, 500))] * 2
    each: Any = [(0, 180), Interval(1, 5)]
    means = no.estimate_means(m, tallies, each)
    assert means.values.tolist() == [90.0, 3.0]
    pairs: Any = np.array([[0, 180], [1, 5]])
    assert no.estimate_means(m, tallies, pairs).values.tolist() == [90.0, 3.0]
    with pytest.raises(InvalidArgumentError, match=r"bounds\[1\] must be a pair of numbers"):
        no.estimate_means(m, tallies, [each[0], 5])
    with pytest.raises(InvalidArgumentError, match=r"one entry per attribute \(2\).*found 3"):
        no.estimate_means(m, tallies, [(0, 180), (1, 5), (0, 1)])
