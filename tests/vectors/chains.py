"""The vectors of adaptive campaigns: chains of waves, and documents that are none."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from typing import Any

from noutput.campaign import Number
from tests.campaign.examples import adaptive_campaign, chained_campaigns, next_wave
from tests.campaign.signing import signed

Document = dict[str, Any]
_VALUES = (-5, 0, 0.1, 42, 90.5, 110, 300, 599.9, 600, 1e9)


def good_chains() -> list[Document]:
    """Return documents with what clients know of their waves, and how they encode numbers."""
    return [
        {
            "fingerprint": campaign.fingerprint,
            "root": campaign.root,
            "chain": [each.fingerprint for each in campaign.waves],
            "epsilon": campaign.epsilon,
            "encoded": [
                {"question": place, "value": value, "x": asked.encode(value)}
                for place, asked in enumerate(campaign.asked)
                if isinstance(asked, Number)
                for value in _VALUES
            ],
            "text": campaign.to_json(),
        }
        for campaign in chained_campaigns()
    ]


def bad_chains() -> list[Document]:
    """Return documents with right fingerprints that no client may answer."""
    good: Document = json.loads(next_wave(next_wave(adaptive_campaign()), 90.5).to_json())
    first, second = ("waves", 0), ("waves", 1)
    following = (*first, "next")
    changes: dict[str, tuple[tuple[str | int, ...], Any]] = {
        "no next wave": (following, None),
        "an unknown rule": ((*following, "rule"), "range 2"),
        "no report": ((*following, "reports"), 0),
        "reports as text": ((*following, "reports"), "2000"),
        "more reports than can be": ((*following, "reports"), 10**12 + 1),
        "half a person": ((*following, "expected"), 0.5),
        "a day as the latest time": ((*following, "until"), "2026-12-01"),
        "a latest time before it opens": ((*following, "until"), "2026-03-01T00:00:00Z"),
        "a latest time after it closes": ((*following, "until"), "2036-03-01T12:31:00Z"),
        "one more key of the next wave": ((*following, "more"), 1),
        "a next wave of the second": ((*second, "next"), good["waves"][0]["next"]),
        "bounds of the first wave": ((*first, "bounds"), [[0, 600], None]),
        "a predecessor of the first wave": ((*first, "predecessor"), "0" * 64),
        "bounds beyond those of the question": ((*second, "bounds"), [[0, 600.5], None]),
        "bounds below those of the question": ((*second, "bounds"), [[-0.5, 60], None]),
        "equal bounds of a wave": ((*second, "bounds"), [[60, 60], None]),
        "bounds in the wrong order": ((*second, "bounds"), [[60, 0], None]),
        "bounds too close to halve": ((*second, "bounds"), [[0, 5e-324], None]),
        "bounds that the table does not have": ((*second, "bounds"), [[0, 109], None]),
        "bounds as texts": ((*second, "bounds"), [["0", "60"], None]),
        "bounds as truth values": ((*second, "bounds"), [[False, True], None]),
        "three bounds": ((*second, "bounds"), [[0, 60, 70], None]),
        "no bounds of a number": ((*second, "bounds"), [None, None]),
        "bounds of yes/no": ((*second, "bounds"), [[0, 60], [0, 1]]),
        "bounds too few": ((*second, "bounds"), [[0, 60]]),
        "no inputs": ((*second, "inputs"), []),
        "inputs of no wave": ((*second, "inputs"), [[], []]),
        "inputs of two waves": ((*second, "inputs"), [[[1, 2, 3], [1, 2, 3]], [[1, 2]]]),
        "too few counts": ((*second, "inputs"), [[[1, 2]], [[1, 2]]]),
        "a negative count": ((*second, "inputs"), [[[1, 2, -1]], [[1, 2]]]),
        "half a report": ((*second, "inputs"), [[[1, 2, 0.5]], [[1, 2]]]),
        "a count as text": ((*second, "inputs"), [[[1, 2, "3"]], [[1, 2]]]),
        "a count beyond all": ((*second, "inputs"), [[[1, 2, 10**15 + 1]], [[1, 2]]]),
        "a reason too few": ((*second, "reasons"), ["few are above"]),
        "a reason with a line feed": ((*second, "reasons"), ["a\nb", ""]),
        "a long reason": ((*second, "reasons"), ["\u00e9" * 501, ""]),
        "a reason that is none": ((*second, "reasons"), [None, ""]),
        "an objective of a scale": ((*second, "objectives"), ["cdf", "shares"]),
        "a wave that is none": (second, None),
        "an unknown key of a later wave": ((*second, "more"), 1),
    }
    result = []
    for why, (path, value) in changes.items():
        found = deepcopy(good)
        place: Any = found
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value
        result.append({"why": why, "campaign": found if place is None else _signed(found)})
    other = json.loads(next_wave(adaptive_campaign(title="Other")).to_json())
    moved = {**good, "waves": [good["waves"][0], other["waves"][1]], "tables": good["tables"][:3]}
    result.append({"why": "a wave of another chain", "campaign": moved})
    waves = [good["waves"][0], *[good["waves"][1]] * 8]
    result.append({"why": "nine waves", "campaign": {**good, "waves": waves}})
    number, late, second_number, third_number = good["tables"]
    tables = {
        "another epsilon": [number, late, {**second_number, "epsilon": 1.5}, third_number],
        "a table of a number for answers": [
            number, {**late, "axes": [[0, 1]]}, second_number, third_number,
        ],
        "knots of the first wave": [
            *good["tables"][:3], {**third_number, "axes": [[0, 1, 2, 600]]},
        ],
        "a jump where none was chosen": [
            *good["tables"][:3], {**third_number, "axes": [[0, 45, 45, 90.5]]},
        ],
    }  # fmt: skip
    result += [
        {"why": why, "campaign": _signed({**good, "tables": found})}
        for why, found in tables.items()
    ]
    first_two = {"waves": [*good["waves"][:1], {**good["waves"][1], "tables": [1, 1]}]}
    changed = _signed({**good, **first_two, "tables": good["tables"][:2]})
    result.append({"why": "a table of answers for a number", "campaign": changed})
    return result


def _signed(found: Document) -> Document:
    """Return a document with right fingerprints, where its content has some."""
    try:
        return signed(found)
    except (TypeError, KeyError):
        return found


def main(write: Callable[[str, Document], None]) -> None:
    write("chains.json", {"good": good_chains(), "bad": bad_chains()})
