from __future__ import annotations

import math

import numpy as np
import pytest

from noutput.designs.distribution.parameters import Parameters, Rows, Shape
from noutput.mechanisms.square_wave import square_wave

CENTERS = np.linspace(-63.0, 63.0, 64) / 64.0


def start(epsilon: float, size: int) -> Parameters:
    wave = square_wave(epsilon)
    edges = wave.edges(size)
    outputs = (1.05 + 0.25 / epsilon) * (edges[1:] + edges[:-1]) / (2.0 * wave.gain)
    return Parameters.near(wave.transition(64, size), outputs, epsilon, 3.0)


def shaken(epsilon: float, size: int, rng: np.random.Generator) -> Rows:
    found = start(epsilon, size)
    parts = (found.logits, found.columns, found.total, found.outputs)
    sizes = (0.7, 0.1, 0.1, 0.0)
    change = [z * rng.standard_normal(p.shape) for z, p in zip(sizes, parts, strict=True)]
    moved = found.moved((change[0], change[1], change[2], change[3]))
    return moved.rows(Shape(epsilon, CENTERS))


@pytest.mark.parametrize("epsilon", [0.25, 1.0, 4.0])
@pytest.mark.parametrize("size", [8, 64])
def test_rows_are_private_and_unbiased(epsilon: float, size: int, rng: np.random.Generator) -> None:
    found = shaken(epsilon, size, rng)
    rows = found.probabilities
    assert np.abs(rows.sum(axis=1) - 1.0).max() < 1e-10
    assert np.abs(rows @ found.parameters.outputs - CENTERS).max() < 1e-9
    assert rows.min() > 0.0
    assert (rows.max(axis=0) / rows.min(axis=0)).max() <= math.exp(epsilon) * (1.0 + 1e-12)


def test_the_gradient_is_that_of_differences(rng: np.random.Generator) -> None:
    shape = Shape(1.0, CENTERS)
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
                base.outputs + sign * change[3],
            )
            values.append(float((moved.rows(shape).probabilities * outer).sum()))
        expected = sum(float((g * c).sum()) for g, c in zip(gradient, change, strict=True))
        assert (values[0] - values[1]) / 2.0 == pytest.approx(expected, rel=1e-5)


def test_symmetric_parameters_make_symmetric_tables(rng: np.random.Generator) -> None:
    found = shaken(2.0, 16, rng).parameters.symmetric()
    rows = found.rows(Shape(2.0, CENTERS)).probabilities
    assert np.abs(rows - rows[::-1, ::-1]).max() < 1e-10
    assert np.array_equal(found.outputs, -found.outputs[::-1])


def test_tables_are_found_again_from_their_rows() -> None:
    shape = Shape(2.0, CENTERS)
    rows = start(2.0, 16).rows(shape).probabilities
    again = Parameters.near(rows, start(2.0, 16).outputs, 2.0, 6.0).rows(shape).probabilities
    assert np.abs(again - rows).max() < 0.01
