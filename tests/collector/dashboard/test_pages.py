from __future__ import annotations

import csv
import dataclasses
import io
import json
import math
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

import noutput as no
from noutput._numbers import show
from noutput.campaign import Admission, Campaign, Number, Report, draw_report
from noutput.campaign.campaign import fit_table
from noutput.campaign.packed import encode_packed
from noutput.campaign.wire import PACKED_TYPE
from noutput.collector.dashboard.assets import assets
from noutput.collector.dashboard.privacy import privacy
from noutput.collector.estimates import page_bins
from noutput.collector.http.models import EstimatesModel
from noutput.collector.store import open_store
from tests.campaign.tokens import anonymous_campaign
from tests.collector.conftest import make_campaign, with_questions
from tests.collector.dashboard.reader import HTML, PAGE, fill, get, read, read_token
from tests.collector.people import lognormal_reports
from tests.collector.service import Service, problem, start_service
from tests.tables import window_table


def test_devices_and_browsers_share_an_address(service: Service, public: Campaign) -> None:
    for accept in ({}, {"Accept": "*/*"}, {"Accept": "application/json"}):
        answer = service.call("GET", PAGE, headers=accept)
        assert Campaign.from_json(answer.text) == public
        assert "Accept" in answer.headers["vary"]
    page = read(get(service, PAGE))
    assert public.text in page.text
    assert "Accept" in get(service, PAGE).headers["vary"]


@pytest.mark.parametrize("count", [0, 1, 2, 3, 900])
def test_a_page_for_any_number_of_reports(service: Service, public: Campaign, count: int) -> None:
    if count:
        fill(service, public, count)
    for question in public.questions:
        answer = get(service, f"{PAGE}?question={question.name}")
        assert f'id="reports">{count:,}<' in answer.text
        page = read(answer)
        assert "each of them could have come from anyone" in page.text
        assert "ε = 2" in page.text


def test_a_page_says_what_the_estimates_say(service: Service, public: Campaign) -> None:
    fill(service, public, 3_000)
    page = read(get(service, PAGE))
    (found, *_) = service.call("GET", f"{PAGE}/estimates?bins=72").json()["questions"]
    assert f"{found['mean']['value']:.1f}" in page.text.replace(",", "")
    for text in ("Average minutes", "Standard deviation", "Variance", "median", "75% below",
                 "No sign of forged reports", "the least that any", "reports",
                 "95% intervals that hold whatever people answer"):  # fmt: skip
        assert text in page.text, text
    pattern = re.compile(r'id="history-data".*?json">(.*?)</script>', re.DOTALL)
    data = pattern.search(get(service, PAGE).text)
    assert data is not None
    history = json.loads(data[1])
    assert history["reports"][-1] == found["reports"]
    assert history["low"][-1] < history["mean"][-1] < history["high"][-1]


def forge(service: Service, campaign: Campaign, count: int) -> None:
    """Send reports that nobody draws so often: all of them the last output of the first table."""
    rng = np.random.default_rng(count)
    output = campaign.tables[0].n_outputs - 1
    name = campaign.questions[0].name
    forged = [Report(campaign.fingerprint, name, output, rng.bytes(16).hex()) for _ in range(count)]
    service.batch(campaign, forged)


def test_forged_reports_are_the_headline_for_everybody(service: Service, public: Campaign) -> None:
    fill(service, public, 2_400)
    forge(service, public, 800)
    answer = get(service, PAGE)
    page = read(answer).text
    hero = answer.text.split('id="hero"')[1].split("</section>")[0]
    assert hero.index("Some reports are probably forged") < hero.index("<dl")
    assert "Do not trust the figures" in hero
    for claim in (
        "95% interval",
        "confidence",
        "between <strong>",
        "How sure we are",
        'id="distribution"',
    ):
        assert claim not in answer.text, claim
    assert "Estimates without intervals" in page
    overview = read(get(service, "/")).text
    assert "Some reports are probably forged. No figure can be trusted." in overview
    assert "confidence" not in overview
    other = read(get(service, f"{PAGE}?question={public.questions[1].name}")).text
    assert "Some reports are probably forged" not in other  # it has honest ones


def test_exports_of_forged_reports_claim_nothing(service: Service, public: Campaign) -> None:
    fill(service, public, 2_400)
    forge(service, public, 800)
    content = service.call("GET", f"{PAGE}/estimates").json()
    EstimatesModel.model_validate(content)
    forged, honest, _ = content["questions"]
    assert forged["goodness_of_fit"] < 0.001
    assert forged["warning"].startswith("Some reports are probably forged.")
    assert forged["mean"]["value"] > 0.0
    for claim in (forged["mean"]["interval"], forged["mean"]["standard_error"],
                  forged["variance"]["interval"], forged["quantiles"][0]["interval"],
                  forged["histogram"]["lower"], forged["distribution"]["upper"],
                  forged["intervals"], honest["warning"]):  # fmt: skip
        assert claim is None
    assert forged["lower"] == 0.0
    assert honest["mean"]["interval"][0] < honest["mean"]["value"]
    rows = list(csv.DictReader(io.StringIO(get(service, f"{PAGE}/estimates.csv").text)))
    claimed = {row["question"] for row in rows if row["low"] or row["high"]}
    assert claimed == {question.name for question in public.questions[1:]}
    refused = service.call("GET", f"{PAGE}/distribution.svg")
    assert problem(refused) == (404, "not-found")
    assert refused.json()["detail"] == "there is no picture: some reports are probably forged"


def test_forged_reports_stay_in_the_past(service: Service, public: Campaign) -> None:
    """What was published of them is kept, in copies too; the page shows it once it is outvoted."""
    fill(service, public, 300)
    forge(service, public, 60)
    milestones = service.store.history(1)
    assert [each.low for each in milestones if each.question == 0][-1] == -math.inf
    with service.store.snapshot("commute") as snapshot:
        assert snapshot is not None
        assert list(snapshot.history) == milestones
    fill(service, public, 9_000, 2)
    page = read(get(service, PAGE)).text
    assert "with 95% confidence" in page
    assert "probably forged" in page.split("The past as a table")[1]


def test_the_promise_is_what_holds(service: Service, campaign: Campaign) -> None:
    service.create(campaign)
    service.create(make_campaign("open-to-all", public=True))
    for path in (PAGE, "/campaigns/open-to-all"):
        text = " ".join(read(get(service, path)).text.split())
        assert "one of 5 numbers, drawn at random, and each of them could have come from" in text
        assert "none more than 7.39 times as likely as any other answer would" in text
        assert "the server sees your address" in text
        assert "the script that draws the report comes from this server, too" in text
        assert "malicious" not in text
        assert "leaves the device" not in text


def test_visitors_choose_their_limit(service: Service, public: Campaign) -> None:
    page = read(get(service, PAGE))
    options = [attributes for tag, attributes in page.tags if tag == "option"]
    (chosen,) = (each["value"] for each in options if "selected" in each)
    assert chosen == "1"  # whatever the campaign asks for
    assert public.epsilon == 2.0
    assert "This campaign asks for ε = 2." in page.text


def test_the_cost_of_privacy_is_explained(service: Service, public: Campaign) -> None:
    fill(service, public, 50)
    text = " ".join(read(get(service, PAGE)).text.split())
    found = re.search(
        r"largest variance\) is ([\d.]+) times the least that any unbiased method with this ε can "
        r"promise. At worst, an average as sharp takes \1 times the reports\.",
        text,
    )
    assert found is not None, text
    entry = service.app.services.directory.find(public.id)
    assert entry is not None
    gap = privacy(entry).gap
    assert gap is not None
    assert float(found[1]) == pytest.approx(1.0 + gap, rel=0.05)
    other = dataclasses.replace(
        make_campaign("spread", public=True), objectives=("distribution",) * 3
    )
    service.create(other)
    text = " ".join(read(get(service, "/campaigns/spread")).text.split())
    assert "was designed for the distribution, not for the average alone; the average uses" in text


def test_a_name_that_is_a_unit_is_said_once(service: Service) -> None:
    questions = (Number(0, 100, "MB", name="mb"), Number(0, 1_500_000, "kWh", name="used_kwh"))
    campaign = with_questions(make_campaign(public=True), *questions)
    service.create(campaign)
    fill(service, campaign, 100)
    text = get(service, PAGE).text
    for wrong in ("Mb", "mb in MB", "Used kwh"):
        assert wrong not in text
    for right in (
        "<span><bdi>MB</bdi></span>",
        "<span><bdi>Used kWh</bdi></span>",
        'placeholder="0 to 1,500,000"',
    ):
        assert right in text


def test_an_unchanged_page_is_not_sent_again(service: Service, public: Campaign) -> None:
    fill(service, public, 100)
    for path in (PAGE, "/"):
        tag = get(service, path).headers["etag"]
        again = get(service, path, **{"If-None-Match": tag})
        assert (again.status_code, again.content) == (304, b"")
        other = get(service, path, Cookie=f"noutput_token={read_token(service)}")
        assert other.headers["etag"] != tag


def test_targets(service: Service, public: Campaign) -> None:
    fill(service, public, 900)
    assert "wanted is ± 0.5 min. It takes about" in read(get(service, f"{PAGE}?target=0.5")).text
    assert "This is reached." in read(get(service, f"{PAGE}?target=1e9")).text
    for bad in ("0", "-1", "nan", "inf", "x", "", "1e999", "<script>"):
        assert "wanted is ±" in read(get(service, f"{PAGE}?target={bad}")).text


def test_so_many_more_reports_are_enough_with_several_questions(
    service: Service, public: Campaign
) -> None:
    fill(service, public, 3_000)
    found = service.call("GET", f"{PAGE}/estimates").json()["questions"][0]["mean"]
    low, high = found["interval"]
    target = f"{(high - low) / 2.0 / 1.5:.6g}"
    page = read(get(service, f"{PAGE}?target={target}"))
    said = re.search(r"about ([\d,]+) more reports, as each answers one of 3 questions", page.text)
    assert said is not None, page.text
    more = int(said[1].replace(",", ""))
    assert more == pytest.approx(3_000 * (1.5**2 - 1.0), rel=0.1)
    enough = make_campaign("enough", public=True, outputs=8)
    service.create(enough)
    body = encode_packed(enough, lognormal_reports(enough, 3_000 + more))
    assert service.send(body, PACKED_TYPE, "enough").json()["accepted"] == 3_000 + more
    found = service.call("GET", "/campaigns/enough/estimates").json()["questions"][0]["mean"]
    low, high = found["interval"]
    assert (high - low) / 2.0 == pytest.approx(float(target), rel=0.05)


@pytest.mark.parametrize(("more", "said"), [(0.2, "1 more report"), (43.5, "44 more reports")])
def test_reports_are_whole(service: Service, more: float, said: str) -> None:
    campaign = make_campaign(public=True, outputs=8)
    campaign = with_questions(campaign, campaign.questions[0])
    service.create(campaign)
    fill(service, campaign, 300)
    low, high = service.call("GET", f"{PAGE}/estimates").json()["questions"][0]["mean"]["interval"]
    target = (high - low) / 2.0 / ((300 + more) / 300) ** 0.5
    text = read(get(service, f"{PAGE}?target={target!r}")).text
    assert f"It takes about {said}" in text


def test_one_question_needs_no_explanation(service: Service) -> None:
    campaign = make_campaign(public=True, outputs=8)
    campaign = with_questions(campaign, campaign.questions[0])
    service.create(campaign)
    fill(service, campaign, 300)
    text = read(get(service, f"{PAGE}?target=0.5")).text
    assert "more reports" in text
    assert "as each answers" not in text


@pytest.mark.usefixtures("public")
def test_errors_are_pages_for_people(service: Service) -> None:
    assert "no campaign 'nothing'" in read(get(service, "/campaigns/nothing"), 404).text
    assert "question '<b>'" in read(get(service, f"{PAGE}?question=<b>"), 404).text
    assert "nothing at this address" in read(get(service, "/nowhere"), 404).text
    missing = service.call("GET", "/static/nothing.js")
    assert problem(missing) == (404, "not-found")
    for path in ("/static/../routes.py", "/static/%2e%2e/routes.py"):
        assert service.call("GET", path).status_code == 404
    assert problem(service.call("GET", f"{PAGE}/distribution.svg")) == (404, "not-found")


HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>{{7*7}}</script><!--"


def hostile_campaign() -> Campaign:
    asked = (
        Number(-1e15, 1e15, "</script><svg/onload=1>", name="a" * 64),
        Number(1e-9, 2e-9, name="b"), Number(1e6, 1e6 + 1, "=1+1", name="c"),
    )  # fmt: skip
    return Campaign(
        id="commute", title=HOSTILE, text=HOSTILE + "\u05d0" + "W" * 800, public=True,
        questions=asked,
        tables=tuple(fit_table(window_table(2.0, 5, 7, 0.4).plain, each) for each in asked),
        opens=datetime(2026, 3, 1, tzinfo=UTC), closes=datetime(9036, 4, 1, tzinfo=UTC),
    )  # fmt: skip


def test_hostile_texts_and_odd_numbers_do_no_harm(service: Service) -> None:
    campaign = hostile_campaign()
    service.create(campaign)
    fill(service, campaign, 900)
    paths = ["/", *(f"{PAGE}?question={each.name}&target=%3Cb%3E" for each in campaign.questions)]
    for path in paths:
        answer = get(service, path)
        page = read(answer)
        assert "alert(1)" in page.text  # as text, and nowhere else
        for tag in ("<script>", "<img", "<svg/", "<b>"):
            assert tag not in answer.text
        assert "{{7*7}}" in page.text
        # Letters that are read from the right move nothing around them.
        assert len(re.findall(r"<bdi>[^<]*\u05d0W+</bdi>", answer.text)) == 1
    for each in campaign.questions:
        picture = get(service, f"{PAGE}/distribution.svg?question={each.name}")
        assert picture.headers["content-type"] == "image/svg+xml"
        assert "<script" not in picture.text
        assert "<svg/" not in picture.text
    table = list(csv.DictReader(io.StringIO(get(service, f"{PAGE}/estimates.csv").text)))
    assert {row["unit"] for row in table} == {"</script><svg/onload=1>", "", "'=1+1"}


def test_a_campaign_that_is_not_open(service: Service, public: Campaign) -> None:
    fill(service, public, 50)
    service.clock.now = public.opens - timedelta(days=1)
    assert "Not open yet" in read(get(service, PAGE)).text
    service.clock.now = public.closes
    page = read(get(service, PAGE))
    assert "takes no answers any more" in page.text
    assert "It would have taken" in page.text
    assert [tag for tag, attributes in page.tags if "data-poll" in attributes]
    service.clock.now += timedelta(minutes=1)  # what came last is published by now
    page = read(get(service, PAGE))
    assert not [tag for tag, attributes in page.tags if "data-poll" in attributes]


def test_a_page_waits_for_what_is_published_after_the_end(service: Service) -> None:
    campaign = make_campaign("brief", public=True)
    service.create(campaign)
    service.clock.now = campaign.closes
    text = read(get(service, "/campaigns/brief")).text
    assert "What was reported appears here within a minute." in text
    service.clock.now += timedelta(minutes=1)
    assert "No report came in." in read(get(service, "/campaigns/brief")).text


def test_the_list_says_what_is_published_and_when_a_campaign_was_closed(
    service: Service, public: Campaign
) -> None:
    fill(service, public, 50)
    assert "50 reports published" in read(get(service, "/")).text
    assert service.call("POST", f"{PAGE}/close", headers=service.admin).status_code == 200
    text = read(get(service, "/")).text
    assert "closed 1 May 2026" in text
    assert "2036" not in text


def test_a_campaign_of_anonymous_people_says_what_still_names_them(service: Service) -> None:
    service.create(dataclasses.replace(anonymous_campaign("members"), public=True))
    text = read(get(service, "/campaigns/members")).text
    assert "Your token does not say who you are, but the server sees your address" in text


def test_a_campaign_that_asks_for_tokens_takes_none_here(service: Service) -> None:
    service.create(make_campaign("members", public=True, admission=Admission("token")))
    page = read(get(service, "/campaigns/members"))
    assert "counts the reports of people who have a token" in page.text
    for useless in ("noutput simulate", "the script that draws the report"):
        assert useless not in page.text
    assert not [tag for tag, attributes in page.tags if attributes.get("id") == "try"]


@pytest.mark.parametrize("target", ["1e-200", "5e-324", "1e-9", "1e300", "0", "-1", "nan", "x"])
def test_any_target_gets_an_answer(service: Service, public: Campaign, target: str) -> None:
    fill(service, public, 200)
    page = read(get(service, f"{PAGE}?target={target}"))
    hopeless = target in ("1e-200", "5e-324", "1e-9")
    assert ("more reports than there are people" in page.text) is hopeless


@pytest.mark.parametrize(
    "bounds", [(0.0, 1e-9), (-5e-9, 1e-9), (-1e12, 1e12), (-40.0, -30.0), (1e15, 1e15 + 1.0)]
)
def test_bounds_of_any_size(service: Service, bounds: tuple[float, float]) -> None:
    question = Number(*bounds, name="length")
    campaign = with_questions(make_campaign(public=True, outputs=8), question)
    service.create(campaign)
    fill(service, campaign, 200)
    service.app.services.recorder.look()
    page = read(get(service, PAGE))
    assert "0.0000000000" not in page.text
    for export in ("estimates", "estimates.csv", "distribution.svg"):
        assert service.call("GET", f"{PAGE}/{export}").status_code == 200


def test_every_number_has_bars_of_round_width(service: Service) -> None:
    campaign = make_campaign(public=True, outputs=8)
    service.create(campaign)
    fill(service, campaign, 3_000)
    for place, (name, unit) in enumerate((("minutes", " min"), ("rides", ""), ("cost", " USD"))):
        page = read(get(service, f"{PAGE}?question={name}"))
        bins = page_bins(campaign.questions[place])
        found = service.call("GET", f"{PAGE}/estimates?bins={bins}").json()["questions"][place]
        edges = found["histogram"]["edges"]
        step = edges[1] - edges[0]
        assert f"Share of people in steps of {step:g}{unit}." in page.text
        assert (100.0 * step).is_integer()


def test_reports_that_tell_nothing_get_words_and_no_bars(service: Service) -> None:
    campaign = make_campaign(public=True, outputs=8)
    service.create(campaign)
    fill(service, campaign, 20)
    page = read(get(service, PAGE))
    assert "There is no picture yet" in page.text
    assert "with a proof for every distribution and for so few reports" in page.text
    assert "The picture as a table" not in page.text
    picture = service.call("GET", f"{PAGE}/distribution.svg").text
    assert "The reports cannot tell yet." in picture
    assert "chart-band" not in picture


def test_the_past_goes_forward_where_the_clock_did_not(service: Service, public: Campaign) -> None:
    for hours in (3, 0, 1):
        service.clock.now = datetime(2026, 5, 1, hours, tzinfo=UTC)
        fill(service, public, 300, seed=hours)
        service.app.services.recorder.look()
    text = re.search(r'id="history-data".*?json">(.*?)</script>', get(service, PAGE).text)
    assert text is not None
    instants = json.loads(text[1])["at"]
    assert len(instants) == 4
    assert instants == sorted(instants)


def test_every_answer_has_the_policy_of_its_kind(service: Service, public: Campaign) -> None:
    fill(service, public, 50)
    pages = ("/", PAGE, "/sign-in", "/none", "/campaigns/none", f"{PAGE}?question=none")
    files = [f"/static/{name}" for name in assets()]
    exports = (f"{PAGE}/estimates.csv", f"{PAGE}/distribution.svg", f"{PAGE}/estimates")
    others = ("/health", "/campaigns", "/openapi.json", "/static/../assets.py", "/metrics",
              "/static/%2e%2e/assets.py", "/tokens")  # fmt: skip
    for path in (*pages, *files, *exports, *others):
        for accept in (HTML, {"Accept": "*/*"}):
            answer = service.call("GET", path, headers=accept)
            policy = answer.headers["content-security-policy"]
            is_page = answer.headers["content-type"].startswith("text/html")
            assert is_page or path not in pages or accept is not HTML
            assert ("script-src 'self'" in policy) is is_page, path
            if not is_page:
                assert policy == "default-src 'none'; frame-ancestors 'none'", path
            assert "unsafe" not in policy
            assert answer.headers["x-content-type-options"] == "nosniff"
            names = [name for name, _ in answer.headers.multi_items()]
            assert len(names) == len(set(names))
    for path in (*files, *exports[:2]):
        answer = service.call("GET", path)
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"


def test_exports(service: Service, public: Campaign) -> None:
    fill(service, public, 900)
    answer = get(service, f"{PAGE}/estimates.csv")
    assert answer.headers["content-disposition"] == 'attachment; filename="commute.csv"'
    table = list(csv.DictReader(io.StringIO(answer.text)))
    (mean, *_) = (row for row in table if row["question"] == "minutes")
    found = service.call("GET", f"{PAGE}/estimates?bins=72").json()["questions"][0]
    assert (mean["statistic"], mean["unit"]) == ("mean", "min")
    assert float(mean["value"]) == found["mean"]["value"]
    assert [float(mean["low"]), float(mean["high"])] == found["mean"]["interval"]
    shares = [float(row["value"]) for row in table
              if row["statistic"] == "share" and row["question"] == "rides"]  # fmt: skip
    assert len(shares) == 72
    assert sum(shares) == pytest.approx(1.0)
    for name in ("minutes", "rides", "cost"):
        mine = [row for row in table if row["question"] == name]
        (expected,) = (each for each in service.call("GET", f"{PAGE}/estimates?bins=72").json()
                       ["questions"] if each["name"] == name)  # fmt: skip
        (fit,) = (row for row in mine if row["statistic"] == "goodness_of_fit")
        assert float(fit["value"]) == expected["goodness_of_fit"]
        bars = [[float(row[column]) for column in ("from", "to", "value", "low", "high")]
                for row in mine if row["statistic"] == "histogram"]  # fmt: skip
        found = expected["histogram"]
        edges = found["edges"]
        columns = (edges[:-1], edges[1:], found["probabilities"], found["lower"], found["upper"])
        assert bars == [list(row) for row in zip(*columns, strict=True)]
    picture = get(service, f"{PAGE}/distribution.svg?question=cost").text
    assert picture.startswith("<svg xmlns=")
    assert "How long was your way to work?" in picture
    assert "USD" in picture


def test_files_are_small_licensed_and_asked_for_once(service: Service) -> None:
    assert sum(len(asset.content) for asset in assets().values()) < 400_000
    assert b"MIT" in assets()["uplot/LICENSE"].content
    for name, asset in assets().items():
        answer = service.call("GET", f"/static/{name}")
        assert answer.content == asset.content
        again = service.call("GET", f"/static/{name}", headers={"If-None-Match": asset.tag})
        assert again.status_code == 304


def test_every_file_is_known_and_the_client_is_the_client() -> None:
    folder = Path("src/noutput/collector/dashboard/static")
    found = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert found == set(assets())
    client = Path("clients/js/noutput.min.js").read_bytes()
    assert assets()["noutput.min.js"].content == client, "run clients/js/build.js"


@pytest.fixture
def outage(tmp_path: Path) -> Iterator[Service]:
    opened = open_store(str(tmp_path / "outage.db"))
    with start_service(opened) as running:
        yield running
    opened.close()


def test_a_database_that_is_away_is_told(outage: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    from noutput.collector.store.interface import UnavailableError

    def fail(*_: object) -> None:
        raise UnavailableError("no database")

    monkeypatch.setattr(outage.store, "campaigns", fail)
    answer = get(outage, "/")
    assert "database does not answer" in read(answer, 503).text
    assert answer.headers["retry-after"] == "1"


def test_one_report_is_no_estimate(service: Service, public: Campaign) -> None:
    report = draw_report(public, {"minutes": 1.0, "rides": 1.0, "cost": 1.0})
    service.report(report)
    for each in public.questions:
        text = read(get(service, f"{PAGE}?question={each.name}")).text
        mine = each.name == report.question
        assert ("One report is not enough" in text) == mine
        assert ("No report has come in yet on this question" in text) != mine


def test_a_nearly_unbiased_mean_is_called_so(service: Service, public: Campaign) -> None:
    table = no.design(1.0, 64, objective="distribution").mechanism.plain
    spread = make_campaign("spread", public=True, tables=(table,) * 3)
    service.create(spread)
    for campaign, path in ((public, PAGE), (spread, "/campaigns/spread")):
        content = encode_packed(campaign, lognormal_reports(campaign, 3_000, 1))
        assert service.send(content, PACKED_TYPE, campaign.id).status_code == 200
        mean = get(service, f"{path}/estimates").json()["questions"][0]["mean"]
        text = " ".join(read(get(service, path)).text.split())
        if campaign is public:
            assert (mean["method"], mean["bias_bound"]) == ("unbiased", 0.0)
            assert "unbiased estimate" not in text
            continue
        assert mean["method"] == "nearly unbiased"
        assert f"off by at most {show(mean['bias_bound'])} min, which the interval allows" in text
        half = (mean["interval"][1] - mean["interval"][0]) / 2.0
        assert half > 1.96 * mean["standard_error"]
        known = re.search(r"known to ± ([\d.]+) min", text)
        assert known is not None
        assert float(known[1]) == pytest.approx(half, rel=0.1)
