"""Mechanisms that an estimator cannot use are refused by name, not by a missing attribute."""

from __future__ import annotations

from typing import Any

import pytest

import noutput as no

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
