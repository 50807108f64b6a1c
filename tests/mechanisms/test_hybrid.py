from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noutput.errors import InvalidArgumentError
from noutput.mechanisms.hybrid import REPORT, SMALLEST_MIXED_EPSILON, Hybrid


@given(epsilon=st.floats(0.62, 8.0))
def test_the_variance_is_the_same_for_every_input(epsilon: float) -> None:
    values = Hybrid(epsilon).variance([-1.0, -0.2, 0.0, 0.7, 1.0])
    assert values == pytest.approx(values[0], rel=1e-6)


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
    records["value"] = [-found.duchi.outputs[1], found.duchi.outputs[1], found.piecewise.reach]
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
