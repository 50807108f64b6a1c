"""Rounds of a device in a real browser: the same as everywhere, kept by the browser, drawn once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page

from noutput.campaign import Schedule
from noutput.campaign.schedule import rounds_of
from tests.campaign.examples import OPENS, WEEKS, answers_to, panel_campaign
from tests.campaign.vectors import vectors
from tests.end_to_end.browser import chromium
from tests.end_to_end.elsewhere import elsewhere

pytestmark = pytest.mark.slow

CAMPAIGN = panel_campaign()
ROUNDS = """
async (cases) => {
  const { roundsOf } = await import("/noutput.min.js");
  const found = [];
  for (const { root, secret, period, joined, ...schedule } of cases)
    found.push(await roundsOf(schedule, root, secret, period, joined));
  return found;
}
"""
LIVE = """
async ({ text, values, opens, closes }) => {
  const { Client, readCampaign } = await import("/noutput.min.js");
  const campaign = await readCampaign(text);
  const made = [];
  for (let now = opens; now < closes; now += 864e5) {
    const policy = { epsilon: 2, total: 1e6, segments: ["platform"] };
    const client = new Client(campaign, { policy, now: () => now });
    const labels = { platform: "web", version: "4.1" };
    // several at once, as pages that a person has open
    const asked = () => client.report(values, undefined, labels);
    for (const each of await Promise.allSettled([asked(), asked(), asked()]))
      if (each.value) made.push(JSON.stringify(each.value));
      else if (each.reason.code !== "due") throw each.reason;
  }
  return [made, JSON.parse(localStorage.getItem("noutput-ledger"))];
}
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with elsewhere(tmp_path_factory.mktemp("elsewhere")) as address, chromium() as browser:
        opened = browser.new_page()
        opened.goto(address)
        yield opened


def test_a_browser_draws_the_rounds_of_the_vectors(page: Page) -> None:
    cases = vectors("schedule")["rounds"]
    assert page.evaluate(ROUNDS, cases) == [case["rounds"] for case in cases]


def test_a_browser_answers_once_per_period_also_after_it_was_reloaded(page: Page) -> None:
    given = {
        "text": CAMPAIGN.to_json(), "values": answers_to(CAMPAIGN),
        "opens": 1000 * OPENS.timestamp(), "closes": 1000 * WEEKS.timestamp(),
    }  # fmt: skip
    made, ledger = page.evaluate(LIVE, given)
    page.reload()
    again, after = page.evaluate(LIVE, given)
    assert again == made
    assert after == ledger
    assert len(made) == 12
    assert len(set(made)) == 4  # the three pages of a round have one report
    assert all('"labels":{"platform":"web"}' in each for each in made)
    (panel,) = ledger["panels"].values()
    secret = bytes.fromhex(panel["secret"])
    wanted = [rounds_of(Schedule("day", 7), CAMPAIGN.root, secret, p) for p in range(4)]
    assert sorted(ledger["reports"]) == sorted(f"{CAMPAIGN.root}:{n}" for (n,) in wanted)
