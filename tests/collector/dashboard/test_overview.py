"""The overview of campaigns: one headline per campaign, from its published history."""

from __future__ import annotations

import math
import re
from dataclasses import astuple, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noutput.campaign import Choice, Number, Scale, YesNo
from noutput.campaign.packed import encode_packed
from noutput.campaign.wire import PACKED_TYPE
from noutput.collector.dashboard.overview import headline
from noutput.collector.dashboard.sparkline import sparkline_svg
from noutput.collector.store.interface import Milestone
from noutput.estimate.summary import Estimate
from noutput.questions import Question
from tests.campaign.examples import answer_table
from tests.collector.conftest import make_campaign
from tests.collector.dashboard.reader import get, read
from tests.collector.labeled import DAILY, scheduled_campaign
from tests.collector.people import lognormal_reports
from tests.collector.service import Service
from tests.collector.test_published import CAMPAIGNS, fill

MINUTES = Number(0, 180, "min", name="minutes")


def milestones(*figures: tuple[float, float, float]) -> list[Milestone]:
    return [
        Milestone(0, 100 * (place + 1), "2026-05-01T00:00:00Z", *figure)
        for place, figure in enumerate(figures)
    ]


def test_a_headline_is_what_the_campaigns_page_says(service: Service) -> None:
    for campaign in CAMPAIGNS:
        service.create(campaign)
    everybody = lognormal_reports(CAMPAIGNS[0], 3_000)
    for part in (everybody[:600], everybody[600:1_500], everybody[1_500:]):
        fill(service, part)
    answer = get(service, "/")
    overview = read(answer).text
    assert overview.count("with 95% confidence") == 1  # the other campaign is not public
    assert "and 1 more question" in overview
    (value,) = re.findall(r'class="number">([^<]+)<', answer.text)
    (low, high) = re.findall(r"<strong>(\S+) to (\S+)</strong>", answer.text)[0]
    page = get(service, "/campaigns/commute").text
    assert re.search(rf'class="number">{value}<', page)
    assert f"between <strong>{low}</strong> and <strong>{high}</strong>" in page
    assert 'aria-label="Average after each of 3 releases"' in answer.text


@pytest.mark.parametrize("question", [MINUTES, YesNo(name="late"), Choice("car", "train")])
def test_a_headline_claims_nothing_where_reports_are_forged(question: Question) -> None:
    honest, forged = (0.5, 0.45, 0.55), (0.5, -math.inf, math.inf)
    found = headline(question, milestones(honest, forged))
    assert found is not None
    assert astuple(found) == ("Some reports are probably forged", "", "", "", "")
    again = headline(question, milestones(forged, honest))
    assert again is not None
    assert again.value


def test_epsilon_is_per_period_where_there_are_rounds(service: Service) -> None:
    often = replace(DAILY, answers=2)
    scheduled = scheduled_campaign(name="daily", public=True, schedule=often)
    for campaign in (CAMPAIGNS[0], scheduled):
        service.create(campaign)
    overview = get(service, "/").text
    assert scheduled.epsilon_per_period == 2 * scheduled.epsilon
    said = {f"ε = {CAMPAIGNS[0].epsilon:g}", f"ε = {scheduled.epsilon_per_period:g} per period"}
    assert {*re.findall(r"<span>(ε = [^<]+)</span>", overview)} == said


@pytest.mark.parametrize(
    ("question", "figure", "said"),
    [
        (MINUTES, (33.26, 31.0, 35.5), ("Average", "33.3", "min", "31.0 to 35.5")),
        (Number(0, 1, name="x"), (0.25, 0.2, 0.3), ("Average", "0.250", "", "0.200 to 0.300")),
        (YesNo(name="late"), (0.183, 0.17, 0.2), ("Share of yes", "18.3%", "", "17.0% to 20.0%")),
        (YesNo(name="late"), (-0.03, 0.0, 0.1), ("Share of yes", "0.0%", "", "0.0% to 10.0%")),
        (Scale(1, 2, 3), (2.2, 2.08, 2.32), ("Average score", "2.20", "", "2.08 to 2.32")),
        (Choice("a", "b"), (0.024,) * 3, ("Every share is known to", "±2.4", "points", "")),
    ],
)  # fmt: skip
def test_every_kind_of_question_has_a_headline(
    question: Question, figure: tuple[float, float, float], said: tuple[str, ...]
) -> None:
    found = headline(question, milestones(figure, figure))
    assert found is not None
    assert astuple(found)[:4] == said
    assert found.picture.startswith("<svg")


def test_nothing_is_said_where_nothing_is_known() -> None:
    assert headline(MINUTES, []) is None
    assert headline(MINUTES, milestones((90.0, -10.0, 190.0))) is None  # wider than the bounds
    assert headline(MINUTES, milestones((float("nan"),) * 3)) is None
    assert headline(YesNo(name="late"), milestones((0.5, -0.4, 1.4))) is None
    one = headline(MINUTES, milestones((33.0, 31.0, 35.0)))
    assert one is not None
    assert one.picture == ""  # a point is no line


figures_of_any_size = st.tuples(*[st.floats(-1e12, 1e12)] * 3).map(
    lambda row: Estimate(sorted(row)[1], min(row), max(row))
)


@given(st.lists(figures_of_any_size, min_size=2, max_size=150))
def test_a_sparkline_stays_within_its_frame(figures: list[Estimate]) -> None:
    picture = sparkline_svg(figures, label="Average")
    for path in re.findall(r' d="M([^"]+)"', picture):
        points = [point.split(" ") for point in path.rstrip("Z").split("L")]
        assert 2 <= len(points) <= 80
        assert all(4 <= float(x) <= 236 and 4 <= float(y) <= 52 for x, y in points)
    assert len(picture) < 2_600


def test_fifty_campaigns_are_read_once_per_release(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No estimate is computed for the overview, and no history is read again without need."""
    asked = (YesNo(name="late"),)
    made = [
        make_campaign(f"c{place}", public=True, questions=asked, tables=(answer_table(1.0, 2),))
        for place in range(50)
    ]
    for campaign in made:
        service.create(campaign)
    read_keys: list[int] = []
    history = service.store.history

    def counted(key: int) -> list[Milestone]:
        read_keys.append(key)
        return history(key)

    monkeypatch.setattr(service.store, "history", counted)
    monkeypatch.setattr(type(service.app.services.estimates), "_get", None)  # never called
    first = get(service, "/")
    assert len(read_keys) == 50
    assert read(first).text.count("No report has come in yet.") == 50
    assert get(service, "/").content == first.content
    assert len(read_keys) == 50
    reports = lognormal_reports(made[7], 400)
    service.send(encode_packed(made[7], reports), PACKED_TYPE, made[7].id)
    later = get(service, "/")
    assert len(read_keys) == 51
    assert read(later).text.count("with 95% confidence") == 1
    assert len(later.content) < 60_000


def test_open_campaigns_come_first(service: Service) -> None:
    for name in ("old", "new"):
        service.create(make_campaign(name, public=True))
    assert service.call("POST", "/campaigns/new/close", headers=service.admin).status_code == 200
    links = re.findall(r'href="/campaigns/(\w+)"', get(service, "/").text)
    assert links == ["old", "new"]
