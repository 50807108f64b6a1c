"""Mechanisms that an estimator cannot use are refused by name, not by a missing attribute."""

from __future__ import annotations

from typing import Any

import pytest

import noutput as no
from noutput.mechanisms.table import unit_mechanism
from tests.tables import jump_table

UNARY = [no.mechanism(name, 1.0, bins=8) for name in ("oue", "sue")]
TALLY = no.Tally("0" * 64, (1, 2, 3))
NO_TABLES = [*UNARY, *(no.mechanism(name, 1.0) for name in ("pm", "hybrid", "direct-encoding"))]


@pytest.mark.parametrize("mechanism", [*UNARY, None, 3])
def test_a_mechanism_without_cells_has_no_tally_and_no_distribution(mechanism: Any) -> None:
    with pytest.raises(no.InvalidArgumentError, match="mechanism must have reports that fall"):
        no.Tally.of(mechanism, [0, 1])
    with pytest.raises(no.InvalidArgumentError, match="mechanism must have reports that fall"):
        no.Tally.by_attribute(mechanism, [0, 1], [0, 1], 2)
    with pytest.raises(no.InvalidArgumentError, match="mechanism must have reports that fall"):
        no.estimate_distribution(mechanism, TALLY)
    with pytest.raises(no.InvalidArgumentError, match="mechanism must have reports that fall"):
        no.estimate_variance(mechanism, TALLY)
    with pytest.raises(no.InvalidArgumentError, match="mechanism must have reports that fall"):
        no.goodness_of_fit(mechanism, TALLY)


@pytest.mark.parametrize("mechanism", NO_TABLES)
def test_moments_are_estimated_for_tables_alone(mechanism: Any) -> None:
    with pytest.raises(no.InvalidArgumentError, match="mechanism must be a TableMechanism"):
        no.estimate_mean(mechanism, TALLY)
    with pytest.raises(no.InvalidArgumentError, match="mechanism must be a TableMechanism"):
        no.estimate_means(mechanism, [TALLY, TALLY])


def test_a_table_in_another_unit_is_refused() -> None:
    """Estimates map [-1, 1] to the bounds: of other knots they would make nonsense."""
    table = jump_table(1.0, (0.0, 90.0, 180.0))
    mechanism = no.TableMechanism.of(table)
    tally = no.Tally.of(mechanism, [0, 1, 2, 2])
    for call in (no.estimate_mean, no.estimate_distribution, no.estimate_variance):
        with pytest.raises(no.InvalidArgumentError, match="mechanism must have knots from -1 to 1"):
            call(mechanism, tally)
    with pytest.raises(no.InvalidArgumentError, match="mechanism must have knots from -1 to 1"):
        no.Evidence([(mechanism, tally, (0, 90))])
    moved = unit_mechanism(table)
    assert isinstance(moved, no.TableMechanism)
    assert no.estimate_mean(moved, tally, (0, 180)).standard_error > 0.0
