"""Only those who have a token are counted, once each."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from noutput.campaign import Campaign, Report, draw_report, draw_reports
from noutput.campaign.packed import encode_packed
from noutput.campaign.tokens import MAX_SIGNED, new_token, read_token, report_id, write_token
from noutput.campaign.wire import (
    BATCH_TYPE,
    PACKED_TYPE,
    REPORT_TYPE,
    encode_batch,
    encode_report,
)
from noutput.collector.ingest import admission as gates
from noutput.collector.store import open_store
from noutput.collector.store.archive import export_campaign, restore
from noutput.collector.store.interface import Store
from tests.campaign.examples import answers_to, late_campaign
from tests.campaign.tokens import anonymous_campaign, signed_report, signed_token, token_campaign
from tests.collector.service import JSON, Service, problem, start_service

TOKEN = token_campaign()
ANONYMOUS = anonymous_campaign()


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    store = open_store(str(tmp_path / "reports.db"))
    with start_service(store) as running:
        yield running
    store.close()


def issue(service: Service, count: int, name: str = "late") -> list[str]:
    headers = {**service.admin, **JSON}
    body = json.dumps({"count": count})
    answer = service.call("POST", f"/campaigns/{name}/tokens", content=body, headers=headers)
    assert answer.status_code == 201, answer.text
    tokens: list[str] = answer.json()["tokens"]
    assert len(set(tokens)) == count
    return tokens


def send(service: Service, report: Report) -> tuple[int, object]:
    answer = service.send(encode_report(report), REPORT_TYPE, "late")
    return (200, answer.json()) if answer.status_code == 200 else problem(answer)


def test_a_token_is_counted_once(service: Service) -> None:
    assert service.create(TOKEN).status_code == 201
    first, second = issue(service, 2)
    report = draw_report(TOKEN, "yes", first)
    assert send(service, report) == (200, {"accepted": 1, "repeated": 0})
    assert send(service, report) == (200, {"accepted": 0, "repeated": 1})
    # whatever else the token says, it is the same report
    other = replace(report, output=1 - report.output)
    assert send(service, other) == (200, {"accepted": 0, "repeated": 1})
    assert send(service, replace(report, id="f" * 32)) == (403, "invalid-token")
    assert send(service, draw_report(TOKEN, "no", second)) == (200, {"accepted": 1, "repeated": 0})
    assert service.total("late") == 2


def test_tokens_that_nobody_issued_are_refused(service: Service) -> None:
    service.create(TOKEN)
    issue(service, 1)
    assert send(service, draw_report(TOKEN, "yes", new_token())) == (403, "invalid-token")
    answer = service.send(encode_report(Report(TOKEN.fingerprint, "late", 1)), REPORT_TYPE, "late")
    assert problem(answer) == (400, "malformed-body")
    assert service.total("late") == 0


def test_tokens_of_another_campaign_are_refused(service: Service) -> None:
    service.create(TOKEN)
    service.create(token_campaign("other"))
    (token,) = issue(service, 1, "other")
    assert send(service, draw_report(TOKEN, "yes", token)) == (403, "invalid-token")


@pytest.mark.parametrize("media", [BATCH_TYPE, PACKED_TYPE])
def test_a_batch_with_one_bad_token_is_refused_as_a_whole(service: Service, media: str) -> None:
    service.create(TOKEN)
    tokens = issue(service, 30)
    reports = [draw_report(TOKEN, "yes", token) for token in tokens]
    reports[7] = draw_report(TOKEN, "yes", new_token())
    for bad in (True, False):
        entries = reports if bad else [*reports[:7], *reports[8:]]
        body = encode_batch(entries) if media == BATCH_TYPE else encode_packed(TOKEN, entries)
        answer = service.send(body, media, "late")
        if bad:
            assert problem(answer) == (403, "invalid-token")
            place = sorted(entries, key=lambda each: each.id) if media == PACKED_TYPE else entries
            assert f"reports[{place.index(reports[7])}].token" in answer.json()["detail"]
            assert service.total("late") == 0
        else:
            assert answer.json() == {"accepted": 29, "repeated": 0}
    assert service.total("late") == 29


def test_signed_tokens_are_counted_once(service: Service) -> None:
    service.create(ANONYMOUS)
    report = signed_report(ANONYMOUS)
    with ThreadPoolExecutor(8) as pool:
        outputs = [replace(report, output=place % 2) for place in range(8)]
        answers = list(pool.map(lambda each: send(service, each), outputs))
    assert all(status == 200 for status, _ in answers)
    assert [found for _, found in answers].count({"accepted": 1, "repeated": 0}) == 1
    assert service.total("late") == 1


def forged(campaign: Campaign, change: int) -> Report:
    """Return a report whose token differs from a good one in one byte."""
    token = bytearray(read_token(campaign, signed_token(campaign)))
    token[change] ^= 1
    text, data = write_token(campaign, bytes(token)), bytes(token)
    return Report(campaign.fingerprint, "late", 1, report_id(campaign, data, 0), token=text)


@pytest.mark.parametrize("change", [0, 31, 32, 287])
def test_forged_signatures_are_refused(service: Service, change: int) -> None:
    service.create(ANONYMOUS)
    assert send(service, forged(ANONYMOUS, change)) == (403, "invalid-token")
    assert service.total("late") == 0


def test_signatures_for_another_campaign_are_refused(service: Service) -> None:
    service.create(ANONYMOUS)
    other = anonymous_campaign("other")
    token = signed_token(other)  # by the same issuer, with the same key
    report = Report(ANONYMOUS.fingerprint, "late", 1, token=token)
    assert send(service, report) == (403, "invalid-token")
    moved = write_token(ANONYMOUS, read_token(other, token))
    assert send(service, draw_report(ANONYMOUS, "yes", moved)) == (403, "invalid-token")


@pytest.mark.parametrize("media", [BATCH_TYPE, PACKED_TYPE])
def test_bad_signatures_cost_one_verification(
    service: Service, media: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.create(ANONYMOUS)
    reports = []
    for place in range(MAX_SIGNED):
        data = place.to_bytes(32) + bytes(256)
        parts = (report_id(ANONYMOUS, data, 0), write_token(ANONYMOUS, data))
        reports.append(Report(ANONYMOUS.fingerprint, "late", 1, *parts))
    verified: list[int] = []
    refused = gates.refused_token

    def note(place: int, rule: str) -> object:
        verified.append(place)
        return refused(place, rule)

    monkeypatch.setattr(gates, "refused_token", note)
    body = encode_batch(reports) if media == BATCH_TYPE else encode_packed(ANONYMOUS, reports)
    assert problem(service.send(body, media, "late")) == (403, "invalid-token")
    assert verified == [0]


def test_a_batch_has_a_bounded_number_of_signatures(service: Service) -> None:
    service.create(ANONYMOUS)
    entry = {"question": "late", "output": 1, "id": "0" * 32, "token": "A" * 472}
    head = {"version": 1, "campaign": ANONYMOUS.fingerprint}
    body = json.dumps({**head, "reports": [entry] * (MAX_SIGNED + 1)}).encode()
    assert problem(service.send(body, BATCH_TYPE, "late")) == (413, "body-too-large")
    count = MAX_SIGNED + 1
    packed = bytearray(encode_packed(ANONYMOUS, [signed_report(ANONYMOUS)]))
    packed[8:12] = count.to_bytes(4, "little")
    packed += bytes(16 * count)
    assert problem(service.send(bytes(packed), PACKED_TYPE, "late")) == (413, "body-too-large")


def test_a_token_is_spent_once_per_question(service: Service) -> None:
    campaign = anonymous_campaign("late", ask="all")
    service.create(campaign)
    token = signed_token(campaign)
    values = answers_to(campaign)
    reports = draw_reports(campaign, values, token)
    assert len({report.id for report in reports}) == len(reports) == 6
    for report in reports:
        assert send(service, report) == (200, {"accepted": 1, "repeated": 0})
    moved = replace(reports[0], question="stars", output=0)
    assert send(service, moved) == (403, "invalid-token")
    again = draw_reports(campaign, values, token)
    assert [send(service, each)[1] for each in again] == [{"accepted": 0, "repeated": 1}] * 6


def test_open_campaigns_take_no_tokens(service: Service) -> None:
    campaign = late_campaign()
    service.create(campaign)
    report = Report(campaign.fingerprint, "late", 1, token=new_token())
    assert send(service, report) == (400, "malformed-body")
    answer = service.call(
        "POST", "/campaigns/late/tokens", content='{"count": 1}', headers={**service.admin, **JSON}
    )
    assert problem(answer) == (422, "invalid-parameter")


@pytest.mark.parametrize("count", [0, 10_001, "many"])
def test_other_numbers_of_tokens_are_refused(service: Service, count: object) -> None:
    service.create(TOKEN)
    headers = {**service.admin, **JSON}
    body = json.dumps({"count": count})
    answer = service.call("POST", "/campaigns/late/tokens", content=body, headers=headers)
    assert problem(answer) == (422, "invalid-parameter")
    answer = service.call("POST", "/campaigns/late/tokens", content=body, headers=JSON)
    assert problem(answer) == (401, "token-required")


def test_issued_tokens_move_with_their_campaign(store: Store, tmp_path: Path) -> None:
    row, _ = store.create(TOKEN.id, TOKEN.fingerprint, TOKEN.to_json(), "2026-05-01T00:00:00Z")
    digests = [bytes([place]) * 16 for place in range(40)]
    assert store.issue(row.key, digests[:39])
    assert not store.issue(row.key + 1, digests[39:])
    export_campaign(store, "late", tmp_path / "late.noutput")
    copy = open_store(str(tmp_path / "copy.db"))
    try:
        (moved,) = restore(copy, tmp_path / "late.noutput")
        assert copy.issued(moved.key, digests) == [True] * 39 + [False]
        assert copy.count_issued(moved.key) == 39
    finally:
        copy.close()
    assert store.delete("late")
    assert store.issued(row.key, digests) == [False] * 40


def test_nothing_of_a_token_is_in_the_file(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "reports.db"))
    with start_service(store) as service:
        service.create(TOKEN)
        (token,) = issue(service, 1)
        send(service, draw_report(TOKEN, "yes", token))
    store.close()
    data = (tmp_path / "reports.db").read_bytes()
    assert token.encode() not in data
    assert read_token(TOKEN, token) not in data
