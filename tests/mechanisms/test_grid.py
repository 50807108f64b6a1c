"""Grids of few points against brute force: every row is written down, in whole numbers."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noutput.errors import InvalidArgumentError, PrivacyError
from noutput.mechanisms import exact
from noutput.mechanisms.grid import POSITION_BITS, SCALE, WindowGrid
from noutput.mechanisms.moments import mean_square


@st.composite
def grids(draw: st.DrawFn) -> WindowGrid:
    points = 2 * draw(st.integers(2, 40))
    return WindowGrid.fitted(draw(st.floats(0.01, 6.0)), draw(st.floats(0.01, 0.99)), points)


units = st.floats(-1.0, 1.0)


def row(grid: WindowGrid, position: int) -> list[int]:
    """Write down the weights of all points."""
    weights = [grid.outside] * grid.points
    weights[position : position + grid.window] = [grid.inside] * grid.window
    for place in range(grid.rest // 2):
        weights[place] += 1
        weights[-1 - place] += 1
    return weights


def law(grid: WindowGrid, x: float) -> list[Fraction]:
    """Mix the rows of both positions next to x, without rounding."""
    position = (Fraction(x) + 1) * (grid.points - grid.window) / 2
    low = min(math.floor(position), grid.points - grid.window - 1)
    part = position - low
    pairs = zip(row(grid, low), row(grid, low + 1), strict=True)
    return [((1 - part) * first + part * second) / SCALE for first, second in pairs]


def values(grid: WindowGrid) -> list[Fraction]:
    return [Fraction(2 * j + 1 - grid.points, grid.points) for j in range(grid.points)]


@given(grid=grids())
def test_every_row_adds_up_and_is_private(grid: WindowGrid) -> None:
    rows = [row(grid, p) for p in range(grid.points - grid.window + 1)]
    assert {sum(weights) for weights in rows} == {SCALE}
    columns = list(zip(*rows, strict=True))
    largest, smallest = [max(c) for c in columns], [min(c) for c in columns]
    assert exact.certify(largest, smallest, grid.epsilon) is None
    assert exact.privacy_loss(largest, smallest) <= grid.privacy_loss() <= grid.epsilon


@given(grid=grids(), x=units)
def test_the_mean_is_exactly_linear(grid: WindowGrid, x: float) -> None:
    gain = Fraction(
        (grid.inside - grid.outside) * grid.window * (grid.points - grid.window),
        SCALE * grid.points,
    )
    mean = sum(p * y for p, y in zip(law(grid, x), values(grid), strict=True))
    assert mean == gain * Fraction(x)
    assert grid.gain == pytest.approx(float(gain), rel=1e-15)


@given(grid=grids(), x=units)
def test_the_variance_is_that_of_the_points(grid: WindowGrid, x: float) -> None:
    shares = law(grid, x)
    first = sum(p * y for p, y in zip(shares, values(grid), strict=True))
    second = sum(p * y * y for p, y in zip(shares, values(grid), strict=True))
    truth = float(second - first**2) / grid.gain**2
    assert float(grid.variance(np.array(x))) == pytest.approx(truth, rel=1e-9)


@given(grid=grids(), x=units, cells=st.integers(1, 70))
def test_probabilities_are_those_of_the_points(grid: WindowGrid, x: float, cells: int) -> None:
    shares = [float(p) for p in law(grid, x)]
    points = np.arange(-2, grid.points + 2)
    found = grid.probability(points, np.array(x))
    assert found[2:-2] == pytest.approx(shares, rel=1e-9)
    assert found[[0, 1, -2, -1]].tolist() == [0.0] * 4
    # a point lies in the cell that holds the middle of its step; ties go up
    owner = [(2 * j + 1) * cells // (2 * grid.points) for j in range(grid.points)]
    expected = np.bincount(owner, shares, minlength=cells)
    assert grid.masses(grid.bounds(cells), np.array(x)) == pytest.approx(expected, abs=1e-12)


@settings(max_examples=40)
@given(grid=grids(), bins=st.integers(1, 5), cells=st.integers(1, 9))
def test_averages_are_integrals(grid: WindowGrid, bins: int, cells: int) -> None:
    """Between all bends the masses are linear in x, and the trapezoid rule is right."""
    bounds = grid.bounds(cells)
    inputs = np.linspace(-1.0, 1.0, bins + 1)
    places = np.union1d(grid.bends(bounds), inputs)
    rows = grid.masses(bounds, places)
    areas = (rows[1:] + rows[:-1]) / 2.0 * np.diff(places)[:, None]
    middles = (places[1:] + places[:-1]) / 2.0
    owner = np.clip(np.searchsorted(inputs, middles) - 1, 0, bins - 1)
    expected = np.zeros((bins, cells))
    np.add.at(expected, owner, areas * bins / 2.0)
    assert grid.mean_masses(bounds, inputs) == pytest.approx(expected, abs=1e-12)


@settings(max_examples=40)
@given(grid=grids(), prior=st.lists(st.floats(0.1, 9.0), min_size=1, max_size=5))
def test_the_variance_over_all_inputs(grid: WindowGrid, prior: list[float]) -> None:
    weights = np.array(prior) / sum(prior)
    x = (np.arange(60_000) + 0.5) / 30_000 - 1.0
    curve = grid.variance(x)
    worst = grid.worst_variance()
    assert curve.max() <= worst * (1.0 + 1e-12)
    assert max(curve.max(), grid.variance(np.array(1.0))) == pytest.approx(worst, rel=1e-6)
    average = np.repeat(weights, 60_000 // len(prior)) @ curve / (60_000 // len(prior))
    found = grid.average_variance(weights, mean_square(weights))
    assert found == pytest.approx(average, rel=1e-5)


def intervals(grid: WindowGrid) -> list[int]:
    """Where the words of a point can start, and 2^64."""
    held = grid.inside * grid.window
    others = grid.points - grid.window
    return [
        *(grid.inside * k for k in range(grid.window)),
        *(held + grid.outside * k for k in range(others)),
        *(SCALE - grid.rest + k for k in range(grid.rest + 1)),
    ]


@settings(max_examples=60)
@given(grid=grids(), x=units, rounding=st.integers(0, 2**64 - 1))
def test_every_word_is_drawn_with_its_weight(grid: WindowGrid, x: float, rounding: int) -> None:
    """Between two starts all words give one point: their number is its weight, exactly."""
    ends = sorted(set(intervals(grid)))
    pairs = list(pairwise(ends))
    words = np.array([w for start, end in pairs for w in (start, end - 1)], np.uint64)
    drawn = grid.draw(np.full(len(words), x), np.full(len(words), rounding, np.uint64), words)
    assert np.array_equal(drawn[0::2], drawn[1::2])
    weights = [0] * grid.points
    for point, (start, end) in zip(drawn[0::2].tolist(), pairs, strict=True):
        weights[point] += end - start
    position = (Fraction(x) + 1) * (grid.points - grid.window) / 2
    near = {math.floor(position), math.ceil(position)}
    if x + 1.0 != Fraction(x) + 1:  # what the sum rounds may pass a whole number
        near |= {round(position)}
    assert weights in [row(grid, p) for p in near]


@given(grid=grids(), x=units, data=st.data())
def test_positions_are_rounded_with_the_right_chances(
    grid: WindowGrid, x: float, data: st.DataObject
) -> None:
    """The share of the upper position is the fraction of x's own, in steps of 2^-32."""
    position = int((x + 1.0) * (grid.points - grid.window) * 2.0 ** (POSITION_BITS - 1))
    low, part = position >> POSITION_BITS, position % (1 << POSITION_BITS)
    first = (1 << POSITION_BITS) - part  # the first number that goes up
    tries = {
        0,
        first - 1,
        min(first, (1 << POSITION_BITS) - 1),
        data.draw(st.integers(0, 2**32 - 1)),
    }
    for number in tries:
        rest = data.draw(st.integers(0, 2**32 - 1))
        word = np.array([number << 32 | rest], np.uint64)
        point = grid.draw(np.array([x]), word, np.zeros(1, np.uint64))
        assert point.tolist() == [low + (number >= first)]


@given(
    epsilon=st.floats(1e-9, 100.0), share=st.floats(1e-12, 1.0 - 1e-12),
    x=units, words=st.lists(st.integers(0, 2**64 - 1)),
)  # fmt: skip
def test_points_never_leave_a_large_grid(
    epsilon: float, share: float, x: float, words: list[int]
) -> None:
    grid = WindowGrid.fitted(epsilon, share)
    edge = [0, 1, 2**63, SCALE - grid.rest - 1, SCALE - 1, *words]
    for first in (0, SCALE - 1):
        for number in (x, -1.0, 1.0):
            numbers = np.full(len(edge), number)
            rounding = np.full(len(edge), first, np.uint64)
            drawn = grid.draw(numbers, rounding, np.array(edge, np.uint64))
            assert 0 <= drawn.min() <= drawn.max() < grid.points


@given(epsilon=st.floats(1e-9, 32.0), share=st.floats(1e-6, 0.999))
def test_little_of_epsilon_is_lost(epsilon: float, share: float) -> None:
    """Rounding costs one unit of b, or as much weight of the window."""
    grid = WindowGrid.fitted(epsilon, share)
    ratio = math.expm1(grid.privacy_loss()) / math.expm1(epsilon)
    lost = 2.0 / grid.outside + 4.0 / (grid.inside - grid.outside)
    assert 1.0 - lost - 1e-9 < ratio <= 1.0


def test_one_unit_too_much_is_refused() -> None:
    grid = WindowGrid.fitted(1.0, 0.25, 64)
    loss = grid.privacy_loss()
    parts = (grid.points, grid.window, grid.inside, grid.outside)
    assert WindowGrid(loss, *parts).rest == grid.rest
    with pytest.raises(PrivacyError, match="not private"):
        WindowGrid(math.nextafter(loss, 0.0), *parts)
    # a unit that moves from every other point of four to every point of a window of one
    small = WindowGrid.fitted(1.0, 0.25, 4)
    with pytest.raises(PrivacyError):
        WindowGrid(1.0, 4, 1, small.inside + 3, small.outside - 1)


@pytest.mark.parametrize(
    ("parts", "name"),
    [
        ((3, 1, 5, 2), "points"), ((5, 1, 5, 2), "points"), ((64, 0, 5, 2), "window"),
        ((64, 64, 5, 2), "window"), ((64, 8, 2, 2), "inside"), ((64, 8, 2, 0), "outside"),
        ((64, 8, 3, 2), "weights"), ((64, 8, 1 << 62, 2), "weights"),
        ((4, 1, (1 << 62) + 3, (1 << 62) - 2), "weights"),
    ],
)  # fmt: skip
def test_what_is_no_grid_is_refused(parts: tuple[int, int, int, int], name: str) -> None:
    with pytest.raises(InvalidArgumentError, match=f"{name} must"):
        WindowGrid(1.0, *parts)


def test_an_epsilon_below_one_unit_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="epsilon must be larger for 8388608 likely"):
        WindowGrid.fitted(1e-15, 0.5)
