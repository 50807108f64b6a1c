"""Texts of documents: what a reader cannot see is refused, as by every client."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from unicodedata import ucd_3_2_0

import pytest

from noutput._text import check_text
from noutput.campaign import Campaign, Choice, Number, Scale, Segments, YesNo
from noutput.errors import InvalidArgumentError
from tests.campaign.examples import adaptive_campaign, next_wave
from tests.campaign.vectors import vectors

TEXTS = vectors("texts")
BASE = Campaign.from_json(json.dumps(TEXTS["base"]))
RULE = "must be text without control characters, invisible ones, and those that change direction"


@pytest.mark.parametrize("case", TEXTS["titles"], ids=lambda case: ascii(case["title"]))
def test_texts_with_characters_that_cannot_be_seen_are_refused(case: dict[str, Any]) -> None:
    title, fingerprint = case["title"], case["fingerprint"]
    text = json.dumps({**TEXTS["base"], "title": title, "fingerprint": fingerprint})
    if case["accepted"]:
        assert Campaign.from_json(text) == replace(BASE, title=title)
        return
    with pytest.raises(InvalidArgumentError, match=f"title {RULE}"):
        Campaign.from_json(text)
    with pytest.raises(InvalidArgumentError, match=f"title {RULE}"):
        replace(BASE, title=title)


def test_every_text_of_a_document_can_be_seen() -> None:
    hidden = "a\u200bb"
    makers: list[Callable[[], object]] = [
        lambda: replace(BASE, text=hidden),
        lambda: YesNo(name="late", text=hidden),
        lambda: YesNo(name="late", label=hidden),
        lambda: Number(0, 1, hidden),
        lambda: Choice("a", hidden),
        lambda: Scale("a", hidden),
        lambda: Segments((("platform", ("ios", hidden)),)),
        lambda: replace(next_wave(adaptive_campaign()), reasons=(hidden, "")),
    ]
    for make in makers:
        with pytest.raises(InvalidArgumentError, match=RULE):
            make()


def test_the_ranges_have_all_format_characters_but_joiners_and_visible_ones() -> None:
    """The Unicode of this test is version 3.2, which Python keeps: it stays as it is."""
    kinds = ("Cc", "Cf", "Cs", "Zl", "Zp")
    found = [chr(code) for code in range(0x110000) if ucd_3_2_0.category(chr(code)) in kinds]
    accepted = []
    for letter in found:
        try:
            accepted.append(check_text("text", f"a{letter}", 1, 9)[1:])
        except InvalidArgumentError as error:
            assert letter not in str(error)  # noqa: PT017 (an escape is shown)
    assert accepted == ["\u06dd", "\u070f"]
