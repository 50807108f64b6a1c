"""Formulas are set with the font that the pages bring, wherever they are read."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from fontTools.ttLib import TTFont
from playwright.sync_api import Browser, Page

from tests.docs.blocks import ROOT
from tests.end_to_end.browser import PHONE, chromium

DOCS = ROOT / "docs"
sys.path.append(str(DOCS / "_extensions"))
mathml = import_module("mathml")  # found on the path of the line above
_CODE = re.compile(r"```.*?```|`[^`]*`", re.DOTALL)
PAGES = sorted(
    path.stem
    for path in DOCS.glob("*.md")
    if "$" in _CODE.sub("", path.read_text(encoding="utf-8"))
)
FONT = "fonts/stix-two-math.woff"
WIDE = (1400, 900)
_LEAVES = ("mi", "mn", "mo", "mtext")
# How far the bottom of a subscript hangs below that of its base.
_DROPS = """() => [...document.querySelectorAll('msub')]
  .filter((sub) => sub.children[0].localName === 'mi' && sub.children[1].localName === 'mi')
  .map((sub) => sub.children[1].getBoundingClientRect().bottom
              - sub.children[0].getBoundingClientRect().bottom)"""
_TOO_WIDE = "() => document.documentElement.scrollWidth - window.innerWidth"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages that have formulas, as Sphinx builds them."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("html")
    for page in PAGES:
        shutil.copy(DOCS / f"{page}.md", source)
    (source / "index.md").write_text("# Formulas\n", encoding="utf-8")
    command = ["-m", "sphinx", "-Q", "-b", "html", "-c", str(DOCS), str(source), str(target)]
    subprocess.run([sys.executable, *command], check=True)
    return target


def test_the_font_comes_with_the_pages(built: Path) -> None:
    style = (built / "_static" / "pages.css").read_text(encoding="utf-8")
    assert f'url("{FONT}")' in style
    file = built / "_static" / FONT
    assert file.stat().st_size < 50_000
    assert "SIL OPEN FONT LICENSE" in file.with_suffix(".OFL.txt").read_text(encoding="utf-8")
    font = TTFont(file)
    assert "MATH" in font  # where browsers read how far to lower a subscript
    known = set(map(chr, font.getBestCmap())) | {"\n"}
    assert "theory" in PAGES
    for page in PAGES:
        formulas = re.findall(
            r"<math.*?</math>", (built / f"{page}.html").read_text(encoding="utf-8"), re.DOTALL
        )
        assert formulas
        text = "".join(re.sub(r"<[^>]+>", "", formula) for formula in formulas)
        assert set(text) - known == set(), page


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (r"a \dots b", r"a \ldots b"),
        (r"\frac12 \ln x + \frac32", r"\frac{1}{2} \ln x + \frac{3}{2}"),
        (r"\frac1n", r"\frac1n"),
        (r"\Big( x \big[ y \big] \Big)", r"\Bigl( x \bigl[ y \bigr] \Bigr)"),
        (r"\Big| x \Big|", r"\Bigl| x \Bigr|"),
        (r"\bigl( x \bigr)", r"\bigl( x \bigr)"),
    ],
)
def test_formulas_are_written_as_the_converter_knows_them(text: str, words: str) -> None:
    assert mathml.prepared(text) == words


@pytest.mark.parametrize(
    ("text", "spaces"),
    [(r"7 R \ln(4)", 1), (r"\ln(4)", 0), (r"\ln x", 1), (r"\frac12 \ln \det(G)", 2)],
)
def test_names_of_functions_have_space(text: str, spaces: int) -> None:
    found = mathml.spaced(mathml.latex2mathml.tex2mathml(mathml.prepared(text)))
    assert found.count("<mspace") == spaces


def test_no_fraction_has_a_sign_below_its_bar(built: Path) -> None:
    """As where the converter reads 12 in a half."""
    below = re.compile(r"<mfrac>\s*<mn>\d+</mn>\s*<m(?:o|i mathvariant=.normal.)[ >]")
    for page in PAGES:
        assert not below.search((built / f"{page}.html").read_text(encoding="utf-8")), page


@pytest.mark.slow
@pytest.mark.parametrize("size", [WIDE, PHONE])
def test_subscripts_are_below_their_base(built: Path, size: tuple[int, int]) -> None:
    with chromium() as browser:
        for page in PAGES:
            seen = _open(browser, built / f"{page}.html", size)
            assert _other_fonts(seen) == set(), page
            drops = seen.evaluate(_DROPS)
            assert [drop for drop in drops if drop < 1] == [], page
            assert seen.evaluate(_TOO_WIDE) <= 0, page


def _open(browser: Browser, file: Path, size: tuple[int, int]) -> Page:
    page = browser.new_page(viewport={"width": size[0], "height": size[1]})
    page.goto(file.as_uri())
    page.evaluate("() => document.fonts.ready.then(() => true)")
    return page


def _other_fonts(page: Page) -> set[str]:
    """Fonts of this machine that a formula is set with."""
    session = page.context.new_cdp_session(page)
    session.send("DOM.enable")
    session.send("CSS.enable")
    root = session.send("DOM.getDocument")["root"]["nodeId"]
    selector = ", ".join(f"math {name}" for name in _LEAVES)
    nodes = session.send("DOM.querySelectorAll", {"nodeId": root, "selector": selector})["nodeIds"]
    used = [
        font
        for node in nodes
        for font in session.send("CSS.getPlatformFontsForNode", {"nodeId": node})["fonts"]
    ]
    assert used
    return {font["familyName"] for font in used if not font["isCustomFont"]}
