"""Balanced designs: the default of `design`, the catalog, and their documents."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import noutput as no
from noutput.designs import balanced, catalog
from noutput.designs.distribution.error import expected_error
from noutput.designs.objective import Objective
from noutput.designs.solution import Progress, Solution
from noutput.errors import DocumentError, InvalidArgumentError
from noutput.mechanisms.table import TableMechanism

GOAL = Objective.parse("balanced")
MOST = 0.10  # what the worst-case variance may exceed the lower bound by


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOUTPUT_CACHE", str(tmp_path / "cache"))


@pytest.mark.parametrize("epsilon", catalog.TRAINED_EPSILONS)
def test_the_default_is_balanced_and_close_to_the_limit(epsilon: float) -> None:
    found = no.design(epsilon)
    table = found.mechanism
    assert found.objective == GOAL
    assert found.method == "balanced" == catalog.method_for(GOAL)
    assert table.n_outputs == catalog.default_size(GOAL, epsilon)
    assert table.epsilon == epsilon >= table.privacy_loss()
    assert found.value == table.worst_variance()
    assert found.gap is not None
    assert 0.0 < found.gap <= MOST


def test_the_default_number_of_outputs_is_one_rule() -> None:
    sizes = {catalog.default_size(GOAL, epsilon) for epsilon in catalog.TRAINED_EPSILONS}
    assert sizes == {64, 128}
    for epsilon in catalog.TRAINED_EPSILONS:
        assert catalog.default_size(GOAL, epsilon) in catalog.trained_sizes(GOAL, epsilon)
    assert catalog.default_size(Objective.parse("distribution"), 1.0) == 64
    for norm in ("worst", "average", 2.0):
        assert catalog.default_size(Objective.parse(norm), 1.0) is None
    for objective in ("balanced", "distribution", "worst", "average"):
        goal = Objective.parse(objective)
        ready = catalog.find(1.0, None, goal, catalog.method_for(goal))
        assert ready is not None
        assert ready.mechanism == no.design(1.0, objective=objective).mechanism


def test_methods_of_the_paper_stay_with_the_worst_case() -> None:
    for method in ("numerical", "analytical"):
        found = no.design(1.0, 3, method=method)
        assert found.objective.name == "worst"
        with pytest.raises(InvalidArgumentError, match="method must be left at its default"):
            no.design(1.0, 3, "balanced", method)


def test_requests_that_no_balanced_table_answers() -> None:
    with pytest.raises(InvalidArgumentError, match=r"n_outputs .* 'balanced' \('worst' and"):
        no.design(1.0, 2)
    with pytest.raises(InvalidArgumentError, match="prior must be None"):
        no.design(1.0, prior=[1.0, 2.0])
    with pytest.raises(InvalidArgumentError, match="epsilon must lie in"):
        no.design(13.0)


@pytest.mark.parametrize(
    ("epsilon", "size", "rule"),
    [(6.0, 8, "n_outputs must be larger"), (8.0, 16, "n_outputs must be larger")],
)
def test_what_cannot_be_is_refused_before_the_training(
    epsilon: float, size: int, rule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(balanced, "train", None)  # would fail if it were called
    with pytest.raises(InvalidArgumentError, match=rule):
        no.design(epsilon, size)


def test_the_largest_epsilons_have_no_balanced_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(balanced, "train", None)
    table = no.design(8.0, 16, "worst").mechanism
    with pytest.raises(InvalidArgumentError, match=r"epsilon must be smaller .* \(take 'worst'\)"):
        balanced.solve(table, 0.002, 64)


def test_documents_carry_the_worst_case_certificate_and_cannot_lie() -> None:
    found = no.design(3.0)
    document = json.loads(found.to_json())
    assert (document["objective"], document["method"]) == ("balanced", "balanced")
    assert document["lower_bound"] == no.design(3.0, objective="worst").lower_bound
    again = no.Design.from_json(json.dumps(document))
    assert (again.mechanism, again.gap) == (found.mechanism, found.gap)
    assert again.proof is not None
    assert again.proof.certificate.objective == "worst"
    with pytest.raises(DocumentError, match="value must be that of the table"):
        no.Design.from_json(json.dumps(document | {"value": found.value * 0.99}))
    with pytest.raises(DocumentError, match="certificate must prove the lower bound"):
        no.Design.from_json(json.dumps(document | {"lower_bound": document["lower_bound"] * 1.01}))


def test_every_table_has_a_wasserstein_error() -> None:
    mean = no.design(3.0, 16, "worst")
    assert mean.wasserstein_error == expected_error(mean.mechanism)
    histogram = no.design(3.0, 16, "distribution")
    assert histogram.wasserstein_error == histogram.value


def test_on_demand_they_are_trained_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The solver is called for an epsilon outside the catalog, and once only."""
    table = no.design(1.0, 16, "worst").mechanism
    asked: list[tuple[float, int]] = []

    def solve(
        mean_table: TableMechanism,
        bound: float,
        n_outputs: int,
        *,
        progress: Progress | None = None,
    ) -> Solution:
        assert mean_table.worst_variance() < 1.05 * bound
        asked.append((mean_table.epsilon, n_outputs))
        assert progress is not None
        progress(0.5)
        return Solution(table.outputs, table.weights / np.float64(table.scale), 7)

    monkeypatch.setattr(balanced, "solve", solve)
    shares: list[float] = []
    found = no.design(1.01, 16, progress=shares.append)
    assert (asked, shares, found.iterations) == ([(1.01, 16)], [0.5, 1.0], 7)
    assert no.design(1.01, 16).to_json() == found.to_json()
    assert len(asked) == 1
