"""The mean whose reports have a limited influence."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

import noutput as no
from noutput.errors import InvalidArgumentError
from noutput.estimate.mean_scores import limited_scores
from tests.tables import window_table

TABLE = window_table(1.0, 8, 9, 0.3)
BOUNDS = no.Interval(0, 180)


@pytest.mark.parametrize("reach", [0.5, 1.0, 1.5, 2.0])
def test_two_outputs_have_the_bias_of_the_formula(reach: float) -> None:
    table = no.mechanism("duchi", 1.0)
    assert isinstance(table, no.TableMechanism)
    found = limited_scores(table, reach)
    # the whole numbers of a table are rounded
    assert found.bias_bound == pytest.approx(1.0 - reach * math.tanh(0.5), abs=1e-8)
    assert np.abs(found.values).max() <= reach


def test_no_other_scores_have_less_bias() -> None:
    rng = np.random.default_rng(7)
    rows = TABLE.weights / TABLE.scale
    for reach in (1.0, 2.0, 3.0):
        best = limited_scores(TABLE, reach)
        assert best.bias_bound >= 1.0 - reach * math.tanh(0.5) - 1e-9
        others = [rng.uniform(-reach, reach, TABLE.n_outputs) for _ in range(300)]
        others += [
            np.clip(best.values + rng.normal(0.0, size, TABLE.n_outputs), -reach, reach)
            for size in (1e-3, 1e-2, 0.1)
            for _ in range(300)
        ]
        others += [np.clip(TABLE.outputs, -reach, reach)]
        worst = [float(np.abs(rows @ values - TABLE.knots).max()) for values in others]
        assert min(worst) >= best.bias_bound - 1e-9


def test_less_influence_takes_more_bias() -> None:
    biases = [limited_scores(TABLE, reach).bias_bound for reach in (1.0, 1.5, 2.0, 2.5, 3.0)]
    assert all(less >= more - 1e-12 for less, more in pairwise(biases))


def test_liars_move_it_by_at_most_the_bound() -> None:
    """Every way in which three of twelve people can lie, by brute force."""
    rng = np.random.default_rng(11)
    values = rng.uniform(0, 180, 12)
    reports = TABLE.privatize(BOUNDS.to_unit(values), rng=rng)
    for influence in (1.0, 1.5, None):
        honest = no.estimate_mean(TABLE, no.Tally.of(TABLE, reports), BOUNDS, influence=influence)
        limit = honest.poisoning_bound(3)
        if influence is not None:
            assert limit <= influence * 180 * 3 / 12 + 1e-9
        moved = []
        for lie in np.ndindex(*(TABLE.n_outputs,) * 3):
            tally = no.Tally.of(TABLE, np.concatenate([np.array(lie, np.uint8), reports[3:]]))
            moved.append(no.estimate_mean(TABLE, tally, BOUNDS, influence=influence).value)
        assert max(abs(value - honest.value) for value in moved) <= limit + 1e-9


def test_its_interval_covers_the_mean() -> None:
    rng = np.random.default_rng(5)
    for center in (0.0, 90.0, 180.0):
        covered = 0
        for _ in range(50):
            values = np.clip(rng.normal(center, 30.0, 2_000), 0, 180)
            reports = TABLE.privatize(BOUNDS.to_unit(values), rng=rng)
            tally = no.Tally.of(TABLE, reports)
            low, high = no.estimate_mean(TABLE, tally, BOUNDS, influence=1.5).interval()
            covered += low <= values.mean() <= high
        assert covered >= 45


def test_a_limit_that_is_kept_anyway_changes_nothing() -> None:
    tally = no.Tally.of(TABLE, np.arange(8, dtype=np.uint8))
    usual = no.estimate_mean(TABLE, tally)
    assert no.estimate_mean(TABLE, tally, influence=1e6) == usual


@pytest.mark.parametrize("influence", [0.0, -1.0, math.nan, math.inf, "1"])
def test_what_is_no_limit_is_refused(influence: float) -> None:
    tally = no.Tally.of(TABLE, np.arange(8, dtype=np.uint8))
    with pytest.raises(InvalidArgumentError, match="influence must be a positive finite number"):
        no.estimate_mean(TABLE, tally, influence=influence)
