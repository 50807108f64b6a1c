from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noutput.errors import InvalidArgumentError
from noutput.mechanisms.hybrid import REPORT, SMALLEST_MIXED_EPSILON, Hybrid


@given(epsilon=st.floats(0.62, 8.0))
def test_the_variance_is_the_same_for_every_input(epsilon: float) -> None:
    """Up to the rounding of the coin and of Piecewise's window to whole numbers."""
    found = Hybrid(epsilon)
    values = found.variance([-1.0, -0.2, 0.0, 0.7, 1.0])
    assert values == pytest.approx(values[0], rel=1.0 / found.piecewise.grid.window)
    assert found.worst_variance() >= values.max() * (1.0 - 1e-15)


@given(epsilon=st.floats(0.05, 40.0))
def test_the_coin_is_a_whole_number(epsilon: float) -> None:
    found = Hybrid(epsilon)
    assert 0 <= found.piecewise_weight <= 1 << 32
    share = -math.expm1(-epsilon / 2.0) if epsilon > SMALLEST_MIXED_EPSILON else 0.0
    assert found.piecewise_share == pytest.approx(share, abs=2.0**-33)
    assert found.privacy_loss() <= epsilon


def test_words_decide_as_documented() -> None:
    """The lower half of the first word is the coin; the upper half rounds the position."""
    found = Hybrid(1.0)
    weight = found.piecewise_weight
    words = np.array([weight - 1, 0, weight, 0, (1 << 64) - 1, (1 << 64) - 1], np.uint64)
    out = np.empty(3, REPORT)
    found._draw(np.full(3, 0.2), words, out)
    assert out["part"].tolist() == [1, 0, 0]
    point = found.piecewise.grid.draw(np.array([0.2]), words[:1], words[1:2])
    assert out["value"][0] == found.piecewise.decode(found.piecewise.values_of(point))[0]
    assert out["value"][1] == found.duchi.outputs[found.duchi.draw(0.2, 0)]
    assert out["value"][2] == found.duchi.outputs[found.duchi.draw(0.2, (1 << 64) - 1)]


def test_records_have_the_probabilities_of_their_parts() -> None:
    found = Hybrid(1.0)
    reports = found.privatize(np.full(2000, 0.2), np.random.default_rng(1))
    duchi = reports["part"] == 0
    share = found.piecewise_share
    for x in (0.2, -0.9):
        found_probability = np.exp(found.log_likelihood(reports, x))
        high = reports["value"][duchi] > 0.0
        rows = found.duchi.probabilities(x)
        assert found_probability[duchi] == pytest.approx((1.0 - share) * rows[high.astype(int)])
        points = np.rint(
            (reports["value"][~duchi] * found.piecewise.gain / found.piecewise.reach * 2.0**24
             + 2.0**24 - 1.0) / 2.0
        ).astype(np.int64)  # fmt: skip
        expected = share * found.piecewise.grid.probability(points, np.array(x))
        assert found_probability[~duchi] == pytest.approx(expected)
    strange = np.array([(0, 0.5), (1, 0.1), (2, 0.5), (1, math.nan), (0, math.inf)], REPORT)
    assert np.isneginf(found.log_likelihood(strange, 0.2)).all()


def test_the_parts_balance_at_the_border() -> None:
    assert pytest.approx(0.61, abs=5e-3) == SMALLEST_MIXED_EPSILON
    below, above = Hybrid(SMALLEST_MIXED_EPSILON - 1e-9), Hybrid(SMALLEST_MIXED_EPSILON + 1e-9)
    assert below.worst_variance() == pytest.approx(above.worst_variance(), rel=1e-6)
    assert below.piecewise_share == 0.0


@given(epsilon=st.floats(0.05, 8.0))
def test_it_is_never_worse_than_its_parts(epsilon: float) -> None:
    found = Hybrid(epsilon)
    best = min(found.duchi.worst_variance(), found.piecewise.worst_variance())
    assert found.worst_variance() <= best * (1.0 + 1e-9)


def test_reports_say_which_part_made_them() -> None:
    found = Hybrid(1.0)
    reports = found.privatize(np.full(100_000, 0.4), np.random.default_rng(1))
    assert reports["part"].mean() == pytest.approx(found.piecewise_share, abs=0.01)
    duchi = reports["value"][reports["part"] == 0]
    assert set(duchi.tolist()) == set(found.duchi.outputs.tolist())
    assert len(np.unique(reports["value"][reports["part"] == 1])) > 30_000


def test_cells_stand_side_by_side() -> None:
    found = Hybrid(1.0)
    matrix = found.transition(6, 5)
    assert matrix.shape == (6, 7)
    share = found.piecewise_share
    assert matrix[:, 2:] == pytest.approx(share * found.piecewise.transition(6, 5))
    records = np.zeros(3, found.privatize([0.0]).dtype)
    records["part"] = [0, 0, 1]
    largest = float(found.piecewise.decode(found.piecewise.reach))
    records["value"] = [-found.duchi.outputs[1], found.duchi.outputs[1], largest]
    assert found.cells(records, 5).tolist() == [0, 1, 6]


@pytest.mark.parametrize(
    ("part", "value"), [(2, 0.0), (1, np.nan), (1, np.inf), (1, 99.0), (0, 0.5), (0, np.nan)]
)
def test_records_that_cannot_be_are_refused(part: int, value: float) -> None:
    with pytest.raises(InvalidArgumentError, match="reports must be"):
        Hybrid(1.0).cells(np.array([(part, value)], REPORT))


@pytest.mark.parametrize("bad", [[0.5], ["a"], [(0, 1.0)], np.zeros(2, [("part", "u1")])])
def test_what_is_no_record_is_refused(bad: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="reports must be records of part and value"):
        Hybrid(1.0).cells(bad)
    with pytest.raises(InvalidArgumentError, match="reports must be records of part and value"):
        Hybrid(1.0).decode(bad)
