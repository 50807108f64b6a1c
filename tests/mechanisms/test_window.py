from __future__ import annotations

import hashlib
import math
import pickle
import struct
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.integrate import quad

import noutput as no
from noutput.errors import DesignError, InvalidArgumentError
from noutput.mechanisms.piecewise import pm, pm_opt, pm_sub
from noutput.mechanisms.square_wave import square_wave
from noutput.mechanisms.window import WindowMechanism
from tests.float_window import FloatWindow

FAMILY = {"pm": pm, "pm-sub": pm_sub, "pm-opt": pm_opt, "square-wave": square_wave}
EPSILONS = (0.01, 0.5, 1.0, 3.0, 8.0)


@st.composite
def windows(draw: st.DrawFn) -> WindowMechanism:
    return WindowMechanism(
        draw(st.floats(0.05, 8.0)), draw(st.floats(0.1, 10.0)), draw(st.floats(0.01, 10.0))
    )


def whole(found: WindowMechanism, x: float) -> float:
    """Move a number to one whose position is whole, so that only two densities appear."""
    positions = found.grid.points - found.grid.window
    return round((x + 1.0) * positions / 2.0) * 2.0 / positions - 1.0


def window(found: WindowMechanism, x: float) -> tuple[float, float]:
    middle, half = (1.0 - found.grid.share) * x, found.grid.share
    return found.reach * (middle - half), found.reach * (middle + half)


def integral(found: WindowMechanism, x: float, power: int) -> float:
    """Integrate a power of the decoded report numerically, piece by piece."""
    points = [-found.reach, *window(found, x), found.reach]
    return sum(
        quad(lambda y: float(found.decode(y)) ** power * float(found.density(y, x)), low, high)[0]
        for low, high in pairwise(points)
    )


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("name", FAMILY)
def test_moments_equal_numerical_integration(name: str, epsilon: float) -> None:
    found = FAMILY[name](epsilon)
    for x in (whole(found, number) for number in (-1.0, -0.3, 0.0, 0.77)):
        assert integral(found, x, 0) == pytest.approx(1.0, abs=1e-9)
        scale = found.worst_variance()
        assert integral(found, x, 1) == pytest.approx(x, abs=1e-9 * max(1.0, scale))
        second = integral(found, x, 2)
        assert second - x * x == pytest.approx(float(found.variance(x)), rel=1e-9)
    assert found.worst_variance() == pytest.approx(float(found.variance(1.0)), rel=1e-12)


def model(found: WindowMechanism, x: NDArray[np.float64]) -> NDArray[np.float64]:
    """The published variance: that of a continuous window with the wanted slope and width."""
    s, h = found.slope, found.half_width
    excess = math.expm1(min(found.epsilon, 32.0))
    q = 0.5 / (s + h + excess * h)
    g = 2.0 * q * s * h * excess
    at_zero = 2.0 * q * ((s + h) ** 3 + excess * h**3) / (3.0 * g * g)
    result: NDArray[np.float64] = at_zero + (s / g - 1.0) * x**2
    return result


def distance(found: WindowMechanism) -> float:
    x = np.linspace(-1.0, 1.0, 101)
    return float(np.abs(found.variance(x) / model(found, x) - 1.0).max())


@pytest.mark.parametrize("name", FAMILY)
@given(data=st.data())
def test_variances_are_close_to_the_published_ones(name: str, data: st.DataObject) -> None:
    """What the docstring of `WindowMechanism` promises."""
    for low, high, most in ((1e-4, 4.0, 1e-6), (1e-6, 10.0, 1e-4), (1e-9, 14.0, 1e-2)):
        exponent = data.draw(st.floats(math.log(low), math.log(high)))
        assert distance(FAMILY[name](min(math.exp(exponent), high))) < most
        assert distance(FAMILY[name](low)) < most
        assert distance(FAMILY[name](high)) < most


@pytest.mark.parametrize("epsilon", [1e-9, 1e-6, 0.1, 1.0, 8.0, 16.0, 18.0])
@pytest.mark.parametrize("name", FAMILY)
def test_the_distance_is_that_of_whole_numbers(name: str, epsilon: float) -> None:
    """A window of w points cannot be closer than half a point, and weights than a unit."""
    found = FAMILY[name](epsilon)
    grid = found.grid
    assert distance(found) < 1.0 / grid.window + 4.0 / (grid.inside - grid.outside)


def by_quadrature(found: WindowMechanism, bins: int, output_bins: int) -> NDArray[np.float64]:
    """Integrate P(output bin | x) over bins, between all inputs where it bends."""
    inputs = np.linspace(-1.0, 1.0, bins + 1)
    grid = np.union1d(inputs, found.corners(output_bins))
    nodes, weights = np.polynomial.legendre.leggauss(2)
    result = np.zeros((bins, output_bins))
    for low, high in pairwise(grid.tolist()):
        middle, half = (low + high) / 2.0, (high - low) / 2.0
        owner = min(int((middle + 1.0) * bins / 2.0), bins - 1)
        rows = found.probabilities(np.clip(middle + half * nodes, -1.0, 1.0), output_bins)
        result[owner] += weights @ rows * half * bins / 2.0
    return result


@pytest.mark.parametrize("bins", [3, 16])
@pytest.mark.parametrize("output_bins", [2, 8, 40])
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("name", FAMILY)
def test_transition_equals_quadrature(
    name: str, epsilon: float, output_bins: int, bins: int
) -> None:
    found = FAMILY[name](epsilon)
    matrix = found.transition(bins, output_bins)
    assert np.abs(matrix - by_quadrature(found, bins, output_bins)).max() < 1e-12
    assert np.abs(matrix.sum(axis=1) - 1.0).max() < 1e-12


def test_both_cases_of_the_paper_are_covered() -> None:
    """Few output bins are wider than the window, many are narrower."""
    found = square_wave(3.0)
    widths = [np.diff(found.edges(count))[0] for count in (2, 40)]
    assert widths[1] < 2.0 * found.half_width < widths[0]


@given(found=windows(), bins=st.integers(1, 9), output_bins=st.integers(1, 9))
def test_any_window_has_a_valid_transition(
    found: WindowMechanism, bins: int, output_bins: int
) -> None:
    matrix = found.transition(bins, output_bins)
    assert matrix.shape == (bins, output_bins)
    assert matrix.min() >= -1e-15
    assert np.abs(matrix.sum(axis=1) - 1.0).max() < 1e-12
    assert np.abs(matrix - matrix[::-1, ::-1]).max() < 1e-12
    assert np.abs(matrix - by_quadrature(found, bins, output_bins)).max() < 1e-9


@given(found=windows(), x=st.floats(-1.0, 1.0), y=st.floats(-1.0, 1.0))
def test_the_density_takes_two_values_inside_and_none_outside(
    found: WindowMechanism, x: float, y: float
) -> None:
    small = found.outside_density
    large = math.exp(found.epsilon) * small
    value = float(found.density(y * found.reach, whole(found, x)))
    assert value == pytest.approx(small) or value == pytest.approx(large)
    between = float(found.density(y * found.reach, x))
    assert small * (1.0 - 1e-9) <= between <= large * (1.0 + 1e-9)
    assert found.density([found.reach * 1.001, -2.0 * found.reach, math.nan], x).tolist() == [0] * 3
    assert found.density([-found.reach, found.reach], x).min() > 0.0


@given(found=windows(), points=st.lists(st.integers(0, 2**24 - 1)))
def test_reports_are_points_of_one_grid(found: WindowMechanism, points: list[int]) -> None:
    """Every report is the middle of its step, and tells the number of its point."""
    numbers = np.array([0, 1, found.grid.points - 1, *points])
    reports = found.values_of(numbers)
    assert np.abs(reports).max() < found.reach
    assert np.array_equal(found.points_of(reports), numbers)
    assert np.array_equal(found.values_of(found.grid.points - 1 - numbers), -reports)
    for output_bins in (1, 7, 64, 1000):
        counted = np.searchsorted(found.grid.bounds(output_bins), numbers, side="right") - 1
        assert np.array_equal(found.cells(reports, output_bins), counted)


@given(found=windows(), x=st.floats(-1.0, 1.0), other=st.floats(-1.0, 1.0))
def test_what_one_input_reports_another_may(found: WindowMechanism, x: float, other: float) -> None:
    reports = found.privatize(np.full(50, x), np.random.default_rng(1))
    own, theirs = found.log_likelihood(reports, x), found.log_likelihood(reports, other)
    assert np.isfinite(own).all()
    assert (own - theirs).max() <= found.epsilon + 1e-9
    weights = found.grid.probability(found.points_of(reports), np.array(x))
    assert np.exp(own) == pytest.approx(weights, rel=1e-12)


@pytest.mark.parametrize("name", FAMILY)
def test_reports_of_floats_are_impossible(name: str) -> None:
    found = FAMILY[name](1.0)
    reports = FloatWindow(found)(np.full(1000, 0.3), np.random.default_rng(1))
    assert np.isneginf(found.log_likelihood(reports, 0.3)).all()
    assert np.isneginf(found.log_likelihood([math.nan, math.inf, 1e300], 0.3)).all()


def test_the_fingerprint_tells_the_grid() -> None:
    """Tallies of the samplers that drew floats are not mistaken for those of the grid."""
    found = pm(1.0)
    parts = struct.pack("<ddd", found.epsilon, found.slope, found.half_width)
    assert found.fingerprint != hashlib.sha256(b"noutput-window 1\n" + parts).hexdigest()
    assert found.fingerprint == pm(1.0).fingerprint != pm_sub(1.0).fingerprint


def test_pickles_are_certified_again() -> None:
    found = pm(1.0)
    assert pickle.loads(pickle.dumps(found)) == found  # noqa: S301 (our own bytes)
    assert found.__reduce__() == (WindowMechanism, (1.0, found.slope, found.half_width))


def test_parameters_are_checked() -> None:
    with pytest.raises(InvalidArgumentError, match="slope must be a positive finite number"):
        WindowMechanism(1.0, 0.0, 1.0)
    with pytest.raises(InvalidArgumentError, match="half_width"):
        WindowMechanism(1.0, 1.0, math.nan)
    with pytest.raises(InvalidArgumentError, match="output_bins"):
        pm(1.0).transition(4, 0)
    with pytest.raises(InvalidArgumentError, match="bins"):
        pm(1.0).transition(0, 4)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1.01, -1e300])
def test_reports_that_cannot_be_are_refused(bad: float) -> None:
    found = no.mechanism("pm", 1.0)
    assert isinstance(found, WindowMechanism)
    with pytest.raises(InvalidArgumentError, match="reports must be numbers from -"):
        found.cells([0.0, bad * found.reach])
    with pytest.raises(InvalidArgumentError, match="reports must be numbers from -"):
        no.Tally.of(found, [0.0, bad * found.reach])
    assert found.cells([-found.reach, found.reach]).tolist() == [0, 63]
    assert found.cells([]).tolist() == []


@pytest.mark.parametrize("bad", [["a"], [True], [None], [1j], np.zeros(2, [("part", "u1")])])
def test_reports_that_are_no_numbers_are_refused(bad: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="reports must be numbers from -"):
        square_wave(1.0).cells(bad)


@pytest.mark.parametrize("name", ["pm", "pm-sub", "pm-opt", "square-wave", "hybrid"])
def test_the_smallest_epsilon_is_named(name: str) -> None:
    for epsilon in (5e-324, 1e-300, 0.99e-9):
        with pytest.raises(InvalidArgumentError, match="epsilon must be at least 1e-09"):
            no.mechanism(name, epsilon)
    found = no.mechanism(name, 1e-3 if name == "hybrid" else 1e-9)
    assert np.isfinite(found.worst_variance())
    assert np.isfinite(found.decode(found.privatize([0.0, 1.0]))).all()


def test_the_hybrid_needs_what_its_duchi_part_needs() -> None:
    with pytest.raises(DesignError, match="too small"):
        no.mechanism("hybrid", 1e-8)
