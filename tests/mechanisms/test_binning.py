from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noutput.errors import InvalidArgumentError
from noutput.mechanisms.binning import average, bin_of, middles, norm_sub, overlaps

shares = st.lists(st.floats(-2.0, 2.0), min_size=1, max_size=20)


@given(values=shares)
def test_norm_sub_gives_a_distribution(values: list[float]) -> None:
    found = norm_sub(values)
    assert found.min() >= 0.0
    assert found.sum() == pytest.approx(1.0)
    assert norm_sub(found) == pytest.approx(found, abs=1e-12)


@given(values=shares)
def test_norm_sub_subtracts_one_number(values: list[float]) -> None:
    found = norm_sub(values)
    taken = (np.array(values) - found)[found > 1e-12]
    assert np.ptp(taken) < 1e-12
    assert np.all(np.array(values)[found == 0.0] <= taken[0] + 1e-12)


def test_norm_sub_is_the_projection() -> None:
    values = np.array([0.6, 0.5, 0.1, -0.3])
    steps = np.linspace(0.0, 1.0, 31)
    grid = np.array(list(product(steps, steps, steps)))
    grid = np.column_stack([grid, 1.0 - grid.sum(axis=1)])
    others = grid[grid[:, 3] >= -1e-12]
    distances = np.sum((others - values) ** 2, axis=1)
    assert np.sum((norm_sub(values) - values) ** 2) <= distances.min() + 1e-12
    assert norm_sub(values) == pytest.approx(others[distances.argmin()], abs=0.04)


def test_norm_sub_needs_shares() -> None:
    with pytest.raises(InvalidArgumentError, match="at least one"):
        norm_sub([])


@given(x=st.floats(-1.0, 1.0), bins=st.integers(1, 100))
def test_a_number_lies_in_its_bin(x: float, bins: int) -> None:
    index = bin_of(np.array([x]), bins)[0]
    assert 0 <= index < bins
    assert abs(middles(bins)[index] - x) <= 1.0 / bins + 1e-12


@given(bins=st.integers(1, 30), others=st.integers(1, 30))
def test_overlaps_are_shares_of_bins(bins: int, others: int) -> None:
    matrix = overlaps(bins, others)
    assert matrix.shape == (bins, others)
    assert matrix.sum(axis=1) == pytest.approx(np.ones(bins))
    assert matrix.mean(axis=0) == pytest.approx(np.full(others, 1.0 / others))


def test_averages_follow_the_histogram() -> None:
    values = np.array([1.0, 2.0, 3.0, 4.0])
    assert average(values, None) == pytest.approx(2.5)
    assert average(values, [1.0, 0.0]) == pytest.approx(1.5)
    assert average(values, [0.0, 0.0, 1.0]) == pytest.approx((3.0 + 3.0 * 4.0) / 4.0)
