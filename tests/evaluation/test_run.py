"""Results do not depend on processes, order or interruptions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path

import pytest

from noutput.evaluation import code, results, run, units
from noutput.evaluation.datasets import load
from noutput.evaluation.run import FinishedRun, Stopped, execute
from noutput.evaluation.scenarios import make
from noutput.evaluation.units import Unit
from noutput.evaluation.work import Measures
from tests.evaluation.scenes import small

COLLECTED = ("mean", "distribution", "variance")


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, FinishedRun]:
    path = tmp_path_factory.mktemp("reference") / "units.jsonl"
    return path, execute(small(*COLLECTED), path, jobs=1)


def csv(outcome: FinishedRun, folder: Path) -> bytes:
    rows = results.tidy(outcome).rows
    assert rows
    results.write_rows(folder / "all.csv", outcome.scenario, rows)
    return (folder / "all.csv").read_bytes()


@pytest.mark.slow
def test_two_processes_give_the_same_bytes(
    reference: tuple[Path, FinishedRun], tmp_path: Path
) -> None:
    other = execute(small(*COLLECTED), tmp_path / "units.jsonl", jobs=2)
    assert csv(other, tmp_path) == csv(reference[1], tmp_path)
    assert (tmp_path / "units.jsonl").read_bytes() == reference[0].read_bytes()


@pytest.mark.slow
def test_an_interrupted_run_continues_with_the_same_bytes(
    reference: tuple[Path, FinishedRun], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "units.jsonl"

    def interrupt(share: float) -> None:
        if share > 0.3:
            raise KeyboardInterrupt

    with pytest.raises(Stopped):
        execute(small(*COLLECTED), path, jobs=1, progress=interrupt)
    kept = path.read_bytes()
    assert 0 < kept.count(b"\n") < reference[0].read_bytes().count(b"\n")
    path.write_bytes(kept + kept[:40])  # and it was killed while writing
    computed = count_units(monkeypatch)
    again = execute(small(*COLLECTED), path, jobs=2)
    assert csv(again, tmp_path) == csv(reference[1], tmp_path)
    assert path.read_bytes() == reference[0].read_bytes()
    assert computed == [8 - kept.count(b"\n")]


def count_units(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Note how many units every run computes."""
    found: list[int] = []
    original = run._finished

    def counted(tasks: dict[Future[Measures], Unit]) -> Iterator[tuple[Unit, Measures]]:
        found.append(len(tasks))
        return original(tasks)

    monkeypatch.setattr(run, "_finished", counted)
    return found


def test_another_mechanism_computes_its_own_cells_only(
    reference: tuple[Path, FinishedRun], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "units.jsonl"
    path.write_bytes(reference[0].read_bytes())
    computed = count_units(monkeypatch)
    more = small(*COLLECTED)
    more = replace(more, mechanisms=(*more.mechanisms, "three-output"))
    found = execute(more, path, jobs=1)
    assert computed == [2]
    assert len(found.measures) == 10
    before = {cell: found.measures[cell] for cell in reference[1].measures}
    assert before == reference[1].measures


def test_another_seed_or_table_is_another_unit() -> None:
    first = next(units.units(small("mean")))
    data, duchi = load("uniform"), make("duchi", 1.0)
    described = [
        units.describe(first, data, duchi),
        units.describe(first, data, make("duchi", 1.5)),
        units.describe(first, load("spike"), duchi),
        units.describe(replace(first, seed=2), data, duchi),
        units.describe(replace(first, first=20), data, duchi),
    ]
    assert len({units.identity(facts) for facts in described}) == 5


@pytest.mark.parametrize(
    ("task", "constant"),
    [
        ("mean", "BINS"),
        ("mean", "TOLERANCE"),
        ("mean", "READING_RUNS"),
        ("worst-case-rmse", "CAMPAIGN_PEOPLE"),
        ("worst-case-rmse", "CAMPAIGNS_PER_RUN"),
    ],
)
def test_another_constant_is_another_unit(
    task: str, constant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    unit, duchi = next(units.units(small(task))), make("duchi", 1.0)
    data = load("uniform") if task == "mean" else None
    before = units.identity(units.describe(unit, data, duchi))
    assert before == units.identity(units.describe(unit, data, duchi))
    monkeypatch.setattr(units, constant, getattr(units, constant) * 2)
    assert units.identity(units.describe(unit, data, duchi)) != before


@pytest.mark.slow
@pytest.mark.parametrize("module", ["noutput.estimate.em", "noutput.mechanisms.kernel"])
def test_changed_code_is_computed_again(
    reference: tuple[Path, FinishedRun],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    module: str,
) -> None:
    """A constant of the estimators or of the mechanisms is changed, and all units are new."""
    path = tmp_path / "units.jsonl"
    path.write_bytes(reference[0].read_bytes())
    original = code._source
    monkeypatch.setattr(
        code, "_source", lambda name: original(name) + "\n_MADE_UP = 1" * (name == module)
    )
    code.code_version.cache_clear()
    computed = count_units(monkeypatch)
    try:
        execute(small(*COLLECTED), path, jobs=1)
    finally:
        code.code_version.cache_clear()
    assert computed == [8]
    assert path.read_bytes().count(b"\n") == 16  # the old ones stay, for whoever goes back


def test_a_stored_unit_says_what_it_follows_from(reference: tuple[Path, FinishedRun]) -> None:
    records = [json.loads(line) for line in reference[0].read_text().splitlines()]
    for record in records:
        facts = record["facts"]
        assert record["id"] == units.identity(facts)
        assert (facts["bins"], facts["tolerance"], facts["seed"]) == (64, 1e-5, 1)
        assert facts["data"] == load(facts["dataset"]).digest
        assert {"mechanism_code", "estimator_code", "fingerprint", "numpy", "scipy"} <= set(facts)


def test_runs_are_cut_into_blocks() -> None:
    found = list(units.units(small("mean", runs=45, mechanisms=("duchi",))))
    assert [(u.first, u.runs) for u in found if u.dataset == "spike"] == [
        (0, 20),
        (20, 20),
        (40, 5),
    ]


def test_what_needs_no_data_loads_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOUTPUT_DATA", "")
    scenario = replace(small("worst-case-variance", "bits"), datasets=("adult",))
    found = execute(scenario, tmp_path / "units.jsonl")
    assert found.datasets == {}
    assert set(found.mechanisms) == {("numerical-worst", 1.0), ("duchi", 1.0)}
