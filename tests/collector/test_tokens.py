"""Tokens: whose they are, what they allow, and how they end."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from noutput.campaign import Campaign
from noutput.campaign.text import format_instant
from tests.collector.conftest import make_campaign
from tests.collector.dashboard.reader import PAGE, sign_in
from tests.collector.service import Service, problem


def make(service: Service, admin: dict[str, str] | None = None, **wanted: Any) -> dict[str, Any]:
    answer = service.call("POST", "/tokens", json=wanted, headers=admin or service.admin)
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


def bearer(made: dict[str, Any]) -> dict[str, str]:
    return {"Authorization": f"Bearer {made['token']}"}


def kept(answer: Any) -> dict[str, str]:
    return {"Cookie": answer.headers["set-cookie"].partition(";")[0]}


def test_a_deleted_sign_in_stays_deleted(service: Service, campaign: Campaign) -> None:
    service.create(campaign)
    admin = service.admin["Authorization"].removeprefix("Bearer ")
    jar = kept(sign_in(service, admin))
    known = service.call("GET", "/tokens", headers=service.admin).json()["tokens"]
    (derived,) = (each for each in known if each["kind"] == "read")
    gone = service.call("DELETE", f"/tokens/{derived['id']}", headers=service.admin)
    assert gone.status_code == 204
    again = kept(sign_in(service, admin))
    estimates = f"{PAGE}/estimates"
    assert service.call("GET", estimates, headers=again).status_code == 200
    assert problem(service.call("GET", estimates, headers=jar)) == (401, "token-required")


def test_a_token_does_not_follow_the_name_of_its_campaign(
    service: Service, campaign: Campaign
) -> None:
    service.create(campaign)
    reader = bearer(make(service, kind="read", campaign="commute"))
    assert service.call("GET", f"{PAGE}/estimates", headers=reader).status_code == 200
    assert service.call("DELETE", PAGE, headers=service.admin).status_code == 204
    service.create(make_campaign(outputs=6))
    refused = service.call("GET", f"{PAGE}/estimates", headers=reader)
    assert problem(refused) == (401, "token-required")


def test_metrics_need_a_token(service: Service, campaign: Campaign) -> None:
    service.create(campaign)
    assert problem(service.call("GET", "/metrics")) == (401, "token-required")
    one = bearer(make(service, kind="read", campaign="commute"))
    refused = service.call("GET", "/metrics", headers=one)
    assert problem(refused) == (403, "token-not-sufficient")
    for kind in ("metrics", "read", "admin"):
        scraper = bearer(make(service, kind=kind))
        assert "noutput_commit_seconds" in service.call("GET", "/metrics", headers=scraper).text


def test_a_metrics_token_allows_nothing_else(service: Service, campaign: Campaign) -> None:
    service.create(campaign)
    scraper = bearer(make(service, kind="metrics", label="Prometheus"))
    assert service.call("GET", "/campaigns", headers=scraper).json() == {"campaigns": []}
    for method, path in (
        ("GET", f"{PAGE}/estimates"), ("GET", "/tokens"), ("DELETE", PAGE),
        ("POST", f"{PAGE}/close"),
    ):  # fmt: skip
        refused = service.call(method, path, headers=scraper)
        assert problem(refused) == (403, "token-not-sufficient"), path
    one = {"kind": "metrics", "campaign": "commute"}
    refused = service.call("POST", "/tokens", json=one, headers=service.admin)
    assert problem(refused) == (422, "invalid-parameter")
    assert "campaign must be null for a metrics token; found 'commute'" in refused.json()["detail"]
    token = scraper["Authorization"].removeprefix("Bearer ")
    assert sign_in(service, token).status_code == 403


def test_an_administrator_of_one_campaign(service: Service, campaign: Campaign) -> None:
    service.create(campaign)
    other = make_campaign("other")
    service.create(other)
    foreign = make(service, kind="read", campaign="other")
    own = bearer(make(service, kind="admin", campaign="commute", label="Commute team"))
    insufficient = (403, "token-not-sufficient")

    def call(method: str, path: str, **options: Any) -> Any:
        return service.call(method, path, headers=own, **options)

    assert call("GET", f"{PAGE}/estimates").status_code == 200
    listed = call("GET", "/campaigns").json()["campaigns"]
    assert [each["id"] for each in listed] == ["commute"]
    assert [each["label"] for each in call("GET", "/tokens").json()["tokens"]] == ["Commute team"]
    reader = make(service, own, kind="read", campaign="commute")
    for wanted in (
        {"kind": "read"}, {"kind": "admin"}, {"kind": "metrics"},
        {"kind": "read", "campaign": "other"},
    ):  # fmt: skip
        assert problem(call("POST", "/tokens", json=wanted)) == insufficient
    assert problem(call("DELETE", f"/tokens/{foreign['id']}")) == (404, "unknown-token")
    assert call("DELETE", f"/tokens/{reader['id']}").status_code == 204
    assert problem(call("GET", "/campaigns/other/estimates")) == insufficient
    assert problem(call("POST", "/campaigns/other/close")) == insufficient
    assert problem(call("DELETE", "/campaigns/other")) == insufficient
    document = {"content": make_campaign("third").to_json()}
    assert problem(call("POST", "/campaigns", **document)) == insufficient
    assert call("POST", f"{PAGE}/close").status_code == 200
    assert call("DELETE", PAGE).status_code == 204
    assert problem(call("GET", "/tokens")) == (401, "token-required")  # it ends with its campaign


def test_a_token_that_is_not_valid_is_refused_where_none_is_needed(service: Service) -> None:
    """Else, an operator would take what everybody sees for all that there is."""
    service.create(make_campaign(public=True))
    made = make(service, kind="admin")
    assert service.call("DELETE", f"/tokens/{made['id']}", headers=service.admin).status_code == 204
    altered = {"token": made["token"][:-1]}
    for path in ("/campaigns", PAGE, f"{PAGE}/estimates"):
        assert service.call("GET", path).status_code == 200
        for wrong in (made, altered):
            refused = service.call("GET", path, headers=bearer(wrong))
            assert problem(refused) == (401, "token-required")
            assert "is not valid: it is unknown, was revoked or has expired" in refused.text
            assert refused.headers["www-authenticate"].startswith("Bearer")
        for other in ("Basic bm91dHB1dA==", "Bearer of-something-else"):  # a proxy's, not ours
            answer = service.call("GET", path, headers={"Authorization": other})
            assert answer.status_code == 200
        stale = {"Cookie": f"noutput_token={made['token']}"}  # a browser sends it by itself
        assert service.call("GET", path, headers=stale).status_code == 200


def test_a_token_expires_for_good(service: Service, campaign: Campaign) -> None:
    service.create(campaign)
    end = service.clock.now + timedelta(days=2)
    made = make(service, kind="read", expires=format_instant(end))
    service.clock.now = end - timedelta(seconds=1)
    assert service.call("GET", f"{PAGE}/estimates", headers=bearer(made)).status_code == 200
    service.clock.now = end
    for _ in range(2):
        refused = service.call("GET", f"{PAGE}/estimates", headers=bearer(made))
        assert problem(refused) == (401, "token-required")
        service.clock.now = end - timedelta(days=1)  # a clock that is set back changes nothing
    assert service.store.token(made["id"]) is None


def test_no_token_outlives_the_one_that_made_it(service: Service, campaign: Campaign) -> None:
    service.create(campaign)
    end = service.clock.now + timedelta(days=2)
    short = make(service, kind="admin", expires=format_instant(end))
    later = format_instant(end + timedelta(seconds=1))
    for wanted in ({"kind": "read"}, {"kind": "read", "expires": later}):
        answer = service.call("POST", "/tokens", json=wanted, headers=bearer(short))
        assert problem(answer) == (422, "invalid-parameter")
    make(service, bearer(short), kind="read", expires=format_instant(end))
    jar = kept(sign_in(service, short["token"]))
    service.clock.now = end
    refused = service.call("GET", f"{PAGE}/estimates", headers=jar)
    assert problem(refused) == (401, "token-required")


def test_the_last_use_is_known_to_the_day(service: Service, campaign: Campaign) -> None:
    service.create(campaign)
    made = make(service, kind="read", label="Wall display")
    assert made["last_used"] is None

    def use(days: int) -> Any:
        service.clock.now += timedelta(days=days, hours=1)
        service.call("GET", "/campaigns", headers=bearer(made))
        row = service.store.token(made["id"])
        assert row is not None
        return row.last_used

    assert use(0) == "2026-05-01"
    assert use(0) == "2026-05-01"
    assert use(3) == "2026-05-04"
    assert use(-2) == "2026-05-04"
    listed = service.call("GET", "/tokens", headers=service.admin).json()["tokens"]
    (shown,) = (each for each in listed if each["id"] == made["id"])
    assert shown == {
        "id": made["id"], "kind": "read", "campaign": None, "label": "Wall display",
        "created": "2026-05-01T00:00:00Z", "expires": None, "last_used": "2026-05-04",
        "parent": None,
    }  # fmt: skip


def test_signing_out_ends_the_token_of_the_browser(service: Service, campaign: Campaign) -> None:
    service.create(campaign)
    admin = service.admin["Authorization"].removeprefix("Bearer ")
    jar = kept(sign_in(service, admin))
    assert len(service.store.tokens()) == 2
    assert service.call("POST", "/sign-out", headers=jar).status_code == 303
    assert [row.kind for row in service.store.tokens()] == ["admin"]
    refused = service.call("GET", f"{PAGE}/estimates", headers=jar)
    assert problem(refused) == (401, "token-required")
    given = make(service, kind="read")  # a token that somebody was given is not the browser's
    jar = {"Cookie": f"noutput_token={given['token']}"}
    service.call("POST", "/sign-out", headers=jar)
    assert service.store.token(given["id"]) is not None


@pytest.mark.parametrize(
    "wanted",
    [{"kind": "read", "label": "x" * 101}, {"kind": "read", "label": "a\nb"},
     {"kind": "read", "expires": "tomorrow"}, {"kind": "read", "expires": "2026-05-01T00:00:00Z"},
     {"kind": "metrics", "campaign": "commute"}],
)  # fmt: skip
def test_a_bad_request_says_which_rule_it_breaks(
    service: Service, campaign: Campaign, wanted: dict[str, str]
) -> None:
    service.create(campaign)
    answer = service.call("POST", "/tokens", json=wanted, headers=service.admin)
    assert problem(answer) == (422, "invalid-parameter")
    assert list(wanted)[1] in answer.json()["detail"]


def test_a_token_needs_a_campaign_that_exists(service: Service) -> None:
    wanted = {"kind": "read", "campaign": "commute"}
    answer = service.call("POST", "/tokens", json=wanted, headers=service.admin)
    assert problem(answer) == (404, "unknown-campaign")
