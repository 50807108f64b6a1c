from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

import noutput as no
from noutput.designs import balanced
from noutput.designs.balanced.split import sizes, split


@pytest.mark.parametrize(("n_outputs", "columns"), [(8, 4), (9, 3), (16, 12), (33, 7), (64, 8)])
def test_every_column_is_split_alike_and_mirrored_ones_the_same(
    n_outputs: int, columns: int
) -> None:
    found = sizes(n_outputs, columns)
    assert sum(found) == n_outputs
    assert found == found[::-1]
    assert min(found) >= 1
    sides = found[: columns // 2]
    assert max(sides) - min(sides) <= 1


@pytest.mark.parametrize(
    ("epsilon", "base", "n_outputs"), [(0.5, 4, 16), (1.0, 7, 33), (3.0, 8, 64)]
)
def test_a_split_table_has_the_same_mean_variance_and_loss(
    epsilon: float, base: int, n_outputs: int
) -> None:
    table = no.design(epsilon, base, "worst").mechanism
    found = split(table, n_outputs)
    rows, outputs = found.probabilities, found.outputs
    assert rows.shape == (64, n_outputs)
    assert rows.sum(axis=1) == pytest.approx(np.ones(64), abs=1e-12)
    # the middle of 16 points of every bin has the mean of the bin, as rows are linear but for kinks
    whole = np.asarray(table.transition(64))
    assert rows @ outputs == pytest.approx(whole @ table.outputs, abs=2e-3)
    assert rows @ outputs**2 == pytest.approx(whole @ table.outputs**2, rel=2e-3)
    assert (rows >= found.least * (1.0 - 1e-12)).all()
    assert (rows <= found.least * math.exp(epsilon) * (1.0 + 1e-6)).all()
    assert outputs == pytest.approx(-outputs[::-1], abs=1e-6)


def test_a_split_table_tells_more() -> None:
    """Fisher's information about the histogram grows: no direction loses."""
    table = no.design(1.0, 8, "worst").mechanism
    uniform = np.full(64, 1.0 / 64.0)

    def information(rows: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray((rows / (uniform @ rows)) @ rows.T)

    whole, parts = np.asarray(table.transition(64)), split(table, 64).probabilities
    gain = information(parts) - information(whole)
    assert np.linalg.eigvalsh(gain).min() > -1e-4
    assert np.trace(gain) > 0.5


@pytest.mark.parametrize("epsilon", [0.25, 2.0, 3.0, 4.0, 6.0])
@pytest.mark.parametrize("n_outputs", [8, 9, 16, 17, 64, 65, 128])
def test_training_starts_from_a_table_with_fewer_outputs_of_the_same_parity(
    n_outputs: int, epsilon: float
) -> None:
    base = balanced.base_size(n_outputs, epsilon)
    assert 2 <= base <= min(max(16, n_outputs // 2), n_outputs)
    assert base % 2 == n_outputs % 2
