"""Who sees what: private campaigns, signing in, and the cookie."""

from __future__ import annotations

import re

import httpx
import pytest

from noutput.campaign import Campaign
from tests.collector.conftest import make_campaign
from tests.collector.dashboard.reader import FORM, PAGE, fill, get, read, read_token, sign_in
from tests.collector.service import Service, problem


def test_a_private_campaign_shows_its_question_only(service: Service, campaign: Campaign) -> None:
    service.create(campaign)
    fill(service, campaign, 321)
    page = read(get(service, PAGE))
    assert campaign.text in page.text
    assert "The results are not public" in page.text
    assert "Make my report" in page.text
    assert "321" not in page.text
    assert campaign.text not in read(get(service, "/")).text
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
    assert campaign.text in read(get(service, "/", **jar)).text
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


def test_what_browsers_keep_ends_with_the_admin_token(service: Service, campaign: Campaign) -> None:
    service.create(campaign)
    made = service.call("POST", "/tokens", json={"kind": "admin"}, headers=service.admin).json()
    cookies = {sign_in(service, made["token"]).headers["set-cookie"] for _ in range(3)}
    assert len(cookies) == 3  # one per browser, which can be deleted without the others
    known = [row for row in service.store.tokens() if row.parent == made["id"]]
    assert [(row.label, row.kind) for row in known] == [("sign-in", "read")] * 3
    assert {row.expires for row in known} == {"2026-05-31T00:00:00Z"}
    jars = [{"Cookie": cookie.partition(";")[0]} for cookie in cookies]
    for jar in jars:
        assert service.call("GET", f"{PAGE}/estimates", headers=jar).status_code == 200
    gone = service.call("DELETE", f"/tokens/{made['id']}", headers=service.admin)
    assert gone.status_code == 204
    for jar in jars:
        refused = service.call("GET", f"{PAGE}/estimates", headers=jar)
        assert problem(refused) == (401, "token-required")


def test_a_token_for_another_campaign(service: Service, campaign: Campaign) -> None:
    service.create(campaign)
    service.create(make_campaign("another"))
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
