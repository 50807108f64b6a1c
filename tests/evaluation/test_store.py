from __future__ import annotations

from pathlib import Path

import pytest

from noutput.evaluation.store import Store


def test_what_was_added_is_found_again(tmp_path: Path) -> None:
    path = tmp_path / "new" / "units.jsonl"
    with Store(path) as store:
        store.add("a", {"mean": [0.1, 2e-17]}, "c0ffee")
    with Store(path) as store:
        assert len(store) == 1
        assert store.measures("a") == {"mean": [0.1, 2e-17]}
        assert store.commit("a") == "c0ffee"
        assert "b" not in store


@pytest.mark.parametrize("end", [b'{"id": "b", "meas', b'{"id": "b"', b"\x00\x00"])
def test_a_half_written_line_is_cut_off(tmp_path: Path, end: bytes) -> None:
    path = tmp_path / "units.jsonl"
    with Store(path) as store:
        store.add("a", {"mean": [1.0]}, None)
    whole = path.read_bytes()
    path.write_bytes(whole + end)
    with Store(path) as store:
        assert len(store) == 1
        store.add("b", {"mean": [2.0]}, None)
    assert path.read_bytes().startswith(whole)
    with Store(path) as store:
        assert store.measures("b") == {"mean": [2.0]}


def test_a_foreign_line_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "units.jsonl"
    path.write_text('[1]\n{"id": "a", "commit": null, "measures": {}}\nnonsense\n')
    with Store(path) as store:
        assert len(store) == 1
        assert "a" in store
