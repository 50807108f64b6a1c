"""Results do not depend on processes, order or interruptions."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path

import pytest

from noutput.evaluation import results, run, units
from noutput.evaluation.datasets import load
from noutput.evaluation.run import Outcome, Stopped, execute
from noutput.evaluation.scenarios import make
from noutput.evaluation.units import Unit
from noutput.evaluation.work import Measures
from tests.evaluation.scenes import small

COLLECTED = ("mean", "distribution", "variance")


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Outcome]:
    path = tmp_path_factory.mktemp("reference") / "units.jsonl"
    return path, execute(small(*COLLECTED), path, jobs=1)


def csv(outcome: Outcome, folder: Path) -> bytes:
    rows = results.tidy(outcome).rows
    assert rows
    results.write_rows(folder / "all.csv", outcome.scenario, rows)
    return (folder / "all.csv").read_bytes()


def test_two_processes_give_the_same_bytes(reference: tuple[Path, Outcome], tmp_path: Path) -> None:
    other = execute(small(*COLLECTED), tmp_path / "units.jsonl", jobs=2)
    assert csv(other, tmp_path) == csv(reference[1], tmp_path)


def test_an_interrupted_run_continues_with_the_same_bytes(
    reference: tuple[Path, Outcome], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
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
    reference: tuple[Path, Outcome], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
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
    scenario = small("mean")
    first = next(units.units(scenario))
    data = load("uniform")
    names = {
        units.identity(first, data, make("duchi", 1.0)),
        units.identity(first, data, make("duchi", 1.5)),
        units.identity(first, load("spike"), make("duchi", 1.0)),
        units.identity(replace(first, seed=2), data, make("duchi", 1.0)),
        units.identity(replace(first, first=20), data, make("duchi", 1.0)),
    }
    assert len(names) == 5


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
