from __future__ import annotations

import math
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
from noutput.mechanisms.window import WindowMechanism, uniform

FAMILY = {"pm": pm, "pm-sub": pm_sub, "pm-opt": pm_opt, "square-wave": square_wave}
EPSILONS = (0.01, 0.5, 1.0, 3.0, 8.0)


@st.composite
def windows(draw: st.DrawFn) -> WindowMechanism:
    return WindowMechanism(
        draw(st.floats(0.05, 8.0)), draw(st.floats(0.1, 10.0)), draw(st.floats(0.01, 10.0))
    )


def window(found: WindowMechanism, x: float) -> tuple[float, float]:
    return found.slope * x - found.half_width, found.slope * x + found.half_width


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
    for x in (-1.0, -0.3, 0.0, 0.77):
        assert integral(found, x, 0) == pytest.approx(1.0, abs=1e-9)
        scale = found.worst_variance()
        assert integral(found, x, 1) == pytest.approx(x, abs=1e-9 * max(1.0, scale))
        second = integral(found, x, 2)
        assert second - x * x == pytest.approx(float(found.variance(x)), rel=1e-9)
    assert found.worst_variance() == pytest.approx(float(found.variance(1.0)), rel=1e-12)


def by_quadrature(found: WindowMechanism, bins: int, output_bins: int) -> NDArray[np.float64]:
    """Integrate P(output bin | x) over bins, between all points where it bends."""
    edges = found.edges(output_bins)
    inputs = np.linspace(-1.0, 1.0, bins + 1)
    bends = np.concatenate([edges - found.half_width, edges + found.half_width]) / found.slope
    grid = np.union1d(inputs, np.clip(bends, -1.0, 1.0))
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
    value = float(found.density(y * found.reach, x))
    small = found.outside_density
    assert value == small or value == pytest.approx(math.exp(found.epsilon) * small)
    assert found.density(found.reach * 1.001, x) == 0.0


@given(found=windows(), x=st.floats(-1.0, 1.0), words=st.lists(st.integers(0, 2**64 - 1)))
def test_reports_stay_within_reach(found: WindowMechanism, x: float, words: list[int]) -> None:
    edge = [0, 2**64 - 1, 2**63, *words]
    out = np.empty(len(edge))
    found.draw(np.full(len(edge), x), np.array(edge, np.uint64), out)
    assert np.abs(out).max() <= found.reach


@given(words=st.lists(st.integers(0, 2**64 - 1), min_size=1))
def test_words_become_numbers_below_one(words: list[int]) -> None:
    numbers = uniform(np.array(words, np.uint64))
    assert numbers.tolist() == [(word >> 11) / 2**53 for word in words]


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
