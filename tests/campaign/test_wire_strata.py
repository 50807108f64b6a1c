"""Reports with labels and rounds, as JSON and packed."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noutput.campaign import Campaign, Report, Segments
from noutput.campaign.packed import decode_packed, encode_packed
from noutput.campaign.problems import WireError
from noutput.campaign.tokens import write_token
from noutput.campaign.wire import (
    BATCH_TYPE,
    MAX_REPORT_BYTES,
    PACKED_TYPE,
    REPORT_TYPE,
    decode_batch,
    decode_entries,
    decode_report,
    encode_batch,
    encode_report,
)
from noutput.errors import InvalidArgumentError
from tests.campaign.examples import (
    anonymous_admission,
    late_campaign,
    panel_campaign,
    survey_campaign,
)
from tests.campaign.vectors import vectors

VECTORS = vectors("strata")
CAMPAIGN = panel_campaign()
DECODERS = {REPORT_TYPE: decode_report, BATCH_TYPE: decode_batch, PACKED_TYPE: decode_packed}


@st.composite
def reports(draw: st.DrawFn) -> Report:
    place = draw(st.integers(0, len(CAMPAIGN.questions) - 1))
    assert CAMPAIGN.segments is not None
    return Report(
        CAMPAIGN.fingerprint,
        CAMPAIGN.questions[place].name,
        draw(st.integers(0, CAMPAIGN.tables[place].n_outputs - 1)),
        draw(st.binary(min_size=16, max_size=16)).hex(),
        labels=CAMPAIGN.segments.labels(draw(st.integers(0, 11))),
        round=draw(st.integers(0, 27)),
    )


@given(st.lists(reports(), min_size=1, max_size=40, unique_by=lambda report: report.id))
def test_reports_are_read_as_they_are_written(entries: list[Report]) -> None:
    assert decode_report(encode_report(entries[0]), CAMPAIGN) == entries[0]
    assert decode_batch(encode_batch(entries), CAMPAIGN) == entries
    packed = encode_packed(CAMPAIGN, entries)
    assert decode_packed(packed, CAMPAIGN) == sorted(entries, key=lambda report: report.id)


@pytest.mark.parametrize("case", VECTORS["cases"], ids=range(len(VECTORS["cases"])))
def test_bodies_agree_with_the_vectors(case: dict[str, Any]) -> None:
    campaign = Campaign.from_json(case["campaign"])
    entries = [
        Report(**{key: value for key, value in each.items() if key not in ("labels", "stratum")},
               labels=tuple(each["labels"].items()))
        for each in case["reports"]
    ]  # fmt: skip
    single, batch, packed = (bytes.fromhex(each["body"]) for each in case["bodies"])
    assert (encode_report(entries[1]), encode_batch(entries)) == (single, batch)
    assert encode_packed(campaign, entries) == packed
    assert decode_report(single, campaign) == entries[1]
    assert decode_batch(batch, campaign) == entries
    assert decode_packed(packed, campaign) == sorted(entries, key=lambda report: report.id)
    strata = [entry.stratum for entry in decode_entries(batch, campaign)]
    assert strata == [each["stratum"] for each in case["reports"]]


@pytest.mark.parametrize(
    "case", VECTORS["refused"], ids=lambda case: f"{case['why']}, {case['type']}"
)
def test_bodies_of_the_vectors_are_refused(case: dict[str, Any]) -> None:
    with pytest.raises(WireError, match="must") as caught:
        DECODERS[case["type"]](bytes.fromhex(case["body"]), CAMPAIGN)
    assert caught.value.problem.name == case["problem"]


def test_damaged_bodies_are_refused_or_other_reports() -> None:
    rng = random.Random(7)  # noqa: S311
    good = encode_batch([Report(CAMPAIGN.fingerprint, "stars", 1, f"{i:032x}", round=i,
                                labels=(("platform", "web"),)) for i in range(3)])  # fmt: skip
    for _ in range(2_000):
        body = bytearray(good)
        for _ in range(rng.randrange(1, 4)):
            body[rng.randrange(len(body))] = rng.choice(b'{}[]",:0129abef\\ ')
        try:
            entries = decode_batch(bytes(body), CAMPAIGN)
        except WireError:
            continue
        assert decode_batch(encode_batch(entries), CAMPAIGN) == entries


def test_a_report_that_tells_as_much_as_can_be_told_fits() -> None:
    names = tuple(
        (f"{place}".rjust(64, "a").replace("0", "z"), ("é" * 32, "b")) for place in "bcde"
    )
    longest = Segments(
        (*names, *((f"{n[0][:-1]}{x}", n[1]) for n, x in zip(names[:2], "fg", strict=True)))
    )
    campaign = late_campaign(admission=anonymous_admission())
    campaign = survey_campaign(
        questions=campaign.questions, tables=campaign.tables, admission=campaign.admission,
        segments=longest,
    )  # fmt: skip
    token = write_token(campaign, bytes(288))
    labels = tuple((name, known[0]) for name, known in longest.names)
    report = Report(campaign.fingerprint, "late", 1, token=token, labels=labels)
    assert 1024 < len(encode_report(report)) < MAX_REPORT_BYTES


@pytest.mark.parametrize("key", ["labels", "round"])
def test_what_the_campaign_does_not_declare_is_refused(key: str) -> None:
    campaign = survey_campaign()
    report = Report(campaign.fingerprint, "stars", 1)
    found = json.loads(encode_report(report))
    value = {"labels": {"platform": "ios"}, "round": 0}[key]
    with pytest.raises(WireError, match=f"body: {key} must be absent: the campaign declares none"):
        decode_report(json.dumps({**found, key: value}).encode(), campaign)


def test_a_report_of_another_shape_is_not_packed() -> None:
    parts = (CAMPAIGN.fingerprint, "stars", 1)
    with pytest.raises(InvalidArgumentError, match="round must be a whole number from 0 to 27"):
        encode_packed(CAMPAIGN, [Report(*parts)])
    with pytest.raises(InvalidArgumentError, match=r"labels\['platform'\] must be one of"):
        encode_packed(CAMPAIGN, [Report(*parts, labels=(("platform", "beos"),), round=1)])
