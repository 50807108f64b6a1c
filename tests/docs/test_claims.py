"""Figures, links and names of tests in the documentation are true."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import noutput as no
from tests.docs.blocks import ROOT, pages

TEXTS = {page: (ROOT / page).read_text(encoding="utf-8") for page in pages()}
COMPARISON = TEXTS["docs/comparison.md"]
EPSILONS = (0.5, 1.0, 2.0, 4.0)
ROWS = {
    "Duchi (1 bit)": "duchi",
    "Three-output (2 bits)": "three-output",
    "PM-sub (24 bits)": "pm-sub",
    "Hybrid (25 bits)": "hybrid",
}


def figures(row: str) -> list[float]:
    line = next(line for line in COMPARISON.splitlines() if line.startswith("|") and row in line)
    return [float(cell.strip(" *")) for cell in line.strip("|").split("|")[1:]]


@pytest.mark.parametrize(("row", "name"), ROWS.items())
def test_the_variances_of_others(row: str, name: str) -> None:
    expected = [no.mechanism(name, epsilon).worst_variance() for epsilon in EPSILONS]
    np.testing.assert_allclose(figures(row), expected, rtol=6e-3)


@pytest.mark.parametrize(("row", "name"), ROWS.items())
def test_the_bits_of_others(row: str, name: str) -> None:
    sizes = {no.mechanism(name, epsilon).bits for epsilon in EPSILONS}
    assert f"({max(sizes)} bit" in row


def test_our_variances_and_their_limit() -> None:
    designs = [no.design(epsilon, 16) for epsilon in EPSILONS]
    np.testing.assert_allclose(figures("16 outputs"), [d.value for d in designs], rtol=1e-3)
    bounds = [d.lower_bound for d in designs]
    np.testing.assert_allclose(figures("lower bound"), np.array(bounds, float), rtol=1e-3)
    gaps = np.array([d.gap for d in designs], float)
    assert max(gaps[:2]) < 0.001
    assert gaps[3] < 0.02


def named_tests(text: str) -> set[str]:
    return set(re.findall(r"`((?:tests|clients/js/test)(?:/[\w./]+)?(?:::\w+)?)`", text))


def exists(name: str) -> bool:
    path, _, function = name.partition("::")
    file = ROOT / path
    return file.exists() and (not function or f"\ndef {function}(" in file.read_text())


@pytest.mark.parametrize("page", TEXTS)
def test_tests_that_are_named_exist(page: str) -> None:
    assert [name for name in sorted(named_tests(TEXTS[page])) if not exists(name)] == []


def test_every_proof_obligation_names_a_test() -> None:
    table = TEXTS["docs/privacy.md"].split("| obligation |")[1].strip()
    rows = [line for line in table.splitlines()[2:] if line.startswith("|")]
    assert len(rows) > 15
    assert [row for row in rows if not named_tests(row)] == []


@pytest.mark.parametrize("page", TEXTS)
def test_links_lead_somewhere(page: str) -> None:
    targets = re.findall(r"\]\(([^)\s#]+)(?:#[^)]*)?\)", TEXTS[page])
    local = [target for target in targets if "://" not in target]
    folder = (ROOT / page).parent
    assert [target for target in local if not (folder / target).exists()] == []


def documented() -> str:
    return "".join(TEXTS[page] for page in TEXTS if page.startswith("docs/api/"))


def test_every_public_name_is_in_the_reference() -> None:
    import noutput.campaign
    import noutput.frames

    names = re.findall(r"^\.\. auto(?:function|class|data):: ([\w.]+)$", documented(), re.MULTILINE)
    assert len(names) == len(set(names))
    errors = {"DesignError", "DocumentError", "InvalidArgumentError", "MissingExtraError",
              "NoutputError", "PrivacyError"}  # fmt: skip
    public = {*no.__all__, *noutput.campaign.__all__, *noutput.frames.__all__} - errors
    assert public - set(names) == set()
    assert ".. automodule:: noutput.errors" in documented()


def test_the_readme_fits_a_screen() -> None:
    assert len(TEXTS["README.md"].splitlines()) <= 50
    assert Path(ROOT / "docs" / "index.md").exists()
