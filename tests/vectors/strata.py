"""The vectors of segments and schedules: documents, rounds that devices draw, and reports."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

from noutput.campaign import Campaign, Report, Schedule, Segments
from noutput.campaign.packed import encode_packed, widths
from noutput.campaign.schedule import rounds_of
from noutput.campaign.tokens import report_id, write_token
from noutput.campaign.wire import BATCH_TYPE, PACKED_TYPE, REPORT_TYPE, encode_batch, encode_report
from tests.campaign import examples
from tests.campaign.signing import signed

Document = dict[str, Any]
_FORTNIGHT = "2026-03-15T00:00:00Z"


def changed_strata() -> dict[str, Document]:
    """Return changes of a document without segments and schedule that no client may take."""
    entry = {"name": "platform", "labels": ["ios", "android"]}
    names: dict[str, Any] = {
        "no segment": [],
        "segments that are a text": "platform",
        "a segment that is none": [None],
        "a segment with another key": [{**entry, "label": "Platform"}],
        "a segment without labels": [{"name": "platform"}],
        "a segment with a capital": [{**entry, "name": "Platform"}],
        "a segment twice": [entry, entry],
        "nine segments": [{**entry, "name": f"s{i}", "labels": ["a", "b"]} for i in range(9)],
        "one label": [{**entry, "labels": ["ios"]}],
        "labels as a text": [{**entry, "labels": "ios"}],
        "a label twice": [{**entry, "labels": ["ios", "ios"]}],
        "an empty label of a segment": [{**entry, "labels": ["ios", ""]}],
        "a label as a number": [{**entry, "labels": ["ios", 4]}],
        "a label of 65 bytes": [{**entry, "labels": ["ios", "é" * 32 + "e"]}],
        "a label with a line feed": [{**entry, "labels": ["ios", "a\nb"]}],
        "half a character in a label": [{**entry, "labels": ["ios", "\ud800"]}],
        "1,001 combinations": [
            {"name": "a", "labels": [str(i) for i in range(12)]},
            {"name": "b", "labels": [str(i) for i in range(10)]},
            {"name": "c", "labels": [str(i) for i in range(6)]},
        ],
        **{
            f"a label with {mark}": [{**entry, "labels": ["ios", f"a{mark}b"]}]
            for mark in '"\\[]{}'
        },
    }
    changes = {why: _segments(found) for why, found in names.items()}
    least: dict[str, Any] = {
        "a minimum of 99": 99, "half a minimum": 500.5, "a minimum as text": "500",
        "a minimum as truth": True, "a minimum beyond all": 10**12 + 1, "no minimum": None,
    }  # fmt: skip
    changes |= {why: _segments([entry], found) for why, found in least.items()}
    changes["segments with another key"] = {
        "segments": {"names": [entry], "minimum": 500, "hidden": 1}
    }
    schedules: dict[str, Document] = {
        "a round per month": {"every": "month"},
        "a round per nothing": {"every": None},
        "no round per period": {"rounds_per_period": 0},
        "too many rounds per period": {"rounds_per_period": 367},
        "rounds per period as text": {"rounds_per_period": "7"},
        "half a round per period": {"rounds_per_period": 0.5},
        "no answer per period": {"answers": 0},
        "more answers than rounds": {"answers": 8},
        "an answer as truth": {"answers": True},
        "a negative grace": {"grace": -1},
        "a grace of two years": {"grace": 2 * 366 * 86_400},
        "half a second of grace": {"grace": 0.5},
        "no grace": {"grace": None},
        "another key of a schedule": {"jitter": 0},
    }
    changes |= {why: _schedule(**found) for why, found in schedules.items()}
    changes |= {
        "a part of a period": _schedule() | {"closes": "2026-03-14T00:00:00Z"},
        "a second beyond a period": _schedule() | {"closes": "2026-03-15T00:00:01Z"},
        "5,001 rounds": _schedule(every="hour", rounds_per_period=1, answers=1)
        | {"closes": "2026-09-25T09:00:00Z"},
        "a schedule with tokens": _schedule() | {"admission": {"kind": "token"}},
        "a schedule that is a list": {"schedule": []},
        "a schedule that is empty": {"schedule": {}},
    }
    return changes


def _segments(names: object, minimum: object = 500) -> Document:
    return {"segments": {"names": names, "minimum": minimum}}


def _schedule(**change: object) -> Document:
    good = {"every": "day", "rounds_per_period": 7, "answers": 1, "grace": 86_400}
    return {"schedule": good | change, "closes": _FORTNIGHT}


def edge_documents() -> list[Campaign]:
    """Return campaigns at the limits of what a document may have."""
    eight = tuple((f"s{i}", ("a", "b")) for i in range(6))
    most = (("a", tuple(map(str, range(9)))), ("b", tuple(map(str, range(99)))))
    return [
        examples.panel_campaign(segments=Segments(eight, 100)),
        examples.panel_campaign(segments=Segments(most, 10**12)),
        examples.panel_campaign(segments=Segments((("a" * 64, ("é" * 32, "<&'>")),))),
        examples.panel_campaign(schedule=Schedule("week", 4, 4, 366 * 86_400)),
        examples.panel_campaign(
            segments=None,
            schedule=Schedule("hour", 1),
            closes=examples.OPENS.replace(month=9, day=25, hour=8),
        ),
        examples.panel_campaign(
            schedule=Schedule("day", 366, 366, 0), closes=examples.OPENS.replace(2027, 3, 2)
        ),
    ]


def documents() -> list[Document]:
    result = []
    for campaign in (*examples.stratified_campaigns(), *edge_documents()):
        found = json.loads(campaign.to_json())
        assert signed(found) == found
        result.append(
            {
                "fingerprint": campaign.fingerprint,
                "epsilon_per_period": campaign.epsilon_per_period,
                "rounds": campaign.n_rounds,
                "combinations": campaign.n_combinations,
                "notice": campaign.notice,
                "text": campaign.to_json(),
            }
        )
    return result


def draws(rng: random.Random) -> list[Document]:
    """Return rounds of periods, by secret; sizes that do not divide 2^32 leave words out."""
    shapes = [
        (1, 1),
        (2, 1),
        (7, 1),
        (7, 2),
        (7, 7),
        (24, 1),
        (30, 1),
        (31, 9),
        (365, 1),
        (366, 366),
    ]
    result = []
    for size, answers in shapes:
        schedule = Schedule("day", size, answers)
        for period in (0, 1, 6, 4_999):
            first = period * size
            for joined in (0, first + size // 2, first + size - 1, first + size):
                secret, root = rng.randbytes(32), rng.randbytes(32).hex()
                rounds = rounds_of(schedule, root, secret, period, joined)
                result.append(
                    {
                        "rounds_per_period": size, "answers": answers, "root": root,
                        "secret": secret.hex(), "period": period, "joined": joined,
                        "rounds": rounds,
                    }
                )  # fmt: skip
    return result


def _token(index: int) -> bytes:
    return bytes([index]) * 18


def _report(campaign: Campaign, index: int) -> Report:
    place = index % len(campaign.questions)
    last = campaign.tables[place].n_outputs - 1
    labels = (
        ()
        if campaign.segments is None
        else campaign.segments.labels((5 * index) % campaign.n_combinations)
    )
    token, identity = "", f"{(7 * index + 3) << 90:032x}"
    if campaign.admission.needs_token:
        token = write_token(campaign, _token(index))
        identity = report_id(campaign, _token(index), place)
    number = None if campaign.schedule is None else (11 * index) % campaign.n_rounds
    name, output = campaign.questions[place].name, (0, last, last // 2)[index % 3]
    return Report(campaign.fingerprint, name, output, identity, token, labels, number)


def reports(campaign: Campaign) -> Document:
    """Return reports of several strata, and their encodings."""
    found = [_report(campaign, index) for index in range(13)]
    bodies = [
        {"type": REPORT_TYPE, "reports": 1, "body": encode_report(found[1]).hex()},
        {"type": BATCH_TYPE, "reports": 13, "body": encode_batch(found).hex()},
        {"type": PACKED_TYPE, "reports": 13, "body": encode_packed(campaign, found).hex()},
    ]
    entries = [
        {"campaign": r.campaign, "question": r.question, "output": r.output, "id": r.id,
         "token": r.token, "labels": dict(r.labels), "round": r.round,
         "stratum": campaign.stratum(r.labels, r.round)}
        for r in found
    ]  # fmt: skip
    return {"campaign": campaign.to_json(), "reports": entries, "bodies": bodies}


def refused(campaign: Campaign) -> list[Document]:
    """Return reports of a campaign with segments and a schedule that are refused."""
    good = json.loads(encode_report(_report(campaign, 1)))
    changes: list[tuple[str, str, Document]] = [
        ("an unknown name", "unknown-label", {"labels": {"country": "de"}}),
        ("an unknown label", "unknown-label", {"labels": {"platform": "beos"}}),
        ("a label as a place", "unknown-label", {"labels": {"platform": 1}}),
        ("a label that is null", "unknown-label", {"labels": {"platform": None}}),
        ("no labels", "malformed-body", {"labels": {}}),
        ("labels as a list", "malformed-body", {"labels": ["ios"]}),
        ("labels as a number", "malformed-body", {"labels": 4}),
        ("labels that are null", "malformed-body", {"labels": None}),
        ("a round too far", "unknown-round", {"round": 28}),
        ("a negative round", "unknown-round", {"round": -1}),
        ("a round as text", "malformed-body", {"round": "1"}),
        ("half a round", "malformed-body", {"round": 0.5}),
        ("a round as truth", "malformed-body", {"round": True}),
        ("a round that is null", "malformed-body", {"round": None}),
        ("a wave", "malformed-body", {"wave": 0}),
    ]
    cases = [(why, name, {**good, **change}) for why, name, change in changes]
    cases.append(("no round", "malformed-body", {k: v for k, v in good.items() if k != "round"}))
    entry_keys = [key for key in good if key not in ("version", "campaign")]
    result = []
    for why, name, body in cases:
        head = {key: body[key] for key in ("version", "campaign")}
        entry = {key: body[key] for key in (*entry_keys, "wave") if key in body}
        batch = {**head, "reports": [entry]}
        for kind, found in ((REPORT_TYPE, body), (BATCH_TYPE, batch)):
            data = json.dumps(found).encode().hex()
            result.append({"why": why, "type": kind, "body": data, "problem": name})
    beyond = campaign.n_rounds * campaign.n_combinations << sum(widths(campaign)[1:])
    packed = encode_packed(campaign, [_report(campaign, 1)])
    changed = packed[:-3] + (beyond << -sum(widths(campaign)) % 8).to_bytes(3)
    last = {"why": "a stratum too far", "type": PACKED_TYPE, "body": changed.hex()}
    return [*result, {**last, "problem": "unknown-round"}]


def main(write: Callable[[str, Document], None]) -> None:
    rng = random.Random(20_261_117)  # noqa: S311 (vectors are public)
    write("schedule.json", {"rounds": draws(rng)})
    campaigns = examples.stratified_campaigns()
    write(
        "strata.json",
        {
            "good": documents(),
            "cases": [reports(each) for each in campaigns],
            "refused": refused(campaigns[0]),
        },
    )
