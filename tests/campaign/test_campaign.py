from __future__ import annotations

import json
from base64 import b64decode
from dataclasses import FrozenInstanceError, replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noutput.campaign import Campaign, Number
from noutput.errors import DocumentError, InvalidArgumentError, NoutputError, PrivacyError
from tests.campaign.examples import (
    OPENS,
    commute_campaign,
    example_campaigns,
    example_table,
    salary_campaign,
)
from tests.campaign.vectors import vectors

DOCUMENTS = {case["why"]: case for case in vectors("documents")["documents"]}


@pytest.mark.parametrize("case", DOCUMENTS.values(), ids=DOCUMENTS.keys())
def test_unusual_documents_are_read_or_refused_as_by_every_client(case: dict[str, Any]) -> None:
    body = b64decode(case["body"])
    if case["accepted"]:
        campaign = Campaign.from_json(body)
        assert Campaign.from_json(campaign.to_json()) == campaign
    else:
        with pytest.raises(InvalidArgumentError, match="must"):
            Campaign.from_json(body)


def test_messages_about_text_that_is_no_json_are_whole() -> None:
    with pytest.raises(DocumentError) as caught:
        Campaign.from_json(b"<!doctype html>\n<title>Campaigns</title>")
    rule = "document must be JSON (Expecting value at line 1, column 1)"
    assert str(caught.value) == f"{rule}; found '<!doctype ht'"
    with pytest.raises(DocumentError, match=r"be JSON in UTF-8 \(byte 0 is not\)"):
        Campaign.from_json(commute_campaign().to_json().encode("utf-16"))


CHANGES: dict[str, dict[str, Any]] = {
    "id": {"id": "other"},
    "title": {"title": "Other"},
    "text": {"text": "Why?"},
    "objective": {"objectives": ("distribution",)},
    "public": {"public": True},
    "opens": {"opens": OPENS + timedelta(seconds=1)},
    "unit": {"questions": (Number(0, 180, "hours", name="commute"),)},
    "upper": {
        "questions": (Number(0, 181, "minutes", name="commute"),),
        "tables": (example_table((1.0, 3, 3, 0.4), 0, 181),),
    },
    "edges": {"questions": (Number(0, 180, "minutes", edges=(), name="commute"),)},
    "more": {
        "questions": (*commute_campaign().questions, Number(0, 1, name="b")),
        "tables": (*commute_campaign().tables, example_table((1.0, 3, 3, 0.4), 0, 1)),
        "objectives": ("mean",) * 2,
    },
    "table": {"tables": (salary_campaign().tables[0].rescaled(0, 180),)},
}


def test_the_fingerprint_covers_every_part() -> None:
    base = commute_campaign()
    prints = {replace(base, **change).fingerprint for change in CHANGES.values()}
    assert len(prints | {base.fingerprint}) == len(CHANGES) + 1


def test_a_campaign_whose_table_lies_is_refused() -> None:
    document = json.loads(commute_campaign().to_json())
    for pair in vectors("tables")["lying"]:
        with pytest.raises(PrivacyError):
            Campaign.from_json(json.dumps({**document, "tables": [pair["bad"]]}))


@pytest.mark.parametrize("text", ["", "[]", "null", '{"a": NaN}', "[" * 9999, b"\xff", None])
def test_text_that_is_no_campaign_is_refused(text: Any) -> None:
    with pytest.raises(DocumentError):
        Campaign.from_json(text)


@given(st.binary(max_size=100))
def test_noise_is_refused(noise: bytes) -> None:
    with pytest.raises(NoutputError):
        Campaign.from_json(noise)


def test_it_is_open_from_its_first_second_until_before_its_last() -> None:
    campaign = commute_campaign()
    second = timedelta(seconds=1)
    assert campaign.is_open(campaign.opens)
    assert campaign.is_open(campaign.closes - second)
    assert not campaign.is_open(campaign.opens - second)
    assert not campaign.is_open(campaign.closes)


def test_instants_are_kept_in_utc() -> None:
    zone = timezone(timedelta(hours=9))
    campaign = replace(commute_campaign(), opens=datetime(2026, 3, 1, 9, tzinfo=zone))
    assert campaign == replace(campaign, opens=datetime(2026, 3, 1, tzinfo=UTC))
    assert '"opens": "2026-03-01T00:00:00Z"' in campaign.to_json()


@pytest.mark.parametrize(
    "change",
    [
        {"opens": datetime(2026, 3, 1)},
        {"opens": datetime(2026, 3, 1, microsecond=1, tzinfo=UTC)},
        {"opens": "2026-03-01T00:00:00Z"},
        {"questions": ()},
        {"id": 3},
    ],
    ids=range(5),
)
def test_bad_parts_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgumentError, match="must"):
        replace(commute_campaign(), **change)


def test_it_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        commute_campaign().title = "x"  # type: ignore[misc]


@given(st.floats(-1e6, 1e6), st.floats(0.001, 1e6), st.floats(-2e6, 2e6))
def test_values_are_moved_into_the_bounds(lower: float, width: float, value: float) -> None:
    number = Number(lower, lower + width)
    x = number.encode(value)
    assert number.lower <= x <= number.upper
    assert x == value or x in (number.lower, number.upper)


def test_values_agree_with_the_vectors() -> None:
    for case in vectors("campaigns")["clamped"]:
        assert Number(case["lower"], case["upper"]).encode(case["value"]) == case["x"]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "4242", None, True, 10**400])
def test_values_that_are_no_numbers_are_refused_without_repeating_them(value: Any) -> None:
    with pytest.raises(InvalidArgumentError, match=r"values\['a'\] must be a finite") as caught:
        Number(0, 1, name="a").encode(value)
    assert "4242" not in str(caught.value)


def test_numbers_of_numpy_are_numbers() -> None:
    assert Number(0, 1).encode(np.float64(0.5)) == 0.5


def test_places_of_questions() -> None:
    assert example_campaigns()[1].question_indexes == {"salary": 0, "age": 1, "change_2": 2}
