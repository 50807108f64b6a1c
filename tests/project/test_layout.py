"""The folders are where CONTRIBUTING.md says."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def folders(path: Path) -> set[str]:
    return {each.name for each in path.iterdir() if each.is_dir() and each.name[0] not in "_."}


def row(first: str) -> str:
    (found,) = [line for line in TEXT.splitlines() if line.startswith(f"| `{first}`")]
    return found


def test_every_package_has_a_folder_of_tests() -> None:
    packages = folders(ROOT / "src" / "noutput")
    assert len(packages) > 5
    assert packages <= folders(ROOT / "tests")


def test_every_other_folder_of_tests_is_named() -> None:
    others = folders(ROOT / "tests") - folders(ROOT / "src" / "noutput")
    assert set(re.findall(r"`(\w+)`", row("tests"))) - {"tests"} == others


def test_every_package_is_in_the_table() -> None:
    named = re.findall(r"`src/noutput/(\w+)`", TEXT)
    assert sorted(named) == sorted(folders(ROOT / "src" / "noutput"))
