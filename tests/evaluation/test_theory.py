from __future__ import annotations

import numpy as np
import pytest

import noutput as no
from noutput.evaluation.datasets import Dataset, load
from noutput.evaluation.scenarios import CONTENDERS, make
from noutput.evaluation.theory import campaign_error, mean_square_error, worst_input
from noutput.evaluation.units import Unit
from noutput.evaluation.work import _Collection, compute

UNBIASED = [name for name, entry in CONTENDERS.items() if entry.for_means]


@pytest.mark.parametrize("name", [n for n in UNBIASED if n != "optimal-64"])
@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_the_worst_input_has_the_worst_variance(name: str, epsilon: float) -> None:
    mechanism = make(name, epsilon)
    variance = float(mechanism.variance(worst_input(mechanism)))
    assert variance == pytest.approx(mechanism.worst_variance(), rel=1e-8)


def test_the_prediction_is_exact_for_a_small_population() -> None:
    """Average over all choices of attributes, with the exact variance of each."""
    values = np.array([[-1.0, 0.2], [0.4, 1.0], [0.9, -0.6], [-0.3, 0.0], [1.0, -1.0]] * 8)
    data = Dataset("tiny", ("a", "b"), values)
    mechanism = no.mechanism("duchi", 1.0)
    rng = np.random.default_rng(3)
    errors = []
    for _ in range(20_000):
        chosen = rng.integers(0, 2, len(values))
        for j in range(2):
            sample = values[chosen == j, j]
            noise = mechanism.variance(sample).sum() / len(sample) ** 2
            errors.append(noise + (sample.mean() - values[:, j].mean()) ** 2)
    spread = np.std(errors) / np.sqrt(len(errors))
    assert mean_square_error(mechanism, data) == pytest.approx(np.mean(errors), abs=4 * spread)


@pytest.mark.parametrize("name", ["numerical-worst", "analytical", "pm-sub", "hybrid", "duchi"])
def test_measured_errors_of_the_mean_agree_with_theory(name: str) -> None:
    data, mechanism = load("spike"), make(name, 2.0)
    truth = data.values.mean(axis=0)
    rng = np.random.default_rng(5)
    means = np.array([_Collection(data, mechanism, rng).means for _ in range(60)])
    found = ((means - truth) ** 2).mean(axis=1)
    standard_error = found.std(ddof=1) / np.sqrt(len(found))
    assert abs(found.mean() - mean_square_error(mechanism, data)) < 3.0 * standard_error


@pytest.mark.parametrize("name", ["numerical-worst", "three-output", "pm", "hybrid"])
def test_measured_worst_case_errors_agree_with_theory(name: str) -> None:
    found = compute(Unit("campaign", "worst-case", name, 1.0, 0, 10, seed=2), None, make(name, 1.0))
    values = np.array(found["mean"])
    assert found["predicted"] == [campaign_error(make(name, 1.0), 10_000)]
    standard_error = values.std(ddof=1) / np.sqrt(len(values))
    assert abs(values.mean() - found["predicted"][0]) < 3.0 * standard_error
