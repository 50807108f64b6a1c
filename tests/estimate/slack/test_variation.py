"""Densities of limited variation: ends that are proven and close, against brute force."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from noutput.estimate.slack.variation import LimitedVariation, _cover
from tests.estimate.samples import Array
from tests.tables import window_table

SIZE = 64


def rows(epsilon: float = 2.0) -> Array:
    return np.asarray(window_table(epsilon, 16, 65, 0.4).transition(SIZE))


def drawn(density: Array, reports: int, seed: int = 1) -> Array:
    chances = density @ rows()
    counts = np.random.default_rng(seed).multinomial(reports, chances / chances.sum())
    return np.asarray(counts / reports)


def largest_of_all(values: Array, limit: float) -> float:
    """Return the largest expectation, by a linear program over heights and their ups and downs."""
    size = len(values)
    ups = np.eye(size + 1, size) - np.eye(size + 1, size, -1)
    bounds = np.block(
        [
            [ups, -np.eye(size + 1)],
            [-ups, -np.eye(size + 1)],
            [np.zeros((1, size)), np.ones((1, size + 1))],
        ]
    )
    found = linprog(
        np.concatenate([-values / size, np.zeros(size + 1)]),
        A_ub=bounds,
        b_ub=np.append(np.zeros(2 * (size + 1)), limit),
        A_eq=np.concatenate([np.ones(size) / size, np.zeros(size + 1)])[None],
        b_eq=[1.0],
    )
    assert found.fun is not None
    return -float(found.fun)


def best_of_all(fit: LimitedVariation, goals: Array, most: float, limit: float) -> Array:
    """Return the largest statistics of densities that are allowed, by checking each."""

    def never(which: Any, scores: Array, price: Array) -> Array:  # noqa: ARG001 (goes on)
        return np.full(len(which), np.inf)

    best = np.full(len(goals), -np.inf)
    for steps, part in product(range(10, 20, 3), (1e-5, 1e-4, 1e-3, 1e-2)):
        point = fit._inside.farthest(goals / SIZE, most, fit._heights, 0.0, never, steps)
        heights = (1.0 - part) * point.heights + part * fit._heights  # the best fit is inside
        ups = np.abs(np.diff(heights, axis=1, prepend=0.0, append=0.0)).sum(axis=1)
        misfits = ((heights @ fit._map - fit.observed) ** 2).sum(axis=1)
        kept = (heights.min(axis=1) >= 0.0) & (ups <= limit) & (misfits <= most)
        kept &= np.abs(heights.mean(axis=1) - 1.0) < 1e-9
        best = np.where(kept, np.maximum(best, (heights * goals).mean(axis=1)), best)
    return best


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.floats(2.01, 40.0))
def test_the_cover_is_the_largest_expectation(seed: int, limit: float) -> None:
    values = np.random.default_rng(seed).normal(size=(1, 16)).cumsum(axis=1)
    (found,) = _cover(values, limit)
    assert found == pytest.approx(largest_of_all(values[0], limit), abs=1e-6)


@pytest.mark.parametrize("reports", [200, 5_000, 1_000_000])
@pytest.mark.parametrize("limit", [2.5, 7.5, 30.0])
def test_ends_are_close_to_densities_that_are_allowed(limit: float, reports: int) -> None:
    """What is proven is above every density; one of them is close."""
    x = (np.arange(SIZE) + 0.5) / SIZE
    density = 1.0 + np.where(limit > 5.0, np.cos(3.0 * x), 0.0)
    density /= density.sum()
    fit = LimitedVariation(rows(), limit, drawn(density, reports), float(reports))
    goals = np.array([x, -x, x < 0.25, -1.0 * (x < 0.25), (x > 0.4) & (x < 0.6), np.ones(SIZE)])
    ends = fit.largest(goals, 4.6)
    most = fit.least + 4.6
    reached = best_of_all(fit, goals[:5], most, limit)
    assert np.all(ends[:5] >= reached - 1e-6)
    assert np.all(ends[:5] <= reached + 1e-3)
    assert ends[5] == pytest.approx(1.0)
    assert np.all(goals @ fit.mixture <= ends + 1e-9)


def test_the_best_fit_is_that_of_the_truth_where_reports_are_exact() -> None:
    density = np.linspace(0.5, 1.5, SIZE) / SIZE
    shares = density @ rows()
    fit = LimitedVariation(rows(), 4.0, shares, 1e6)
    assert fit.least < 1e-2
    assert fit.mixture.sum() == pytest.approx(1.0)
