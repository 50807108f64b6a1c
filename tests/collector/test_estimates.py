from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from noutput.campaign import Campaign, Number, Table, draw_report
from noutput.collector import estimates as module
from noutput.collector.cells import CellLayout
from noutput.collector.http.models import EstimatesModel, NumberEstimate
from noutput.collector.simulation import DISTRIBUTIONS, simulate_people
from noutput.collector.store.directory import KnownCampaign
from noutput.collector.store.interface import Published
from noutput.collector.strata import Selection
from noutput.errors import InvalidArgumentError
from noutput.estimate import distribution, goodness
from noutput.estimate.answers import estimate as answers
from noutput.estimate.summary import summarize
from noutput.estimate.summary.numbers import Summary
from noutput.mechanisms.table import unit_mechanism
from noutput.tally import Tally
from tests.campaign.examples import survey_campaign
from tests.collector.conftest import make_campaign
from tests.collector.dashboard.reader import HTML
from tests.collector.people import seeded_reports
from tests.collector.service import Service, problem

PATH = "/campaigns/commute/estimates"


def test_few_reports_give_nulls(service: Service, campaign: Campaign) -> None:
    service.create(campaign)
    found = EstimatesModel.model_validate(service.call("GET", PATH, headers=service.admin).json())
    assert (found.reports, found.state, found.as_of) == (0, "open", None)
    for entry in found.questions:
        assert isinstance(entry, NumberEstimate)
        assert entry.mean is None
        assert (entry.published, entry.reason) == (None, "no report is published")
    service.report(draw_report(campaign, {"minutes": 1.0, "rides": 1.0, "cost": 1.0}))


def test_estimates_cover_the_truth(service: Service, rng: np.random.Generator) -> None:
    campaign = make_campaign(public=True, outputs=8)
    service.create(campaign)
    people = simulate_people(campaign, 9_000, "bimodal", rng)
    reports = seeded_reports(campaign, people, rng)
    assert service.batch(campaign, reports).json()["accepted"] == 9_000
    answer = service.call("GET", f"{PATH}?bins=32&level=0.999")
    found = EstimatesModel.model_validate(answer.json())
    assert found.reports == 9_000
    assert sum(entry.reports for entry in found.questions) == 9_000
    for entry in found.questions:
        assert isinstance(entry, NumberEstimate)
        truth = np.asarray(people.values[entry.name], float)
        assert entry.mean is not None
        assert entry.variance is not None
        assert entry.quantiles is not None
        assert entry.distribution is not None
        assert entry.goodness_of_fit is not None
        assert entry.mean.interval is not None
        assert entry.variance.interval is not None
        low, high = entry.mean.interval
        assert low <= truth.mean() <= high
        assert low < entry.mean.value < high
        assert 0.0 <= entry.variance.interval[0] <= entry.variance.interval[1]
        assert len(entry.distribution.probabilities) == 32
        assert sum(entry.distribution.probabilities) == pytest.approx(1.0)
        assert entry.distribution.edges[0] == entry.lower
        assert entry.distribution.edges[-1] == entry.upper
        assert [each.share for each in entry.quantiles] == [0.05, 0.25, 0.5, 0.75, 0.95]
        values = [each.value for each in entry.quantiles]
        assert values == sorted(values)
        assert entry.goodness_of_fit > 0.001


def forge(service: Service, honest: int) -> EstimatesModel:
    """Send 3,000 reports, some honest and the others with output 0 or 3."""
    campaign = make_campaign(public=True, outputs=8)
    service.create(campaign)
    everybody = [draw_report(campaign, {"minutes": 90.0, "rides": 5.0, "cost": 25.0})
                 for _ in range(3_000)]  # fmt: skip
    forged = [type(report)(report.campaign, report.question, 3 * (i % 2), report.id)
              for i, report in enumerate(everybody[honest:])]  # fmt: skip
    service.batch(campaign, everybody[:honest] + forged)
    return EstimatesModel.model_validate(service.call("GET", PATH).json())


def test_impossible_reports_have_no_estimate(service: Service) -> None:
    """Six of eight outputs are missing, which no people can avoid."""
    found = forge(service, 0)
    for entry in found.questions:
        assert isinstance(entry, NumberEstimate)
        assert entry.mean is None
        assert "sent raw answers" in str(entry.reason)
    assert "There is no estimate: the reports cannot have been made" in (
        service.call("GET", PATH.removesuffix("/estimates"), headers=HTML).text
    )


def test_forged_reports_show(service: Service) -> None:
    found = forge(service, 2_000)
    for entry in found.questions:
        assert isinstance(entry, NumberEstimate)
        assert entry.goodness_of_fit is not None
        assert entry.goodness_of_fit < 0.001


def test_answers_are_kept_while_the_counts_are(
    service: Service, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    campaign = make_campaign(public=True)
    service.create(campaign)
    people = simulate_people(campaign, 200, "normal", rng)
    service.batch(campaign, list(people.reports(campaign)))
    metrics = service.app.services.metrics
    moment = [1000.0]
    monkeypatch.setattr("noutput.collector.cache.time.monotonic", lambda: moment[0])
    first = service.call("GET", PATH)
    assert service.call("GET", PATH).content == first.content
    moment[0] += 3600
    assert service.call("GET", PATH).content == first.content
    assert metrics.estimates == 1
    more = draw_report(campaign, people.person(0))
    service.report(more)
    assert service.call("GET", PATH).json()["reports"] == 200  # within a second of the last
    moment[0] += 3600
    assert service.call("GET", PATH).json()["reports"] == 201
    assert metrics.estimates == 2
    for level in 2 * module.LEVELS:
        assert service.call("GET", f"{PATH}?level={level}").json()["level"] == level
    assert metrics.estimates == 1 + len(module.LEVELS)


def test_only_a_few_levels_and_bins_may_be_asked_for(service: Service) -> None:
    campaign = make_campaign(public=True)
    service.create(campaign)
    for query, rule in (
        ("level=0.94", "level must be one of 0.5, 0.8, 0.9, 0.95, 0.99, 0.999; found 0.94"),
        ("bins=65", "bins must be one of 4, 8, 16, 32, 64, 72, 80, 128, 256; found 65"),
    ):
        answer = service.call("GET", f"{PATH}?{query}")
        assert problem(answer) == (422, "invalid-parameter")
        assert answer.json()["detail"] == rule
    for bins in module.allowed_bins(campaign):
        assert service.call("GET", f"{PATH}?bins={bins}").status_code == 200


def test_simulated_people_stay_within_bounds(campaign: Campaign, rng: np.random.Generator) -> None:
    for name in DISTRIBUTIONS:
        people = simulate_people(campaign, 500, name, rng)
        assert len(people) == 500
        for each in campaign.questions:
            assert isinstance(each, Number)
            values = np.asarray(people.values[each.name], float)
            assert each.lower <= values.min() < values.max() <= each.upper
    with pytest.raises(InvalidArgumentError, match="distribution"):
        simulate_people(campaign, 500, "nothing", rng)


def test_the_table_is_the_same_for_estimates(campaign: Campaign) -> None:
    for table in campaign.tables:
        assert unit_mechanism(table).fingerprint == table.fingerprint


def test_the_command_line_says_the_same_of_the_same_counts(
    service: Service, rng: np.random.Generator
) -> None:
    campaign = make_campaign(public=True, outputs=8)
    service.create(campaign)
    people = simulate_people(campaign, 3_000, "lognormal", rng)
    reports = seeded_reports(campaign, people, rng)
    service.batch(campaign, reports)
    answered = service.call("GET", PATH).json()["questions"]
    for question, table, found in zip(campaign.questions, campaign.tables, answered, strict=True):
        assert isinstance(question, Number)
        mechanism = unit_mechanism(Table.from_json(table.to_json()))
        mine = [report.output for report in reports if report.question == question.name]
        tally = Tally.of(mechanism, mine)
        summary = summarize(mechanism, tally, question, bins=64)
        assert isinstance(summary, Summary)
        printed = json.loads(json.dumps(summary.to_dict()))
        assert found["mean"].items() <= printed["mean"].items()
        assert found["variance"] == printed["variance"]
        assert found["quantiles"][1:4] == printed["quartiles"]
        assert found["distribution"]["probabilities"] == summary.fine.probabilities
        assert found["histogram"].items() >= printed["histogram"].items()
        assert found["intervals"].items() <= printed["intervals"].items()
        assert found["goodness_of_fit"] == printed["forged_reports"]["p_value"]


def test_the_test_for_forgery_is_made_once_for_all_bins_and_pages(
    monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    """It depends on a question's counts alone."""
    tested: list[Tally] = []
    test = goodness.goodness_of_fit

    def count(mechanism: Any, tally: Tally, **others: Any) -> goodness.GoodnessOfFit:
        tested.append(tally)
        return test(mechanism, tally, **others)

    for used in (goodness, distribution, answers):
        monkeypatch.setattr(used, "goodness_of_fit", count, raising=False)
    campaign = survey_campaign("commute", public=True)
    entry = KnownCampaign(1, campaign, b"", campaign.opens, None)
    size = CellLayout(campaign).size
    counts = dict(enumerate(rng.integers(50, 100, size).tolist()))
    for bins, place in ((4, None), (8, None), (8, 0), (64, 1), (64, 2)):
        known = module._Counts(entry, Published(counts), Selection(), campaign.opens)
        for each in known.questions(bins, place, module.PAGE_LEVEL):
            assert each.summary is None or each.summary.goodness <= 1.0
    assert len(tested) == len(campaign.questions)
