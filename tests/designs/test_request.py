"""What is asked of `design` is what comes: epsilon, size, objective and method."""

from __future__ import annotations

import json
import math
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import noutput as no
from noutput.designs import catalog, distribution
from noutput.designs.distribution.simulated import Schedule
from noutput.designs.objective import Objective
from noutput.designs.result import Design

KINDS = [
    ("worst", "optimal"),
    ("average", "optimal"),
    ("worst", "numerical"),
    ("average", "numerical"),
    (2.0, "numerical"),
    ("worst", "analytical"),
]
GRID = {
    "optimal": catalog.EPSILONS,
    "numerical": catalog.NUMERICAL_EPSILONS,
    "analytical": catalog.NUMERICAL_EPSILONS,
    "trained": catalog.TRAINED_EPSILONS,
    "balanced": catalog.TRAINED_EPSILONS,
}


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOUTPUT_CACHE", str(tmp_path / "cache"))


def near(epsilon: float, steps: int, factor: float) -> float:
    """Return a neighbor of epsilon: some floats away, or by a small factor."""
    moved = epsilon * (1.0 + factor)
    for _ in range(abs(steps)):
        moved = math.nextafter(moved, math.copysign(math.inf, steps))
    return moved


def assert_as_asked(
    found: Design, epsilon: float, size: int, objective: str | float, method: str
) -> None:
    assert found.mechanism.epsilon == epsilon
    assert found.mechanism.privacy_loss() <= epsilon
    assert found.objective.spelling == objective
    assert found.method == method
    dropped = int(method in ("numerical", "analytical") and size % 2 == 1)
    assert size - dropped <= found.mechanism.n_outputs <= size


@pytest.mark.parametrize(
    ("objective", "method"),
    [pytest.param(*kind, marks=[pytest.mark.slow] * (kind[0] == "average")) for kind in KINDS],
)
@given(data=st.data())
@settings(
    max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_what_is_asked_is_what_comes(
    objective: str | float, method: str, data: st.DataObject
) -> None:
    epsilon = near(
        data.draw(st.sampled_from(GRID[method]), "of the catalog"),
        data.draw(st.integers(-3, 3), "floats away"),
        data.draw(st.sampled_from([0.0, -4e-7, 4e-7, -1e-12, 1e-12]), "factor"),
    )
    size = data.draw(st.sampled_from([2, 3]), "size")
    found = no.design(epsilon, size, objective, method)  # type: ignore[call-overload]
    assert_as_asked(found, epsilon, size, objective, method)
    again = no.design(epsilon, size, objective, method)  # type: ignore[call-overload]
    assert again.mechanism == found.mechanism


def test_trained_tables_are_those_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distribution, "solve", partial(distribution.solve, schedule=Schedule(1)))
    for epsilon in (1.0, 0.9999996):
        found = no.design(epsilon, 16, "distribution")
        assert_as_asked(found, epsilon, 16, "distribution", "trained")


@pytest.mark.parametrize("method", ["optimal", "numerical", "trained", "balanced"])
def test_no_rounded_name_finds_a_table(method: str) -> None:
    names = {"trained": "distribution", "balanced": "balanced"}
    objective = Objective.parse(names.get(method, "worst"))
    size = 16 if method in names else 4
    for epsilon in GRID[method]:
        for other in (epsilon * (1 - 4e-7), math.nextafter(epsilon, 0.0), epsilon * (1 + 4e-7)):
            assert catalog.shipped(other, size, objective, method) is None
            assert catalog.shipped(other, None, objective, method) is None


def test_a_norm_close_to_the_average_is_no_average() -> None:
    found = no.design(1.0, 2, 1.0000001, method="numerical")
    assert found.objective.r == 1.0000001


@pytest.mark.parametrize("method", ["optimal", "numerical"])
def test_a_cached_design_of_another_size_is_made_again(method: str) -> None:
    """A file that has the right request and the wrong design."""
    small = no.design(1.07, 2, "worst", method)  # type: ignore[call-overload]
    large = no.design(1.07, 4, "worst", method)  # type: ignore[call-overload]
    folder = catalog.cache_folder()
    assert folder is not None
    for path in folder.iterdir():
        stored = json.loads(path.read_text())
        stored["design"] = json.loads((small if stored["design"] else large).to_json())
        path.write_text(json.dumps(stored))
    assert no.design(1.07, 4, "worst", method).mechanism.n_outputs == 4  # type: ignore[call-overload]


def test_two_epsilons_of_one_name_are_not_written(tmp_path: Path) -> None:
    pair = [no.design(epsilon, 2, method="analytical") for epsilon in (1.0, 1.0 - 4e-7)]
    with pytest.raises(no.NoutputError, match="1/worst"):
        catalog.write(pair, tmp_path / "catalog.zip")


@pytest.mark.parametrize(
    "bins", [pytest.param(4096, marks=pytest.mark.slow), 4097,
             pytest.param(10_000, marks=pytest.mark.slow)],
)  # fmt: skip
def test_any_prior_survives_json(bins: int) -> None:
    prior = np.linspace(1.0, 2.0, bins)
    found = no.design(1.0, 2, "average", prior=prior)
    twin = no.Design.from_json(found.to_json())
    assert twin.objective == found.objective
    assert twin.mechanism == found.mechanism


def test_a_prior_is_read_as_it_was_written() -> None:
    """Normalizing twice would move the last bits, and the cache would never find the design."""
    rng = np.random.default_rng(3)
    for bins in (3, 7, 64, 1000):
        goal = Objective.parse("average", rng.random(bins))
        assert Objective.parse("average", goal.prior) == goal


def test_a_prior_has_a_largest_size() -> None:
    with pytest.raises(no.InvalidArgumentError, match="prior must have at most 65536 bins"):
        no.design(1.0, 2, "average", prior=np.ones(65_537))
