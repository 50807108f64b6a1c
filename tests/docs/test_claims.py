"""Figures, links and names of tests in the documentation are true."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import noutput as no
from noutput.designs import catalog
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
    designs = [no.design(epsilon, 16, "worst") for epsilon in EPSILONS]
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
    import noutput.errors
    import noutput.frames

    names = re.findall(r"^\.\. auto(?:function|class|data):: ([\w.]+)$", documented(), re.MULTILINE)
    assert len(names) == len(set(names))
    public = {*no.__all__, *noutput.campaign.__all__, *noutput.frames.__all__}
    assert public - set(names) == set(noutput.errors.__all__)
    assert ".. automodule:: noutput.errors" in documented()


def test_the_client_that_the_quick_start_imports_is_small() -> None:
    page = TEXTS["docs/quickstart/campaign.md"]
    (name,) = re.findall(r'from "\./([\w.]+)"', page)
    (kilobytes,) = re.findall(r"below\s+([\d.]+) KB", page)
    assert (ROOT / "clients" / "js" / name).stat().st_size < 1000 * float(kilobytes)


def test_what_every_mechanism_has() -> None:
    text = re.sub(r"\s+", " ", TEXTS["docs/quickstart/researcher.md"])
    (found,) = re.findall(r"All have ([^;]*); all but ([^,]*), .*? have ([^.]*)\.", text)
    everywhere, exceptions, elsewhere = (re.findall(r"`(\w+)", part) for part in found)
    assert "variance" in everywhere
    assert "transition" in elsewhere
    for name in no.MECHANISMS:
        mechanism = no.mechanism(name, 1.0)
        assert all(hasattr(mechanism, method) for method in everywhere), name
        assert all(hasattr(mechanism, method) for method in elsewhere) == (name not in exceptions)


def test_names_of_the_notation_are_in_the_code() -> None:
    code = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    spans = re.findall(r"`([^`]+)`", TEXTS["docs/notation.md"])
    names = {
        name for span in spans if "/" not in span for name in re.findall(r"[A-Za-z_]\w*", span)
    }
    assert len(names) > 30
    assert [name for name in sorted(names) if not re.search(rf"\b{name}\b", code)] == []
    paths = [span for span in spans if "/" in span and " " not in span]
    assert [path for path in paths if not (ROOT / "src/noutput" / path).exists()] == []


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_bits_of_a_report(page: str) -> None:
    text = re.sub(r"\s+", " ", TEXTS[page])
    ((least, most, yes_no),) = re.findall(
        r"a few bits \((\d) or (\d) for a number by default, (\d) for yes/no\)", text
    )
    bits = {no.design(epsilon).mechanism.bits for epsilon in catalog.TRAINED_EPSILONS}
    assert bits == {int(least), int(most)}
    assert no.design(1.0, question=no.YesNo()).mechanism.bits == int(yes_no)


def test_the_readme_fits_a_screen() -> None:
    assert len(TEXTS["README.md"].splitlines()) <= 50
    assert Path(ROOT / "docs" / "index.md").exists()
