"""Tables for numbers with cells: goals, numbers inside cells, round edges."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noutput.designs.answers.bound import certificate_of
from noutput.designs.answers.certificate import prove
from noutput.designs.answers.error import worst_error
from noutput.designs.answers.saddle import Aim, restricted, solve, worst_population
from noutput.designs.cells import Knots, design_cells, n_cells, round_edges
from noutput.designs.columns.pricing import subsets
from noutput.errors import InvalidArgumentError

EIGHT = tuple(np.linspace(-1.0, 1.0, 9).tolist())
UNEVEN = tuple((np.array([0, 15, 30, 45, 60, 90, 120, 180]) / 90.0 - 1.0).tolist())
THRESHOLD = (-1.0, -0.5, 1.0)

GOALS = [
    (1.0, EIGHT, {"mean": 1.27, "cdf": 1.27, "squares": 4.0}),
    (4.0, THRESHOLD, {"mean": 1.75}),
]
SLOW_GOALS = [
    (0.5, EIGHT, {"mean": 1.24, "cdf": 1.27, "squares": 4.2}),
    (2.0, EIGHT, {"mean": 1.41, "cdf": 1.33, "squares": 3.5}),
    (4.0, EIGHT, {"mean": 1.70, "cdf": 1.56, "squares": 4.0}),
    (1.0, UNEVEN, {"mean": 1.40, "cdf": 1.38, "squares": 4.2}),
]

designed = cache(design_cells)


@pytest.mark.parametrize(
    ("epsilon", "edges", "goals"),
    [*GOALS, *(pytest.param(*goal, marks=pytest.mark.slow) for goal in SLOW_GOALS)],
)
def test_statistics_cost_little_more_than_their_limits(
    epsilon: float, edges: tuple[float, ...], goals: dict[str, float]
) -> None:
    found = designed(epsilon, edges)
    assert found.mechanism.n_outputs <= 64
    assert found.gap is None or 0.0 <= found.gap < 0.02
    for name, goal in goals.items():
        assert found.errors[name] <= goal, name


def test_people_inside_cells_have_no_larger_error() -> None:
    """Brute force: variances of the mean's scores at numbers inside cells, for many populations."""
    found = design_cells(2.0, (-1.0, 0.2, 1.0))
    table, knots = found.mechanism.table(), found.knots
    aim = knots.aim({"mean": 1.0}, {"mean": 1.0})
    bound = worst_error(table, aim)
    rng = np.random.default_rng(3)
    best = 0.0
    populations = [worst_population(table, aim), *rng.dirichlet(np.full(aim.n_places, 0.3), 200)]
    for population in populations:
        shares = aim.by_row(population)
        outputs = shares @ table
        information = (table / outputs) @ table.T
        own = 0.0
        for (low, high), (a, b) in zip(knots.spans, population.reshape(-1, 2), strict=True):
            if a + b:  # all of them at one number
                number = (a * knots.numbers[low] + b * knots.numbers[high]) / (a + b)
                own += (a + b) * number**2
        variance = knots.numbers @ np.linalg.solve(information, knots.numbers) - own
        best = max(best, float(variance))
    assert best <= bound * (1.0 + 1e-6)
    assert best >= bound * (1.0 - 1e-3)  # the worst population is among them


def test_inside_has_the_right_derivatives() -> None:
    aim = Knots((-1.0, 0.0, 1.0), (0, 1)).aim({"mean": 1.0}, {"mean": 2.0})
    population = np.random.default_rng(5).dirichlet(np.ones(aim.n_places))
    found = aim.inside(population)
    steps = 1e-6 * np.eye(aim.n_places)
    slopes = [
        (aim.inside(population + step).value - aim.inside(population - step).value) / 2e-6
        for step in steps
    ]
    bends = [
        (aim.inside(population + step).gradient - aim.inside(population - step).gradient) / 2e-6
        for step in steps
    ]
    np.testing.assert_allclose(found.gradient, slopes, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(found.hessian, bends, rtol=1e-5, atol=1e-7)


def test_numbers_inside_are_counted_by_the_solver() -> None:
    """A table that was made for the ends of a wide cell alone is worse where people are inside."""
    knots = Knots(THRESHOLD, (0, 0))
    limits = {"mean": 1.0, "cdf": 1.0}
    aim = knots.aim({"mean": 1.0, "cdf": 1.0}, limits)
    ends_only = solve(4.0, Aim(aim.factor), tolerance=1e-6).table
    both = solve(4.0, aim, tolerance=1e-6)
    assert worst_error(both.table, aim) == pytest.approx(both.value, rel=1e-3)
    assert worst_error(ends_only, aim) > both.value * (1.0 + 1e-3)


def test_wide_cells_have_knots_inside() -> None:
    assert designed(4.0, THRESHOLD).knots.inner == (1, 5)
    assert designed(1.0, EIGHT).knots.inner == (0,) * 8


@pytest.mark.parametrize(
    "edges", [(-1.0, 1.0), (-1.0, 0.5, 0.5, 1.0), (-0.5, 0.0, 1.0), (-1.0, 0.0, 2.0)]
)
def test_edges_that_make_no_cells_are_refused(edges: tuple[float, ...]) -> None:
    with pytest.raises(InvalidArgumentError, match="edges"):
        design_cells(1.0, edges)


@given(
    st.integers(-10_000, 10_000),
    st.integers(1, 10_000),
    st.integers(-6, 6),
    st.integers(3, 12),
)
def test_round_edges_are_round_and_inside(low: int, width: int, power: int, cells: int) -> None:
    lower, upper = float(Decimal(low).scaleb(power)), float(Decimal(low + width).scaleb(power))
    edges = round_edges(lower, upper, cells)
    assert 1 <= len(edges) < cells
    assert all(a < b for a, b in pairwise((lower, *edges, upper)))
    widths = [b - a for a, b in pairwise(edges)]
    assert all(math.isclose(width, widths[0], rel_tol=1e-6) for width in widths)
    for edge in edges:
        step = Decimal(1).scaleb(Decimal(repr(upper - lower)).adjusted() - 3)
        assert Decimal(repr(edge)) % step == 0


def test_the_number_of_cells_follows_epsilon_and_people() -> None:
    assert [n_cells(epsilon) for epsilon in (0.5, 1.0, 2.0, 4.0)] == [8, 8, 10, 12]
    assert [n_cells(1.0, people) for people in (10, 500, 1_000, 10**6)] == [3, 5, 7, 12]


def test_the_bound_is_proven_for_people_inside_cells() -> None:
    """No table with these knots is below it, and it is above the bound for people at the ends."""
    knots = Knots(THRESHOLD, (0, 1))
    aim = knots.aim({"mean": 1.0, "cdf": 1.0}, {"mean": 1.0, "cdf": 1.0})
    found = solve(2.0, aim, tolerance=1e-6)
    certificate = certificate_of(found)
    proven = prove(2.0, aim.factor, certificate, aim.spans, aim.rises)
    assert proven == pytest.approx(found.value, rel=1e-4)
    assert proven <= found.value
    ends = solve(2.0, Aim(aim.factor), tolerance=1e-6)
    assert ends.value < proven
    assert worst_error(ends.table, aim) > proven
    rng = np.random.default_rng(2)
    for _ in range(20):
        members = subsets(rng.choice(np.arange(1, 31), 12, replace=False), 5)
        try:
            other = restricted(2.0, aim, members, 1e-4)
        except np.linalg.LinAlgError:  # columns that cannot tell the rows apart
            continue
        if np.abs(other.table.sum(axis=1) - 1.0).max() < 1e-6:
            assert worst_error(other.table, aim) >= proven
    heavier = tuple(2.0 * number for number in certificate.multipliers)
    assert prove(2.0, aim.factor, replace(certificate, multipliers=heavier), aim.spans,
                 aim.rises) < proven  # fmt: skip
    with pytest.raises(InvalidArgumentError, match="have 6 shares and 5 multipliers"):
        prove(2.0, aim.factor, replace(certificate, population=(1.0,)), aim.spans, aim.rises)
