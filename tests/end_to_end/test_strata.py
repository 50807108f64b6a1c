"""Segments and rounds as people see them, in a real browser."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Browser, expect

from noutput.campaign import Campaign, fetch_campaign
from noutput.campaign.schedule import rounds_of
from noutput.collector.demonstration import Demonstration, demonstrate
from noutput.collector.panel import PLAYED
from tests.collector.test_demonstration import tables
from tests.end_to_end.browser import PHONE, WIDE, chromium, results, visit

pytestmark = pytest.mark.slow

PATH = "/campaigns/app-start"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demonstration]:
    with demonstrate(Path(tmp_path_factory.mktemp("strata")), tables()) as shown:
        shown.play(12_000, np.random.default_rng(1))
        yield shown


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, PHONE])
def test_pictures_fit_and_are_accessible(
    browser: Browser, demo: Demonstration, size: tuple[int, int], scheme: str
) -> None:
    with visit(browser, demo.url, size, scheme) as visitor:
        page = visitor.go(PATH)
        shown = ".wide" if size == WIDE else ".narrow"
        expect(page.locator(f"#rounds {shown} .chart-band")).to_be_visible()
        expect(page.locator(f"#compared {shown} .chart-dot")).to_have_count(2)
        expect(page.locator("#small svg")).to_have_count(2)
        assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
        found = Axe().run(page)
        assert found.violations_count == 0, found.generate_report()
        page.screenshot(path=results(f"strata-{size[0]}-{scheme}.png"), full_page=True)


def test_nothing_needs_a_script(browser: Browser, demo: Demonstration) -> None:
    with visit(browser, demo.url, java_script_enabled=False) as visitor:
        page = visitor.go(PATH)
        page.select_option("select[name=segment]", "platform:ios")
        page.fill("[name=first]", "3")
        page.fill("[name=last]", "9")
        page.click("text=Show")
        page.wait_for_url("**first=3*")
        expect(page.locator(".about")).to_have_text(
            "This page is about platform ios, rounds 3 to 9."
        )
        expect(page.locator("#rounds .wide .chart-point")).to_have_count(7)
        page.click("#pairs-details summary")
        expect(page.locator("#pairs")).to_contain_text("android over ios")


def test_rounds_are_read_and_chosen_with_the_pointer(browser: Browser, demo: Demonstration) -> None:
    with visit(browser, demo.url) as visitor:
        page = visitor.go(PATH)
        figure = page.locator("#rounds .wide svg")
        expect(figure.locator(".chart-band")).to_be_visible()
        points = figure.locator(".chart-point")
        points.nth(4).hover(force=True)
        expect(page.locator("#round-readout")).to_contain_text("(round 4)")
        expect(page.locator("#round-readout")).to_contain_text("; trend ")
        page.mouse.down()
        points.nth(9).hover(force=True)
        expect(figure.locator(".chart-chosen")).to_have_count(1)
        page.mouse.up()
        page.wait_for_url(re.compile("rounds=4-9"))
        expect(page.locator("#rounds .wide .chart-point")).to_have_count(6)


def test_the_present_round_grows_while_somebody_watches(
    browser: Browser, demo: Demonstration
) -> None:
    with visit(browser, demo.url) as visitor:
        page = visitor.go(PATH)
        expect(page.locator("#present")).to_contain_text("Its reports are published from")
        demo.follow(900, np.random.default_rng(2))
        demo.collector.note()
        expect(page.locator("#present")).to_contain_text("of its reports are published")
        expect(page.locator("#rounds .wide .chart-open")).not_to_have_count(0)


def ledger_that_answers(campaign: Campaign, number: int) -> str:
    """Return the ledger of a browser that joined in the present round, and answers in another."""
    assert campaign.schedule is not None
    secret = next(
        secret
        for secret in (n.to_bytes(32) for n in range(1000))
        if rounds_of(campaign.schedule, campaign.root, secret, number // 8, PLAYED) == (number,)
    )
    panel = {"secret": secret.hex(), "joined": PLAYED}
    return json.dumps({"version": 1, "reports": {}, "panels": {campaign.root: panel}})


STORE = "text => localStorage.setItem('noutput-ledger', text)"


def test_a_visitor_is_told_when_to_answer_before_anything_is_asked(
    browser: Browser, demo: Demonstration
) -> None:
    campaign = fetch_campaign(f"{demo.url}{PATH}")
    with visit(browser, demo.url) as visitor:
        page = visitor.go(PATH)
        told = page.locator("#try-when")
        expect(page.locator("#try-ask")).to_be_visible()
        expect(page.locator("#try")).to_be_hidden()
        assert page.evaluate("localStorage.getItem('noutput-ledger')") is None  # by looking at it
        page.click("#try-ask")
        expect(told).to_contain_text("This browser answers")
        page.evaluate(STORE, ledger_that_answers(campaign, PLAYED + 4))
        page.reload()
        expect(told).to_contain_text("This browser answers next in this time, which was drawn in")
        start = campaign.round(PLAYED + 4).start.astimezone()
        expect(told).to_contain_text(re.compile(rf"{start:%A %-d %B}\D+{start:%H:%M}"))
        expect(page.locator("#try")).to_be_hidden()
        expect(page.locator("#try-ask")).to_be_hidden()


def test_a_visitor_answers_in_the_round_of_the_browser(
    browser: Browser, demo: Demonstration
) -> None:
    campaign = fetch_campaign(f"{demo.url}{PATH}")
    with visit(browser, demo.url) as visitor:
        page = visitor.go(PATH)
        page.evaluate(STORE, ledger_that_answers(campaign, PLAYED))
        page.reload()
        expect(page.locator("#try-when")).to_contain_text("This browser answers now: ")
        page.select_option("#try-limit", "8")
        page.fill("[data-question=seconds]", "3")
        page.click("text=Make my report")
        expect(page.locator("#try-says")).to_contain_text("Your report is number")
        page.reload()  # before it was sent
        expect(page.locator("#try-when")).to_contain_text("This browser has made its report. This")
        page.select_option("#try-limit", "8")
        page.fill("[data-question=seconds]", "5")
        page.click("text=Make my report")
        expect(page.locator("#try-says")).to_contain_text("sends the same report again")
        page.click("#try-send")
        expect(page.locator("#try-sent")).to_have_text("Sent and counted. Thank you.")
