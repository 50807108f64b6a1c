from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog

import noutput as no
from noutput.designs import balanced
from noutput.designs.balanced import training
from noutput.designs.balanced.reach import Reach
from noutput.designs.balanced.training import Goal, Point, limited
from noutput.designs.distribution.bins import KNOTS
from noutput.designs.distribution.error import expected_error
from noutput.designs.distribution.private_rows import Parameters
from noutput.designs.distribution.simulated import Schedule
from noutput.errors import DesignError
from noutput.mechanisms.quantize import quantize

QUICK = Schedule(steps=30, collections=32, most_iterations=100)


def shaken(epsilon: float, n_outputs: int, rng: np.random.Generator) -> Point:
    table = no.design(epsilon, balanced.base_size(n_outputs, epsilon), "worst").mechanism
    start = balanced._start(table, n_outputs, 1)
    change = (
        0.5 * rng.standard_normal(start.parameters.logits.shape),
        0.1 * rng.standard_normal(n_outputs),
        0.1 * rng.standard_normal(1),
        0.05 * rng.standard_normal(n_outputs),
    )
    return start.moved(change).symmetric()


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 5.0])
def test_the_largest_mean_is_that_of_a_linear_program(
    epsilon: float, rng: np.random.Generator
) -> None:
    outputs = np.sort(rng.normal(size=12)) * 3.0
    least = rng.dirichlet(np.ones(12)) * (math.exp(-epsilon) + 1.0) / 2.0
    bounds = list(zip(least, least * math.exp(epsilon), strict=True))
    best = linprog(-outputs, A_eq=np.ones((1, 12)), b_eq=[1.0], bounds=bounds)
    found = Reach.of(outputs, least, epsilon, 1.01)
    assert found.factor * float(np.asarray(best.x) @ outputs) == pytest.approx(1.01)
    assert found.row == pytest.approx(np.asarray(best.x), abs=1e-9)


def test_rows_are_private_and_unbiased(rng: np.random.Generator) -> None:
    goal = Goal(1.0, 4.4)
    rows = shaken(1.0, 16, rng).rows(goal)
    found = rows.probabilities
    assert found @ rows.shape.outputs == pytest.approx(KNOTS, abs=1e-9)
    assert found.sum(axis=1) == pytest.approx(np.ones(128), abs=1e-10)
    assert (found.max(axis=0) / found.min(axis=0)).max() <= math.e * (1.0 + 1e-12)


def test_the_gradient_is_that_of_differences(rng: np.random.Generator) -> None:
    """The exact derivative of a loss in rows plus pulls at second moments, in all parameters."""
    goal = Goal(1.0, 4.4)
    point = shaken(1.0, 16, rng)
    by_bins = rng.standard_normal((64, 16))
    by_bins = (by_bins + by_bins[::-1, ::-1]) / 2.0
    pulls = rng.random(128)
    pulls = (pulls + pulls[::-1]) / 2.0

    def loss(at: Point) -> float:
        rows = at.rows(goal)
        bins = (rows.probabilities[::2] + rows.probabilities[1::2]) / 2.0
        return float((bins * by_bins).sum() + pulls @ (rows.probabilities @ rows.shape.outputs**2))

    found = training._gradient(point.rows(goal), point.scaled(goal), by_bins, pulls)
    for part, slope in enumerate(found):
        step = rng.standard_normal(slope.shape)
        if part == 3:
            step -= step[::-1]
        values = []
        for sign in (1e-6, -1e-6):
            parts = [np.array(each) for each in (*point.parameters.parts, point.outputs)]
            parts[part] = parts[part] + sign * step
            values.append(loss(Point(Parameters(*parts[:3]), parts[3])))
        expected = (values[0] - values[1]) / 2e-6
        assert float((slope * step).sum()) == pytest.approx(expected, rel=1e-4, abs=1e-6), part


def test_rows_above_the_limit_are_moved_below_it_and_others_stay(rng: np.random.Generator) -> None:
    goal = Goal(2.0, 1.0)
    rows = shaken(2.0, 16, rng).rows(goal)
    variances = rows.probabilities @ rows.shape.outputs**2 - KNOTS**2
    limit = float(np.quantile(variances, 0.9))
    found = limited(rows, limit)
    assert (found.probabilities @ found.shape.outputs**2 - KNOTS**2).max() <= limit * (1.0 + 1e-9)
    below = variances < limit
    assert found.probabilities[below] == pytest.approx(rows.probabilities[below], abs=1e-9)
    assert found.probabilities @ found.shape.outputs == pytest.approx(KNOTS, abs=1e-9)
    assert limited(found, 2.0 * limit) is found


@pytest.mark.parametrize(("epsilon", "n_outputs"), [(0.5, 17), (1.0, 16), (3.0, 32)])
def test_training_keeps_the_variance_and_helps(epsilon: float, n_outputs: int) -> None:
    best = no.design(epsilon, balanced.base_size(n_outputs, epsilon), "worst")
    bound = best.lower_bound
    assert bound is not None
    shares: list[float] = []
    found = balanced.solve(best.mechanism, bound, n_outputs, schedule=QUICK, progress=shares.append)
    table = quantize(epsilon, found.outputs, found.probabilities)
    assert table.n_outputs == n_outputs
    assert table.worst_variance() <= (1.0 + balanced.LARGEST_EXCESS) * bound
    assert expected_error(table) < 0.9 * expected_error(best.mechanism)
    assert found.iterations == len(shares) == QUICK.steps
    assert shares[-1] == 1.0


def test_a_limit_that_training_does_not_reach_is_an_error() -> None:
    table = no.design(1.0, balanced.base_size(16, 1.0), "worst").mechanism
    with pytest.raises(DesignError, match=r"worst-case variance .* above the limit .* 16 outputs"):
        balanced.solve(table, 2.0, 16, schedule=replace(QUICK, steps=5))
