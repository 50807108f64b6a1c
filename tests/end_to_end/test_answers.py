"""Numbers with edges, scales, choices and yes/no on the dashboard, in a real browser."""

from __future__ import annotations

import json
import re
import time
import urllib.request
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Browser, Page, expect

from noutput.campaign import Campaign, Choice, Number, Scale
from noutput.collector.simulation import send_reports, simulate_people
from noutput.mechanisms.table import TableMechanism
from tests.campaign.examples import answer_table, edges_campaign, survey_campaign
from tests.collector.process import Running, running
from tests.end_to_end.browser import PHONE, WIDE, chromium, results, visit
from tests.tables import jump_table

pytestmark = pytest.mark.slow

ANSWERS = {"stars": "4", "age": "60+", "means": "v\u00e9lo", "late": "yes", "kilometers": "1.5"}


def make(name: str, ask: str) -> Campaign:
    survey = survey_campaign(name, public=True, ask=ask)
    many = Choice(*(f"answer {i}" for i in range(8)), name="many")
    return survey_campaign(
        name, public=True, ask=ask, questions=(*survey.questions, many),
        tables=(*survey.tables, answer_table(1.0, 8)),
    )  # fmt: skip


def long_answers() -> Campaign:
    """Return a campaign whose answers are as long as they may be, without a space."""
    scale = Scale(*(letter * 200 for letter in "iMw"), name="long")
    return survey_campaign("long", public=True, questions=(scale,), tables=(answer_table(1.0, 3),))


def one_edge() -> Campaign:
    question = Number(0, 180, "minutes", edges=(45,), name="minutes")
    table = jump_table(1.0, (0, 45, 45, 180))
    return edges_campaign(public=True, questions=(question,), tables=(table,))


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("answers")
    document = folder / "one.json"
    document.write_text(make("one", "one").to_json(), encoding="utf-8")
    with running(str(folder / "reports.db"), document) as started:
        headers = {"Authorization": f"Bearer {started.token}", "Content-Type": "application/json"}
        others = (make("all", "all"), long_answers(), one_edge())
        for content in (campaign.to_json().encode() for campaign in others):
            address = f"{started.url}/campaigns"
            request = urllib.request.Request(address, content, headers)  # noqa: S310
            with urllib.request.urlopen(request, timeout=30):  # noqa: S310
                pass
        for campaign in (make("one", "one"), long_answers()):
            people = simulate_people(campaign, 4_000, "lognormal", np.random.default_rng(1))
            for _ in send_reports(f"{started.url}/campaigns/{campaign.id}", campaign, people):
                pass
        yield started


def counted(server: Running, name: str) -> dict[str, int]:
    """Return how many reports every question has: those of the estimates may be of before."""
    server.settle()
    request = urllib.request.Request(  # noqa: S310
        f"{server.url}/campaigns", headers={"Authorization": f"Bearer {server.token}"}
    )
    with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310
        (total,) = (
            each["reports"] for each in json.load(answer)["campaigns"] if each["id"] == name
        )
    for _ in range(400):
        address = f"{server.url}/campaigns/{name}/estimates"
        with urllib.request.urlopen(address, timeout=30) as answer:  # noqa: S310
            found: dict[str, Any] = json.load(answer)
        if found["reports"] == total:
            break
        time.sleep(0.1)
    return {each["name"]: each["reports"] for each in found["questions"]}


def answer(page: Page) -> None:
    """Answer every question by its own control, as a person does."""
    page.fill("[data-question=commute]", "41.5")
    for name, label in ANSWERS.items():
        page.locator(f"[data-question={name}]").get_by_label(label, exact=True).check()
    page.select_option("[data-question=many]", label="answer 6")
    page.select_option("#try-limit", "8")


@pytest.mark.parametrize("value", ["44.75", "45", "112.5", "180"])
def test_the_chance_that_is_shown_is_that_of_the_table(
    browser: Browser, server: Running, value: str
) -> None:
    with visit(browser, server.url) as visitor:
        page = visitor.go("/campaigns/edges")
        page.fill("[data-question=minutes]", value)
        page.click("text=Make my report")
        says = page.locator("#try-says")
        expect(says).to_contain_text("Your report is number")
        found = re.search(r"number (\d+) of .* its chance was ([\d.]+)%", says.text_content() or "")
        heights = page.locator("#try-figure .bar").evaluate_all(
            "bars => bars.map((bar) => Number(bar.getAttribute('height')))"
        )
    chances = TableMechanism.of(one_edge().tables[0]).probabilities(float(value))
    np.testing.assert_allclose(np.array(heights) / sum(heights), chances, rtol=1e-9)
    assert found
    assert float(found[2]) == pytest.approx(100.0 * chances[int(found[1])], rel=1e-3)


@pytest.mark.parametrize(("ask", "reports"), [("one", 1), ("all", 7)])
def test_a_person_answers_every_kind(
    browser: Browser, server: Running, ask: str, reports: int
) -> None:
    before = counted(server, ask)
    with visit(browser, server.url) as visitor:
        page = visitor.go(f"/campaigns/{ask}?question=stars")
        page.click("text=Make my report")
        assert visitor.posts() == []
        assert page.locator("[data-question=late] input:invalid").count() == 2
        answer(page)
        page.click("text=Make my report")
        start = "Your report is number" if ask == "one" else "Your reports are number"
        expect(page.locator("#try-says")).to_contain_text(start)
        shown = (page.locator("#try-report").text_content() or "").split("\n")
        assert len(shown) == reports
        assert visitor.posts() == []
        page.click("#try-send")
        expect(page.locator("#try-sent")).to_have_text("Sent and counted. Thank you.")
        assert [body for _, body in visitor.posts()] == shown
        page.screenshot(path=results(f"try-{ask}.png"), full_page=True)
    after = counted(server, ask)
    asked = [json.loads(body)["question"] for body in shown]
    assert {name: after[name] - before[name] for name in after if after[name] > before[name]} == (
        dict.fromkeys(asked, 1)
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("kind", "size"), [("wide", WIDE), ("phone", PHONE)])
def test_pages_of_answers_are_readable_by_everybody(
    browser: Browser, server: Running, kind: str, size: tuple[int, int], scheme: str
) -> None:
    with visit(browser, server.url, size, scheme) as visitor:
        for name in ("stars", "means", "late"):
            page = visitor.go(f"/campaigns/one?question={name}")
            expect(page.locator("#history canvas")).to_have_count(1)
            widths = "[document.documentElement.scrollWidth, innerWidth]"
            wide, room = page.evaluate(widths)
            assert wide <= room
            found = Axe().run(page, options={"runOnly": ["wcag2a", "wcag2aa"]})
            assert found.violations_count == 0, found.generate_report()
            page.screenshot(path=results(f"{name}-{kind}-{scheme}.png"), full_page=True)


@pytest.mark.parametrize(("kind", "size"), [("wide", WIDE), ("phone", PHONE)])
def test_long_answers_do_not_widen_the_page(
    browser: Browser, server: Running, kind: str, size: tuple[int, int]
) -> None:
    with visit(browser, server.url, size) as visitor:
        page = visitor.go("/campaigns/long")
        page.click("text=The picture as a table")
        for name in ("figures", "answers"):
            box = page.locator(f"#{name}").locator("xpath=..").bounding_box()
            assert box is not None
            assert box["x"] + box["width"] <= size[0]
        head = page.locator("#answers tbody th").first.bounding_box()
        assert head is not None
        assert head["width"] < size[0]
        assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
        page.screenshot(path=results(f"long-{kind}.png"), full_page=True)
