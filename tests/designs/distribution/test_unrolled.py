from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from noutput.designs.distribution.training_shapes import draw_histograms
from noutput.designs.distribution.unrolled import Batch, errors_and_gradient
from noutput.estimate import em
from noutput.estimate.distance import wasserstein
from noutput.mechanisms.square_wave import square_wave

OUTPUTS = 16


def batch(rng: np.random.Generator, count: int) -> Batch[np.float64]:
    return Batch(
        truths=draw_histograms(rng, count),
        people=np.geomspace(500.0, 20_000.0, count),
        noise=rng.standard_normal((count, OUTPUTS)),
        tolerances=np.full(count, 1e-5),
        wasserstein_weights=rng.uniform(5.0, 20.0, count),
        variance_weights=rng.uniform(50.0, 200.0, count),
    )


def test_the_errors_are_those_of_the_estimator(rng: np.random.Generator) -> None:
    theta = square_wave(1.0).transition(64, OUTPUTS)
    few = batch(rng, 12)
    found, _ = errors_and_gradient(theta, few, 100_000)
    chances = few.truths @ theta
    roots = np.sqrt(chances)
    inner = (roots * few.noise).sum(axis=1, keepdims=True)
    shares = chances + (roots * few.noise - chances * inner) / np.sqrt(few.people)[:, None]
    shares = np.maximum(shares, 0.0)
    fit = em.maximize(shares / shares.sum(axis=1, keepdims=True), theta, few.tolerances)
    assert np.array_equal(found.iterations, fit.iterations)
    assert found.wasserstein == pytest.approx(
        np.asarray(wasserstein(fit.probabilities, few.truths)), rel=1e-9
    )


@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_the_gradient_is_that_of_differences(epsilon: float, rng: np.random.Generator) -> None:
    theta = square_wave(epsilon).transition(64, OUTPUTS)
    few = batch(rng, 8)
    found, gradient = errors_and_gradient(theta, few, 400)
    for _ in range(3):
        change = rng.standard_normal(theta.shape) * theta * 1e-7
        values = []
        for sign in (1.0, -1.0):
            moved, _ = errors_and_gradient(theta + sign * change, few, 400)
            assert np.array_equal(moved.iterations, found.iterations)
            values.append(moved.loss.mean())
        difference = (values[0] - values[1]) / 2.0
        assert difference == pytest.approx(float((gradient * change).sum()), rel=1e-4)


def test_single_precision_is_enough(rng: np.random.Generator) -> None:
    theta = square_wave(1.0).transition(64, OUTPUTS)
    double = batch(rng, 100)
    parts: dict[str, Any] = {
        each.name: getattr(double, each.name).astype(np.float32) for each in fields(double)
    }
    _, exact = errors_and_gradient(theta, double, 400)
    _, found = errors_and_gradient(theta.astype(np.float32), Batch(**parts), 400)
    assert found.dtype == np.float32
    assert np.linalg.norm(found - exact) < 0.03 * np.linalg.norm(exact)
