from __future__ import annotations

import json
import math
import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noutput.campaign import Campaign, Client, Ledger, Policy, Report, Segments
from noutput.errors import InvalidArgumentError
from tests.campaign.examples import (
    SEGMENTS,
    commute_campaign,
    next_wave,
    panel_campaign,
    stratified_campaigns,
)
from tests.campaign.signing import signed
from tests.campaign.spellings import edited
from tests.campaign.vectors import vectors

GOOD = vectors("strata")["good"]
LABELS = st.text(st.sampled_from("abé🚉 '<:,.1"), min_size=1, max_size=16)


@st.composite
def segments(draw: st.DrawFn) -> Segments:
    names = draw(st.lists(st.sampled_from(["a", "b_2", "c" * 64, "d"]), min_size=1, unique=True))
    each = st.lists(LABELS, min_size=2, max_size=4, unique=True)
    return Segments(tuple((name, tuple(draw(each))) for name in names), draw(st.integers(100, 999)))


@given(segments(), st.data())
def test_combinations_are_numbered_as_mixed_radix(found: Segments, data: st.DataObject) -> None:
    number = data.draw(st.integers(0, found.n_combinations - 1))
    labels = found.labels(number)
    assert found.combination(labels) == found.combination(dict(labels)) == number
    digits = [0 if name not in dict(labels) else 1 + known.index(dict(labels)[name])
              for name, known in found.names]  # fmt: skip
    weights = [math.prod(found.sizes[place + 1 :]) for place in range(len(digits))]
    assert number == sum(map(math.prod, zip(digits, weights, strict=True)))


@given(segments())
def test_segments_are_read_as_they_are_written(found: Segments) -> None:
    text = json.dumps(found.to_document())
    assert Segments.from_document(json.loads(text)) == found
    campaign = panel_campaign(segments=found)
    assert Campaign.from_json(campaign.to_json()) == campaign


def test_every_combination_has_a_number_of_its_own() -> None:
    numbers = [
        SEGMENTS.combination({name: label for name, label in pair if label})
        for pair in (
            (("platform", a), ("version", b))
            for a in ("", "ios", "android", "web")
            for b in ("", "4.1", "vélo 🚉")
        )
    ]
    assert numbers == list(range(12)) == list(range(SEGMENTS.n_combinations))


@pytest.mark.parametrize("case", GOOD, ids=range(len(GOOD)))
def test_documents_of_the_vectors_are_read_and_written(case: dict[str, Any]) -> None:
    campaign = Campaign.from_json(case["text"])
    assert campaign.fingerprint == case["fingerprint"]
    assert campaign.epsilon_per_period == case["epsilon_per_period"]
    assert (campaign.n_rounds, campaign.n_combinations) == (case["rounds"], case["combinations"])
    assert campaign.to_json() == case["text"]
    assert campaign.notice == case["notice"]


def test_a_campaign_without_segments_and_schedule_has_the_same_document_as_before() -> None:
    for case in vectors("campaigns")["good"]:
        assert '\n "segments": {},\n "schedule": null,\n' in case["text"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"names": "platform"}, "segments.names must be names with labels; found 'platform'"),
        ({"names": ()}, "segments.names must have from 1 to 8 names; found 0"),
        ({"names": (("platform",),)}, r"segments.names\[0\] must be a name and its labels"),
        ({"names": {"a": "ios"}}, r"names\[0\]\.labels must be a list of 2 labels or more"),
        ({"names": {"a": ("b", "{c}")}}, r"labels\[1\] must have no quotes, backslashes, brackets"),
        ({"names": {"a": ("b", "b")}}, r"segments.names\[0\]\.labels must be different"),
        ({"names": {"a": [*map(str, range(1000))]}}, "at most 1000 combinations.*found 1001"),
        ({"minimum": 99}, "segments.minimum must be a whole number from 100"),
    ],
)
def test_segments_that_are_none_are_refused(change: dict[str, Any], message: str) -> None:
    parts: dict[str, Any] = {"names": SEGMENTS.names, "minimum": 500}
    with pytest.raises(InvalidArgumentError, match=message):
        Segments(**(parts | change))


def test_labels_are_checked_against_the_closed_list() -> None:
    with pytest.raises(InvalidArgumentError, match="labels must have the names 'platform', 'ver"):
        SEGMENTS.combination({"country": "de"})
    with pytest.raises(InvalidArgumentError, match=r"labels\['platform'\] must be one of 'ios', "):
        SEGMENTS.told({"platform": "IOS"})
    with pytest.raises(InvalidArgumentError, match="combination must be a whole number from 0"):
        SEGMENTS.labels(12)
    assert SEGMENTS.told({"version": "4.1", "platform": "web"}) == (
        ("platform", "web"),
        ("version", "4.1"),
    )


@pytest.mark.parametrize("labels", ["ios", 5, None, ["platform"], [("platform",)], [([], "ios")]])
def test_labels_that_are_no_mapping_are_refused(labels: Any) -> None:
    message = "^labels must be a mapping of names to labels"
    plain, panel = commute_campaign(), panel_campaign(segments=SEGMENTS)
    with pytest.raises(InvalidArgumentError, match=message):
        SEGMENTS.told(labels)
    for campaign in (plain, panel):
        with pytest.raises(InvalidArgumentError, match=message):
            Client(campaign, Ledger(None), Policy(epsilon=9.0)).shown_labels(labels)
    if labels:
        with pytest.raises(InvalidArgumentError, match=message):
            plain.stratum(labels, None)


def test_a_campaign_takes_segments_and_nothing_else() -> None:
    with pytest.raises(InvalidArgumentError, match="segments must be Segments; found 'dict'"):
        panel_campaign(segments={"platform": ("ios", "web")})
    with pytest.raises(InvalidArgumentError, match="labels must be absent: the campaign has no"):
        panel_campaign(segments=None).stratum({"platform": "ios"}, 0)


def test_all_waves_of_a_chain_have_the_same_segments() -> None:
    first = stratified_campaigns()[-1]
    second = next_wave(first)
    assert second.segments == first.segments
    assert Campaign.from_json(second.to_json()).waves == (first, second)
    with pytest.raises(InvalidArgumentError, match="segments must be that of the predecessor"):
        replace(second, segments=None)


def test_a_damaged_document_is_refused_or_another_campaign() -> None:
    rng = random.Random(22)  # noqa: S311
    good = json.loads(panel_campaign().to_json())
    refused = 0
    for _ in range(500):
        key = rng.choice(("segments", "schedule"))
        try:
            part = json.loads(edited(rng, json.dumps(good[key], indent=1)))
        except ValueError:
            continue
        found = signed({**good, key: part})
        try:
            campaign = Campaign.from_json(json.dumps(found))
        except InvalidArgumentError as error:
            assert error.name != "fingerprint"  # noqa: PT017
            refused += 1
        else:
            assert json.loads(campaign.to_json()) == found
    assert refused > 50


def test_a_report_has_labels_that_a_segment_can_have() -> None:
    report = Report("0" * 64, "stars", 1, labels=(("platform", "ios"),), round=4)
    assert "labels=(('platform', 'ios'),), round=4" in repr(report)
    with pytest.raises(InvalidArgumentError, match="labels must be a letter a-z"):
        Report("0" * 64, "stars", 1, labels=(("Platform", "ios"),))
    with pytest.raises(InvalidArgumentError, match=r"labels\['platform'\] must have from 1 to 64"):
        Report("0" * 64, "stars", 1, labels=(("platform", ""),))
    with pytest.raises(InvalidArgumentError, match="round must be a whole number from 0 to 4999"):
        Report("0" * 64, "stars", 1, round=5000)
