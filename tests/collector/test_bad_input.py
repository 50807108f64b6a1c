"""Bodies that break the wire format: documented refusals, and never a changed count."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from noutput.campaign import Campaign, Report, draw_report
from noutput.campaign.packed import HEADER_BYTES, decode_packed, encode_packed
from noutput.campaign.problems import WireError
from noutput.campaign.wire import (
    BATCH_TYPE,
    MAX_BATCH_BYTES,
    PACKED_TYPE,
    REPORT_TYPE,
    decode_batch,
    decode_report,
    encode_batch,
    encode_report,
)
from tests.collector.conftest import make_campaign, with_questions
from tests.collector.service import Service, problem

VALUES = {"minutes": 40.0, "rides": 2.0, "cost": 12.5}
REFUSALS = {
    "malformed-body": 400, "wrong-fingerprint": 409, "body-too-large": 413,
    "unknown-question": 422, "unknown-output": 422, "repeated-id": 422,
}  # fmt: skip
READERS: dict[str, Callable[[bytes, Campaign], list[Report]]] = {
    PACKED_TYPE: decode_packed,
    BATCH_TYPE: decode_batch,
    REPORT_TYPE: lambda body, campaign: [decode_report(body, campaign)],
}


async def post(service: Service, body: bytes, media: str) -> tuple[int, dict[str, Any]]:
    """Call the application directly: thousands a second."""
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http", "method": "POST", "path": "/campaigns/commute/reports", "root_path": "",
        "query_string": b"", "headers": [(b"content-type", media.encode())], "client": None,
    }  # fmt: skip
    await service.app(scope, receive, send)
    return sent[0]["status"], json.loads(sent[1]["body"])


def seeded_report(rng: random.Random, campaign: Campaign) -> Report:
    """Return a report that is the same in every run, unlike a device's."""
    question = rng.choice(campaign.questions).name
    output = rng.randrange(campaign.tables[0].n_outputs)
    return Report(campaign.fingerprint, question, output, rng.randbytes(16).hex())


def mutate(rng: random.Random, body: bytes) -> bytes:
    data = bytearray(body)
    for _ in range(rng.choice([1, 1, 1, 2, 5])):
        kind = rng.randrange(7)
        place = rng.randrange(len(data)) if data else 0
        if kind == 0 and data:
            data[place] ^= 1 << rng.randrange(8)
        elif kind == 1 and data:
            data[place] = rng.randrange(256)
        elif kind == 2:
            del data[place:]
        elif kind == 3:
            data[place:place] = rng.randbytes(rng.choice([1, 2, 16]))
        elif kind == 4:
            del data[place : place + rng.choice([1, 16])]
        elif kind == 5 and len(data) > HEADER_BYTES + 32:  # exchange two ids
            a, b = HEADER_BYTES, HEADER_BYTES + 16
            data[a : a + 16], data[b : b + 16] = data[b : b + 16], data[a : a + 16]
        elif kind == 6 and len(data) >= 8:  # another number of reports
            data[4:8] = rng.choice([0, 1, 9_999, 10_000, 10_001, 2**32 - 1]).to_bytes(4, "little")
    return bytes(data)


def expectation(media: str, body: bytes, campaign: Campaign) -> list[Report] | str:
    """Return the reports or the problem that the wire format's own reader finds."""
    try:
        return READERS[media](body, campaign)
    except WireError as error:
        return error.problem.name


async def check_all(
    service: Service, campaign: Campaign, media: str, bodies: list[bytes]
) -> Counter[str]:
    """Send bodies; each must be answered and counted as the format's own reader says."""
    found: Counter[str] = Counter()
    counted: set[str] = set()
    for body in bodies:
        wanted = expectation(media, body, campaign)
        status, content = await post(service, body, media)
        if isinstance(wanted, str):
            found[wanted] += 1
            assert content["type"] == f"urn:noutput:problem:{wanted}", (content, body)
            assert status == content["status"] == REFUSALS[wanted]
        else:
            found["counted"] += 1
            new = {report.id for report in wanted} - counted
            assert (status, content["accepted"]) == (200, len(new))
            counted |= new
    assert service.total() == len(counted)
    return found


def run(service: Service, work: Any) -> Any:
    return asyncio.run_coroutine_threadsafe(work, service._loop).result(300)


def test_20_000_random_and_mutated_packed_bodies(service: Service, campaign: Campaign) -> None:
    service.create(campaign)
    rng = random.Random(5)  # noqa: S311
    good = [
        encode_packed(campaign, [seeded_report(rng, campaign) for _ in range(size)])
        for size in (1, 2, 3, 8, 40)
    ]
    head = good[0][:HEADER_BYTES]
    bodies = [rng.randbytes(rng.randrange(200)) for _ in range(2_000)]
    bodies += [b"\x01" + rng.randbytes(rng.randrange(200)) for _ in range(2_000)]
    bodies += [head + rng.randbytes(rng.randrange(60)) for _ in range(2_000)]
    bodies += [mutate(rng, rng.choice(good)) for _ in range(14_000)]
    found = run(service, check_all(service, campaign, PACKED_TYPE, bodies))
    assert sum(found.values()) == 20_000
    assert {name for name, count in found.items() if count >= 10} >= {
        "malformed-body", "wrong-fingerprint", "body-too-large", "unknown-question",
        "unknown-output", "counted",
    }  # fmt: skip


@pytest.mark.parametrize("media", [REPORT_TYPE, BATCH_TYPE])
def test_mutated_json_bodies(service: Service, campaign: Campaign, media: str) -> None:
    service.create(campaign)
    rng = random.Random(6)  # noqa: S311
    reports = [draw_report(campaign, VALUES) for _ in range(3)]
    good = encode_report(reports[0]) if media == REPORT_TYPE else encode_batch(reports)
    bodies = [mutate(rng, good) for _ in range(2_000)]
    text = good.decode()
    for old, new in (
        ('"version":1', '"version":1.0'), ('"version":1', '"version":true'),
        ('"output":', '"output":-'), ('"output":', '"output":1'), ('"output":', '"output":00'),
        (reports[0].question, "nothing"), (reports[0].id, reports[0].id.upper()),
        (reports[0].id, "0" * 31), ("{", "{ "), ("{", '{"id":"x",'), ("}", ',"more":1}'),
        (campaign.fingerprint, "0" * 64), (campaign.fingerprint, ""), ('"output"', '"output "'),
    ):  # fmt: skip
        bodies.append(text.replace(old, new, 1).encode())
    bodies += [b"", b"null", b"[]", b"{}", b"[" * 1000, b"\xff", text.encode("utf-16"),
               b'{"version":NaN}', b"1" * 1000, text.encode() + b" " * 1024]  # fmt: skip
    found = run(service, check_all(service, campaign, media, bodies))
    assert set(found) <= {*REFUSALS, "counted"}


def test_every_documented_refusal(service: Service, campaign: Campaign) -> None:
    service.create(campaign)
    report = draw_report(campaign, VALUES)
    body = json.loads(encode_report(report))

    def single(**changes: object) -> tuple[int, str]:
        content = json.dumps({**body, **changes}).encode()
        return problem(service.send(content, REPORT_TYPE))

    assert single(campaign="0" * 64) == (409, "wrong-fingerprint")
    assert single(question="nothing") == (422, "unknown-question")
    assert single(output=5) == (422, "unknown-output")
    assert single(output=10**30) == (422, "unknown-output")
    assert single(id="x") == (400, "malformed-body")
    assert single(more=1) == (400, "malformed-body")
    twice = encode_batch([report, report])
    assert problem(service.send(twice, BATCH_TYPE)) == (422, "repeated-id")
    many = encode_packed(campaign, [draw_report(campaign, VALUES)])
    many = many[:8] + (10_001).to_bytes(4, "little") + many[12:]
    assert problem(service.send(many, PACKED_TYPE)) == (413, "body-too-large")
    media = problem(service.send(b"{}", "application/json"))
    assert media == (415, "unsupported-media-type")
    other = make_campaign("other")
    assert problem(service.send(b"{}", REPORT_TYPE, other.id)) == (404, "unknown-campaign")
    assert service.total() == 0


@pytest.mark.parametrize(
    ("media", "size"),
    [(REPORT_TYPE, 2049), (BATCH_TYPE, MAX_BATCH_BYTES + 1), (PACKED_TYPE, 1 << 18)],
)  # fmt: skip
def test_oversized_bodies_are_refused_unread(
    service: Service, campaign: Campaign, media: str, size: int
) -> None:
    service.create(campaign)
    answer = service.send(b" " * size, media)
    assert problem(answer) == (413, "body-too-large")
    assert answer.headers["connection"] == "close"
    assert service.total() == 0


def test_the_largest_batch_is_counted(service: Service, campaign: Campaign) -> None:
    service.create(campaign)
    reports = [draw_report(campaign, VALUES) for _ in range(10_000)]
    assert service.batch(campaign, reports).json() == {"accepted": 10_000, "repeated": 0}
    again = service.send(encode_batch(reports), BATCH_TYPE)
    assert again.json() == {"accepted": 0, "repeated": 10_000}


@pytest.mark.parametrize("outputs", [2, 16, 17, 256])
@pytest.mark.parametrize("questions", [1, 3])
def test_packed_columns_match_the_reader(outputs: int, questions: int) -> None:

    import numpy as np

    from noutput.collector.cells import CellLayout
    from noutput.collector.ingest.columns import read_columns

    campaign = make_campaign(outputs=outputs)
    campaign = with_questions(campaign, *campaign.questions[:questions])
    values = {each.name: 3.0 for each in campaign.questions}
    reports = [draw_report(campaign, values) for _ in range(33)]
    body = encode_packed(campaign, reports)
    ids, cells = read_columns(PACKED_TYPE.encode(), body, CellLayout(campaign))
    wanted = decode_packed(body, campaign)
    assert ids.hex() == "".join(report.id for report in wanted)
    assert np.frombuffer(cells, "<i4").tolist() == [
        campaign.question_indexes[report.question] * outputs + report.output for report in wanted
    ]
