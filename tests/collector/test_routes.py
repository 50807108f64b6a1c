from __future__ import annotations

import json
import secrets
from datetime import timedelta

import pytest

from noutput.campaign import Campaign, Report, draw_report
from noutput.campaign.wire import BATCH_TYPE, REPORT_TYPE, encode_batch, encode_report
from noutput.collector.http.limits import Limits
from noutput.collector.store import open_store
from tests.campaign.examples import balanced_campaign
from tests.collector.conftest import make_campaign
from tests.collector.service import JSON, Service, problem, start_service

VALUES = {"minutes": 40.0, "rides": 2.0, "cost": 12.5}


def test_large_documents_are_compressed_for_those_who_accept_it(service: Service) -> None:
    """A table of the default size makes a document that gzip more than halves."""
    campaign = balanced_campaign()
    service.create(campaign)
    path = f"/campaigns/{campaign.id}"
    plain = service.call("GET", path, headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert plain.headers["etag"] == f'"{campaign.fingerprint}"'
    for accepted in ("gzip", "br, GZIP ; q=0.5"):
        small = service.call("GET", path, headers={"Accept-Encoding": accepted})
        assert small.headers["content-encoding"] == "gzip"
        assert small.headers["etag"] == f'W/"{campaign.fingerprint}"'
        assert int(small.headers["content-length"]) < len(plain.content) / 2
        assert small.content == plain.content  # decoded
        same = {"Accept-Encoding": accepted, "If-None-Match": small.headers["etag"]}
        assert service.call("GET", path, headers=same).status_code == 304
    for refused in ("", "br", "gzip;q=0", "gzip; q=0.000"):
        answer = service.call("GET", path, headers={"Accept-Encoding": refused})
        assert "content-encoding" not in answer.headers


def test_a_campaign_is_created_read_closed_and_deleted(
    service: Service, campaign: Campaign
) -> None:
    created = service.create(campaign)
    assert created.status_code == 201
    assert created.headers["location"] == "/campaigns/commute"
    assert service.create(campaign).status_code == 200
    assert problem(service.create(make_campaign(outputs=6))) == (409, "campaign-exists")

    found = service.call("GET", "/campaigns/commute")
    assert Campaign.from_json(found.text) == campaign
    tag = found.headers["etag"]
    assert tag == f'"{campaign.fingerprint}"'
    same = service.call("GET", "/campaigns/commute", headers={"If-None-Match": tag})
    assert (same.status_code, same.content) == (304, b"")

    closed = service.call("POST", "/campaigns/commute/close", headers=service.admin)
    assert closed.json()["state"] == "closed"
    report = draw_report(campaign, VALUES)
    assert problem(service.report(report)) == (403, "campaign-not-open")
    assert service.call("DELETE", "/campaigns/commute", headers=service.admin).status_code == 204
    assert problem(service.call("GET", "/campaigns/commute")) == (404, "unknown-campaign")
    assert problem(service.report(report)) == (404, "unknown-campaign")
    gone = service.call("DELETE", "/campaigns/commute", headers=service.admin)
    assert problem(gone) == (404, "unknown-campaign")


def test_a_report_is_counted_once(service: Service, campaign: Campaign) -> None:
    service.create(campaign)
    report = draw_report(campaign, VALUES)
    assert service.report(report).json() == {"accepted": 1, "repeated": 0}
    assert service.report(report).json() == {"accepted": 0, "repeated": 1}
    other = Report(report.campaign, "cost", (report.output + 1) % 5, report.id)
    assert service.report(other).json() == {"accepted": 0, "repeated": 1}
    assert service.total() == 1
    row = service.store.campaign("commute")
    assert row is not None
    place = campaign.question_indexes[report.question]
    assert service.store.counts(row.key) == {place * 5 + report.output: 1}


def test_the_three_forms_of_reports_agree(service: Service, campaign: Campaign) -> None:
    service.create(campaign)
    reports = [draw_report(campaign, VALUES) for _ in range(300)]
    assert service.batch(campaign, reports[:200]).json() == {"accepted": 200, "repeated": 0}
    body = encode_batch(reports)
    assert service.send(body, BATCH_TYPE).json() == {"accepted": 100, "repeated": 200}
    assert service.batch(campaign, reports).json() == {"accepted": 0, "repeated": 300}
    loose = json.dumps(json.loads(encode_report(reports[0])), indent=1).encode()
    answer = service.send(loose, f"{REPORT_TYPE.upper()}; charset=utf-8")
    assert answer.json() == {"accepted": 0, "repeated": 1}
    wanted: dict[int, int] = {}
    for report in reports:
        cell = campaign.question_indexes[report.question] * 5 + report.output
        wanted[cell] = wanted.get(cell, 0) + 1
    row = service.store.campaign("commute")
    assert row is not None
    assert service.store.counts(row.key) == wanted


def test_the_campaigns_time_is_kept(service: Service, campaign: Campaign) -> None:
    service.create(campaign)
    second = timedelta(seconds=1)
    for now, status in (
        (campaign.opens - second, 403), (campaign.opens, 200),
        (campaign.closes - second, 200), (campaign.closes, 403),
    ):  # fmt: skip
        service.clock.now = now
        assert service.report(draw_report(campaign, VALUES)).status_code == status
    assert service.total() == 2


def test_a_campaign_that_another_process_closed_counts_nothing(
    service: Service, campaign: Campaign
) -> None:
    service.create(campaign)
    assert service.report(draw_report(campaign, VALUES)).status_code == 200
    service.store.close_campaign("commute", "2026-05-01T00:00:00Z")
    assert problem(service.report(draw_report(campaign, VALUES))) == (403, "campaign-not-open")
    assert service.total() == 1


def test_administration_needs_a_token(service: Service, campaign: Campaign) -> None:
    read = service.call("POST", "/tokens", content='{"kind": "read"}',
                        headers={**service.admin, **JSON}).json()  # fmt: skip
    reader = {"Authorization": f"Bearer {read['token']}"}
    forged = {"Authorization": f"Bearer noutput_{read['id']}_{'A' * 43}"}
    unknown = {"Authorization": f"Bearer noutput_{'0' * 12}_{'A' * 43}"}
    for method, path in (
        ("POST", "/campaigns"), ("POST", "/campaigns/commute/close"),
        ("DELETE", "/campaigns/commute"), ("GET", "/tokens"), ("POST", "/tokens"),
        ("DELETE", f"/tokens/{read['id']}"),
    ):  # fmt: skip
        for headers in ({}, forged, unknown, {"Authorization": "Basic Zm9v"}):
            answer = service.call(method, path, headers=headers)
            assert problem(answer) == (401, "token-required")
            assert answer.headers["www-authenticate"].startswith("Bearer")
        refused = service.call(method, path, headers=reader)
        assert problem(refused) == (403, "token-not-sufficient")
    assert service.create(campaign).status_code == 201


def test_estimates_need_a_token_unless_public(service: Service, campaign: Campaign) -> None:
    service.create(campaign)
    service.create(make_campaign("open-to-all", public=True))

    def token(content: str) -> dict[str, str]:
        headers = {**service.admin, **JSON}
        made = service.call("POST", "/tokens", content=content, headers=headers)
        return {"Authorization": f"Bearer {made.json()['token']}"}

    path = "/campaigns/commute/estimates"
    anyone, own = token('{"kind": "read"}'), token('{"kind": "read", "campaign": "commute"}')
    other = token('{"kind": "read", "campaign": "open-to-all"}')
    assert problem(service.call("GET", path)) == (401, "token-required")
    assert problem(service.call("GET", path, headers=other)) == (403, "token-not-sufficient")
    for headers in (anyone, own, service.admin):
        assert service.call("GET", path, headers=headers).status_code == 200
    assert service.call("GET", "/campaigns/open-to-all/estimates").status_code == 200

    def listed(headers: dict[str, str]) -> list[str]:
        found = service.call("GET", "/campaigns", headers=headers).json()["campaigns"]
        return [entry["id"] for entry in found]

    assert listed({}) == ["open-to-all"]
    assert listed(other) == ["open-to-all"]
    assert listed(own) == ["commute", "open-to-all"]


def test_tokens_are_shown_once_and_can_be_taken_back(service: Service) -> None:
    headers = {**service.admin, **JSON}
    made = service.call("POST", "/tokens", content='{"kind": "admin"}', headers=headers).json()
    second = {"Authorization": f"Bearer {made['token']}"}
    listed = service.call("GET", "/tokens", headers=second)
    assert len(listed.json()["tokens"]) == 2
    assert made["token"] not in listed.text
    assert made["token"].split("_", 2)[2].encode() not in b"".join(
        row.salt + row.digest for row in service.store.tokens()
    )
    assert service.call("DELETE", f"/tokens/{made['id']}", headers=headers).status_code == 204
    assert problem(service.call("GET", "/tokens", headers=second)) == (401, "token-required")
    gone = service.call("DELETE", f"/tokens/{made['id']}", headers=headers)
    assert problem(gone) == (404, "unknown-token")


@pytest.mark.parametrize(
    "content",
    ["", "{}", "[]", "nonsense", '{"kind": "root"}', '{"kind": "read", "campaign": "A b"}',
     '{"kind": "read", "more": 1}'],
)  # fmt: skip
def test_bad_token_requests_are_refused(service: Service, content: str) -> None:
    headers = {**service.admin, **JSON}
    answer = service.call("POST", "/tokens", content=content, headers=headers)
    assert problem(answer) == (422, "invalid-parameter")


def test_a_table_that_is_not_private_is_not_kept(service: Service, campaign: Campaign) -> None:
    found = json.loads(campaign.to_json())
    found["tables"][0]["epsilon"] = 1.9
    headers = {**service.admin, **JSON}
    for content in (json.dumps(found).encode(), b"{}", b"\xff\xfe", b"[" * 100_000):
        answer = service.call("POST", "/campaigns", content=content, headers=headers)
        assert problem(answer) == (422, "invalid-campaign")
    answer = service.call("POST", "/campaigns", content=b"{}", headers=service.admin)
    assert problem(answer) == (415, "unsupported-media-type")
    assert service.store.campaigns() == []


def test_the_framework_refuses_with_problem_documents(service: Service) -> None:
    assert problem(service.call("GET", "/nothing")) == (404, "not-found")
    assert problem(service.call("GET", "/campaigns/")) == (404, "not-found")
    assert problem(service.call("PUT", "/campaigns")) == (405, "method-not-allowed")
    wrong = service.call("GET", "/campaigns/commute/reports")
    assert problem(wrong) == (405, "method-not-allowed")
    assert wrong.headers["allow"] == "OPTIONS, POST"
    path = "/campaigns/commute/estimates"
    for query in ("bins=3", "bins=x", "level=1", "level=nan"):
        assert problem(service.call("GET", f"{path}?{query}")) == (422, "invalid-parameter")


def test_too_many_requests_are_told_to_wait(tmp_path: object) -> None:
    store = open_store(f"{tmp_path}/rate.db")
    with start_service(store, Limits(requests_per_second=0.5, burst=3)) as service:
        answers = [service.call("GET", "/health") for _ in range(4)]
        assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
        assert problem(answers[-1]) == (429, "too-many-requests")
        assert answers[-1].headers["retry-after"] == "2"
    store.close()


def test_a_full_queue_says_when_to_come_back(tmp_path: object, campaign: Campaign) -> None:
    store = open_store(f"{tmp_path}/queue.db")
    with start_service(store) as service:
        service.create(campaign)
        service.app.services.metrics.queued = Limits().queued_reports
        answer = service.report(draw_report(campaign, VALUES))
        assert problem(answer) == (503, "unavailable")
        assert answer.headers["retry-after"] == "5"
        service.app.services.metrics.queued = 0
        assert service.report(draw_report(campaign, VALUES)).status_code == 200
    store.close()


def test_metrics_count_and_name_nobody(service: Service, campaign: Campaign) -> None:
    service.create(campaign)
    secret = draw_report(campaign, VALUES)
    service.report(secret)
    service.report(secret)
    service.send(b"", "text/plain")
    headers = {"User-Agent": secrets.token_hex(8), **service.admin}
    text = service.call("GET", "/metrics", headers=headers).text
    assert "noutput_reports_accepted_total 1\n" in text
    assert "noutput_reports_repeated_total 1\n" in text
    assert 'noutput_requests_refused_total{problem="unsupported-media-type"} 1\n' in text
    assert "noutput_commit_seconds_count 2\n" in text
    assert 'noutput_campaign_reports_total{campaign="commute"} 1\n' in text
    for hidden in (secret.id, "127.0.0.1"):
        assert hidden not in text


def test_health_follows_the_database(
    service: Service, monkeypatch: pytest.MonkeyPatch, campaign: Campaign
) -> None:
    assert service.call("GET", "/health").json()["status"] == "ok"
    service.create(campaign)

    from noutput.collector.store.interface import UnavailableError

    def fail(*_: object) -> None:
        raise UnavailableError("no database")

    for name in ("probe", "add"):
        monkeypatch.setattr(service.store, name, fail)
    answer = service.report(draw_report(campaign, VALUES))
    assert problem(answer) == (503, "unavailable")
    assert answer.headers["retry-after"]
    assert problem(service.call("GET", "/health")) == (503, "unavailable")
    assert service.call("GET", "/health/live").json()["status"] == "ok"


def test_health_doubts_a_database_that_did_not_answer_a_reader(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert service.call("GET", "/health").status_code == 200

    from noutput.collector.store.interface import UnavailableError

    def fail(*_: object) -> None:
        raise UnavailableError("no database")

    for name in ("probe", "campaigns"):
        monkeypatch.setattr(service.store, name, fail)
    assert problem(service.call("GET", "/campaigns")) == (503, "unavailable")
    assert problem(service.call("GET", "/health")) == (503, "unavailable")
