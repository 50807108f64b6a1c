"""What a unit measures: both truths of a variance, and the readings of the stopping rule."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from noutput.estimate.counts import Counts
from noutput.estimate.fit import mean_log_likelihood
from noutput.evaluation.datasets import Dataset, load
from noutput.evaluation.scenarios import BINS, READING_RUNS, READINGS, TOLERANCE, make
from noutput.evaluation.units import BLOCK, Unit
from noutput.evaluation.work import Array, _maximize, compute, true_variances

UNIT = Unit("collection", "uniform", "numerical-worst", 1.0, 0, 2, 1)


def test_the_true_histogram_has_no_error_against_its_own_variance() -> None:
    values = np.array([[-1.0], [-0.999], [0.5], [0.51], [1.0]])
    found = true_variances(Dataset("made-up", ("a",), values))
    centers = np.array([-63, -63, 33, 33, 63]) / 64
    assert found["bins"] == pytest.approx([centers.var()], rel=1e-12)
    assert found["values"] == pytest.approx([values.var()], rel=1e-12)


def test_errors_of_a_variance_are_taken_against_both_truths() -> None:
    data, mechanism = load("uniform"), make(UNIT.mechanism, 1.0)
    found = compute(UNIT, data, mechanism)
    for reading in READINGS:
        raw, binned = (found[f"variance/{reading}/{truth}"] for truth in ("values", "bins"))
        assert len(raw) == len(binned) == 2
        assert raw != binned


def likelihoods(shares: Array, theta: Array, estimator: str, total: float) -> tuple[float, float]:
    """Return the last two mean log-likelihoods, by doing EM slowly to the same histogram."""
    end = _maximize(Counts(shares, np.array([total])), theta, estimator)[0]
    current = np.full(BINS, 1.0 / BINS)
    before = np.nan
    for _ in range(100_000):
        now = float(mean_log_likelihood(shares, current[None], theta)[0])
        if np.abs(current - end).max() < 1e-12:
            return before, now
        before = now
        current = current * (theta @ (shares[0] / (current @ theta)))
    raise AssertionError(f"{estimator} ends elsewhere")


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
@pytest.mark.parametrize("estimator", list(READINGS))
def test_every_reading_stops_by_its_own_rule(estimator: str, epsilon: float) -> None:
    mechanism, total = make("numerical-worst", epsilon), 300.0
    theta = mechanism.transition(BINS)  # type: ignore[attr-defined] # all tables have one
    rng = np.random.default_rng(5)
    people = mechanism.privatize(np.clip(rng.normal(0.3, 0.2, 300), -1, 1), rng=rng)
    shares = np.bincount(people, minlength=theta.shape[1])[None] / total
    before, now = likelihoods(shares, theta, estimator, total)
    change = {
        "em": now - before,
        "em-relative": (now - before) / abs(before),
        "em-sum": (now - before) * total,
    }[estimator]
    assert 0.9 * TOLERANCE < change <= TOLERANCE * (1.0 + 1e-3)


def test_other_readings_take_part_in_the_first_runs_only() -> None:
    data, mechanism = load("uniform"), make(UNIT.mechanism, 1.0)
    assert READING_RUNS == BLOCK
    found = compute(replace(UNIT, first=READING_RUNS, runs=1), data, mechanism)
    assert {name for name in found if name.startswith("wasserstein/")} == {
        "wasserstein/em",
        "wasserstein/gp",
    }
