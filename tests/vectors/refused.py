"""Documents and bodies that are refused, all with right fingerprints."""

from __future__ import annotations

import json
from typing import Any

from noutput.campaign import Campaign, Report
from noutput.campaign.packed import encode_packed
from noutput.campaign.wire import BATCH_TYPE, PACKED_TYPE, REPORT_TYPE, encode_report
from tests.campaign.examples import anonymous_admission, answer_table
from tests.campaign.signing import signed
from tests.tables import jump_table
from tests.vectors.strata import changed_strata

Document = dict[str, Any]


def changed_documents(good: Document) -> list[Document]:
    """Return documents that no client may answer; `accepted` are the few that one may."""
    wave, tables = good["waves"][0], good["tables"]

    def question(place: int, *without: str, **change: object) -> Document:
        entries = [dict(each) for each in good["questions"]]
        entries[place] |= change
        for key in without:
            del entries[place][key]
        return {"questions": entries}

    def waves(**change: object) -> Document:
        return {"waves": [{**wave, **change}]}

    moved = {
        "waves": [{**wave, "tables": [1, 0, 2, 3, 4, 0]}],
        "tables": [tables[1], tables[0], *tables[2:]],
    }
    anonymous = anonymous_admission().to_document()
    assert isinstance(anonymous, dict)
    unused = json.loads(answer_table(0.25, 2).to_json())
    changes: dict[str, Document] = {
        "version 0": {"version": 0},
        "version 2": {"version": 2},
        "version 10": {"version": 10},
        "another format": {"format": "campaign"},
        "an unknown key": {"budget": 1},
        "an unknown key of a question": question(1, hint=""),
        "an unknown key of a wave": waves(from_=1),
        "an unknown kind": question(1, kind="color"),
        "a kind that is none": question(1, kind=None),
        "segments": {"segments": {"platform": ["ios", "android"]}},
        "segments as a list": {"segments": []},
        "a schedule": {"schedule": {"every": "week"}},
        "a schedule that is false": {"schedule": False},
        **changed_strata(),
        "admission by a text": {"admission": "token"},
        "admission of another kind": {"admission": {"kind": "invitation"}},
        "admission with another key": {"admission": {"kind": "token", "days": 3}},
        "admission that is open in two spellings": {"admission": {"kind": "open"}},
        "admission without a kind": {"admission": {"reports_per_hour": 5}},
        "admission as a list": {"admission": ["open"]},
        "no reports per hour": {"admission": {"kind": "open", "reports_per_hour": 0}},
        "half a report per hour": {"admission": {"kind": "open", "reports_per_hour": 0.5}},
        "too many reports per hour": {
            "admission": {"kind": "open", "reports_per_hour": 2 * 10**12}
        },
        "reports per hour as truth": {"admission": {"kind": "open", "reports_per_hour": True}},
        "reports per hour as null": {"admission": {"kind": "token", "reports_per_hour": None}},
        "tokens with an issuer": {"admission": {**anonymous, "kind": "token"}},
        "anonymous without issuer": {"admission": {"kind": "anonymous", "key": anonymous["key"]}},
        "anonymous without key": {"admission": {**anonymous, "key": None}},
        "a key too short": {"admission": {**anonymous, "key": anonymous["key"][:-4]}},
        "an issuer with a path": {"admission": {**anonymous, "issuer": "https://a.example/b"}},
        "an issuer that is no address": {"admission": {**anonymous, "issuer": "issuer.example"}},
        "no admission": {"admission": None},
        "another way to ask": {"ask": "two"},
        "no way to ask": {"ask": None},
        "two waves": {"waves": [wave, wave]},
        "no wave": {"waves": []},
        "a wave that is none": {"waves": [[]]},
        "a table too few in the wave": waves(tables=wave["tables"][:-1]),
        "a place beyond the tables": waves(tables=[0, 1, 2, 3, 4, 5]),
        "a negative place": waves(tables=[0, 1, 2, 3, 4, -1]),
        "a place as text": waves(tables=[0, 1, 2, 3, 4, "1"]),
        "a place as truth": waves(tables=[0, True, 2, 3, 4, 1]),
        "tables in another order": moved,
        "a table twice": waves(tables=[0, 1, 2, 3, 4, 5]) | {"tables": [*tables, tables[1]]},
        "a table that is not used": {"tables": [*tables, unused]},
        "no table": {"tables": []},
        "a table that is none": {"tables": [{}, *tables[1:]]},
        "a table of version 2": {"tables": [{**tables[0], "version": 2}, *tables[1:]]},
        "a table of answers of version 2": {
            "tables": [tables[0], {**tables[1], "version": 2}, *tables[2:]]
        },
        "knots of a table of answers": {
            "tables": [tables[0], {**tables[1], "knots": [-1.0, 1.0]}, *tables[2:]]
        },
        "a table for numbers at a scale": waves(tables=[0, 0, 1, 2, 3, 4]),
        "a table for answers at a number": waves(tables=[0, 1, 2, 3, 4, 1])
        | question(5, "answers", kind="number", lower=0, upper=1, unit=""),
        "a table with fewer answers": question(1, answers=[1, 2, 3, 4, 5, 6]),
        "another epsilon than the table's": question(2, epsilon=0.25),
        "epsilon null": question(0, epsilon=None),
        "epsilon negative": question(2, epsilon=-0.5),
        "epsilon as text": question(2, epsilon="0.5"),
        "an objective too few": waves(objectives=wave["objectives"][:-1]),
        "an unknown objective": waves(
            objectives=["balanced", "cdf", "cdf", "all", "shares", "cdf"]
        ),
        "an objective of numbers for a scale": waves(
            objectives=["balanced", "distribution", "cdf", "shares", "shares", "cdf"]
        ),
        "an objective of scales for a number": waves(
            objectives=["cdf", "cdf", "cdf", "shares", "shares", "cdf"]
        ),
        "no question": {"questions": []},
        "questions as an object": {"questions": {}},
        "too many questions": {
            "questions": [{**good["questions"][0], "name": f"a{i}"} for i in range(65)]
        },
        "a question that is none": {"questions": [None, *good["questions"][1:]]},
        "no name": question(1, "name"),
        "an empty name": question(1, name=""),
        "a name with a capital": question(1, name="Stars"),
        "a name twice": question(1, name="commute"),
        "an empty label": question(0, label=""),
        "an empty text of a question": question(1, text=""),
        "a long label": question(1, label="é" * 101),
        "a line feed in a label": question(1, label="a\nb"),
        "no unit": question(0, "unit"),
        "equal bounds": question(0, lower=180),
        "a bound as text": question(0, lower="0"),
        "a width beyond all numbers": question(0, lower=-1.7e308, upper=1.7e308),
        "bounds of a scale": question(1, lower=0),
        "answers of a number": question(0, answers=[1, 2]),
        "answers of yes/no": question(4, answers=["no", "yes"]),
        "no answers": question(1, "answers"),
        "answers as text": question(1, answers="1..5"),
        "answers that decrease": question(1, answers=[5, 4, 3, 2, 1]),
        "an answer twice": question(1, answers=[1, 2, 3, 4, 4]),
        "a text twice": question(3, answers=["train", "car", "car", "other"]),
        "an empty answer": question(3, answers=["train", "car", "", "other"]),
        "a long answer": question(3, answers=["train", "car", "é" * 101, "other"]),
        "numbers and texts": question(1, answers=[1, 2, 3, 4, "5"]),
        "numbers for a choice": question(3, answers=[1, 2, 3, 4]),
        "an answer that is nothing": question(1, answers=[1, 2, 3, 4, None]),
        "an answer as truth": question(1, answers=[True, 2, 3, 4, 5]),
        "scores of numbers": question(1, scores=[1, 2, 3, 4, 5]),
        "a number as the scores of numbers": question(1, scores=5),
        "a number as the scores of texts": question(2, scores=5),
        "answers too large to square": question(1, answers=[-1e300, 0, 1, 2, 1e300]),
        "an answer just too large": question(1, answers=[1, 2, 3, 4, 1.0000000000000002e100]),
        "scores too large to square": question(2, scores=[-1e300, 0, 1e300]),
        "scores of a choice": question(3, scores=[1, 2, 3, 4]),
        "scores null": question(2, scores=None),
        "too few scores": question(2, scores=[1, 2]),
        "scores that decrease": question(2, scores=[3, 2, 1]),
        "scores as texts": question(2, scores=["1", "2", "3"]),
        "an id with a slash": {"id": "a/b"},
        "an empty title": {"title": ""},
        "a long title": {"title": "é" * 101},
        "half a character": {"title": "\ud800"},
        "a line feed in the text": {"text": "Why?\nBecause."},
        "an empty text": {"text": ""},
        "public as a number": {"public": 1},
        "a day as an instant": {"opens": "2026-03-01"},
        "an instant with fractions": {"opens": "2026-03-01T00:00:00.5Z"},
        "an instant that is none": {"opens": "2026-02-30T00:00:00Z"},
        "closes before it opens": {"closes": "2025-03-01T00:00:00Z"},
    }
    result = [
        {"why": why, "error": "document", "campaign": signed({**good, **change})}
        for why, change in changes.items()
    ]
    for key in good:
        less = {name: value for name, value in good.items() if name != key}
        if key not in ("tables", "fingerprint"):
            less = signed(less)
        result.append({"why": f"without {key}", "error": "document", "campaign": less})
    wrong = {**good, "title": "Something else"}
    result.append({"why": "an old fingerprint", "error": "document", "campaign": wrong})
    return result


def changed_edges(good: Document) -> list[Document]:
    """Return documents whose edges are none, or whose tables do not fit their questions."""
    entry, (first, second, third, _) = good["questions"][0], good["tables"]

    def edges(value: object, place: int = 0) -> Document:
        entries = [dict(each) for each in good["questions"]]
        entries[place]["edges"] = value
        return {"questions": entries}

    def table(place: int, axes: list[Any], source: Document | None = None) -> Document:
        tables = list(good["tables"])
        tables[place] = {**(source or tables[place]), "axes": axes}
        return {"tables": tables}

    knots = first["axes"][0]
    other = [14 if knot == 15 else knot for knot in knots]
    answers = json.loads(answer_table(1.0, 5).to_json())
    square = {**second, "weights": [*second["weights"], second["weights"][0]]}
    pair = json.loads(jump_table(1.0, (0, 15, 15, 180), 2).to_json())
    changes: dict[str, Document] = {
        "edges null": edges(None),
        "edges as a number": edges(15),
        "edges as text": edges("15"),
        "an edge as text": edges([15, "30.5", 45]),
        "an edge null": edges([15, None, 45]),
        "an edge as truth": edges([True, 30.5, 45]),
        "an edge twice": edges([15, 15, 30.5, 45]),
        "edges that decrease": edges([15, 45, 30.5]),
        "an edge on the lower bound": edges([0, 15, 30.5, 45]),
        "an edge on the upper bound": edges([15, 30.5, 45, 180]),
        "an edge below the bounds": edges([-1, 15, 30.5, 45]),
        "an edge above the bounds": edges([15, 30.5, 45, 181]),
        "32 edges": edges([0.5 + i for i in range(32)]),
        "cells": {"questions": [{**entry, "cells": 4}, *good["questions"][1:]]},
        "an edge more than the table has": edges([15, 30.5, 40, 45]),
        "an edge less than the table has": edges([15, 45]),
        "no edges for a table with jumps": edges([]),
        "another edge than the table has": edges([15, 30, 45]),
        "edges for a table without jumps": edges([10], 1),
        "edges that the table does not have, where none were chosen": edges([5e-4], 3),
        "jumps at other numbers": table(0, [other]),
        "jumps where none were chosen": table(3, [[0.0, 5e-4, 5e-4, 1e-3]], third),
        "knots from another bound": table(1, [[-39.0, 10.0, 60.0]]),
        "knots to another bound": table(1, [[-40.0, 10.0, 60.5]]),
        "knots from -1 to 1": table(1, [[-1.0, 0.0, 1.0]]),
        "knots one unit in the last place off": table(
            2, [[1e15, 1e15 + 5, 1e15 + 5, 1e15 + 10.125]]
        ),
        "a table of answers for a number": table(1, [3]),
        "a table of five answers for a number": table(1, [5], answers),
        "a table of a pair for a number": table(0, pair["axes"], pair),
        "a table of a pair with the knots of the question": table(1, [[-40.0, 60.0], 2], square),
    }
    return [
        {"why": why, "error": "document", "campaign": signed({**good, **change})}
        for why, change in changes.items()
    ]


def refused_bodies(campaign: Campaign) -> list[Document]:
    """Return bodies that no collector may count, each with the problem that it answers."""
    report = Report(campaign.fingerprint, "means", 3, id="f" * 32)
    good: Document = json.loads(encode_report(report))
    entry = {"question": "stars", "output": 1, "id": "0" * 32}
    singles: list[tuple[str, str, Document]] = [
        ("version 0", "malformed-body", {**good, "version": 0}),
        ("version 2", "malformed-body", {**good, "version": 2}),
        ("an attribute", "malformed-body", {**good, "attribute": "stars"}),
        ("a wave", "malformed-body", {**good, "wave": 0}),
        ("labels", "malformed-body", {**good, "labels": {}}),
        ("a round", "malformed-body", {**good, "round": 1}),
        ("a token", "malformed-body", {**good, "token": "t"}),
        ("a value", "malformed-body", {**good, "value": 3}),
        ("another campaign", "wrong-fingerprint", {**good, "campaign": "0" * 64}),
        ("an unknown question", "unknown-question", {**good, "question": "height"}),
        ("a question by place", "malformed-body", {**good, "question": 1}),
        (
            "an output of a larger table",
            "unknown-output",
            {**good, "question": "late", "output": 2},
        ),
        ("a negative output", "unknown-output", {**good, "output": -1}),
        ("an output as text", "malformed-body", {**good, "output": "1"}),
        ("a short id", "malformed-body", {**good, "id": "f" * 31}),
    ]
    batches: list[tuple[str, str, list[Document]]] = [
        ("an empty batch", "malformed-body", []),
        ("an id twice", "repeated-id", [entry, {**entry, "output": 2}]),
        ("labels in a batch", "malformed-body", [{**entry, "labels": {}}]),
        ("an unknown question in a batch", "unknown-question", [{**entry, "question": "x"}]),
    ]
    head = {"version": 1, "campaign": campaign.fingerprint}
    cases = [(why, REPORT_TYPE, json.dumps(body).encode(), name) for why, name, body in singles]
    cases += [
        (why, BATCH_TYPE, json.dumps({**head, "reports": body}).encode(), name)
        for why, name, body in batches
    ]
    cases += [(why, PACKED_TYPE, body, name) for why, name, body in _packed(campaign, report)]
    return [
        {"why": why, "type": kind, "body": body.hex(), "problem": name}
        for why, kind, body, name in cases
    ]


def _packed(campaign: Campaign, report: Report) -> list[tuple[str, str, bytes]]:
    body = encode_packed(campaign, [report])
    places = ("version", "wave bits", "stratum bits", "question bits", "output bits", "token bytes")
    result = [
        (
            f"other {name} in a packed batch",
            "malformed-body",
            _changed(body, place, body[place] + 1),
        )
        for place, name in enumerate(places)
    ]
    return [
        *result,
        ("version 0 in a packed batch", "malformed-body", _changed(body, 0, 0)),
        ("reserved bytes", "malformed-body", _changed(body, 7, 1)),
        (
            "another campaign in a packed batch",
            "wrong-fingerprint",
            _changed(body, 12, body[12] ^ 1),
        ),
        ("the seventh question", "unknown-question", body[:-1] + bytes([0b11000000])),
        ("an output beyond its table", "unknown-output", body[:-1] + bytes([0b10011111])),
        ("a header only", "malformed-body", body[:44]),
        ("a byte too many", "malformed-body", body + b"\0"),
    ]


def _changed(body: bytes, place: int, value: int) -> bytes:
    return body[:place] + bytes([value]) + body[place + 1 :]
