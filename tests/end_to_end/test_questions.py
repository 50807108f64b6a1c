"""A browser answers questions of all kinds, one of them or all, and a collector counts them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.campaign.examples import survey_campaign
from tests.collector.process import running
from tests.end_to_end.browser import chromium
from tests.end_to_end.elsewhere import elsewhere

pytestmark = pytest.mark.slow

VALUES = {
    "commute": 42, "stars": 4, "age": "60+", "means": "car", "late": True, "kilometers": "0.5",
}  # fmt: skip
ANSWER = """
async ({ url, values }) => {
  const noutput = await import("/noutput.min.js");
  const campaign = await noutput.fetchCampaign(url);
  const client = new noutput.Client(campaign, { policy: { epsilon: 6.5, total: 13 } });
  const wrong = { ...values, late: "secret" };
  const refused = await client.reports(wrong).catch((error) => error.message);
  const first = await client.submit(url, values);
  const again = await client.submit(url, values);
  const kept = JSON.parse(localStorage.getItem("noutput-ledger"));
  return { refused, first, again, kept: kept.reports[campaign.fingerprint] };
}
"""


def test_a_browser_answers_one_question_or_all(tmp_path: Path) -> None:
    for ask, count in (("one", 1), ("all", 6)):
        folder = tmp_path / ask
        folder.mkdir()
        campaign = survey_campaign(ask=ask)
        (folder / "survey.json").write_text(campaign.to_json(), encoding="utf-8")
        with (
            running(str(folder / "reports.db"), folder / "survey.json") as collector,
            elsewhere(folder) as address,
            chromium() as browser,
        ):
            page = browser.new_page()
            page.goto(address)
            url = f"{collector.url}/campaigns/survey"
            found = page.evaluate(ANSWER, {"url": url, "values": VALUES})
        assert found["refused"] == "the value of late must be one of no, yes"
        assert (found["first"]["accepted"], found["first"]["repeated"]) == (count, 0)
        assert (found["again"]["accepted"], found["again"]["repeated"]) == (0, count)
        assert found["kept"] == {
            "reports": found["first"]["reports"],
            "id": campaign.id,
            "epsilon": campaign.epsilon,
            "answered": found["kept"]["answered"],
            "sent": True,
        }
