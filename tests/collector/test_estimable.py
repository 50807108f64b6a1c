"""Tables that are private and tell nothing: refused, and no failure where they are kept."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pytest

from noutput.campaign import Campaign, Number, Scale, Table, YesNo
from noutput.campaign.text import format_instant
from noutput.collector.http.models import EstimatesModel
from noutput.collector.ingest import history
from noutput.collector.server import Options, _prepare
from noutput.collector.services import Services
from noutput.collector.store import open_store
from noutput.collector.store.archive import export_campaign, restore
from noutput.collector.store.directory import KnownCampaign
from noutput.collector.store.interface import Store, Submission
from noutput.errors import DocumentError, InvalidArgumentError
from tests.collector.conftest import make_campaign
from tests.collector.service import AT_ONCE, Clock, Service, problem

HALF, QUARTER = 1 << 31, 1 << 30
GOOD = Table(1.1, (2,), ((3 * QUARTER, QUARTER), (QUARTER, 3 * QUARTER)))
EQUAL = Table(1e-9, (2,), ((HALF, HALF), (HALF, HALF)))
FEW = Table(1.1, (3,), ((3 * QUARTER, QUARTER), (HALF, HALF), (QUARTER, 3 * QUARTER)))
WHY = "does not tell all answers apart"


def campaign_with(table: Table, name: str = "commute") -> Campaign:
    asked = YesNo(name="late") if table.n_rows == 2 else Scale(1, 2, 3, name="late")
    questions = (asked, YesNo(name="crowded"))
    return make_campaign(
        name, public=True, questions=questions, tables=(table, GOOD), ask="all",
        objectives=("shares", "shares"),
    )  # fmt: skip


def keep(store: Store, campaign: Campaign, reports: int) -> int:
    """Keep a campaign as an older version did, with reports on all outputs."""
    values = (campaign.id, campaign.fingerprint, campaign.to_json())
    row, _ = store.create(*values, format_instant(campaign.opens))
    cells = (np.arange(reports) % 4).astype("<i4")
    ids = np.random.default_rng(row.key).bytes(16 * reports)
    store.add([Submission(row.key, ids, cells.tobytes())])
    return row.key


@pytest.mark.parametrize("table", [EQUAL, FEW])
def test_they_are_refused_where_campaigns_are_registered(
    table: Table, service: Service, tmp_path: Path
) -> None:
    campaign = campaign_with(table)
    answer = service.create(campaign)
    assert problem(answer) == (422, "invalid-campaign")
    assert WHY in answer.json()["detail"]
    assert "'late'" in answer.json()["detail"]
    file = tmp_path / "campaign.json"
    file.write_text(campaign.to_json())
    with pytest.raises(InvalidArgumentError, match=WHY):
        _prepare(service.store, Options(database="", campaigns=(file,)))
    keep(service.store, campaign, 8)
    export_campaign(service.store, campaign.id, tmp_path / "export.zip")
    other = open_store(str(tmp_path / "other.db"))
    with pytest.raises(DocumentError, match=WHY):
        restore(other, tmp_path / "export.zip")
    assert other.campaigns() == []
    other.close()


@pytest.mark.parametrize("table", [EQUAL, FEW])
def test_kept_ones_have_a_reason_in_place_of_estimates(table: Table, service: Service) -> None:
    keep(service.store, campaign_with(table), 40)
    service.publish()
    found = EstimatesModel.model_validate(
        service.call("GET", "/campaigns/commute/estimates").json()
    )
    first, second = found.questions
    assert first.reason is not None
    assert WHY in first.reason
    assert first.goodness_of_fit is None
    assert second.reason is None
    assert second.goodness_of_fit is not None
    for question, shows in (("late", True), ("crowded", False)):
        path = f"/campaigns/commute?question={question}"
        page = service.call("GET", path, headers={"Accept": "text/html"})
        assert page.status_code == 200
        assert (WHY in page.text) == shows
    assert service.call("GET", "/campaigns/commute/estimates.csv").status_code == 200
    picture = service.call("GET", "/campaigns/commute/distribution.svg")
    assert problem(picture) == (404, "not-found")
    assert WHY in picture.json()["detail"]


def test_other_questions_and_campaigns_have_a_history(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    store = open_store(str(tmp_path / "reports.db"))
    services = Services(store, Clock(), policy=AT_ONCE)
    bad, good = campaign_with(EQUAL, "bad"), campaign_with(GOOD, "good")
    keys = [keep(store, each, 80) for each in (bad, good)]
    services.directory.all()
    publish = history.Recorder._publish

    def fail(self: history.Recorder, entry: KnownCampaign, final: int) -> None:
        if entry.key == keys[0]:
            raise ZeroDivisionError
        publish(self, entry, final)

    with monkeypatch.context() as patch, caplog.at_level(logging.ERROR):
        patch.setattr(history.Recorder, "_publish", fail)
        services.recorder.look()
    assert "nothing was published of campaign 'bad'" in caplog.text
    assert [each.question for each in store.history(keys[1])] == [0, 1]
    assert store.history(keys[0]) == []
    services.recorder.look()  # what failed is due again
    assert [each.question for each in store.history(keys[0])] == [1]
    store.close()


def test_bounds_of_numbers_have_finite_squares(service: Service) -> None:
    campaign = make_campaign(public=True, questions=(Number(-1e300, 1e300, name="huge"),))
    answer = service.create(campaign)
    assert problem(answer) == (422, "invalid-campaign")
    assert "bounds of 'huge' must lie between -1e+100 and 1e+100" in answer.json()["detail"]
    keep(service.store, campaign, 40)
    service.publish()
    found = service.call("GET", "/campaigns/commute/estimates")
    assert found.status_code == 200
    reason = "bounds of 'huge' must lie between -1e+100 and 1e+100"
    assert found.json()["questions"][0]["reason"] == reason
    fine = make_campaign("fine", public=True, questions=(Number(-1e100, 1e100, name="large"),))
    assert service.create(fine).status_code == 201
    keep(service.store, fine, 40)
    service.publish()
    assert service.call("GET", "/campaigns/fine/estimates").json()["questions"][0]["reason"] is None


def test_a_document_that_is_no_longer_read_hides_no_other(
    service: Service, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Older versions kept scales beyond 1e100."""
    with monkeypatch.context() as patch:
        patch.setattr("noutput._checks.LARGEST", 1e308)
        table = Table(1.1, (2,), ((3 * QUARTER, QUARTER), (QUARTER, 3 * QUARTER)))
        scale = Scale(0, 1e300, name="huge")
        huge = make_campaign(
            "huge", public=True, questions=(scale,), tables=(table,), objectives=("cdf",)
        )
        keep(service.store, huge, 8)
    service.create(campaign_with(GOOD))
    with caplog.at_level(logging.ERROR):
        page = service.call("GET", "/", headers={"Accept": "text/html"})
    assert page.status_code == 200
    assert "/campaigns/commute" in page.text
    assert "the document of campaign 'huge' cannot be read" in caplog.text
