from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import wasserstein_distance

import noutput as no
from noutput.errors import InvalidArgumentError


def test_equals_the_distance_of_the_bins_positions(rng: np.random.Generator) -> None:
    p, q = rng.dirichlet(np.ones(20), size=2)
    centers = np.linspace(-1.0, 1.0, 41)[1::2]
    assert no.wasserstein(p, q) == pytest.approx(wasserstein_distance(centers, centers, p, q))


def test_rows_and_units(rng: np.random.Generator) -> None:
    p, q = rng.dirichlet(np.ones(20), size=(2, 7))
    found = no.wasserstein(p, q[0], no.Interval(0.0, 100.0))
    assert np.allclose(found, [50.0 * float(no.wasserstein(row, q[0])) for row in p])


def test_is_the_area_between_the_steps() -> None:
    assert no.wasserstein([0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5]) == pytest.approx(1.0)
    assert no.wasserstein([1.0, 0.0], [1.0, 0.0]) == 0.0


def test_different_bins_are_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="bins"):
        no.wasserstein([0.5, 0.5], [1.0])
