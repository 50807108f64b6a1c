"""Pages of campaigns with segments and rounds: pictures, tables, choices and words."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import timedelta
from html import unescape
from itertools import chain

import numpy as np
import pytest

from noutput.campaign import Choice, draw_reports
from noutput.campaign.segments import Segments
from noutput.collector.dashboard import strata
from noutput.collector.dashboard.course import Course, Point, course_svg, span
from noutput.collector.dashboard.rounds import rounds_view
from noutput.collector.store import open_store
from noutput.estimate.summary import Estimate
from tests.campaign.examples import answer_table
from tests.collector.conftest import make_campaign
from tests.collector.dashboard.reader import PAGE, get, read
from tests.collector.labeled import (
    MINUTES,
    OPENS,
    labeled_campaign,
    reports,
    scheduled_campaign,
)
from tests.collector.service import Service, start_service

NAMES = {"platform": ("ios", "android", "web"), "plan": ("free", "paid")}
SEGMENTS = Segments(NAMES, 100)  # type: ignore[arg-type]  # a mapping is taken


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let pages wait for trends, however busy the machine is."""
    monkeypatch.setattr(strata, "PATIENCE_SECONDS", 60.0)


@pytest.fixture(scope="module")
def rounds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A collector with 12 days of reports by two platforms; the eighth day begins with a jump."""
    store = open_store(str(tmp_path_factory.mktemp("collector") / "service.db"))
    with start_service(store) as service:
        campaign = scheduled_campaign(public=True, segments=SEGMENTS)
        rng = np.random.default_rng(5)
        service.create(campaign)
        for number in range(12):
            service.clock.now = OPENS + timedelta(days=number, hours=6)
            center = 30.0 if number < 7 else 150.0
            many = reports(campaign, 600, rng, {"platform": "ios"}, number, center)
            many += reports(campaign, 400, rng, {"platform": "web"}, number, 120.0)
            many += reports(campaign, 30, rng, {"platform": "android"}, number, 120.0)
            service.batch(campaign, many)
        yield service
    store.close()


def part(text: str, name: str) -> str:
    """Return the figures under an id: everything up to the next one."""
    return text.partition(f'id="{name}"')[2].partition(' id="')[0]


def test_rounds_are_drawn_with_their_trend(rounds: Service) -> None:
    answer = get(rounds, PAGE)
    page = read(answer)
    found = rounds.call("GET", f"{PAGE}/trend").json()
    chart = part(answer.text, "rounds")
    wide = chart.partition('class="narrow"')[0]
    assert wide.count("<circle") == len(found["rounds"]) == 12
    assert wide.count('class="chart-band"') == wide.count('class="chart-line"') == 1
    assert wide.count('class="chart-change"') == len(found["shifts"]) == 1
    assert "It rose" in page.text
    assert "about once per year" in page.text
    told = json.loads(unescape(re.findall(r'json">(.*?)</script>', chart)[0]))
    assert told["first"] == 0
    assert len(told["texts"]) == 12
    last = found["rounds"][-1]
    assert f"from {last['reports']:,} reports; trend" in told["texts"][-1]
    rows = part(answer.text, "rounds-table")
    assert rows.count("<tr>") == 13
    assert f"<td>{last['reports']:,}</td>" in rows


def test_the_present_round_is_shown(rounds: Service) -> None:
    page = read(get(rounds, PAGE))
    assert "Round 11, of 0 to 13" in page.text
    (bar,) = (each for tag, each in page.tags if tag == "progress")
    assert bar["value"] == "25"
    assert "It ends in 18 hours. 1,000 of its reports are published." in page.text
    assert "Late reports of the round before it are still counted." in page.text


def test_groups_are_compared_in_the_order_of_their_figures(rounds: Service) -> None:
    answer = get(rounds, PAGE)
    page = read(answer)
    found = rounds.call("GET", f"{PAGE}/segments").json()
    table = part(answer.text, "compared").partition("<tbody>")[2].partition("</tbody>")[0]
    names = re.findall(r'<th scope="row"><bdi>(.*?)</bdi></th>', table)
    estimates = {row["group"]: row["value"] for row in found["statistics"][0]["estimates"]}
    assert names == sorted(estimates, key=lambda each: -estimates[each])
    assert set(names) == {"web", "ios"}  # android has 30 reports in every round
    assert found["text"] in page.text
    assert "2 of 4 groups are shown." in page.text
    assert "not told over" not in page.text
    assert re.search(r'scope="row">web over ios</th>.*?<td>yes</td>', answer.text, re.DOTALL)
    small = part(answer.text, "small")
    assert re.findall(r"<strong><bdi>(.*?)</bdi></strong>", small) == ["ios", "web"]
    assert small.count("<svg") == 2


def test_labels_are_said_to_be_public(rounds: Service) -> None:
    text = " ".join(read(get(rounds, PAGE)).text.split())
    assert "Labels are public: they are not protected" in text
    assert "is shown from 100 reports on" in text
    assert SEGMENTS.notice in text
    assert "A device answers in 1 of 7 days" in text
    assert "What you send in one period together has ε = 2" in text


def test_a_page_about_some_people_and_rounds(rounds: Service) -> None:
    answer = get(rounds, f"{PAGE}?segment=platform:ios&segment=&first=2&last=5")
    page = read(answer)
    assert "This page is about platform ios, rounds 2 to 5." in page.text
    assert 'id="reports">2,400<' in answer.text
    assert part(answer.text, "rounds").partition('class="narrow"')[0].count("<circle") == 4
    addresses = {str(each.get("href")) for tag, each in page.tags if tag == "a"}
    chosen = "segment=platform%3Aios&rounds=2-5"
    for path in (f"{PAGE}/estimates.csv?{chosen}", f"{PAGE}/estimates?{chosen}",
                 f"{PAGE}/trend?question=minutes&statistic=mean&{chosen}",
                 f"{PAGE}/trend?question=minutes&statistic=mean&{chosen}&format=csv",
                 f"{PAGE}/segments?question=minutes&by=platform&rounds=2-5&differences=true",
                 f"{PAGE}/distribution.svg?question=minutes&{chosen}"):  # fmt: skip
        assert path in addresses, path
        assert rounds.call("GET", path).status_code == 200
    assert f"?{chosen}&by=plan" in addresses  # other comparisons of the same people
    assert "2400" in rounds.call("GET", f"{PAGE}/estimates.csv?{chosen}").text
    assert "history-title" not in answer.text  # the past of all people
    picture = rounds.call("GET", f"{PAGE}/distribution.svg?{chosen}").text
    assert "platform ios, rounds 2 to 5" in picture


def test_people_within_a_group_are_compared(rounds: Service) -> None:
    answer = get(rounds, f"{PAGE}?segment=platform:ios&by=plan")
    assert "1 of 3 groups are shown" in read(answer).text
    path = f"{PAGE}/segments?by=plan&segment=platform:ios"
    found = rounds.call("GET", path).json()
    assert found["within"] == {"platform": "ios"}
    assert [row["reports"] for row in found["groups"]] == [0, 0, 7200]
    refused = rounds.call("GET", f"{PAGE}/segments?by=plan&segment=plan:free")
    assert "segment must not name plan: it is in by" in refused.json()["detail"]


@pytest.mark.parametrize(
    "query", ["segment=platform:vax", "segment=color:red", "rounds=3-99", "first=x", "by=color"]
)
def test_what_there_is_not_is_refused(rounds: Service, query: str) -> None:
    answer = get(rounds, f"{PAGE}?{query}")
    assert answer.status_code == 422
    assert "must" in read(answer, 422).text


def test_a_page_does_not_wait_for_trends(rounds: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strata, "PATIENCE_SECONDS", 0.0)
    path = f"{PAGE}?rounds=1-9"
    first = get(rounds, path).text
    assert "The trend is being computed" in first
    assert 'class="chart-band"' not in part(first, "rounds")
    assert part(first, "rounds").partition('class="narrow"')[0].count("<circle") == 9
    assert 'data-poll="2"' in first  # it asks again, and without scripts it is loaded again
    assert '<noscript><meta http-equiv="refresh" content="2"></noscript>' in first
    monkeypatch.setattr(strata, "PATIENCE_SECONDS", 60.0)
    assert 'class="chart-band"' in part(get(rounds, path).text, "rounds")
    monkeypatch.setattr(strata, "PATIENCE_SECONDS", 0.0)
    later = get(rounds, path).text
    assert 'class="chart-band"' in part(later, "rounds")  # it is known now
    assert "http-equiv" not in later


def test_trends_are_computed_once(rounds: Service) -> None:
    path = f"{PAGE}?rounds=0-8"
    get(rounds, path)
    before = rounds.app.services.metrics.estimates
    get(rounds, path)
    rounds.call("GET", f"{PAGE}/trend?question=minutes&statistic=mean&rounds=0-8")
    assert rounds.app.services.metrics.estimates == before


def test_shares_of_answers_are_compared(service: Service) -> None:
    question = Choice("train", "car", name="way")
    campaign = labeled_campaign(questions=(question,), tables=(answer_table(2.0, 2),), public=True)
    service.create(campaign)
    told: tuple[dict[str, str], ...] = ({"platform": "ios"}, {})
    drawn = (draw_reports(campaign, {"way": "car"}, labels=each) for each in told * 120)
    service.batch(campaign, list(chain.from_iterable(drawn)))
    answer = get(service, f"{PAGE}?statistic=car")
    page = read(answer)
    assert "Share of “car” by platform" in page.text
    assert "in %" in page.text
    assert 'id="rounds"' not in answer.text
    assert "not told" in page.text


def test_quantiles_and_shares_of_numbers_are_chosen(rounds: Service) -> None:
    page = read(get(rounds, PAGE))
    addresses = {str(each.get("href")) for tag, each in page.tags if tag == "a"}
    assert {"?statistic=quantile+0.5", "?statistic=quantile+0.9"} <= addresses
    assert "Median by day" in read(get(rounds, f"{PAGE}?statistic=quantile+0.5")).text
    answer = get(rounds, f"{PAGE}?statistic=below+60")
    page = read(answer)
    assert "Share below 60 min by day in %" in " ".join(page.text.split())
    assert "Share below 60 min by platform" in page.text
    assert f"{PAGE}/segments?question=minutes&statistic=below+60&by=platform&differences=true" in {
        str(each.get("href")) for tag, each in page.tags if tag == "a"
    }
    (field,) = (each for _, each in page.tags if each.get("name") == "below")
    assert field["value"] == "60"
    assert not [each for _, each in page.tags if each.get("name") == "statistic"]  # of the form
    assert get(rounds, f"{PAGE}?statistic=mean&below=60").text == answer.text  # as a form sends it
    path = f"{PAGE}/trend?question=minutes&statistic=below+60"
    assert path in {str(each.get("href")) for tag, each in page.tags if tag == "a"}
    found = rounds.call("GET", path).json()
    assert f"There is no trend: {found['reason']}." in page.text


def test_statistics_that_there_are_not_are_refused(rounds: Service) -> None:
    answer = rounds.call("GET", f"{PAGE}?statistic=below+200", headers={"Accept": "text/html"})
    assert answer.status_code == 422
    assert "statistic must be mean" in answer.text
    for wrong in ("0", "200", "nan", "abc", "1e400"):
        answer = rounds.call("GET", f"{PAGE}?below={wrong}", headers={"Accept": "text/html"})
        assert answer.status_code == 422
        assert "below must be a number between 0 and 180" in answer.text


def test_rounds_that_have_not_begun(rounds: Service) -> None:
    page = read(get(rounds, f"{PAGE}?rounds=12-13"))
    assert "There is no trend: the rounds have not begun." in page.text


def test_a_change_that_began_before_the_rounds_that_are_shown(rounds: Service) -> None:
    found = rounds.call("GET", f"{PAGE}/trend?segment=platform:ios&rounds=7-11").json()
    assert [each["alarm"] for each in found["shifts"]] == [7]
    later = found | {"shifts": [{"since": 4, "alarm": 8, "direction": "down"}]}
    view = rounds_view(MINUTES[0], later, pending=False)
    (change,) = view.changes
    assert change == "It fell after round 4 began, and by round 8 (9 May 2026) at the latest."
    assert view.wide.count('class="chart-since"') == 1


def test_labels_without_reports(service: Service) -> None:
    service.create(labeled_campaign(public=True))
    page = read(get(service, PAGE))
    assert "No group has enough published reports yet." in page.text
    assert "0 of 4 groups are shown." in page.text


def test_a_scheduled_campaign_before_its_start(service: Service) -> None:
    campaign = scheduled_campaign(public=True)
    service.clock.now = OPENS - timedelta(days=1)
    service.create(campaign)
    page = read(get(service, PAGE))
    assert "progress" not in {tag for tag, _ in page.tags}
    service.clock.now = OPENS + timedelta(hours=1)
    text = read(get(service, PAGE)).text
    assert "No round has enough published reports yet." in text
    assert "There is no trend: fewer than 3 rounds have an estimate." in text


def test_wide_intervals_leave_room_for_the_others() -> None:
    figures = [Estimate(50.0, 48.0, 52.0)] * 5 + [Estimate(50.0, -500.0, 600.0)]
    points = [Point(n, OPENS + timedelta(hours=n), True, each) for n, each in enumerate(figures)]
    low, high = span([Course(points, 3_600)])
    assert 40.0 < low < 48.0
    assert 52.0 < high < 60.0
    picture = course_svg(Course(points, 3_600))
    assert ">1 May<" in picture
    assert ">01:00<" in picture


def test_a_campaign_without_both_has_none_of_it(service: Service) -> None:
    service.create(make_campaign(public=True))
    answer = get(service, f"{PAGE}?segment=&rounds=1")
    page = read(answer)
    assert "Whom, when" not in page.text
    assert "rounds.js" not in answer.text
