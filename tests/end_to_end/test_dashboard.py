"""The dashboard as people see it, in a real browser."""

from __future__ import annotations

import json
import re
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Browser, Page, expect

from noutput.campaign import Campaign, Number, Report, send_batch
from noutput.collector.simulation import send_reports, simulate_people
from tests.collector.conftest import make_campaign, with_questions
from tests.collector.process import Running, running
from tests.end_to_end.browser import PHONE, WIDE, chromium, results, visit

pytestmark = pytest.mark.slow

PAGES = {
    "index": "/", "campaign": "/campaigns/busy", "private": "/campaigns/secret",
    "sign-in": "/sign-in", "empty": "/campaigns/empty", "error": "/campaigns/none",
    "forged": "/campaigns/forged",
}  # fmt: skip
VALUE = "123.456"
COUNT_DELAYS = """
const original = setTimeout;
window.delays = [];
window.setTimeout = (work, delay, ...rest) => {
  if (delay >= 1000) delays.push(delay);
  return original(work, delay, ...rest);
};
"""


def call(server: Running, path: str, content: str) -> dict[str, str]:
    """Do what an administrator does."""
    headers = {"Authorization": f"Bearer {server.token}", "Content-Type": "application/json"}
    request = urllib.request.Request(server.url + path, content.encode(), headers)  # noqa: S310
    with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310
        found: dict[str, str] = json.load(answer)
        return found


def report(server: Running, campaign: Campaign, people: int, seed: int) -> None:
    everybody = simulate_people(campaign, people, "lognormal", np.random.default_rng(seed))
    for _ in send_reports(f"{server.url}/campaigns/{campaign.id}", campaign, everybody):
        pass


def forge(server: Running, campaign: Campaign, count: int) -> None:
    """Send the last output of the first table, far more often than honest people draw it."""
    rng = np.random.default_rng(count)
    name, output = campaign.questions[0].name, campaign.tables[0].n_outputs - 1
    forged = [Report(campaign.fingerprint, name, output, rng.bytes(16).hex()) for _ in range(count)]
    send_batch(f"{server.url}/campaigns/{campaign.id}", campaign, forged)


def allow(page: Page, epsilon: float) -> None:
    """Choose a limit, as a visitor does who agrees to what a campaign asks for."""
    page.select_option("#try-limit", f"{epsilon:g}")


def make(name: str, *, public: bool = True) -> Campaign:
    return make_campaign(name, public=public, outputs=8)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("dashboard")
    busy = make("busy")
    (folder / "busy.json").write_text(busy.to_json())
    with running(str(folder / "reports.db"), folder / "busy.json") as started:
        call(started, "/campaigns", make("secret", public=False).to_json())
        call(started, "/campaigns", make("empty").to_json())
        report(started, busy, 6_000, 1)
        call(started, "/campaigns", make("forged").to_json())
        report(started, make("forged"), 2_000, 5)
        forge(started, make("forged"), 400)
        report(started, make("secret", public=False), 300, 2)
        yield started


def test_counts_rise_while_somebody_watches(browser: Browser, server: Running) -> None:
    campaign = make("live")
    call(server, "/campaigns", campaign.to_json())
    with visit(browser, server.url) as visitor:
        visitor.page.add_init_script(COUNT_DELAYS)
        page = visitor.go("/campaigns/live")
        reports = page.locator("#reports")
        expect(reports).to_have_text("0")
        expect(page.locator("#waiting")).to_contain_text("No report has come in yet")
        report(server, campaign, 600, 3)
        expect(reports).to_have_text("600")
        mean = page.locator(".big .number")
        expect(mean).to_contain_text(re.compile(r"\d"))
        before = mean.inner_text()
        page.evaluate("window.same = true")
        page.locator("#milestones summary").click()
        report(server, campaign, 2_000, 4)
        expect(reports).to_have_text("2,600")
        expect(mean).not_to_have_text(before)
        expect(page.locator("#history-table tbody tr")).not_to_have_count(1)
        assert page.evaluate("window.same")  # nothing was loaded anew
        assert page.locator("#milestones").get_attribute("open") is not None
        assert page.locator("#history canvas").count() == 1
        for _ in range(3):
            with page.expect_response("**/campaigns/live"):
                pass
        assert set(page.evaluate("delays")) == {2000}  # milliseconds between two looks


def test_forged_reports_become_the_headline_while_somebody_watches(
    browser: Browser, server: Running
) -> None:
    campaign = make("turning")
    call(server, "/campaigns", campaign.to_json())
    report(server, campaign, 2_000, 6)
    with visit(browser, server.url) as visitor:
        page = visitor.go("/campaigns/turning")
        expect(page.locator("#hero")).to_contain_text("with 95% confidence")
        forge(server, campaign, 400)
        expect(page.locator("#hero h2")).to_have_text("Some reports are probably forged")
        expect(page.locator("#forged")).to_be_visible()
        expect(page.locator("#distribution")).to_have_count(0)  # the page was loaded anew
        expect(page.locator("main")).not_to_contain_text("confidence")


def test_the_browser_makes_the_report_and_shows_it_first(browser: Browser, server: Running) -> None:
    with visit(browser, server.url) as visitor:
        page = visitor.go("/campaigns/secret")
        allow(page, 2)
        for name in ("minutes", "rides", "cost"):
            page.fill(f"[data-question={name}]", VALUE)
        page.click("text=Make my report")
        expect(page.locator("#try-says")).to_contain_text("Your report is number")
        shown = page.locator("#try-report").text_content()
        assert visitor.posts() == []
        page.click("text=Send this report")
        expect(page.locator("#try-sent")).to_have_text("Sent and counted. Thank you.")
        assert visitor.posts() == [(f"{server.url}/campaigns/secret/reports", shown)]
        page.fill("[data-question=minutes]", "7")
        page.click("text=Make my report")
        expect(page.locator("#try-says")).to_contain_text("answered before")
        assert page.locator("#try-report").text_content() == shown
        page.click("text=Send this report")
        expect(page.locator("#try-sent")).to_have_text("It had been counted before.")
        page.screenshot(path=results("try-it.png"), full_page=True)
        for _, url, body in visitor.requests:
            assert VALUE not in url + (body or "")


def test_nothing_is_drawn_beyond_the_visitors_limit(browser: Browser, server: Running) -> None:
    with visit(browser, server.url) as visitor:
        page = visitor.go("/campaigns/secret")
        for name in ("minutes", "rides", "cost"):
            page.fill(f"[data-question={name}]", VALUE)
        page.click("text=Make my report")
        error = page.locator("#try-error")
        expect(error).to_have_text(
            "This campaign asks for ε = 2, and your limit is 1. No report was drawn. "
            "Choose a higher limit if a report may tell that much about you."
        )
        assert page.evaluate("localStorage.getItem('noutput-ledger')") is None
        allow(page, 2)
        page.reload()
        expect(page.locator("#try-limit")).to_have_value("2")  # this browser remembers
        for name in ("minutes", "rides", "cost"):
            page.fill(f"[data-question={name}]", VALUE)
        page.click("text=Make my report")
        expect(page.locator("#try-says")).to_contain_text("Your report is number")
        ledger = json.loads(page.evaluate("localStorage.getItem('noutput-ledger')"))
        assert [entry["epsilon"] for entry in ledger["reports"].values()] == [2]
        assert visitor.posts() == []


def test_a_number_that_is_none_is_told(browser: Browser, server: Running) -> None:
    with visit(browser, server.url) as visitor:
        page = visitor.go("/campaigns/busy")
        page.click("text=Make my report")
        assert page.locator("[data-question=minutes]:invalid").count() == 1
        for name in ("minutes", "rides", "cost"):
            page.fill(f"[data-question={name}]", "1")
        page.route("**/campaigns/busy", lambda route: route.fulfill(status=404, body="{}"))
        visitor.allowed = ("404",)
        page.click("text=Make my report")
        expect(page.locator("#try-error")).to_contain_text("The server refused")


def test_fields_may_be_called_as_a_form_calls_its_own(browser: Browser, server: Running) -> None:
    names = ("length", "hidden", "dataset")
    campaign = with_questions(make("names"), *(Number(0, 10, name=name) for name in names))
    call(server, "/campaigns", campaign.to_json())
    with visit(browser, server.url) as visitor:
        page = visitor.go("/campaigns/names")
        allow(page, 2)
        for name in names:
            page.fill(f"[data-question={name}]", "3")
        page.click("text=Make my report")
        expect(page.locator("#try-says")).to_contain_text("Your report is number")


def test_a_collector_that_is_away_is_told_calmly(browser: Browser, server: Running) -> None:
    with visit(browser, server.url) as visitor:
        visitor.allowed = ("ERR_FAILED",)  # the browser notes it too
        page = visitor.go("/campaigns/busy")
        before = page.locator("#reports").inner_text()
        page.route("**/campaigns/busy", lambda route: route.abort())
        notice = page.locator(".away")
        expect(notice).to_contain_text("The collector does not answer.")
        assert page.locator("#reports").inner_text() == before
        page.unroute("**/campaigns/busy")
        page.evaluate("dispatchEvent(new Event('online'))")
        expect(notice).to_have_text("")


def test_the_smallest_phone(browser: Browser, server: Running) -> None:
    with visit(browser, server.url, (320, 640)) as visitor:
        for path in PAGES.values():
            visitor.allowed = ("404",)
            page = visitor.go(path)
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
            assert page.locator(".brand").evaluate("each => each.offsetHeight") < 40


def test_pointing_at_a_picture_explains_it(browser: Browser, server: Running) -> None:
    with visit(browser, server.url) as visitor:
        page = visitor.go("/campaigns/busy?question=cost&target=0.25")
        expect(page.locator("#goal")).to_contain_text("wanted is ± 0.25 USD")
        page.locator(".wide .chart").hover(position={"x": 200, "y": 150})
        expect(page.locator("#readout")).to_contain_text("% of people")
        page.locator("#history .u-over").hover()
        expect(page.locator("#moment")).to_contain_text("USD (")
        page.fill("[name=target]", "0.5")
        page.click("text=Ask")
        expect(page.locator("#goal")).to_contain_text("wanted is ± 0.5 USD")
        expect(page.locator(".hero")).to_contain_text("Average cost")


def test_light_and_dark(browser: Browser, server: Running) -> None:
    with visit(browser, server.url) as visitor:
        page = visitor.go("/campaigns/busy")
        color = "getComputedStyle(document.documentElement).backgroundColor"
        light = page.evaluate(color)
        toggle = page.locator("[data-theme-toggle]")
        expect(toggle).to_have_attribute("aria-pressed", "false")
        toggle.click()
        expect(toggle).to_have_attribute("aria-pressed", "true")
        dark = page.evaluate(color)
        assert dark != light
        page.reload()
        assert page.evaluate(color) == dark
        visitor.go("/")
        assert page.evaluate(color) == dark
    with visit(browser, server.url, scheme="dark") as visitor:
        assert visitor.go("/").evaluate(color) == dark


def test_signing_in_and_exporting(browser: Browser, server: Running, tmp_path: Path) -> None:
    token = call(server, "/tokens", '{"kind": "read", "campaign": "secret"}')["token"]
    with visit(browser, server.url) as visitor:
        visitor.allowed = ("403",)  # the browser notes the refusal of the wrong token
        page = visitor.go("/campaigns/secret")
        expect(page.locator("main")).to_contain_text("The results are not public")
        page.locator("main").get_by_role("link", name="Sign in").click()
        page.fill("[name=token]", token[:-1] + ("A" if token[-1] != "A" else "B"))
        page.locator("main button").click()
        expect(page.get_by_role("alert")).to_contain_text("not valid here")
        page.fill("[name=token]", token)
        page.locator("main button").click()
        expect(page.locator(".big .number")).to_be_visible()
        assert page.url == f"{server.url}/campaigns/secret"
        (cookie,) = visitor.context.cookies()
        assert (cookie.get("httpOnly"), cookie.get("sameSite")) == (True, "Strict")
        assert page.evaluate("document.cookie") == ""
        starts = {"CSV": b"question,kind,", "JSON": b'{"campaign"', "SVG": b"<svg ",
                  "PNG": b"\x89PNG"}  # fmt: skip
        for name, start in starts.items():
            with page.expect_download() as download:
                page.locator(".actions").get_by_text(name, exact=True).click()
            target = tmp_path / download.value.suggested_filename
            download.value.save_as(target)
            assert target.read_bytes().startswith(start), name
            assert target.name.startswith("secret")
            assert target.suffix == f".{name.lower()}"
        png = next(tmp_path.glob("*.png")).read_bytes()
        assert int.from_bytes(png[16:20]) == 1920  # twice the picture's width
        page.get_by_role("button", name="Sign out").click()
        expect(page.locator("main")).not_to_contain_text("secret")
        assert visitor.context.cookies() == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])
def test_pages_are_accessible_and_fit(
    browser: Browser, server: Running, size: tuple[int, int], scheme: str
) -> None:
    with visit(browser, server.url, size, scheme) as visitor:
        visitor.allowed = ("404",)
        for name, path in PAGES.items():
            page = visitor.go(path)
            page.wait_for_load_state("networkidle")
            found = Axe().run(page).response["violations"]
            serious = [each for each in found if each["impact"] in ("serious", "critical")]
            assert [(each["id"], each["nodes"][0]["html"]) for each in serious] == []
            assert page.evaluate("document.documentElement.scrollWidth") <= size[0], name
            page.screenshot(path=results(f"{name}-{scheme}-{size[0]}.png"), full_page=True)


def test_a_keyboard_is_enough(browser: Browser, server: Running) -> None:
    with visit(browser, server.url) as visitor:
        page = visitor.go("/campaigns/busy")
        page.keyboard.press("Tab")
        focused = page.locator(":focus")
        expect(focused).to_have_text("Skip to the content")
        page.keyboard.press("Enter")
        page.keyboard.press("Tab")
        expect(focused).to_have_text("Minutes")
        assert focused.evaluate("e => getComputedStyle(e).outlineStyle") == "solid"
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        expect(page.locator(".hero")).to_contain_text("Average rides")


def test_numbers_need_no_script(browser: Browser, server: Running) -> None:
    with visit(browser, server.url, java_script_enabled=False) as visitor:
        page = visitor.go("/campaigns/busy")
        expect(page.locator(".big .number")).to_be_visible()
        expect(page.locator(".wide .chart")).to_be_visible()
        for details, table in (("answers-details", "answers"), ("milestones", "history-table")):
            page.locator(f"#{details} summary").click()
            expect(page.locator(f"#{table}")).to_be_visible()
        expect(page.locator("#basis")).to_be_visible()
        expect(page.locator("#try")).to_be_hidden()
        assert "This needs JavaScript" in page.content()


def weigh(page: Page) -> int:
    return int(
        page.evaluate(
            "[...performance.getEntriesByType('resource'),"
            " ...performance.getEntriesByType('navigation')]"
            ".reduce((sum, entry) => sum + entry.transferSize, 0)"
        )
    )


def test_pages_are_light(browser: Browser, server: Running) -> None:
    for name, files in (("index", 6), ("campaign", 14)):
        with visit(browser, server.url) as visitor:
            page = visitor.go(PAGES[name])
            page.wait_for_load_state("networkidle")
            assert 5_000 < weigh(page) < 500_000, name
            assert len({url for _, url, _ in visitor.requests}) <= files, name
