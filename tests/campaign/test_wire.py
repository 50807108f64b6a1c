from __future__ import annotations

import json
import pickle
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noutput.campaign import Campaign, Report
from noutput.campaign.packed import decode_packed, encode_packed, open_packed
from noutput.campaign.problems import PROBLEMS, WireError
from noutput.campaign.wire import (
    BATCH_TYPE,
    MAX_BATCH,
    PACKED_TYPE,
    REPORT_TYPE,
    decode_batch,
    decode_report,
    encode_batch,
    encode_report,
)
from noutput.errors import InvalidArgumentError
from tests.campaign.examples import commute_campaign, salary_campaign, survey_campaign
from tests.campaign.vectors import vectors

DOCS = Path(__file__).parents[2] / "docs" / "wire.md"
CAMPAIGN = salary_campaign()
NAMES = list(CAMPAIGN.question_indexes)


def reports(count: int, seed: int = 1) -> list[Report]:
    rng = random.Random(seed)  # noqa: S311 (a test)
    return [
        Report(
            CAMPAIGN.fingerprint,
            rng.choice(NAMES),
            rng.randrange(16),
            f"{rng.getrandbits(128):032x}",
        )
        for _ in range(count)
    ]


def by_id(entries: list[Report]) -> list[Report]:
    return sorted(entries, key=lambda report: report.id)


@pytest.mark.parametrize("count", [1, 2, 3, 8, 1000, MAX_BATCH])
def test_batches_round_trip(count: int) -> None:
    entries = reports(count)
    assert decode_batch(encode_batch(entries), CAMPAIGN) == entries
    packed = encode_packed(CAMPAIGN, entries)
    assert decode_packed(packed, CAMPAIGN) == by_id(entries)
    assert len(packed) == 44 + 16 * count + (6 * count + 7) // 8


def test_a_report_round_trips() -> None:
    (report,) = reports(1)
    assert decode_report(encode_report(report), CAMPAIGN) == report


def test_one_question_takes_no_bits() -> None:
    campaign = commute_campaign()
    entries = [Report(campaign.fingerprint, "commute", i % 3) for i in range(9)]
    packed = encode_packed(campaign, entries)
    assert len(packed) == 44 + 16 * 9 + 3
    assert decode_packed(packed, campaign) == by_id(entries)


WIRE = vectors("wire")
CASES = [*WIRE["cases"], vectors("balanced")]


@pytest.mark.parametrize("found", CASES, ids=range(len(CASES)))
def test_bodies_agree_with_the_vectors(found: dict[str, Any]) -> None:
    campaign = Campaign.from_json(found["campaign"])
    entries = [Report(**entry) for entry in found["reports"]]
    single, batch, packed = (bytes.fromhex(case["body"]) for case in found["bodies"])
    assert [case["type"] for case in found["bodies"]] == [REPORT_TYPE, BATCH_TYPE, PACKED_TYPE]
    assert decode_report(single, campaign) == entries[0]
    assert decode_batch(batch, campaign) == entries
    assert decode_packed(packed, campaign) == by_id(entries)
    assert encode_report(entries[0]) == single
    assert encode_batch(entries) == batch
    assert encode_packed(campaign, entries) == packed


def edited(**changes: Any) -> bytes:
    content = json.loads(encode_report(reports(1)[0]))
    content.update(changes)
    return json.dumps({k: v for k, v in content.items() if v is not Ellipsis}).encode()


REFUSED_REPORTS = {
    "empty": (b"", "malformed-body"),
    "noise": (b"\xff\xfe", "malformed-body"),
    "utf-16": ("{}".encode("utf-16"), "malformed-body"),
    "list": (b"[]", "malformed-body"),
    "twice": (b'{"version":1,"version":1}', "malformed-body"),
    "deep": (b'{"a":' * 150, "malformed-body"),
    "long": (b" " * 2049, "body-too-large"),
    "newer": (edited(version=2), "malformed-body"),
    "version true": (edited(version=True), "malformed-body"),
    "missing": (edited(id=...), "malformed-body"),
    "extra": (edited(value=42), "malformed-body"),
    "fingerprint": (edited(campaign="0" * 64), "wrong-fingerprint"),
    "fingerprint null": (edited(campaign=None), "wrong-fingerprint"),
    "question": (edited(question="height"), "unknown-question"),
    "question place": (edited(question=0), "malformed-body"),
    "question list": (edited(question=[]), "malformed-body"),
    "output": (edited(output=16), "unknown-output"),
    "output negative": (edited(output=-1), "unknown-output"),
    "output true": (edited(output=True), "malformed-body"),
    "output float": (edited(output=1.0), "malformed-body"),
    "output huge": (edited(output=10**300), "unknown-output"),
    "id short": (edited(id="f" * 31), "malformed-body"),
    "id capitals": (edited(id="F" * 32), "malformed-body"),
    "id line feed": (edited(id="f" * 32 + "\n"), "malformed-body"),
    "id number": (edited(id=3), "malformed-body"),
}


@pytest.mark.parametrize(("body", "problem"), REFUSED_REPORTS.values(), ids=REFUSED_REPORTS.keys())
def test_bad_reports_are_refused_by_name(body: bytes, problem: str) -> None:
    with pytest.raises(WireError, match="must") as caught:
        decode_report(body, CAMPAIGN)
    assert caught.value.problem.name == problem


def edited_batch(entries: Any) -> bytes:
    return json.dumps({"version": 1, "campaign": CAMPAIGN.fingerprint, "reports": entries}).encode()


ENTRY = {"question": "age", "output": 1, "id": "f" * 32}
REFUSED_BATCHES = {
    "empty": ([], "malformed-body"),
    "no list": ({}, "malformed-body"),
    "numbers": ([1], "malformed-body"),
    "extra": ([{**ENTRY, "value": 1}], "malformed-body"),
    "same id": ([ENTRY, {**ENTRY, "output": 2}], "repeated-id"),
    "output": ([ENTRY, {**ENTRY, "id": "0" * 32, "output": 16}], "unknown-output"),
    "question": ([{**ENTRY, "question": "x"}], "unknown-question"),
    "many": ([{**ENTRY, "id": f"{i:032x}"} for i in range(MAX_BATCH + 1)], "body-too-large"),
}


@pytest.mark.parametrize(("entries", "problem"), REFUSED_BATCHES.values(), ids=REFUSED_BATCHES)
def test_bad_batches_are_refused_by_name(entries: Any, problem: str) -> None:
    with pytest.raises(WireError, match="must") as caught:
        decode_batch(edited_batch(entries), CAMPAIGN)
    assert caught.value.problem.name == problem


PACKED = encode_packed(CAMPAIGN, reports(5))


def with_byte(place: int, value: int) -> bytes:
    return PACKED[:place] + bytes([value]) + PACKED[place + 1 :]


SWAPPED = PACKED[:44] + PACKED[60:76] + PACKED[44:60] + PACKED[76:]
DOUBLED = PACKED[:44] + PACKED[44:60] + PACKED[44:60] + PACKED[76:]
REFUSED_PACKED = {
    "empty": (b"", "malformed-body"),
    "version 0": (with_byte(0, 0), "malformed-body"),
    "version 2": (with_byte(0, 2), "malformed-body"),
    "header only": (PACKED[:43], "malformed-body"),
    "question bits": (with_byte(3, 3), "malformed-body"),
    "output bits": (with_byte(4, 5), "malformed-body"),
    "token bytes": (with_byte(6, 1), "malformed-body"),
    "one more": (with_byte(8, 6), "malformed-body"),
    "none": (with_byte(8, 0), "malformed-body"),
    "millions": (with_byte(10, 255), "body-too-large"),
    "fingerprint": (with_byte(12, PACKED[12] ^ 1), "wrong-fingerprint"),
    "short": (PACKED[:-1], "malformed-body"),
    "long": (PACKED + b"\0", "malformed-body"),
    "padding": (with_byte(len(PACKED) - 1, PACKED[-1] | 1), "malformed-body"),
    "order": (SWAPPED, "malformed-body"),
    "same id": (DOUBLED, "repeated-id"),
    "question": (with_byte(124, PACKED[124] | 0b1100_0000), "unknown-question"),
}


@pytest.mark.parametrize(("body", "problem"), REFUSED_PACKED.values(), ids=REFUSED_PACKED)
def test_bad_packed_batches_are_refused_by_name(body: bytes, problem: str) -> None:
    with pytest.raises(WireError, match="must") as caught:
        decode_packed(body, CAMPAIGN)
    assert caught.value.problem.name == problem


def test_columns_can_be_read_at_once() -> None:
    entries = reports(1001)
    batch = open_packed(encode_packed(CAMPAIGN, entries), CAMPAIGN)
    bits = np.unpackbits(np.frombuffer(batch.answers, np.uint8), count=batch.count * batch.width)
    answers = bits.reshape(batch.count, batch.width) @ (1 << np.arange(batch.width)[::-1])
    places, outputs = np.divmod(answers, 1 << batch.output_bits)
    strata = [0] * batch.count
    each = zip(strata, places.tolist(), outputs.tolist(), strict=True)
    assert list(each) == list(batch.each_answer())
    ids = np.frombuffer(batch.ids, ">u8").reshape(-1, 2)
    assert [f"{high:016x}{low:016x}" for high, low in ids.tolist()] == [
        report.id for report in by_id(entries)
    ]


def test_an_output_beyond_the_table_is_refused() -> None:
    campaign = commute_campaign()  # three outputs in two bits
    packed = encode_packed(campaign, [Report(campaign.fingerprint, "commute", 2)])
    with pytest.raises(WireError) as caught:
        decode_packed(packed[:-1] + b"\xc0", campaign)
    assert caught.value.problem.name == "unknown-output"


def test_writers_refuse_what_readers_would() -> None:
    other = Report("0" * 64, "age", 1)
    (mine,) = reports(1)
    with pytest.raises(InvalidArgumentError, match="one campaign"):
        encode_batch([mine, other])
    with pytest.raises(InvalidArgumentError, match="campaign must be"):
        encode_packed(CAMPAIGN, [other])
    with pytest.raises(WireError, match="differ"):
        encode_packed(CAMPAIGN, [mine, mine])
    for encode in (encode_batch, lambda entries: encode_packed(CAMPAIGN, entries)):
        with pytest.raises(WireError, match="at least one"):
            encode([])


@settings(max_examples=300)
@given(st.data())
def test_mutated_packed_batches_are_read_fully_or_refused(data: st.DataObject) -> None:
    body = bytearray(PACKED)
    for _ in range(data.draw(st.integers(1, 4))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    try:
        entries = decode_packed(bytes(body), CAMPAIGN)
    except WireError:
        pass
    else:
        assert encode_packed(CAMPAIGN, entries) == bytes(body)


@settings(max_examples=300)
@given(st.binary(max_size=200), st.integers(0, 2))
def test_noise_is_refused(noise: bytes, kind: int) -> None:
    decode = (decode_report, decode_batch, decode_packed)[kind]
    with pytest.raises(WireError):
        decode(noise, CAMPAIGN)


def test_every_problem_is_documented() -> None:
    text = DOCS.read_text(encoding="utf-8")
    for problem in PROBLEMS.values():
        assert 400 <= problem.status < 500 or problem.name == "unavailable"
        assert f"| `{problem.name}` | {problem.status} |" in text
        assert problem.type == f"urn:noutput:problem:{problem.name}"
    for kind in (REPORT_TYPE, BATCH_TYPE, PACKED_TYPE):
        assert f"`{kind}`" in text


def test_errors_survive_pickling() -> None:
    error = WireError("repeated-id", "id", "differ", "f")
    twin = pickle.loads(pickle.dumps(error))  # noqa: S301
    assert (str(twin), twin.problem) == (str(error), error.problem)


@pytest.mark.parametrize(
    "parts",
    [("0" * 63, "a", 0), ("0" * 64, "", 0), ("0" * 64, "a", 256), ("0" * 64, "a", 1.0)],
    ids=range(4),
)
def test_a_report_is_valid_from_birth(parts: tuple[Any, ...]) -> None:
    with pytest.raises(InvalidArgumentError, match="must"):
        Report(*parts)


def test_ids_are_new() -> None:
    assert len({Report("0" * 64, "a", 0).id for _ in range(100)}) == 100


REFUSED = {case["why"]: case for case in WIRE["refused"]}
DECODERS = {REPORT_TYPE: decode_report, BATCH_TYPE: decode_batch, PACKED_TYPE: decode_packed}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED.keys())
def test_bad_bodies_of_the_vectors_are_refused_by_name(case: dict[str, Any]) -> None:
    with pytest.raises(WireError, match="must") as caught:
        DECODERS[case["type"]](bytes.fromhex(case["body"]), SURVEY)
    assert caught.value.problem.name == case["problem"]


SURVEY = survey_campaign()


def answers(count: int) -> list[Report]:
    rng = random.Random(count)  # noqa: S311 (a test)
    places = [rng.randrange(len(SURVEY.questions)) for _ in range(count)]
    return [
        Report(
            SURVEY.fingerprint,
            SURVEY.questions[place].name,
            rng.randrange(SURVEY.tables[place].n_outputs),
            f"{rng.getrandbits(128):032x}",
        )
        for place in places
    ]


@pytest.mark.parametrize("count", [1, 2, 3, 1000])
def test_batches_of_all_kinds_round_trip(count: int) -> None:
    entries = answers(count)
    assert decode_batch(encode_batch(entries), SURVEY) == entries
    packed = encode_packed(SURVEY, entries)
    assert decode_packed(packed, SURVEY) == by_id(entries)
    assert len(packed) == 44 + 16 * count + (8 * count + 7) // 8


@pytest.mark.parametrize("version", [0, 2, 255])
def test_a_body_of_another_version_says_which_is_wanted(version: int) -> None:
    for encoded, decode in (
        (encode_report(reports(1)[0]), decode_report),
        (encode_batch(reports(2)), decode_batch),
    ):
        body = encoded.replace(b'{"version":1', b'{"version":%d' % version)
        with pytest.raises(WireError, match=f"version must be 1; found {version}") as caught:
            decode(body, CAMPAIGN)
        assert caught.value.problem.name == "malformed-body"
    with pytest.raises(WireError, match=f"version must be 1; found {version}"):
        decode_packed(with_byte(0, version), CAMPAIGN)


def test_what_no_campaign_declares_is_named() -> None:
    body = json.loads(encode_report(answers(1)[0]))
    for key in ("wave", "labels", "round", "token"):
        with pytest.raises(WireError, match=f"{key} must be absent: the campaign declares none"):
            decode_report(json.dumps({**body, key: 0}).encode(), SURVEY)


@settings(max_examples=200)
@given(st.data())
def test_mutated_packed_batches_of_all_kinds_are_read_fully_or_refused(data: st.DataObject) -> None:
    body = bytearray(encode_packed(SURVEY, answers(5)))
    for _ in range(data.draw(st.integers(1, 4))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    try:
        entries = decode_packed(bytes(body), SURVEY)
    except WireError:
        pass
    else:
        assert encode_packed(SURVEY, entries) == bytes(body)
