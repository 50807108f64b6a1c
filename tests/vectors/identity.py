"""The vectors of what keeps documents apart: texts that can be seen, and one root per id."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.campaign.examples import adaptive_campaign, late_campaign, next_wave
from tests.campaign.signing import signed

Document = dict[str, Any]

HIDDEN = (  # the ranges of docs/wire.md
    (0x00, 0x1F), (0x7F, 0x9F), (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160),
    (0x17B4, 0x17B5), (0x180B, 0x180F), (0x200B, 0x200B), (0x200E, 0x200F), (0x2028, 0x202E),
    (0x2060, 0x206F), (0x3164, 0x3164), (0xD800, 0xDFFF), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0), (0xFFF0, 0xFFFB), (0x13430, 0x1343F), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A),
    (0xE0000, 0xE0FFF),
)  # fmt: skip
SPELLED = (
    "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",  # Persian, with a non-joiner
    "\u0dc1\u0dca\u200d\u0dbb\u0dd3 \u0dbd\u0d82\u0d9a\u0dcf",  # Sinhala, with a joiner
    "\u0d28\u0d4d\u200d",  # Malayalam: a joiner at the end
    "\u05e9\u05dc\u05d5\u05dd, \u0645\u0631\u062d\u0628\u0627",  # Hebrew and Arabic letters
    "e\u0301\u00a0caf\u00e9\u202f?\u3000\u2800",  # an accent by itself, and spaces
    "\U0001f600 \u2764 \U0001f44d\U0001f3fd",  # emoji that need no selector
    "\u0600\u06dd\u070f\u0890\u08e2\U000110bd",  # signs of the format category that are visible
)
MISUSED = (
    "\u200ca", "a\u200db", "\u0645\u200c\u200c\u062e", "\u0645 \u200c\u062e", "\u2764\ufe0f",
    "\U0001f469\u200d\U0001f680", "\u05d0\u200d\u05d1", "\u1000\u200c\u1001", "\u05ff\u200c",
    "\u0e00\u200c",
)  # fmt: skip


def _edges() -> list[tuple[str, bool]]:
    """Return the ends of every range, which are refused, and their neighbors, which are not."""
    refused = {code for low, high in HIDDEN for code in range(low, high + 1)} | {0x200C, 0x200D}
    ends = {code for low, high in HIDDEN for code in (low, high, low - 1, high + 1)}
    return [
        (f"a{chr(code)}b", code not in refused) for code in sorted(ends) if 0 <= code <= 0x10FFFF
    ]


def texts() -> Document:
    """Return titles, and whether a document with them is read."""
    cases = [*_edges(), *((text, True) for text in SPELLED), *((text, False) for text in MISUSED)]
    base = json.loads(late_campaign().to_json())
    titles = [
        {"title": title, "accepted": accepted,
         "fingerprint": signed({**base, "title": title})["fingerprint"]}
        for title, accepted in cases
    ]  # fmt: skip
    return {"base": base, "titles": titles}


def roots() -> Document:
    """Return documents, and which of them one ledger answers, in the order of the steps."""
    first = adaptive_campaign()
    renamed = replace(first, title="Commute.")
    documents = [first, next_wave(first), renamed, next_wave(renamed), late_campaign()]

    def step(place: int, answered: bool, new_roots: bool = False) -> Document:
        return {"campaign": place, "new_roots": new_roots, "answered": answered}

    stories = [
        [
            step(0, True),
            step(1, True),
            step(2, False),
            step(3, False),
            step(4, True),
            step(0, True),
        ],
        [step(3, True), step(2, True), step(0, False), step(1, False)],
        [step(0, True), step(2, False), step(2, True, True), step(3, True), step(1, True)],
    ]
    answers = [{"commute": 45, "late": "no"}] * 4 + [{"late": "no"}]
    campaigns = [
        {"values": values, "text": each.to_json()}
        for each, values in zip(documents, answers, strict=True)
    ]
    return {"campaigns": campaigns, "stories": stories}


def main(write: Callable[[str, Document], None]) -> None:
    write("texts.json", texts())
    write("roots.json", roots())
