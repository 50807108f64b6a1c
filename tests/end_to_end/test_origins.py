"""Pages of another origin take part: a real browser, and the client as any site would use it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from noutput.campaign import Campaign
from tests.collector.conftest import make_campaign
from tests.collector.process import Running, running
from tests.end_to_end.browser import chromium
from tests.end_to_end.elsewhere import elsewhere

pytestmark = pytest.mark.slow

ANSWER = """
async ({ url, values }) => {
  const noutput = await import("/noutput.min.js");
  const campaign = await noutput.fetchCampaign(url);
  const client = new noutput.Client(campaign, { policy: { epsilon: 2, total: 2 } });
  const { accepted, repeated } = await client.submit(url, values);
  const again = await client.submit(url, values);
  return [accepted, repeated, again.accepted, again.repeated];
}
"""
FETCH = """
async ({ url, options }) => {
  try {
    const answer = await fetch(url, options);
    return [answer.status, answer.headers.get("Retry-After"), await answer.text()];
  } catch (error) {
    return [error.name];
  }
}
"""


@pytest.fixture(scope="module")
def campaign() -> Campaign:
    return make_campaign(public=True)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, campaign: Campaign) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("origins")
    (folder / "commute.json").write_text(campaign.to_json())
    with running(str(folder / "reports.db"), folder / "commute.json") as started:
        yield started


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with (
        elsewhere(tmp_path_factory.mktemp("elsewhere")) as address,
        chromium() as browser,
    ):
        opened = browser.new_page()
        opened.goto(address)
        yield opened


def fetch(page: Page, url: str, **options: Any) -> list[Any]:
    found: list[Any] = page.evaluate(FETCH, {"url": url, "options": options})
    return found


def test_a_page_elsewhere_answers_a_campaign(page: Page, server: Running) -> None:
    url = f"{server.url}/campaigns/commute"
    values = {"minutes": 40, "rides": 2, "cost": 12.5}
    assert page.evaluate(ANSWER, {"url": url, "values": values}) == [1, 0, 0, 1]


def test_a_page_elsewhere_may_read_refusals(page: Page, server: Running) -> None:
    status, _, text = fetch(page, f"{server.url}/campaigns/nothing")
    assert (status, "unknown-campaign" in text) == (404, True)
    headers = {"Content-Type": "application/vnd.noutput.report+json"}
    url = f"{server.url}/campaigns/commute/reports"
    status, _, text = fetch(page, url, method="POST", body="{}", headers=headers)
    assert (status, "malformed-body" in text) == (400, True)


def test_a_page_elsewhere_may_read_when_to_come_back(
    page: Page, tmp_path: Path, campaign: Campaign
) -> None:
    document = tmp_path / "commute.json"
    document.write_text(campaign.to_json())
    limited = ("--rate", "0.01", "--burst", "1")
    with running(str(tmp_path / "reports.db"), document, *limited) as server:
        url = f"{server.url}/campaigns/commute"
        assert fetch(page, url)[0] == 200
        status, after, _ = fetch(page, url)
        assert status == 429
        assert int(after) > 0


def test_a_page_elsewhere_reads_nothing_else(page: Page, server: Running) -> None:
    for path in ("/campaigns/commute/estimates", "/campaigns", "/", "/health", "/metrics"):
        assert fetch(page, server.url + path) == ["TypeError"], path
    url = f"{server.url}/campaigns/commute"
    assert fetch(page, url, method="DELETE") == ["TypeError"]
    assert fetch(page, url, headers={"Authorization": "Bearer x"}) == ["TypeError"]
    assert fetch(page, url, credentials="include") == ["TypeError"]
