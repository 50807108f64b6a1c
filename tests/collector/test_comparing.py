"""Estimates of segments and rounds over HTTP: what is selected, compared and followed."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest

import noutput as no
from noutput.campaign import Campaign, Choice, Report, Scale, Table, YesNo
from noutput.campaign.segments import Segments
from noutput.collector.http.models import EstimatesModel
from noutput.collector.http.strata_models import ComparisonModel, TrendModel
from noutput.collector.measured import check_statistic, measure, statistics
from noutput.collector.pooled import Part
from noutput.collector.store import open_store
from noutput.mechanisms.table import unit_mechanism
from noutput.tally import Tally
from tests.collector.labeled import (
    MINUTES,
    OPENS,
    PLATFORMS,
    labeled_campaign,
    reports,
    scheduled_campaign,
)
from tests.collector.service import Service, problem, start_service

SEGMENTS = Segments(PLATFORMS, 100)  # type: ignore[arg-type]  # a mapping is taken
GROUPS: tuple[tuple[dict[str, str], int, float], ...] = (
    ({"platform": "ios", "plan": "free"}, 900, 50.0),
    ({"platform": "ios", "plan": "paid"}, 60, 50.0),
    ({"platform": "android", "plan": "free"}, 1500, 100.0),
    ({"platform": "web"}, 70, 100.0),
    ({}, 400, 80.0),
)


@pytest.fixture(scope="module")
def segmented(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Service, list[Report]]]:
    """A collector whose people have labels; two combinations have too few."""
    store = open_store(str(tmp_path_factory.mktemp("collector") / "service.db"))
    with start_service(store) as service:
        campaign, rng = labeled_campaign(public=True), np.random.default_rng(3)
        service.create(campaign)
        sent: list[Report] = []
        for labels, count, center in GROUPS:
            sent += reports(campaign, count, rng, labels, center=center)
        service.batch(campaign, sent)
        yield service, sent
    store.close()


@pytest.fixture(scope="module")
def weekly(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A collector with two weeks of rounds, of which the second begins with a jump."""
    store = open_store(str(tmp_path_factory.mktemp("collector") / "service.db"))
    with start_service(store) as service:
        campaign, rng = scheduled_campaign(public=True, segments=SEGMENTS), np.random.default_rng(4)
        service.create(campaign)
        for number in range(12):
            service.clock.now = OPENS + timedelta(days=number)
            center = 50.0 if number < 7 else 90.0
            if number != 4:
                many = reports(campaign, 600, rng, {"platform": "ios"}, number, center)
                service.batch(campaign, many + reports(campaign, 110, rng, {}, number, 140.0))
        yield service
    store.close()


def ask(service: Service, path: str) -> Any:
    answer = service.call("GET", f"/campaigns/commute/{path}")
    assert answer.status_code == 200, answer.text
    return answer.json()


def mean_of(campaign: Campaign, sent: list[Report]) -> float:
    mechanism = unit_mechanism(campaign.tables[0])
    assert isinstance(mechanism, no.TableMechanism)
    tally = Tally.of(mechanism, np.array([each.output for each in sent], np.uint8))
    return no.estimate_mean(mechanism, tally, (0, 180)).value


def test_estimates_of_the_whole_of_margins_and_of_combinations(
    segmented: tuple[Service, list[Report]],
) -> None:
    service, sent = segmented
    campaign = labeled_campaign(public=True)
    for query, wanted in (
        ("", sent),
        ("?segment=platform:ios", [e for e in sent if dict(e.labels) == GROUPS[0][0]]),
        (
            "?segment=platform:ios&segment=plan:free",
            [e for e in sent if e.labels == sent[0].labels],
        ),
        ("?segment=platform:&segment=plan:", [e for e in sent if not e.labels]),
        ("?segment=plan:free", [e for e in sent if dict(e.labels).get("plan") == "free"]),
    ):
        found = ask(service, f"estimates{query}")
        EstimatesModel.model_validate(found)
        assert found["reports"] == len(wanted)
        assert found["questions"][0]["mean"]["value"] == mean_of(campaign, wanted)
        assert found["strata"]["combinations"] == 12
        assert found["strata"]["shown"] == 3
        assert found["strata"]["without_labels"] == 130
        assert found["strata"]["text"].startswith("3 of 12 combinations of labels are shown.")
    hidden = ask(service, "estimates?segment=platform:web")
    assert hidden["reports"] == 0
    assert hidden["questions"][0]["reason"] == "no report is published"
    assert ask(service, "estimates?segment=plan:paid")["as_of"] is None


def test_groups_are_compared(segmented: tuple[Service, list[Report]]) -> None:
    service, _ = segmented
    found = ask(service, "segments?by=platform&level=0.9&differences=true")
    ComparisonModel.model_validate(found)
    rows = {row["group"]: row["reports"] for row in found["groups"]}
    assert rows == {"ios": 900, "android": 1500, "web": 0, "not told": 400}
    assert found["hidden"] == 1
    assert found["text"].startswith("3 of 4 groups are shown. The others have no combination")
    (statistic,) = found["statistics"]
    assert [each["group"] for each in statistic["estimates"]] == ["ios", "android", "not told"]
    pairs = {(each["first"], each["second"]): each for each in statistic["differences"]}
    assert list(pairs) == [("ios", "android"), ("ios", "not told"), ("android", "not told")]
    first = pairs["ios", "android"]
    assert first["is_clear"]
    assert first["low"] < -50.0 < first["high"]
    assert statistic["standardized"] is None
    (plain,) = ask(service, "segments?by=platform&level=0.9")["statistics"]
    assert plain == {**statistic, "differences": None}  # which are computed on request only
    both = ask(service, "segments?by=platform&by=plan")
    assert len(both["groups"]) == 12
    assert both["hidden"] == 9
    assert {"group": "ios / free", "labels": GROUPS[0][0], "reports": 900} in both["groups"]


def test_groups_whose_reports_nobody_can_have_made_have_no_estimate(service: Service) -> None:
    campaign, rng = labeled_campaign(public=True), np.random.default_rng(5)
    service.create(campaign)
    raw = [replace(each, output=0) for each in reports(campaign, 600, rng, {"platform": "ios"})]
    service.batch(campaign, raw + reports(campaign, 600, rng, {"platform": "android"}))
    found = ask(service, "segments?by=platform&differences=true&weight=android:1")
    ComparisonModel.model_validate(found)
    assert [row["reports"] for row in found["groups"]] == [600, 600, 0, 0]
    assert " Of one group nothing is shown: the reports cannot have been made" in found["text"]
    (statistic,) = found["statistics"]
    assert [each["group"] for each in statistic["estimates"]] == ["android"]
    assert statistic["differences"] == []
    (share,) = ask(service, "segments?by=platform&statistic=below%2045")["statistics"]
    assert [each["group"] for each in share["estimates"]] == ["android"]


def test_a_known_population_weights_the_groups(segmented: tuple[Service, list[Report]]) -> None:
    service, _ = segmented
    found = ask(service, "segments?weight=ios:1&weight=android:3")
    (statistic,) = found["statistics"]
    values = {each["group"]: each["value"] for each in statistic["estimates"]}
    standardized = statistic["standardized"]
    assert standardized["value"] == pytest.approx(0.25 * values["ios"] + 0.75 * values["android"])
    assert standardized["interval"][0] < standardized["value"] < standardized["interval"][1]
    missing = ask(service, "segments?weight=ios:1&weight=web:1")["statistics"][0]["standardized"]
    assert missing["value"] is None
    assert missing["reason"] == "too few reports of web"


def test_comparisons_as_csv(segmented: tuple[Service, list[Report]]) -> None:
    service, _ = segmented
    answer = service.call(
        "GET", "/campaigns/commute/segments?format=csv&weight=ios:1&differences=true"
    )
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert [row["kind"] for row in rows] == ["estimate"] * 3 + ["difference"] * 3 + ["standardized"]
    assert rows[0]["reports"] == "900"
    assert "web" not in answer.text


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("estimates?segment=size:1", "segment must be one of platform, plan"),
        ("estimates?segment=platform:gnu", "segment must be a label of platform"),
        ("estimates?rounds=1", "rounds must be absent"),
        ("segments?rounds=0", "rounds must be absent"),
        ("segments?by=size", "by must be one of platform, plan; found 'size'"),
        ("segments?question=size", "question must be one of minutes"),
        ("segments?weight=gnu:1", "weight must be a group such as 'android'"),
        ("segments?weight=ios:many", "weight must end with a number"),
        ("segments?weight=ios:-1", "weight must be at least 0"),
        ("segments?weight=ios:0", "weight must add up to more than 0"),
        ("segments?weight=ios:1e-320", "weight must add up to more than 0"),
        ("segments?level=0.94", "level must be one of"),
        ("trend", "the campaign has no rounds"),
    ],
)
def test_what_cannot_be_asked(
    path: str, message: str, segmented: tuple[Service, list[Report]]
) -> None:
    answer = segmented[0].call("GET", f"/campaigns/commute/{path}")
    assert problem(answer) == (422, "invalid-parameter")
    assert message in answer.json()["detail"]


def test_campaigns_without_segments_have_no_groups(service: Service, campaign: Campaign) -> None:
    service.create(campaign)
    answer = service.call("GET", "/campaigns/commute/segments", headers=service.admin)
    assert "the campaign has no segments" in answer.json()["detail"]
    assert problem(service.call("GET", "/campaigns/commute/segments"))[0] == 401
    assert problem(service.call("GET", "/campaigns/commute/trend"))[0] == 401
    found = service.call("GET", "/campaigns/commute/estimates", headers=service.admin).json()
    assert "strata" not in found


def test_groups_that_have_the_same_name_are_refused(service: Service) -> None:
    names = {"a": ("x", "x / y"), "b": ("y / z", "z")}
    service.create(labeled_campaign(names, public=True))
    answer = service.call("GET", "/campaigns/commute/segments?by=a&by=b")
    assert problem(answer) == (422, "invalid-parameter")
    assert "between them; found 'x / y / z'" in answer.json()["detail"]
    assert len(ask(service, "segments?by=b&by=a")["groups"]) == 9


def test_too_many_groups_are_refused(service: Service) -> None:
    names = {"a": tuple(map(str, range(9))), "b": tuple(map(str, range(9)))}
    service.create(labeled_campaign(names, public=True))
    assert ask(service, "segments?by=a")["hidden"] == 10
    answer = service.call("GET", "/campaigns/commute/segments?by=a&by=b")
    assert "at most 64 combinations of labels; found 100" in answer.json()["detail"]


def test_the_trend_of_rounds(weekly: Service) -> None:
    found = ask(weekly, "trend?segment=platform:ios")
    TrendModel.model_validate(found)
    rows = found["rounds"]
    assert [row["round"] for row in rows] == list(range(12))
    assert [row["reports"] for row in rows] == [600] * 4 + [0] + [600] * 7
    assert rows[4]["estimate"] is None
    assert rows[4]["trend"]["interval"][0] < 50.0 < rows[4]["trend"]["interval"][1]
    assert [row["is_over"] for row in rows] == [True] * 10 + [False] * 2
    assert rows[1]["start"] == "2026-05-02T00:00:00Z"
    assert max(rows, key=lambda row: row["trend"]["jump"])["round"] == 7
    assert [(each["since"], each["direction"]) for each in found["shifts"]] == [(7, "up")]
    assert found["reason"] is None
    few = ask(weekly, "trend?rounds=3-5")
    assert few["reason"] == "fewer than 3 rounds have an estimate"
    assert [row["trend"] for row in few["rounds"]] == [None] * 3
    later = ask(weekly, "trend?rounds=5-9&segment=platform:ios")
    assert [each["since"] for each in later["shifts"]] == [7]


@pytest.mark.parametrize(
    ("statistic", "width"), [("below 60", 1.0), ("quantile 0.5", 180.0)], ids=["share", "median"]
)
def test_shares_and_quantiles_of_numbers_are_followed(
    weekly: Service, statistic: str, width: float
) -> None:
    found = ask(weekly, f"trend?segment=platform:ios&statistic={quote(statistic)}")
    assert found["statistic"] == statistic
    mean = ask(weekly, "trend?segment=platform:ios")
    assert [each["since"] for each in found["shifts"]] == [7]
    assert found["shifts"][0]["direction"] == ("down" if width == 1.0 else "up")
    for row, other in zip(found["rounds"], mean["rounds"], strict=True):
        assert (row["estimate"] is None) == (other["estimate"] is None)
        if row["estimate"] is not None:
            low, high = row["estimate"]["interval"]
            assert 0.0 <= low < row["estimate"]["value"] < high <= width
    for wrong in ("below 0", "below x", "quantile 1", "variance"):
        answer = weekly.call("GET", f"/campaigns/commute/trend?statistic={quote(wrong)}")
        assert problem(answer) == (422, "invalid-parameter")
        assert 'statistic must be mean, "below X" with X between' in answer.json()["detail"]


def test_trends_that_tell_no_more_than_single_rounds_are_left_out(weekly: Service) -> None:
    """Five outputs tell little about a share, however many rounds there are."""
    for statistic in ("below%2060", "quantile%200.5"):
        found = ask(weekly, f"trend?segment=platform:ios&statistic={statistic}")
        told = "its band would be no narrower than the intervals of single rounds"
        assert found["reason"] == told
        assert {row["trend"] for row in found["rounds"]} == {None}


def test_rounds_that_have_not_begun_have_no_rows(weekly: Service) -> None:
    found = ask(weekly, "trend?rounds=12-13")
    TrendModel.model_validate(found)
    assert found["rounds"] == found["shifts"] == []
    assert found["reason"] == "the rounds have not begun"
    assert [row["round"] for row in ask(weekly, "trend?rounds=10-13")["rounds"]] == [10, 11]


def test_trends_as_csv(weekly: Service) -> None:
    answer = weekly.call("GET", "/campaigns/commute/trend?format=csv&rounds=0-6&cycle=2")
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert [row["reports"] for row in rows] == ["710"] * 4 + ["0"] + ["710"] * 2
    assert rows[4]["value"] == ""
    assert float(rows[4]["trend_low"]) < float(rows[4]["trend"]) < float(rows[4]["trend_high"])


def test_estimates_of_some_rounds(weekly: Service) -> None:
    one = ask(weekly, "estimates?rounds=2")
    assert one["reports"] == 710
    assert one["strata"]["rounds"] == [2, 2]
    week = ask(weekly, "estimates?rounds=0-6&segment=platform:ios")
    assert week["reports"] == 3600
    published = week["questions"][0]["published"]
    assert (published["smallest"], published["releases"]) == (600, 6)
    assert ask(weekly, "estimates")["reports"] == 11 * 710
    assert "about one person per period, and " in week["privacy"]["operator"]["text"]
    compared = ask(weekly, "segments?rounds=8-9")
    assert {row["group"]: row["reports"] for row in compared["groups"]} == {
        "ios": 1200, "android": 0, "web": 0, "not told": 220,
    }  # fmt: skip


def test_what_was_not_published_since_is_not_computed_again(
    weekly: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    metrics = weekly.app.services.metrics
    path = "trend?rounds=6-9"
    first = ask(weekly, path)
    before = metrics.estimates
    monkeypatch.setattr("noutput.collector.cache.time.monotonic", lambda: 1e12)
    assert ask(weekly, path) == first
    assert metrics.estimates == before


def test_statistics_of_answers() -> None:
    rows = ((3 << 30, 1 << 30), (1 << 30, 3 << 30))
    table = no.AnswerMechanism.of(Table(1.1, (2,), rows))
    parts = [Part(table, Tally(table.fingerprint, (400, 600)), None)]
    assert statistics(MINUTES[0]) == statistics(YesNo()) == ("mean",)
    assert statistics(Scale(1, 5)) == ("mean", "1", "5")
    found = measure(Scale(1, 5), parts, 0.95)
    assert {name: round(each.estimate.value, 3) for name, each in found.items()} == {
        "mean": 3.8, "1": 0.3, "5": 0.7,
    }  # fmt: skip
    assert list(measure(YesNo(), parts, 0.95)) == ["mean"]
    share = measure(Choice("a", "b"), parts, 0.95)["b"]
    assert share.low < share.estimate.value < share.high
    assert measure(YesNo(), [Part(table, Tally(table.fingerprint, (1, 0)), None)], 0.95) == {}


def test_shares_and_quantiles_of_numbers_are_compared(
    segmented: tuple[Service, list[Report]],
) -> None:
    service, _ = segmented
    path = "segments?by=platform&weight=ios:1&weight=android:3&differences=true&statistic="
    found = ask(service, f"{path}below+75")
    ComparisonModel.model_validate(found)
    (share,) = found["statistics"]
    assert share["name"] == "below 75"
    groups = {each["group"]: each for each in share["estimates"]}
    assert set(groups) == {"ios", "android", "not told"}
    for each in groups.values():
        low, high = each["interval"]
        assert 0.0 <= low < high <= 1.0
        assert each["value"] == (low + high) / 2.0
    assert groups["ios"]["value"] > groups["android"]["value"]  # of 50 and 100 minutes
    assert len(share["differences"]) == 3
    assert all(each["low"] < each["value"] < each["high"] for each in share["differences"])
    ends = [groups[name]["interval"] for name in ("ios", "android")]
    low, high = share["standardized"]["interval"]
    assert 0.0 <= low < sum(weight * end[0] for weight, end in zip((0.25, 0.75), ends, strict=True))
    assert (
        sum(weight * end[1] for weight, end in zip((0.25, 0.75), ends, strict=True)) < high <= 1.0
    )
    (median,) = ask(service, "segments?by=platform&statistic=quantile+0.5")["statistics"]
    assert median["name"] == "quantile 0.5"
    assert all(0.0 <= each["interval"][0] < each["interval"][1] <= 180.0
               for each in median["estimates"])  # fmt: skip
    (mean,) = ask(service, "segments?by=platform&statistic=mean")["statistics"]
    assert mean["name"] == "mean"
    same = ask(service, f"{path}below+075.0449")  # one name, and so computed once
    assert same == found
    for level in ("0.5", "0.8"):
        (share,) = ask(service, f"segments?by=platform&statistic=below+30&level={level}")[
            "statistics"
        ]
        for each in share["estimates"]:
            assert each["interval"][0] <= each["value"] <= each["interval"][1]


@pytest.mark.parametrize(("upper", "step"), [(180.0, 0.1), (1000.0, 1.0), (999.0, 0.1), (5, 0.001)])
def test_statistics_of_numbers_lie_on_a_grid(
    upper: float, step: float, rng: np.random.Generator
) -> None:
    """There is an end to what can be asked for."""
    question = no.Number(0, upper)
    for kind, ends, width in (("below", upper, step), ("quantile", 1.0, 0.001)):
        asked = rng.uniform(width, ends - width, 1_000)
        for number in asked.tolist():
            name, _, text = check_statistic(question, f"{kind} {number!r}").partition(" ")
            steps = float(text) / width
            assert name == kind
            assert abs(float(text) - number) <= 0.5001 * width
            assert steps == pytest.approx(round(steps), rel=1e-12)
    with pytest.raises(no.InvalidArgumentError, match="statistic must be mean"):
        check_statistic(question, f"below {step / 10}")  # rounded, it is the bound


def test_statistics_between_two_of_the_grid_are_computed_once(
    segmented: tuple[Service, list[Report]],
) -> None:
    service, _ = segmented
    metrics, names = service.app.services.metrics, set()
    before = metrics.estimates
    for more in range(50):
        path = f"segments?by=plan&statistic=below+44.96{more:04}"
        names.add(ask(service, path)["statistics"][0]["name"])
    assert (names, metrics.estimates) == ({"below 45"}, before + 1)


@pytest.mark.parametrize(
    ("query", "detail"),
    [("statistic=below+200", "statistic must be mean"),
     ("statistic=below+179.9999999999", "statistic must be mean"),
     ("statistic=wrong", "statistic must be"),
     ("statistic=quantile+0.5&weight=ios:1", "weight must be absent")],
)  # fmt: skip
def test_statistics_that_cannot_be_compared_are_refused(
    segmented: tuple[Service, list[Report]], query: str, detail: str
) -> None:
    service, _ = segmented
    answer = service.call("GET", f"/campaigns/commute/segments?by=platform&{query}")
    assert problem(answer) == (422, "invalid-parameter")
    assert detail in answer.json()["detail"]
