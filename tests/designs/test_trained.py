"""Designs for distributions: the catalog, designs on demand, and their documents."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import noutput as no
from noutput.designs import catalog, distribution
from noutput.designs.distribution.error import expected_error
from noutput.designs.objective import Objective
from noutput.errors import DocumentError, InvalidArgumentError
from noutput.estimate import methods
from noutput.estimate.counts import Counts
from noutput.estimate.distance import wasserstein

GOAL = Objective.parse("distribution")
RIVALS = ("pm", "pm-sub", "square-wave")
REPEATS = 40


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOUTPUT_CACHE", str(tmp_path / "cache"))


def test_the_catalog_is_complete_and_certified() -> None:
    for epsilon in catalog.TRAINED_EPSILONS:
        for size in catalog.TRAINED_SIZES:
            found = catalog.shipped(epsilon, size, GOAL, "trained")
            assert found is not None
            table = found.mechanism
            assert (table.epsilon, table.n_outputs) == (epsilon, size)
            assert table.privacy_loss() <= epsilon
            assert found.method == "trained"
            assert found.lower_bound is None
            assert found.gap is None


def test_more_epsilon_and_more_outputs_tell_more() -> None:
    values = np.array(
        [
            [no.design(e, n, "distribution").value for n in catalog.TRAINED_SIZES]
            for e in catalog.TRAINED_EPSILONS
        ]
    )
    # simulated: neighbors may be in any order, and beyond 5 the width of the bins is what is left
    assert np.all(values[2:] < values[:-2])
    usual = np.array(catalog.TRAINED_EPSILONS[2:]) <= 5.0
    assert np.all(values[2:][usual] < 0.9 * values[:-2][usual])
    assert np.all(values[:, 1:] < values[:, :1])
    assert np.all(values[1:, 1:] < 0.98 * values[1:, :1])  # at 0.25 outputs matter least


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_values_are_measured(epsilon: float) -> None:
    found = no.design(epsilon, 16, "distribution")
    assert found.value == pytest.approx(expected_error(found.mechanism), rel=0.02)


def atoms() -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Return what people's numbers often are: ratings, counts, yes or no, and heaps at an end."""
    result = np.zeros((4, 64))
    result[0, [0, 16, 32, 48, 63]] = [0.05, 0.1, 0.2, 0.4, 0.25]
    result[1, ::9] = 0.6 ** np.arange(8)
    result[2, [0, -1]] = [0.8, 0.2]
    result[3] = np.exp(-np.arange(64) / 4.0)
    result[3, 0] += 3.0
    return np.asarray(result / result.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_they_beat_what_is_made_for_means_and_shapes(epsilon: float) -> None:
    truths = np.repeat(atoms(), REPEATS, axis=0)
    errors = {}
    mechanisms = {name: no.mechanism(name, epsilon) for name in RIVALS}
    mechanisms["ours"] = no.design(epsilon, objective="distribution").mechanism
    for name, mechanism in mechanisms.items():
        theta = np.asarray(mechanism.transition(64))  # type: ignore[attr-defined]
        chances = truths @ theta
        rng = np.random.default_rng(11)
        counts = rng.multinomial(4000, chances / chances.sum(axis=1, keepdims=True))
        fit = methods.fit(Counts(counts / 4000, np.full(len(counts), 4000.0)), theta, "em", 1e-5)
        errors[name] = float(np.mean(wasserstein(fit.probabilities, truths)))
    assert errors["ours"] < 0.95 * min(errors[name] for name in RIVALS)


def test_on_demand_they_are_trained_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distribution, "_FEW_STEPS", 3)
    shares: list[float] = []
    found = no.design(1.1, 9, "distribution", progress=shares.append)
    assert len(shares) == 4
    assert shares[-1] == 1.0
    assert found.iterations == 3
    assert found.mechanism.n_outputs == 9
    assert no.design(1.1, 9, "distribution").to_json() == found.to_json()  # from the cache


def test_sizes_have_a_default_and_limits() -> None:
    assert no.design(1.0, objective="distribution").mechanism.n_outputs == 64
    for size in (7, 257):
        with pytest.raises(InvalidArgumentError, match="n_outputs"):
            no.design(1.0, size, "distribution")
    with pytest.raises(InvalidArgumentError, match="method must be left at its default"):
        no.design(1.0, 16, "distribution", "numerical")
    with pytest.raises(InvalidArgumentError, match="prior must be None"):
        no.design(1.0, 16, "distribution", prior=[1.0, 2.0])
    with pytest.raises(InvalidArgumentError, match="epsilon must lie in"):
        no.design(13.0, 16, "distribution")


def test_documents_come_back_and_cannot_lie() -> None:
    found = no.design(1.0, 16, "distribution")
    text = found.to_json()
    again = no.Design.from_json(text)
    assert again.mechanism == found.mechanism
    assert again.value == pytest.approx(found.value, rel=0.02)
    document = json.loads(text)
    with pytest.raises(DocumentError, match="value must be that of the table"):
        no.Design.from_json(json.dumps(document | {"value": found.value / 2.0}))
    with pytest.raises(DocumentError, match="lower_bound must be null"):
        no.Design.from_json(json.dumps(document | {"lower_bound": 0.001}))


def test_means_are_unbiased() -> None:
    table = no.design(1.0, objective="distribution").mechanism
    people = np.clip(np.random.default_rng(2).normal(0.3, 0.2, 200_000), -1.0, 1.0)
    tally = no.Tally.of(table, table.privatize(people, np.random.default_rng(3)))
    found = no.estimate_mean(table, tally)
    assert abs(found.value - people.mean()) < 4.0 * found.standard_error
