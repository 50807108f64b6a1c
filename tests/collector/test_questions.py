"""Questions of all kinds in a collector."""

from __future__ import annotations

import numpy as np
import pytest

from noutput.campaign import Campaign, draw_reports
from noutput.campaign.packed import encode_packed
from noutput.campaign.wire import BATCH_TYPE, PACKED_TYPE, encode_batch
from noutput.collector.cells import CellLayout
from noutput.collector.http.models import EstimatesModel
from noutput.collector.simulation import simulate_people
from tests.campaign.examples import survey_campaign
from tests.collector.dashboard.reader import get, read
from tests.collector.service import Service

VALUES: dict[str, float | str] = {
    "commute": 42, "stars": 4, "age": "60+", "means": "car", "late": "no", "kilometers": 1,
}  # fmt: skip
SURVEYS = [survey_campaign("commute", public=True, ask=ask) for ask in ("one", "all")]


@pytest.mark.parametrize("survey", SURVEYS, ids=["one", "all"])
def test_all_kinds_are_counted_in_their_own_cells(service: Service, survey: Campaign) -> None:
    assert service.create(survey).status_code == 201
    reports = [report for _ in range(30) for report in draw_reports(survey, VALUES)]
    first, *others = reports
    assert service.report(first).json() == {"accepted": 1, "repeated": 0}
    for content, media, part in (
        (encode_batch(others[:10]), BATCH_TYPE, 10),
        (encode_packed(survey, others[10:]), PACKED_TYPE, len(others) - 10),
    ):
        answer = service.send(content, media)
        assert answer.json() == {"accepted": part, "repeated": 0}
    layout = CellLayout(survey)
    assert layout.size == sum(table.n_outputs for table in survey.tables)
    entry = service.app.services.directory.find(survey.id)
    assert entry is not None
    counts = service.store.counts(entry.key)
    for question, tally in zip(survey.questions, layout.tallies(counts), strict=True):
        mine = [report.output for report in reports if report.question == question.name]
        assert list(tally.counts) == np.bincount(mine, minlength=len(tally.counts)).tolist()
    assert entry.mechanisms[1] is entry.mechanisms[5]


def test_estimates_name_every_question(service: Service) -> None:
    survey = SURVEYS[1]
    service.create(survey)
    reports = [report for _ in range(20) for report in draw_reports(survey, VALUES)]
    service.batch(survey, reports)
    answer = service.call("GET", "/campaigns/commute/estimates").json()
    found = EstimatesModel.model_validate(answer)
    assert (found.epsilon, found.reports) == (6.5, 120)
    assert [each.kind for each in found.questions] == [each.kind for each in survey.questions]
    assert [each.label for each in found.questions] == ["", "Comfort", "", "", "Late", ""]
    assert {each.reports for each in found.questions} == {20}
    number, stars, *_ = answer["questions"]
    assert {"value", "interval", "standard_error"} <= number["mean"].keys()
    assert [each["label"] for each in stars["answers"]] == ["1", "2", "3", "4", "5"]


def test_every_page_of_a_survey_is_shown(service: Service) -> None:
    for survey in SURVEYS:
        service.create(survey)
        service.batch(survey, [r for _ in range(20) for r in draw_reports(survey, VALUES)])
        for name in VALUES:
            page = read(get(service, f"/campaigns/{survey.id}?question={name}"))
            assert survey.text in page.text
        assert get(service, f"/campaigns/{survey.id}/estimates.csv").status_code == 200
        service.call("DELETE", f"/campaigns/{survey.id}", headers=service.admin)


def test_simulated_people_answer_all_kinds(rng: np.random.Generator) -> None:
    survey = SURVEYS[1]
    people = simulate_people(survey, 50, "uniform", rng)
    assert len(list(people.reports(survey))) == 300
    assert set(people.values["late"]) == {"no", "yes"}
    assert set(people.values["means"]) <= {"train", "car", "v\u00e9lo", "other"}
