from __future__ import annotations

import csv
import dataclasses
import io
import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from pathlib import Path

import httpx
import pytest

from noutput.campaign import Attribute, Campaign, CertifiedTable, draw_report
from noutput.campaign.packed import encode_packed
from noutput.campaign.wire import MAX_BATCH, PACKED_TYPE
from noutput.collector.auth import new_token
from noutput.collector.dashboard.assets import assets
from noutput.collector.dashboard.privacy import privacy
from noutput.collector.store import open_store
from tests.collector.conftest import make_campaign
from tests.collector.people import lognormal_reports
from tests.collector.service import Service, problem, start_service
from tests.tables import window_table

HTML = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
PAGE = "/campaigns/commute"
FORM = {"Content-Type": "application/x-www-form-urlencoded", **HTML}


class Page(HTMLParser):
    """What a browser would make of a page: tags with attributes, and text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def read(answer: httpx.Response, status: int = 200) -> Page:
    assert answer.status_code == status
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    page = Page(answer.text)
    for tag, attributes in page.tags:
        assert not [name for name in attributes if name == "style" or name.startswith("on")]
        address = attributes.get("src") or attributes.get("href") or ""
        assert address.startswith(("/", "#", "?")) or not address, address
        assert not address.startswith("//")
        if tag == "script":
            assert attributes.get("src") or attributes.get("type") == "application/json"
        assert tag != "style"
    return page


def get(service: Service, path: str, **options: str) -> httpx.Response:
    return service.call("GET", path, headers={**HTML, **options})


def fill(service: Service, campaign: Campaign, count: int, seed: int = 1) -> None:
    reports = lognormal_reports(campaign, count, seed)
    for start in range(0, count, MAX_BATCH):
        service.batch(campaign, reports[start : start + MAX_BATCH])


def sign_in(service: Service, token: str, **headers: str) -> httpx.Response:
    fields = httpx.QueryParams({"token": token, "next": PAGE})
    return service.call("POST", "/sign-in", content=str(fields), headers={**FORM, **headers})


def read_token(service: Service, campaign: str | None = None) -> str:
    token, row = new_token("read", campaign, service.clock())
    service.store.add_token(row)
    return token


@pytest.fixture
def public(service: Service) -> Campaign:
    campaign = make_campaign(public=True, outputs=8)
    service.create(campaign)
    return campaign


def test_devices_and_browsers_share_an_address(service: Service, public: Campaign) -> None:
    for accept in ({}, {"Accept": "*/*"}, {"Accept": "application/json"}):
        answer = service.call("GET", PAGE, headers=accept)
        assert Campaign.from_json(answer.text) == public
        assert "Accept" in answer.headers["vary"]
    page = read(get(service, PAGE))
    assert public.question in page.text
    assert "Accept" in get(service, PAGE).headers["vary"]


@pytest.mark.parametrize("count", [0, 1, 2, 3, 900])
def test_a_page_for_any_number_of_reports(service: Service, public: Campaign, count: int) -> None:
    if count:
        fill(service, public, count)
    for attribute in public.attributes:
        answer = get(service, f"{PAGE}?attribute={attribute.name}")
        assert f'id="reports">{count:,}<' in answer.text
        page = read(answer)
        assert "each of them could have come from anyone" in page.text
        assert "ε = 2" in page.text


def test_a_page_says_what_the_estimates_say(service: Service, public: Campaign) -> None:
    fill(service, public, 3_000)
    page = read(get(service, PAGE))
    (found, *_) = service.call("GET", f"{PAGE}/estimates?bins=72").json()["attributes"]
    assert f"{found['mean']['value']:.1f}" in page.text.replace(",", "")
    for text in ("Average minutes", "Standard deviation", "Variance", "median", "75% below",
                 "No sign of forged reports", "the least that any", "reports"):  # fmt: skip
        assert text in page.text, text
    pattern = re.compile(r'id="history-data".*?json">(.*?)</script>', re.DOTALL)
    data = pattern.search(get(service, PAGE).text)
    assert data is not None
    history = json.loads(data[1])
    assert history["reports"][-1] == found["reports"]
    assert history["low"][-1] < history["mean"][-1] < history["high"][-1]


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
    other = dataclasses.replace(make_campaign("spread", public=True), goal="distribution")
    service.create(other)
    text = " ".join(read(get(service, "/campaigns/spread")).text.split())
    assert "was designed for the distribution, not for the average alone." in text


def test_a_name_that_is_a_unit_is_said_once(service: Service) -> None:
    attributes = (Attribute("mb", "MB", 0, 100), Attribute("used_kwh", "kWh", 0, 1_500_000))
    campaign = dataclasses.replace(make_campaign(public=True), attributes=attributes)
    service.create(campaign)
    fill(service, campaign, 100)
    text = get(service, PAGE).text
    for wrong in ("Mb", "mb in MB", "Used kwh"):
        assert wrong not in text
    for right in ("<span>MB</span>", "<span>Used kWh</span>", 'placeholder="0 to 1,500,000"'):
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
    found = service.call("GET", f"{PAGE}/estimates").json()["attributes"][0]["mean"]
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
    found = service.call("GET", "/campaigns/enough/estimates").json()["attributes"][0]["mean"]
    low, high = found["interval"]
    assert (high - low) / 2.0 == pytest.approx(float(target), rel=0.05)


def test_one_question_needs_no_explanation(service: Service) -> None:
    campaign = make_campaign(public=True, outputs=8)
    campaign = dataclasses.replace(campaign, attributes=campaign.attributes[:1])
    service.create(campaign)
    fill(service, campaign, 300)
    text = read(get(service, f"{PAGE}?target=0.5")).text
    assert "more reports" in text
    assert "as each answers" not in text


@pytest.mark.usefixtures("public")
def test_errors_are_pages_for_people(service: Service) -> None:
    assert "no campaign 'nothing'" in read(get(service, "/campaigns/nothing"), 404).text
    assert "attribute '<b>'" in read(get(service, f"{PAGE}?attribute=<b>"), 404).text
    assert "nothing at this address" in read(get(service, "/nowhere"), 404).text
    missing = service.call("GET", "/static/nothing.js")
    assert problem(missing) == (404, "not-found")
    for path in ("/static/../routes.py", "/static/%2e%2e/routes.py"):
        assert service.call("GET", path).status_code == 404
    assert problem(service.call("GET", f"{PAGE}/distribution.svg")) == (404, "not-found")


HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>{{7*7}}</script><!--"


def hostile_campaign() -> Campaign:
    return Campaign(
        id="commute", title=HOSTILE, question=HOSTILE + "\u202e" + "W" * 800, public=True,
        attributes=(
            Attribute("a" * 64, "</script><svg/onload=1>", -1e15, 1e15),
            Attribute("b", "", 1e-9, 2e-9), Attribute("c", "=1+1", 1e6, 1e6 + 1),
        ),
        table=CertifiedTable.from_json(window_table(2.0, 5, 7, 0.4).to_json()),
        opens=datetime(2026, 3, 1, tzinfo=UTC), closes=datetime(9036, 4, 1, tzinfo=UTC),
    )  # fmt: skip


def test_hostile_texts_and_odd_numbers_do_no_harm(service: Service) -> None:
    campaign = hostile_campaign()
    service.create(campaign)
    fill(service, campaign, 900)
    paths = ["/", *(f"{PAGE}?attribute={each.name}&target=%3Cb%3E" for each in campaign.attributes)]
    for path in paths:
        answer = get(service, path)
        page = read(answer)
        assert "alert(1)" in page.text  # as text, and nowhere else
        for tag in ("<script>", "<img", "<svg/", "<b>"):
            assert tag not in answer.text
        assert "{{7*7}}" in page.text
    for each in campaign.attributes:
        picture = get(service, f"{PAGE}/distribution.svg?attribute={each.name}")
        assert picture.headers["content-type"] == "image/svg+xml"
        assert "<script" not in picture.text
        assert "<svg/" not in picture.text
    table = list(csv.DictReader(io.StringIO(get(service, f"{PAGE}/estimates.csv").text)))
    assert {row["unit"] for row in table} == {"</script><svg/onload=1>", "", "'=1+1"}


def test_a_private_campaign_shows_its_question_only(service: Service, campaign: Campaign) -> None:
    service.create(campaign)
    fill(service, campaign, 321)
    page = read(get(service, PAGE))
    assert campaign.question in page.text
    assert "The results are not public" in page.text
    assert "Make my report" in page.text
    assert "321" not in page.text
    assert campaign.question not in read(get(service, "/")).text
    assert "no public campaign" in read(get(service, "/")).text
    for path in ("estimates", "estimates.csv", "distribution.svg"):
        assert problem(service.call("GET", f"{PAGE}/{path}")) == (401, "token-required")


def test_signing_in(service: Service, campaign: Campaign) -> None:
    service.create(campaign)
    fill(service, campaign, 321)
    assert "Token" in read(get(service, "/sign-in?next=/x")).text
    token = read_token(service)
    answer = sign_in(service, f"  {token}\n")
    assert (answer.status_code, answer.headers["location"]) == (303, PAGE)
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith(f"noutput_token={token};")
    for part in ("HttpOnly", "SameSite=strict", "Path=/", "Max-Age=2592000"):
        assert part in cookie
    assert "Secure" not in cookie
    jar = {"Cookie": f"noutput_token={token}"}
    assert "321" in read(get(service, PAGE, **jar)).text
    assert campaign.question in read(get(service, "/", **jar)).text
    for path in ("estimates", "estimates.csv", "distribution.svg"):
        assert service.call("GET", f"{PAGE}/{path}", headers=jar).status_code == 200
    gone = service.call("POST", "/sign-out", headers={**FORM, **jar})
    assert gone.status_code == 303
    assert 'noutput_token=""' in gone.headers["set-cookie"]
    assert "Max-Age=0" in gone.headers["set-cookie"]


def test_the_cookie_is_for_https_where_the_page_is(service: Service) -> None:
    token = read_token(service)
    fields = str(httpx.QueryParams({"token": token}))
    answer = service.call("POST", "https://collector/sign-in", content=fields, headers=FORM)
    assert "Secure" in answer.headers["set-cookie"]
    assert answer.headers["location"] == "/"


@pytest.mark.parametrize("token", ["", "x", "noutput_" + "0" * 12 + "_" + "A" * 43, "é" * 50])
def test_a_wrong_token_gets_a_clear_answer(service: Service, token: str) -> None:
    answer = sign_in(service, token)
    assert "This token is not valid here" in read(answer, 403).text
    assert "set-cookie" not in answer.headers


def test_an_admin_token_stays_out_of_the_browser(service: Service, campaign: Campaign) -> None:
    service.create(campaign)
    admin = service.admin["Authorization"].removeprefix("Bearer ")
    answer = sign_in(service, admin)
    kept = re.match(r"noutput_token=([^;]+)", answer.headers["set-cookie"])
    assert kept is not None
    assert kept[1] != admin
    jar = {"Cookie": f"noutput_token={kept[1]}"}
    assert "No report has come in yet" in read(get(service, PAGE, **jar)).text
    for value in (kept[1], admin):  # a cookie never allows a change, or to see tokens
        for method, path in (("GET", "/tokens"), ("POST", f"{PAGE}/close"), ("DELETE", PAGE)):
            refused = service.call(method, path, headers={"Cookie": f"noutput_token={value}"})
            assert problem(refused) == (401, "token-required")


def test_an_admin_token_has_one_token_for_reading_that_ends_with_it(
    service: Service, campaign: Campaign
) -> None:
    service.create(campaign)
    made = service.call("POST", "/tokens", json={"kind": "admin"}, headers=service.admin).json()
    cookies = {sign_in(service, made["token"]).headers["set-cookie"] for _ in range(3)}
    assert len(cookies) == 1
    assert len(service.store.tokens()) == 3  # two for administration, and one to read
    jar = {"Cookie": cookies.pop().partition(";")[0]}
    assert service.call("GET", f"{PAGE}/estimates", headers=jar).status_code == 200
    gone = service.call("DELETE", f"/tokens/{made['id']}", headers=service.admin)
    assert gone.status_code == 204
    assert problem(service.call("GET", f"{PAGE}/estimates", headers=jar)) == (401, "token-required")


def test_a_token_for_another_campaign(service: Service, campaign: Campaign) -> None:
    service.create(campaign)
    jar = {"Cookie": f"noutput_token={read_token(service, 'another')}"}
    assert "Your token is for another campaign" in read(get(service, PAGE, **jar)).text
    refused = service.call("GET", f"{PAGE}/estimates.csv", headers=jar)
    assert problem(refused) == (403, "token-not-sufficient")


@pytest.mark.parametrize(
    "headers",
    [{"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"},
     {"Origin": "https://evil.example"}, {"Origin": "null"}],
)  # fmt: skip
def test_forms_of_other_sites_are_refused(service: Service, headers: dict[str, str]) -> None:
    token = read_token(service)
    answer = sign_in(service, token, **headers)
    assert problem(answer) == (400, "bad-request")
    assert "set-cookie" not in answer.headers
    own = {"Origin": "http://collector"}
    assert sign_in(service, token, **own).status_code == 303
    behind_a_proxy = {"Origin": "https://collect.example", "Sec-Fetch-Site": "same-origin"}
    assert sign_in(service, token, **behind_a_proxy).status_code == 303


def test_broken_forms_are_refused(service: Service) -> None:
    assert service.call("POST", "/sign-in", content=b"\xff", headers=FORM).status_code == 400
    many = "&".join(f"a{i}=1" for i in range(99))
    assert service.call("POST", "/sign-in", content=many, headers=FORM).status_code == 400
    large = service.call("POST", "/sign-in", content="a=" + "1" * 5000, headers=FORM)
    assert problem(large) == (413, "body-too-large")


def test_a_campaign_that_is_not_open(service: Service, public: Campaign) -> None:
    fill(service, public, 50)
    service.clock.now = public.opens - timedelta(days=1)
    assert "Not open yet" in read(get(service, PAGE)).text
    service.clock.now = public.closes
    page = read(get(service, PAGE))
    assert "takes no answers any more" in page.text
    assert "It would have taken" in page.text
    assert not [tag for tag, attributes in page.tags if "data-poll" in attributes]


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
    attributes = (Attribute("length", "", *bounds),)
    campaign = dataclasses.replace(make_campaign(public=True, outputs=8), attributes=attributes)
    service.create(campaign)
    fill(service, campaign, 200)
    service.app.services.recorder.look()
    page = read(get(service, PAGE))
    assert "0.0000000000" not in page.text
    for export in ("estimates", "estimates.csv", "distribution.svg"):
        assert service.call("GET", f"{PAGE}/{export}").status_code == 200


def test_every_attribute_has_bins_of_round_width(service: Service) -> None:
    campaign = make_campaign(public=True, outputs=8)
    service.create(campaign)
    fill(service, campaign, 300)
    for name, step in (("minutes", "10 min"), ("rides", "0.5"), ("cost", "2.5 USD")):
        page = read(get(service, f"{PAGE}?attribute={name}"))
        assert f"Share of people in steps of {step}." in page.text


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
    pages = ("/", PAGE, "/sign-in", "/none", "/campaigns/none", f"{PAGE}?attribute=none")
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
    (mean, *_) = (row for row in table if row["attribute"] == "minutes")
    found = service.call("GET", f"{PAGE}/estimates?bins=72").json()["attributes"][0]
    assert (mean["statistic"], mean["unit"]) == ("mean", "min")
    assert float(mean["value"]) == found["mean"]["value"]
    assert [float(mean["low"]), float(mean["high"])] == found["mean"]["interval"]
    shares = [float(row["value"]) for row in table
              if row["statistic"] == "share" and row["attribute"] == "rides"]  # fmt: skip
    assert len(shares) == 72
    assert sum(shares) == pytest.approx(1.0)
    for name in ("minutes", "rides", "cost"):
        mine = [row for row in table if row["attribute"] == name]
        (expected,) = (each for each in service.call("GET", f"{PAGE}/estimates?bins=72").json()
                       ["attributes"] if each["name"] == name)  # fmt: skip
        (fit,) = (row for row in mine if row["statistic"] == "goodness_of_fit")
        assert float(fit["value"]) == expected["goodness_of_fit"]
        bars = [[float(row[column]) for column in ("from", "to", "value", "low", "high")]
                for row in mine if row["statistic"] == "histogram"]  # fmt: skip
        found = expected["histogram"]
        edges = found["edges"]
        columns = (edges[:-1], edges[1:], found["probabilities"], found["lower"], found["upper"])
        assert bars == [list(row) for row in zip(*columns, strict=True)]
    picture = get(service, f"{PAGE}/distribution.svg?attribute=cost").text
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
    service.report(draw_report(public, {"minutes": 1.0, "rides": 1.0, "cost": 1.0}))
    assert "One report is not enough" in read(get(service, PAGE)).text
