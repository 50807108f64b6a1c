from __future__ import annotations

import json
import math
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noutput as no
from noutput.designs import catalog
from noutput.designs.certificate import check
from noutput.designs.objective import Objective
from noutput.errors import DesignError, DocumentError, InvalidArgumentError, PrivacyError

# computed independently: values to reach or beat, and lower bounds
OPTIMAL = {
    1.0: {3: 4.20622, 4: 4.15405, 5: 4.0364, 7: 4.00783, 9: 3.99932, 12: 3.99583, 16: 3.99406},
    2.0: {3: 0.94276, 4: 0.89908, 5: 0.89168, 7: 0.87698, 9: 0.8699, 12: 0.86772, 16: 0.86678},
    4.0: {5: 0.14978, 8: 0.13737, 16: 0.12918},
}
LOWER_BOUND = {1.0: 3.99054, 2.0: 0.86534, 4.0: 0.12682}
GAPS = {0.5: 0.001, 1.0: 0.0015, 2.0: 0.0025, 3.0: 0.009, 4.0: 0.02, 5.0: 0.04}
ROUNDING = 1e-7  # of the solver and of the whole-number weights


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOUTPUT_CACHE", str(tmp_path / "cache"))


@pytest.mark.parametrize("epsilon", OPTIMAL)
def test_reference_values_are_reached(epsilon: float) -> None:
    for size, value in OPTIMAL[epsilon].items():
        found = no.design(epsilon, size, "worst")
        assert found.value <= value * 1.0005
        assert found.lower_bound is not None
        assert found.lower_bound <= found.value
        assert found.lower_bound >= LOWER_BOUND[epsilon] * 0.9995


@pytest.mark.parametrize(("epsilon", "gap"), GAPS.items())
def test_four_bits_are_close_to_the_limit(epsilon: float, gap: float) -> None:
    found = no.design(epsilon, 16, "worst")
    assert found.gap is not None
    assert 0.0 <= found.gap <= gap
    assert len(found.mechanism.to_json()) < 16_000


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", GAPS)
def test_six_bits_are_within_half_a_percent(epsilon: float) -> None:
    found = no.design(epsilon, 64, "worst")
    assert found.gap is not None
    assert found.gap < 0.005


@pytest.mark.parametrize("objective", catalog.OBJECTIVES)
def test_more_outputs_and_more_epsilon_never_hurt(objective: str) -> None:
    values = np.array(
        [[no.design(e, n, objective).value for n in catalog.SIZES] for e in catalog.EPSILONS]
    )
    assert np.all(np.diff(values, axis=0) <= ROUNDING * values[1:])
    assert np.all(np.diff(values, axis=1) <= ROUNDING * values[:, 1:])


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0, 6.0])
@pytest.mark.parametrize("size", [3, 8, 16])
def test_each_objective_wins_its_own_game(epsilon: float, size: int) -> None:
    worst = no.design(epsilon, size, "worst").mechanism
    average = no.design(epsilon, size, "average").mechanism
    assert average.average_variance() <= worst.average_variance() * (1 + ROUNDING)
    assert worst.worst_variance() <= average.worst_variance() * (1 + ROUNDING)


@pytest.mark.slow
def test_optimal_beats_numerical_beats_analytical() -> None:
    rng = np.random.default_rng(5)
    for epsilon in np.round(rng.uniform(0.2, 7.0, 20), 3):
        size = int(rng.integers(2, 9))
        optimal = no.design(epsilon, size, "worst").value
        numerical = no.design(epsilon, size, method="numerical").value
        assert optimal <= numerical * (1 + ROUNDING)
        try:
            analytical = no.design(epsilon, size, method="analytical").value
        except DesignError:
            continue  # the closed form has no solution of this size
        assert numerical <= analytical * (1 + ROUNDING)


def test_on_demand_designs_are_as_good_as_their_neighbors() -> None:
    below, between, above = (no.design(e, 8, "worst").value for e in (1.0, 1.1, 1.25))
    assert above < between < below
    assert no.design(1.1, 7, "worst").value >= between * (1 - ROUNDING)


def test_an_unsymmetric_prior_gets_an_unsymmetric_mechanism() -> None:
    prior = [8.0, 4.0, 2.0, 1.0, 1.0, 0.5, 0.25, 0.0]
    skewed = no.design(1.5, 5, "average", prior=prior)
    uniform = no.design(1.5, 5, "average")
    assert not np.allclose(skewed.mechanism.outputs, -skewed.mechanism.outputs[::-1], atol=1e-3)
    assert skewed.value < uniform.mechanism.average_variance(prior)
    assert skewed.value == pytest.approx(skewed.mechanism.average_variance(prior), rel=1e-12)
    assert skewed.lower_bound is not None
    assert skewed.lower_bound < skewed.value


@pytest.mark.parametrize("epsilon", [0.25, 1.0, pytest.param(1.1, marks=pytest.mark.slow), 5.0])
def test_the_best_size_is_the_smallest_within_a_ten_thousandth(epsilon: float) -> None:
    best = no.design(epsilon, objective="worst")
    assert best.mechanism.n_outputs <= 16
    assert best.value <= no.design(epsilon, 16, "worst").value * (1 + 1.01e-4)
    if epsilon in catalog.EPSILONS:
        smaller = no.design(epsilon, best.mechanism.n_outputs - 1, "worst").value
        assert smaller > no.design(epsilon, 16, "worst").value * (1 + 0.99e-4)


@pytest.mark.parametrize("epsilon", [1.0, pytest.param(1.7, marks=pytest.mark.slow)])
@pytest.mark.parametrize("prior", [[1, 1, 2], [1, 2], [3, 1, 1, 2, 5], [0, 1], [1, 0, 0, 1]])
def test_any_prior_has_a_proven_bound(prior: list[float], epsilon: float) -> None:
    found = no.design(epsilon, 3, "average", prior=prior)
    assert found.lower_bound is not None
    assert 0.0 < found.lower_bound <= found.value


def test_a_bound_that_is_not_found_is_no_reason_to_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise DesignError("none")

    monkeypatch.setattr("noutput.designs.bound._prove", fail)
    assert no.design(1.07, 2, "worst").mechanism.n_outputs == 2


def test_large_norms_stay_finite() -> None:
    found = no.design(0.1, 3, 300.0, method="numerical")
    assert 0.9 < found.value / found.mechanism.worst_variance() <= 1.0


def test_finite_norms_have_no_bound() -> None:
    found = no.design(1.0, 3, 2.0, method="numerical")
    assert found.lower_bound is None
    assert found.gap is None
    assert no.Design.from_json(found.to_json()).value == found.value


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": math.nan}, "epsilon"),
        ({"epsilon": "1"}, "epsilon"),
        ({"epsilon": 0.01}, "epsilon"),
        ({"epsilon": 13.0}, "epsilon"),
        ({"epsilon": 720.0, "method": "analytical"}, "epsilon"),
        ({"epsilon": 720.0, "method": "numerical"}, "epsilon"),
        ({"epsilon": 1e-320, "method": "analytical"}, "epsilon"),
        ({"epsilon": 10**5000}, "epsilon"),
        ({"epsilon": 1, "n_outputs": 10**5000}, "n_outputs"),
        ({"epsilon": 1, "objective": "average", "prior": [[1], [1, 2]]}, "prior"),
        ({"epsilon": 1, "n_outputs": 1}, "n_outputs"),
        ({"epsilon": 1, "n_outputs": 257}, "n_outputs"),
        ({"epsilon": 1, "n_outputs": 4.0}, "n_outputs"),
        ({"epsilon": 1, "objective": "median"}, "objective"),
        ({"epsilon": 1, "objective": 3}, "objective"),
        ({"epsilon": 1, "method": "magic"}, "method"),
        ({"epsilon": 1, "prior": [1, 2]}, "prior"),
        ({"epsilon": 1, "objective": "average", "prior": [-1, 2]}, "prior"),
        ({"epsilon": 1, "objective": "average", "method": "analytical"}, "objective"),
    ],
)
def test_bad_arguments_are_named(arguments: dict[str, Any], name: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        no.design(**arguments)
    assert caught.value.name == name


def test_progress_ends_at_one() -> None:
    shares: list[float] = []
    no.design(1.37, 4, "worst", progress=shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert len(shares) > 2


class TestDocuments:
    @pytest.fixture
    def good(self) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(no.design(1.0, 4, "worst").to_json())
        return document

    def test_round_trip(self, good: dict[str, Any]) -> None:
        found = no.Design.from_json(json.dumps(good))
        twin = no.design(1.0, 4, "worst")
        assert found.mechanism == twin.mechanism
        assert (found.value, found.lower_bound) == (twin.value, twin.lower_bound)
        assert found.to_json() == twin.to_json()

    def test_the_stored_proof_holds(self) -> None:
        for objective in catalog.OBJECTIVES:
            proof = no.design(2.0, 4, objective).proof
            assert proof is not None
            assert check(proof.certificate) >= proof.value

    @pytest.mark.parametrize(
        ("key", "value"),
        [
            ("value", 1.0),
            ("value", "x"),
            ("lower_bound", 3.9906),
            ("lower_bound", None),
            ("certificate", None),
            ("certificate", {"inputs": []}),
            ("certificate", {"inputs": [], "lambdas": [], "nus": [], "mus": []}),
            ("mechanism", None),
            ("mechanism", {}),
            ("lower_bound", 0.0),
            ("lower_bound", -5.0),
            ("converged", "yes"),
            ("method", "magic"),
            ("prior", [[1.0], [1.0, 2.0]]),
            ("iterations", -1),
            ("iterations", 1.5),
            ("method", 7),
            ("objective", "average"),
            ("objective", None),
            ("prior", [1.0]),
            ("version", 2),
            ("format", "noutput-table"),
            ("extra", 1),
        ],
    )
    def test_changed_documents_are_refused(
        self, good: dict[str, Any], key: str, value: Any
    ) -> None:
        good[key] = value
        with pytest.raises(InvalidArgumentError, match="must"):
            no.Design.from_json(json.dumps(good))

    def test_a_table_that_is_not_private_is_refused(self, good: dict[str, Any]) -> None:
        good["mechanism"]["epsilon"] = 0.9
        with pytest.raises(PrivacyError):
            no.Design.from_json(json.dumps(good))


class TestCatalog:
    def test_it_is_small_and_complete(self) -> None:
        archive = catalog._archive("optimal")
        assert archive is not None
        names = archive.namelist()
        assert len(names) == len(catalog.EPSILONS) * 2 * (len(catalog.SIZES) + 2)
        size = sum(archive.getinfo(name).compress_size for name in names)
        assert size < 2_000_000

    def test_what_is_not_shipped_is_none(self) -> None:
        worst = Objective.parse("worst")
        assert catalog.shipped(1.1, 16, worst) is None
        assert catalog.shipped(1.0, 17, worst) is None
        assert catalog.shipped(1.0, 4, Objective.parse("average", [1.0, 2.0])) is None

    @pytest.mark.slow
    def test_every_proof_and_every_claim_holds(self) -> None:
        for epsilon in catalog.EPSILONS:
            for objective in catalog.OBJECTIVES:
                goal = Objective.parse(objective)
                proof = no.design(epsilon, 2, objective).proof
                assert proof is not None
                assert check(proof.certificate) >= proof.value
                for size in catalog.SIZES:
                    found = catalog.shipped(epsilon, size, goal)
                    assert found is not None
                    assert found.value >= proof.value

    def test_the_same_designs_give_the_same_bytes(self, tmp_path: Path) -> None:
        designs = [no.design(1.0, n, "worst") for n in (2, 3)]
        for name in ("a", "b"):
            catalog.write(designs, tmp_path / name)
        assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


class TestCache:
    def test_a_design_is_made_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        first = no.design(1.07, 3, "worst")
        monkeypatch.setattr("noutput.designs.design._SOLVERS", {})
        again = no.design(1.07, 3, "worst")
        assert (again.mechanism, again.value) == (first.mechanism, first.value)

    @pytest.mark.parametrize(
        "damage", ["", "{}", "nonsense", "\x00" * 100, '{"request": 1, "design": 2}']
    )
    def test_corrupt_files_are_rebuilt(self, damage: str) -> None:
        first = no.design(1.07, 3, "worst")
        folder = catalog.cache_folder()
        assert folder is not None
        (path,) = folder.iterdir()
        path.write_text(damage)
        assert no.design(1.07, 3, "worst").mechanism == first.mechanism
        assert json.loads(path.read_text())["design"]["value"] == first.value

    def test_foreign_files_are_rebuilt(self) -> None:
        no.design(1.07, 3, "worst")
        folder = catalog.cache_folder()
        assert folder is not None
        (path,) = folder.iterdir()
        for foreign in (no.design(1.0, 3, "worst").to_json(), '{"request": "x", "design": {}}'):
            path.write_text(foreign)
            assert no.design(1.07, 3, "worst").mechanism.n_outputs == 3

    def test_a_file_for_another_request_is_rebuilt(self) -> None:
        no.design(1.07, 2, "worst")
        folder = catalog.cache_folder()
        assert folder is not None
        (small,) = folder.iterdir()
        no.design(1.07, 3, "worst")
        (large,) = set(folder.iterdir()) - {small}
        large.write_bytes(small.read_bytes())
        assert no.design(1.07, 3, "worst").mechanism.n_outputs == 3

    def test_concurrent_writers_do_no_harm(self) -> None:
        made = no.design(1.07, 2, "worst")
        folder = catalog.cache_folder()
        assert folder is not None
        (path,) = folder.iterdir()
        with ThreadPoolExecutor(8) as pool:
            for _ in pool.map(lambda _: catalog.keep(made, 2), range(64)):
                found = catalog.cached(1.07, 2, made.objective, "optimal")
                assert found is not None
                assert found.mechanism == made.mechanism
        assert list(folder.iterdir()) == [path]

    def test_a_folder_that_cannot_be_written_does_no_harm(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        blocked = tmp_path / "file"
        blocked.write_text("in the way")
        monkeypatch.setenv("NOUTPUT_CACHE", str(blocked))
        assert no.design(1.07, 2, "worst").mechanism.n_outputs == 2

    def test_it_can_be_turned_off(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("NOUTPUT_CACHE", "")
        assert catalog.cache_folder() is None
        assert no.design(1.07, 2, "worst").mechanism.n_outputs == 2

    def test_the_default_is_the_users_cache(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("NOUTPUT_CACHE")
        folder = catalog.cache_folder()
        assert folder is not None
        assert folder.name == "noutput"

    def test_half_written_files_are_never_seen(self) -> None:
        no.design(1.07, 2, "worst")
        folder = catalog.cache_folder()
        assert folder is not None
        assert [path.name for path in folder.iterdir() if path.name.startswith(".")] == []


def test_documents_of_the_wrong_kind_say_so() -> None:
    with pytest.raises(DocumentError, match="noutput-design"):
        no.Design.from_json(no.design(1.0, 2, "worst").mechanism.to_json())


@pytest.mark.parametrize("epsilon", [1.0, 1.25])
def test_twins_tell_the_same(epsilon: float) -> None:
    """Merging them keeps the table private and unbiased, and the value."""
    found = no.design(epsilon, 16, "worst")
    ((first, second),) = found.twins
    table = found.mechanism
    weights = np.delete(table.weights, second, axis=1)
    weights[:, first] += table.weights[:, second]
    outputs = np.delete(table.outputs, second)
    outputs[first] = (table.outputs[first] + table.outputs[second]) / 2.0
    merged = no.TableMechanism(epsilon, outputs, weights, table.knots)
    assert merged.worst_variance() == pytest.approx(found.value, rel=1e-9)
    assert no.design(epsilon, 15, "worst").value == pytest.approx(found.value, rel=1e-4)
    assert no.Design(merged, found.objective, "optimal", found.value, 0, converged=True).twins == ()


def test_no_other_tables_have_twins() -> None:
    for epsilon in catalog.TRAINED_EPSILONS:
        assert no.design(epsilon, 16, "distribution").twins == ()
        assert no.design(epsilon, 15, "worst").twins == ()
