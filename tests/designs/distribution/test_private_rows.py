from __future__ import annotations

import math

import numpy as np
import pytest

from noutput.designs import distribution
from noutput.designs.distribution.private_rows import Parameters, Rows, Shape
from noutput.mechanisms.square_wave import square_wave

CENTERS = np.linspace(-63.0, 63.0, 64) / 64.0


def shape(epsilon: float, size: int) -> Shape:
    return Shape(epsilon, CENTERS, distribution._outputs(epsilon, size))


def start(epsilon: float, size: int) -> Parameters:
    return Parameters.near(square_wave(epsilon).transition(64, size), epsilon)


def shaken(epsilon: float, size: int, rng: np.random.Generator) -> Rows:
    found = start(epsilon, size)
    change = (
        0.7 * rng.standard_normal(found.logits.shape),
        0.1 * rng.standard_normal(size),
        0.1 * rng.standard_normal(1),
    )
    return found.moved(change).symmetric().rows(shape(epsilon, size))


@pytest.mark.parametrize("epsilon", [0.25, 1.0, 4.0])
@pytest.mark.parametrize("size", [8, 64])
def test_rows_are_private_and_unbiased(epsilon: float, size: int, rng: np.random.Generator) -> None:
    found = shaken(epsilon, size, rng)
    rows = found.probabilities
    assert np.abs(rows.sum(axis=1) - 1.0).max() < 1e-10
    assert np.abs(rows @ found.shape.outputs - CENTERS).max() < 1e-9
    assert rows.min() > 0.0
    assert (rows.max(axis=0) / rows.min(axis=0)).max() <= math.exp(epsilon) * (1.0 + 1e-12)


def test_the_gradient_is_that_of_differences(rng: np.random.Generator) -> None:
    found = shaken(1.0, 16, rng)
    outer = rng.standard_normal(found.probabilities.shape)
    gradient = found.gradient(outer)
    base = found.parameters
    for _ in range(3):
        change = [rng.standard_normal(part.shape) * 1e-6 for part in gradient]
        values = []
        for sign in (1.0, -1.0):
            moved = Parameters(
                base.logits + sign * change[0],
                base.columns + sign * change[1],
                base.total + sign * change[2],
            )
            values.append(float((moved.rows(found.shape).probabilities * outer).sum()))
        expected = sum(float((g * c).sum()) for g, c in zip(gradient, change, strict=True))
        assert (values[0] - values[1]) / 2.0 == pytest.approx(expected, rel=1e-5)


def test_symmetric_parameters_make_symmetric_tables(rng: np.random.Generator) -> None:
    found = shaken(2.0, 16, rng)
    rows = found.probabilities
    assert np.abs(rows - rows[::-1, ::-1]).max() < 1e-10


def test_the_start_is_close_to_square_wave() -> None:
    wave = square_wave(2.0).transition(64, 16)
    rows = start(2.0, 16).rows(shape(2.0, 16)).probabilities
    assert np.abs(rows - wave).sum(axis=1).max() < 0.3
