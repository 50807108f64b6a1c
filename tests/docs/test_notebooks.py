"""The notebooks of the documentation run, print what is stored in them, and are shown as pages."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest

from tests.docs.blocks import ROOT
from tools.run_notebooks import FOLDER, printed, run

NAMES = ("analyst", "campaign", "researcher")

sys.path.append(str(ROOT / "docs" / "_extensions"))


def stored(name: str) -> Any:
    return nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)


def test_there_is_one_per_role() -> None:
    assert tuple(sorted(path.stem for path in FOLDER.glob("*.ipynb"))) == NAMES
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    assert all(f"notebooks/{name}" in index for name in NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_is_stored_with_its_outputs(name: str) -> None:
    notebook = stored(name)
    nbformat.validate(notebook)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert sum(bool(cell.outputs) for cell in cells) > len(cells) / 2
    text = (FOLDER / f"{name}.ipynb").read_text(encoding="utf-8")
    assert len(text) < 300_000
    assert not re.search(r"/(?:home|root|tmp|Users|work)/", text)  # of whoever ran it


@pytest.mark.parametrize("name", NAMES)
def test_a_page_shows_texts_code_outputs_and_pictures(name: str) -> None:
    from notebooks import to_markdown  # type: ignore[import-not-found]  # an extension of Sphinx

    notebook = stored(name)
    page = to_markdown((FOLDER / f"{name}.ipynb").read_text(encoding="utf-8"))
    for cell in notebook.cells:
        assert cell.source in page
    pictures = sum("image/svg+xml" in each.get("data", {}) for c in notebook.cells
                   for each in c.get("outputs", ()))  # fmt: skip
    assert page.count("data:image/svg+xml;base64,") == pictures >= 2
    assert page.count('<img alt="') == pictures
    assert '<img alt=""' not in page
    links = re.findall(r"\]\(([^)\s#]+)", page)
    assert [link for link in links if not (FOLDER / link).exists()] == []


def test_pictures_need_words_and_errors_are_refused() -> None:
    from notebooks import to_markdown

    notebook = stored("analyst")
    cell = next(c for c in notebook.cells if "alt" in c.metadata)
    del cell.metadata["alt"]
    with pytest.raises(ValueError, match="needs a text"):
        to_markdown(nbformat.writes(notebook))
    error = {"ename": "ZeroDivisionError", "evalue": "", "traceback": []}
    cell.outputs = [nbformat.v4.new_output("error", **error)]
    with pytest.raises(ValueError, match="ZeroDivisionError"):
        to_markdown(nbformat.writes(notebook))


_HASH = re.compile(r"\b[0-9a-f]{12,}\b")
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_prints_what_is_stored_in_it(name: str, tmp_path: Path) -> None:
    """Devices draw from secure randomness, so the numbers of the campaign are others."""
    notebook = stored(name)
    before, after = printed(notebook), printed(run(FOLDER / f"{name}.ipynb", tmp_path))
    for old, new in zip(before, after, strict=True):
        assert _without_numbers(new) == _without_numbers(old)
        if "varies" not in notebook.metadata.get("noutput", {}):
            assert _numbers(new) == pytest.approx(_numbers(old), rel=0.02, abs=0.002)


def test_the_stored_campaign_came_close() -> None:
    text = "".join(printed(stored("campaign")))
    found, truth = (
        float(re.findall(rf"{name} average +([\d.]+)", text)[0]) for name in ("estimated", "true")
    )
    assert abs(found - truth) < 4.0


def _without_numbers(text: str) -> list[str]:
    """Return the words of a text; columns and bars are as wide as their numbers."""
    return re.sub(r"[█▏▎▍▌▋▊▉]", "", _NUMBER.sub("#", _HASH.sub("#", text))).split()


def _numbers(text: str) -> list[float]:
    found: list[str] = _NUMBER.findall(_HASH.sub("", text))
    return [float(number.replace(",", "")) for number in found]
