"""Rounds of which not everybody is published, and what is said of effective numbers."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from noutput.campaign.segments import Segments
from noutput.collector.http.models import EstimatesModel
from noutput.collector.http.strata_models import TrendModel
from noutput.collector.publishing import ReleasePolicy
from noutput.collector.store import open_store
from tests.collector.dashboard.reader import PAGE, get, read
from tests.collector.labeled import OPENS, labeled_campaign, reports, scheduled_campaign
from tests.collector.service import Service, start_service

NAMES = {"platform": ("ios", "web")}
SMALL = (1, 3, 6, 7)  # rounds with too few of small groups


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A collector with eight rounds that are over: 600 reports with a label, 80 or 120 others."""
    store = open_store(str(tmp_path_factory.mktemp("collector") / "service.db"))
    with start_service(store) as service:
        segments = Segments(NAMES, 100)  # type: ignore[arg-type]  # a mapping is taken
        campaign = scheduled_campaign(public=True, segments=segments)
        service.create(campaign)
        rng = np.random.default_rng(9)
        for number in range(8):
            service.clock.now = OPENS + timedelta(days=number)
            few = 40 if number in SMALL else 60
            groups: tuple[tuple[dict[str, str], int, float], ...] = (
                ({"platform": "ios"}, 600, 50.0), ({"platform": "web"}, few, 120.0),
                ({}, few, 90.0),
            )  # fmt: skip
            for labels, count, center in groups:
                service.batch(campaign, reports(campaign, count, rng, labels, number, center))
        service.clock.now = OPENS + timedelta(days=9, seconds=30)
        service.publish()
        yield service
    store.close()


def ask(service: Service, path: str) -> Any:
    answer = service.call("GET", f"/campaigns/commute/{path}")
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_small_groups_are_not_shown_over_several_rounds(mixed: Service) -> None:
    """They may be the same people again and again."""
    found = ask(mixed, "segments")
    rows = {row["group"]: row["reports"] for row in found["groups"]}
    assert rows == {"ios": 8 * 600, "web": 0, "not told": 0}
    some = ask(mixed, "segments?rounds=0-3")
    assert [row["reports"] for row in some["groups"]] == [2400, 0, 0]
    assert "with 100 reports or more in one of these rounds: their" in some["text"]


def test_rounds_that_are_not_everybodys_have_no_estimate(mixed: Service) -> None:
    found = ask(mixed, "trend")
    TrendModel.model_validate(found)
    rows = found["rounds"][:8]
    assert [row["reports"] for row in rows] == [600 if n in SMALL else 720 for n in range(8)]
    assert [row["round"] for row in rows if not row["is_whole"]] == list(SMALL)
    assert [row["round"] for row in rows if row["estimate"] is None] == list(SMALL)
    assert all(row["trend"] is not None for row in rows)
    of_some = ask(mixed, "trend?segment=platform:ios")["rounds"][:8]
    assert all(row["is_whole"] and row["estimate"] is not None for row in of_some)
    answer = mixed.call("GET", "/campaigns/commute/trend?format=csv")
    lines = list(csv.DictReader(io.StringIO(answer.text)))
    partial = [int(line["round"]) for line in lines[:8] if line["is_whole"] == "false"]
    assert partial == list(SMALL)


def test_estimates_of_rounds_leave_them_out(mixed: Service) -> None:
    found = ask(mixed, "estimates?rounds=0-7")
    EstimatesModel.model_validate(found)
    assert found["reports"] == 4 * 720
    assert found["strata"]["partial"] == list(SMALL)
    text = "Rounds 1, 3, 6, 7 are left out: reports of small groups are missing in them."
    assert found["strata"]["text"].endswith(text)
    one = ask(mixed, "estimates?rounds=3")
    assert one["reports"] == 0
    told = "Round 3 is left out: reports of small groups are missing in it."
    assert one["strata"]["text"].endswith(told)
    whole = ask(mixed, "estimates")
    left = 80 * 3  # of the first period, which is over
    assert whole["reports"] == 8 * 600 + 4 * 120 + left
    assert (whole["strata"]["without_round"], whole["strata"]["partial"]) == (left, [])
    assert whole["strata"]["without_labels"] == 4 * 120 + left
    assert "240 reports are published without their round." in whole["strata"]["text"]
    assert ask(mixed, "estimates?rounds=0-7&segment=platform:ios")["reports"] == 8 * 600


def test_pages_say_why_a_round_has_no_point(mixed: Service) -> None:
    text = read(get(mixed, PAGE)).text
    assert "Rounds without a point: what is published of them is not everybody's." in text
    one = read(get(mixed, f"{PAGE}?rounds=3")).text
    assert "Nothing of these rounds is published with its round." in one
    assert "There is nothing to show of round 3." in one


def test_a_round_that_is_open_is_as_the_last_one(mixed: Service) -> None:
    rows = ask(mixed, "trend")["rounds"]
    assert [(row["round"], row["is_whole"]) for row in rows[8:]] == [(8, False), (9, False)]


@pytest.mark.parametrize(("step", "least"), [(500, 500), (50, 100)])
def test_the_effective_minimum_is_said(tmp_path: Any, step: int, least: int) -> None:
    store = open_store(str(tmp_path / "service.db"))
    with start_service(store, policy=ReleasePolicy(step, 0.1)) as service:
        service.create(labeled_campaign(NAMES, 100, public=True))
        for path in ("estimates", "segments"):
            found = ask(service, path)
            told = found.get("strata", found)
            assert told["minimum"] == least
            assert f"{least} reports" in told["text"]
            assert "round" not in told["text"]
        assert f"is shown from {least} reports on." in read(get(service, PAGE)).text
        hidden = read(get(service, f"{PAGE}?segment=platform:ios")).text
        assert f"these labels has {least} reports: fewer are not shown." in hidden
        assert "Nothing is published yet." not in hidden
    store.close()


def test_exports_have_no_formulas_and_name_those_who_did_not_tell(
    service: Service, rng: np.random.Generator
) -> None:
    names = {"version": ("=1+1", "not told", "-2")}
    campaign = labeled_campaign(names, public=True)
    service.create(campaign)
    for labels in ({"version": "=1+1"}, {"version": "not told"}, {}):
        service.batch(campaign, reports(campaign, 150, rng, labels))
    text = service.call("GET", "/campaigns/commute/segments?differences=true&format=csv").text
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["first"] for row in rows[:3]] == ["'=1+1", "not told", "(not told)"]
    assert ("'=1+1", "(not told)") in {(row["first"], row["second"]) for row in rows}
