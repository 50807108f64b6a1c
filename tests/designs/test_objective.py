from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from noutput.designs.objective import Objective
from noutput.errors import InvalidArgumentError
from noutput.mechanisms.table import TableMechanism


def test_names() -> None:
    assert Objective.parse("worst") == Objective("worst", math.inf)
    assert Objective.parse("average").r == 1.0
    assert Objective.parse(1).name == "average"
    assert Objective.parse(2.5).name == "norm 2.5"
    assert Objective.parse("distribution") == Objective("distribution", None)
    assert Objective.parse("balanced") == Objective("balanced", None)
    for objective in ("balanced", "worst", "average", "distribution", 2.5):
        assert Objective.parse(Objective.parse(objective).spelling) == Objective.parse(objective)


@pytest.mark.parametrize("objective", ["best", 0.5, math.nan, -1, None, math.inf, ""])
def test_unknown_objectives(objective: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="objective"):
        Objective.parse(objective)


def test_a_prior_needs_an_average() -> None:
    with pytest.raises(InvalidArgumentError, match="prior must be None"):
        Objective.parse("worst", [1.0, 2.0])
    with pytest.raises(InvalidArgumentError, match="None where the objective is 'distribution'"):
        Objective.parse("distribution", [1.0, 2.0])
    with pytest.raises(InvalidArgumentError, match="None where the objective is 'balanced'"):
        Objective.parse("balanced", [1.0, 2.0])
    assert Objective.parse("average", [1.0, 3.0]).prior == (0.25, 0.75)


def test_balanced_tables_are_judged_by_the_worst_case(five_outputs: TableMechanism) -> None:
    goal = Objective.parse("balanced")
    assert goal.variance_norm == "worst"
    assert goal.value(five_outputs) == five_outputs.worst_variance()


@pytest.mark.parametrize("r", [1.5, 2.0, 7.0])
@pytest.mark.parametrize("prior", [None, [1.0, 0.0, 5.0]])
def test_norms_match_quadrature(five_outputs: TableMechanism, r: float, prior: Any) -> None:
    weights = np.array([1.0] if prior is None else prior)
    x = (np.arange(300_000) + 0.5) / 150_000 - 1.0
    density = np.repeat(weights / weights.sum(), 300_000 // len(weights)) * len(weights)
    expected = float(np.mean(five_outputs.variance(x) ** r * density) ** (1 / r))
    assert Objective.parse(r, prior).value(five_outputs) == pytest.approx(expected, rel=1e-7)


def test_norms_grow_with_r(five_outputs: TableMechanism) -> None:
    values = [Objective.parse(r).value(five_outputs) for r in ("average", 2, 4, 50, "worst")]
    assert values == sorted(values)
    assert values[-1] < 1.05 * values[-2]
