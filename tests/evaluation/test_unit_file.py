from __future__ import annotations

from pathlib import Path

import pytest

from noutput.evaluation.unit_file import UnitFile
from noutput.evaluation.units import Facts


def facts(mechanism: str = "pm", epsilon: float = 1.0, first: int = 0) -> Facts:
    return {
        "task": "collection", "dataset": "spike", "mechanism": mechanism, "epsilon": epsilon,
        "first": first,
    }  # fmt: skip


def test_what_was_added_is_found_again(tmp_path: Path) -> None:
    path = tmp_path / "new" / "units.jsonl"
    with UnitFile(path) as store:
        store.add("a", facts(), {"mean": [0.1, 2e-17]}, "c0ffee")
    with UnitFile(path) as store:
        assert len(store) == 1
        assert store.measures("a") == {"mean": [0.1, 2e-17]}
        assert store.commit("a") == "c0ffee"
        assert "b" not in store


@pytest.mark.parametrize("end", [b'{"id": "b", "meas', b'{"id": "b"', b"\x00\x00"])
def test_a_half_written_line_is_cut_off(tmp_path: Path, end: bytes) -> None:
    path = tmp_path / "units.jsonl"
    with UnitFile(path) as store:
        store.add("a", facts(), {"mean": [1.0]}, None)
    whole = path.read_bytes()
    path.write_bytes(whole + end)
    with UnitFile(path) as store:
        assert len(store) == 1
        store.add("b", facts(), {"mean": [2.0]}, None)
    assert path.read_bytes().startswith(whole)
    with UnitFile(path) as store:
        assert store.measures("b") == {"mean": [2.0]}


def test_a_foreign_line_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "units.jsonl"
    with UnitFile(path) as store:
        store.add("a", facts(), {}, None)
    own = path.read_text()
    foreign = '[1]\n{"id": "b", "commit": null, "measures": {}}\nnonsense\n'
    path.write_text(f"{foreign}{own}")
    with UnitFile(path) as store:
        assert len(store) == 1
        assert "a" in store
        assert path.read_text() == f"{foreign}{own}"
        store.arrange()
    assert path.read_text() == own


def test_lines_are_put_in_one_order(tmp_path: Path) -> None:
    """Whoever finished first; and what comes later is appended again."""
    units = {
        "c": facts("duchi"), "b": facts("pm", 2.0), "d": facts("pm", 10.0),
        "a": facts("pm", 10.0, 20),
    }  # fmt: skip
    paths = [tmp_path / "one.jsonl", tmp_path / "other.jsonl"]
    for path, names in zip(paths, ("abcd", "dbca"), strict=True):
        with UnitFile(path) as store:
            for name in names:
                store.add(name, units[name], {"mean": [1.0]}, None)
            store.arrange()
            store.add("e", facts("sue"), {}, None)
    first, second = (path.read_text() for path in paths)
    assert first == second
    with UnitFile(paths[0]) as store:
        assert len(store) == 5
    assert [line[8] for line in first.splitlines()] == ["c", "b", "d", "a", "e"]
    assert {path.suffix for path in tmp_path.iterdir()} == {".jsonl"}
