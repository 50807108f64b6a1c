"""Estimates of scales, choices and yes/no, as the API answers them."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest

from noutput.campaign import Campaign, Choice, Scale, YesNo, draw_reports
from noutput.collector.estimates import LEVELS
from noutput.collector.http.models import EstimatesModel
from noutput.estimate.summary import summarize
from noutput.mechanisms.answers import AnswerMechanism
from noutput.tally import Tally
from tests.campaign.examples import answer_table, survey_campaign
from tests.collector.people import lognormal_reports
from tests.collector.service import Service

PATH = "/campaigns/commute/estimates"
SURVEY = survey_campaign("commute", public=True)


def estimates(service: Service, campaign: Campaign, people: int, query: str = "") -> dict[str, Any]:
    service.create(campaign)
    if people:
        service.batch(campaign, lognormal_reports(campaign, people))
    answer = service.call("GET", PATH + query).json()
    EstimatesModel.model_validate(answer)
    return {each["name"]: each for each in answer["questions"]}


@pytest.mark.parametrize("level", [LEVELS[0], LEVELS[3]])
def test_the_api_says_what_a_summary_says(service: Service, level: float) -> None:
    found = estimates(service, SURVEY, 3_000, f"?level={level}")
    reports = lognormal_reports(SURVEY, 3_000)
    for question, table in zip(SURVEY.questions[1:], SURVEY.tables[1:], strict=True):
        assert isinstance(question, (Scale, Choice, YesNo))
        mechanism = AnswerMechanism.from_json(table.to_json())
        mine = [report.output for report in reports if report.question == question.name]
        summary = summarize(mechanism, Tally.of(mechanism, mine), question, level=level)
        each = found[question.name]
        assert (each["reports"], each["epsilon"]) == (len(mine), table.epsilon)
        assert each["goodness_of_fit"] == summary.goodness
        if isinstance(question, YesNo):
            assert "answers" not in each
            assert each["yes"]["interval"] == [summary.shares[1].low, summary.shares[1].high]
            continue
        assert [row["label"] for row in each["answers"]] == list(question.labels)
        for row, share, joint in zip(
            each["answers"], summary.shares, summary.joint_shares, strict=True
        ):
            assert row["share"]["value"] == share.value
            assert row["share"]["interval"] == [share.low, share.high]
            assert row["joint_interval"] == [joint.low, joint.high]
            assert joint.low <= share.low <= share.high <= joint.high
            assert (row["at_most"] is None) == (not question.ordered)
        assert (each["mean"] is None) == (question.scores is None)
        if question.ordered:
            values = [quantile["value"] for quantile in each["quantiles"]]
            assert set(values) <= set(question.answers)
        else:
            assert each["quantiles"] is None


def test_few_reports_give_nulls_for_all_kinds(service: Service) -> None:
    found = estimates(service, SURVEY, 0)
    for question in SURVEY.questions[1:]:
        each = found[question.name]
        assert each["goodness_of_fit"] is None
        if isinstance(question, YesNo):
            assert each["yes"] is None
        else:
            assert {row["share"] for row in each["answers"]} == {None}


def test_the_export_has_every_answer(service: Service) -> None:
    labels = ("=SUM(1)", "-car", "plain")
    campaign = survey_campaign(
        "commute", public=True, questions=(Choice(*labels, name="way"), YesNo(name="late")),
        tables=(answer_table(1.0, 3), answer_table(1.0, 2)),
    )  # fmt: skip
    found = estimates(service, campaign, 600)
    table = list(csv.DictReader(io.StringIO(service.call("GET", f"{PATH}.csv").text)))
    shares = [row for row in table if row["question"] == "way" and row["statistic"] == "share"]
    assert [row["answer"] for row in shares] == ["'=SUM(1)", "'-car", "plain"]
    for row, each in zip(shares, found["way"]["answers"], strict=True):
        assert float(row["value"]) == each["share"]["value"]
        assert [float(row["low"]), float(row["high"])] == each["share"]["interval"]
    late = [row for row in table if row["question"] == "late" and row["statistic"] == "share"]
    assert {row["kind"] for row in late} == {"yes/no"}
    assert [row["answer"] for row in late] == ["no", "yes"]


def test_what_is_followed_over_time(service: Service) -> None:
    service.create(SURVEY)
    values: dict[str, float | str] = {
        "commute": 42,
        "stars": 4,
        "age": "60+",
        "means": "car",
        "late": "no",
        "kilometers": 1,
    }
    service.batch(SURVEY, [r for _ in range(300) for r in draw_reports(SURVEY, values)])
    service.app.services.recorder.look()
    row = service.store.campaign("commute")
    assert row is not None
    known = {each.question: each for each in service.store.history(row.key)}
    assert set(known) == set(range(6))
    found = {each["name"]: each for each in service.call("GET", PATH).json()["questions"]}
    stars, means, late = (known[SURVEY.question_indexes[n]] for n in ("stars", "means", "late"))
    assert [stars.low, stars.high] == found["stars"]["mean"]["interval"]
    assert [late.low, late.high] == found["late"]["yes"]["interval"]
    ends = [each["share"]["interval"] for each in found["means"]["answers"]]
    assert means.mean == means.low == means.high
    assert means.mean == pytest.approx(max(high - low for low, high in ends) / 2.0)
