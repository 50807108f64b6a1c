from __future__ import annotations

import numpy as np
import pytest

import noutput as no
from noutput.errors import InvalidArgumentError
from tests.estimate.samples import sixteen


@pytest.mark.parametrize("objective", ["balanced", "distribution"])
def test_cells_are_where_rows_jump(objective: str) -> None:
    m = no.design(1.0, 64, objective=objective).mechanism
    found = no.resolution(m, (0, 64), reports=1000)
    assert found.cells is not None
    assert np.allclose(found.cells, np.arange(65), atol=1e-3)
    assert str(found) == "64 cells of width 1.0: inside of one, numbers are hardly told apart"


def test_gradual_tables_tell_less_with_fewer_reports() -> None:
    many, few = (no.resolution(sixteen(1.0), reports=n) for n in (40_000, 10_000))
    assert many.cells is None
    assert few.apart == pytest.approx(2.0 * many.apart)  # type: ignore[operator]
    assert "with 10,000 reports, numbers closer than" in str(few)
    assert "depends on the number of reports" in str(no.resolution(sixteen(1.0)))
    assert no.resolution(sixteen(0.1), (0, 10), reports=1).apart == 10.0


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="reports"):
        no.resolution(sixteen(1.0), reports=0)
