"""The built documentation as readers see it: on phones, in the dark, with working links."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest
from playwright.sync_api import Browser, Page

from tests.docs.blocks import ROOT
from tests.end_to_end.browser import PHONE, chromium

pytestmark = pytest.mark.slow

DOCS = ROOT / "docs"
GENERATED = ("genindex", "search", "py-modindex")
# What sticks out of the page, and is not inside something that scrolls by itself.
_STICKS_OUT = """() => [...document.querySelectorAll('article *')].filter((element) => {
  const box = element.getBoundingClientRect();
  if (box.width === 0 || box.right <= window.innerWidth + 1) return false;
  for (let parent = element.parentElement; parent; parent = parent.parentElement)
    if (['auto', 'scroll', 'hidden'].includes(getComputedStyle(parent).overflowX)) return false;
  return true;
}).slice(0, 3).map((element) => element.outerHTML.slice(0, 120))"""
# Code that is broken within a name.
_BROKEN = """() => [...document.querySelectorAll('td code, th code, p code')].filter((code) =>
  !/\\s/.test(code.textContent) && !code.querySelector('wbr') && code.getClientRects().length > 1
).map((code) => code.textContent)"""
# Pixels between the button of a block and its first line.
_ROOM_BELOW_BUTTONS = """() => [...document.querySelectorAll('button.copy')].map((button) => {
  const code = document.createRange();
  code.selectNodeContents(button.parentElement.querySelector('pre'));
  const top = Math.min(...[...code.getClientRects()].filter((r) => r.width).map((r) => r.top));
  return top - button.getBoundingClientRect().bottom;
})"""
_CATCH = "Object.defineProperty(navigator, 'clipboard', {value: {writeText: (t) => copied(t)}})"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("html")
    command = ["-m", "sphinx", "-E", "-Q", "-b", "html", str(DOCS), str(target)]
    subprocess.run([sys.executable, *command], check=True)
    return target


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


def pages(built: Path) -> list[Path]:
    names = (path for path in built.rglob("*.html") if path.stem not in GENERATED)
    return sorted(path for path in names if "_static" not in path.parts)


def open_page(browser: Browser, file: Path, scheme: str = "light") -> Page:
    viewport = {"width": PHONE[0], "height": PHONE[1]}
    page = browser.new_page(viewport=viewport, color_scheme=scheme)  # type: ignore[arg-type]
    page.goto(file.as_uri())
    return page


def test_every_page_fits_a_phone(browser: Browser, built: Path) -> None:
    found = pages(built)
    assert len(found) > 25
    page = browser.new_page(viewport={"width": PHONE[0], "height": PHONE[1]})
    for file in found:
        page.goto(file.as_uri())
        name = file.relative_to(built)
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE[0], name
        assert page.evaluate(_STICKS_OUT) == [], name
    page.close()


def test_tables_scroll(browser: Browser, built: Path) -> None:
    page = open_page(browser, built / "comparison.html")
    wide = page.evaluate(
        "[...document.querySelectorAll('.table-wrapper')].map((e) => e.scrollWidth > e.clientWidth)"
    )
    assert any(wide)
    page.close()


def test_names_in_code_stay_whole(browser: Browser, built: Path) -> None:
    """Only very long ones, as those of tests are, may break after a separator."""
    page = open_page(browser, built / "clients.html")
    for name in ("clients", "collector", "privacy"):
        page.goto((built / f"{name}.html").as_uri())
        assert page.locator("td p code").count() > 20
        assert page.evaluate(_BROKEN) == [], name
    assert page.locator("td code wbr").count() > 100
    page.close()


def test_buttons_do_not_cover_code_where_nothing_hovers(browser: Browser, built: Path) -> None:
    context = browser.new_context(
        viewport={"width": PHONE[0], "height": PHONE[1]}, has_touch=True, is_mobile=True
    )
    page = context.new_page()
    page.goto((built / "clients.html").as_uri())
    assert page.evaluate("matchMedia('(hover: none)').matches")
    room = page.evaluate(_ROOM_BELOW_BUTTONS)
    assert len(room) > 5
    assert min(room) >= 0.0
    context.close()


def test_no_code_is_underlined_as_links_are(browser: Browser, built: Path) -> None:
    page = open_page(browser, built / "clients.html", "dark")
    lines = "(e) => e.map((each) => getComputedStyle(each).textDecorationLine)"
    assert set(page.locator(".highlight span").evaluate_all(lines)) == {"none"}
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_logo_is_that_of_the_scheme(browser: Browser, built: Path, scheme: str) -> None:
    page = open_page(browser, built / "index.html", scheme)
    page.set_viewport_size({"width": 1400, "height": 900})
    shown = page.locator("img.sidebar-logo:visible")
    assert shown.count() == 1
    assert f"logo-{scheme}" in (shown.get_attribute("src") or "")
    assert shown.evaluate("(image) => image.naturalWidth") > 0
    page.close()


@pytest.mark.parametrize(
    ("name", "has", "copied"),
    [
        (
            "quickstart/researcher",
            ">>> wrong",
            r"wrong = no\.mechanism\(.*\)\nfound = .*\nfound\.passed, .*",
        ),
        ("quickstart/campaign", "$ noutput simulate", r"noutput simulate [^$\n]*--people 5000"),
        ("quickstart/analyst", "people.to_csv", r"people\.to_csv\([^\n]*\)"),
    ],
)
def test_code_is_copied_without_prompts_and_outputs(
    browser: Browser, built: Path, name: str, has: str, copied: str
) -> None:
    page = browser.new_page()
    texts: list[str] = []
    page.expose_function("copied", lambda text: texts.append(text))
    page.add_init_script(_CATCH)
    page.goto((built / f"{name}.html").as_uri())
    block = page.locator("div.highlight", has_text=has).first
    block.hover()
    block.get_by_role("button", name="Copy").click()
    block.get_by_role("button", name="Copied").wait_for()
    assert re.fullmatch(copied, texts[0]), texts[0]
    page.close()


class Anchors(HTMLParser):
    """The ids and the local links of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.ids.add(found.get("id") or "")
        target = found.get("href") or ""
        if tag == "a" and target and "://" not in target and not target.startswith("mailto:"):
            self.links.add(unquote(target))


def test_every_link_within_the_documentation_leads_somewhere(built: Path) -> None:
    read = {file: Anchors(file.read_text(encoding="utf-8")) for file in built.rglob("*.html")}
    broken = []
    for file in pages(built):
        for link in read[file].links:
            place, _, anchor = link.partition("#")
            target = (file.parent / place).resolve() if place else file
            known = read[target].ids if target in read else {anchor}
            if not target.exists() or (anchor and anchor not in known):
                broken.append((file.name, link))
    assert broken == []
