"""Campaign documents spelled in unusual ways: some are read by every client, some by none."""

from __future__ import annotations

import json
import random
import re
from base64 import b64encode
from collections.abc import Callable
from typing import Any

from noutput.campaign import Campaign
from tests.campaign.signing import signed

Document = dict[str, Any]
_NUMBER = re.compile(r"(?<![\w.\"-])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w.\"])")


def _content(base: Document) -> list[tuple[str, bool, Document]]:
    """Return documents whose content is at or beyond a limit, all with right fingerprints."""
    (entry,), (table,) = base["questions"], base["tables"]

    def question(**change: object) -> Document:
        return {"questions": [{**entry, **change}]}

    changes: list[tuple[str, bool, Document]] = [
        ("the year 0000", False, {"opens": "0000-03-01T00:00:00Z"}),
        ("the year 0001", True, {"opens": "0001-01-01T00:00:00Z"}),
        ("the year 1970", True, {"opens": "1970-01-01T00:00:00Z"}),
        ("the year 9999", True, {"closes": "9999-12-31T23:59:59Z"}),
        ("the hour 24", False, {"opens": "2026-03-01T24:00:00Z"}),
        ("the second 60", False, {"opens": "2026-03-01T23:59:60Z"}),
        ("the 29th of February of a year without", False, {"opens": "2027-02-29T00:00:00Z"}),
        ("digits of another script", False, {"opens": "٢٠٢٦-03-01T00:00:00Z"}),
        ("a title with a mark", False, {"title": "\ufeffCommute"}),
        ("a title with a replacement character", True, {"title": "\ufffd"}),
        ("a title with a control character", False, {"title": "a\x85b"}),
        ("a title of 200 bytes", True, {"title": "é" * 100}),
        ("a title of 201 bytes", False, {"title": "é" * 100 + "a"}),
        ("text like a key in the text", True, {"text": '"version": 1.0, "id":'}),
        ("a title that begins with a colon", True, {"title": ": 1.5e3", "text": " :"}),
        ("a unit that ends with a backslash", True, question(unit="\\")),
        ("a negative zero as a bound", True, question(lower=-0.0)),
        ("bounds that are too close to halve", False, question(lower=0.0, upper=5e-324)),
        (
            "bounds that are just not",
            True,
            question(lower=0.0, upper=1e-323)
            | {"tables": [{**table, "axes": [[0.0, 5e-324, 1e-323]]}]},
        ),
        ("bounds without a finite distance", False, question(lower=-1e308, upper=1e308)),
        ("a name of another script", False, question(name="µ")),
        ("a knot of negative zero", True, {"tables": [{**table, "axes": [[-0.0, 90.0, 180.0]]}]}),
    ]
    return [(why, accepted, signed({**base, **change})) for why, accepted, change in changes]


_EDITS: list[tuple[str, bool, str, str]] = [
    ("a version with a point", False, '"version": 1,\n "id"', '"version": 1.0,\n "id"'),
    ("a version with an exponent", False, '"version": 1,\n "id"', '"version": 1e0,\n "id"'),
    ("a version as text", False, '"version": 1,\n "id"', '"version": "1",\n "id"'),
    ("a version as truth", False, '"version": 1,\n "id"', '"version": true,\n "id"'),
    ("a version with an escaped key", True, '"version": 1,\n "id"', '"v\\u0065rsion": 1,\n "id"'),
    ("both of it", False, '"version": 1,\n "id"', '"v\\u0065rsion": 1.0,\n "id"'),
    ("a table's version with a point", False, '"version": 1,\n   "eps', '"version": 1.0,\n   "eps'),
    ("a scale with a point", False, '"scale": 4294967296', '"scale": 4294967296.0'),
    ("a scale with an exponent", False, '"scale": 4294967296', '"scale": 4294967296E0'),
    ("a weight with a point", False, "2474403178, 910282059", "2474403178.0, 910282059"),
    ("a weight with an exponent", False, "2474403178, 910282059", "2474403178, 910282059e0"),
    ("a weight with a fraction", False, "2474403178, 910282059", "2474403178.5, 910282058.5"),
    ("epsilon as a whole number", True, '"epsilon": 1.0', '"epsilon": 1'),
    ("epsilon with an exponent", True, '"epsilon": 1.0', '"epsilon": 10E-1'),
    ("epsilon as a large number", False, '"epsilon": 1.0', '"epsilon": 1e400'),
    ("epsilon that is no number", False, '"epsilon": 1.0', '"epsilon": NaN'),
    ("epsilon with a leading zero", False, '"epsilon": 1.0', '"epsilon": 01.0'),
    ("epsilon with a plus", False, '"epsilon": 1.0', '"epsilon": +1.0'),
    ("epsilon without a fraction's digits", False, '"epsilon": 1.0', '"epsilon": 1.'),
    ("a knot that is a negative whole zero", True, '"axes": [[0.0, 90.0', '"axes": [[-0, 90'),
    ("a knot that is a negative zero", True, '"axes": [[0.0, 90.0', '"axes": [[-0.0, 90.0'),
    ("a bound as a whole number", True, '"lower": 0.0', '"lower": 0'),
    ("a bound as text", False, '"lower": 0.0', '"lower": "0"'),
    ("a bound that is nothing", False, '"lower": 0.0', '"lower": null'),
    ("a key twice, the same", False, '"id": "commute"', '"id": "commute", "id": "commute"'),
    ("a key twice, first another", False, '"id": "commute"', '"id": "x", "id": "commute"'),
    ("a key twice, once escaped", False, '"id": "commute"', '"\\u0069d": "x", "id": "commute"'),
    ("a key of a question twice", False, '"unit": ', '"unit": "", "unit": '),
    ("a key of the table twice", False, '"epsilon": 1.0', '"epsilon": 9, "epsilon": 1.0'),
    ("all tables twice", False, '"tables": [\n', '"tables": [], "tables": [\n'),
    ("an extra key", False, '"id": "commute"', '"id": "commute", "extra": 1'),
    ("an extra key with an object", False, '"id": "commute"', '"id": "commute", "x": {"y": 1}'),
    ("a prototype", False, '"id": "commute"', '"id": "commute", "__proto__": {"id": "x"}'),
    ("a constructor", False, '"id": "commute"', '"id": "commute", "constructor": 1'),
    ("an extra key of a question", False, '"unit": ', '"extra": "", "unit": '),
    ("an extra key of the table", False, '"epsilon": 1.0', '"extra": [], "epsilon": 1.0'),
    ("no way to ask", False, '"ask": "one",', ""),
    ("an extra key for a missing one", False, '"ask": "one",', '"aim": "one",'),
    ("two keys in one", False, '"ask": "one",\n "questions"', '"ask,questions"'),
    ("a question that is nothing", False, "{\"kind\"", "null, {\"kind\""),
    ("a question that is a list", False, "{\"kind\"", "[], {\"kind\""),
    ("a question that is text", False, "{\"kind\"", "\"kind\", {\"kind\""),
    ("a title with escapes", True, '"title": "Commute"', '"title": "\\u0043ommute"'),
    ("a title with half a character", False, '"title": "Commute"', '"title": "\\ud83d"'),
    ("a title with a bad escape", False, '"title": "Commute"', '"title": "\\C"'),
    ("a title with a tab", False, '"title": "Commute"', '"title": "Com\tmute"'),
    ("a title in single quotes", False, '"title": "Commute"', "\"title\": 'Commute'"),
    ("a comma too many", False, '"id": "commute",', '"id": "commute",,'),
    ("a comment", False, '"id": "commute",', '"id": "commute", // id\n'),
    ("white space of all kinds", True, '"id": "commute",', '\t"id" \r\n:\t"commute"\n ,'),
    ("a form feed", False, '"id": "commute",', '"id":\f"commute",'),
    ("a space that does not break", False, '"id": "commute",', '"id":\u00a0"commute",'),
]  # fmt: skip


def _encodings(text: str) -> list[tuple[str, bool, bytes]]:
    data = text.encode()
    replaced = json.dumps(signed({**json.loads(text), "title": "\ufffd"}), ensure_ascii=False)
    mark = "\ufffd".encode()
    names = ("utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be")
    return [
        ("as it is", True, data),
        *((f"encoded as {name}", False, text.encode(name)) for name in names),
        ("a byte that is no UTF-8", False, replaced.encode().replace(mark, b"\xff")),
        ("an overlong byte", False, replaced.encode().replace(mark, b"\xc0\x80")),
        ("a surrogate in UTF-8", False, replaced.encode().replace(mark, b"\xed\xa0\x80")),
        ("half a character in UTF-8", False, replaced.encode().replace(mark, b"\xf0\x9f")),
        ("two documents", False, data + data),
        ("a zero at the end", False, data + b"\0"),
        ("white space around", True, b"\n\t " + data + b" \r\n"),
        ("two marks", False, b"\xef\xbb\xbf" * 2 + data),
        ("half a document", False, data[: len(data) // 2]),
        ("a list of it", False, b"[" + data + b"]"),
        ("nothing", False, b""),
        ("deep lists", False, b"[" * 10_000),
    ]


def spellings(campaign: Campaign) -> list[Document]:
    """Return documents as bytes in base 64, each with why and whether it is read."""
    text = campaign.to_json()
    cases = _encodings(text)
    for why, accepted, old, new in _EDITS:
        assert old in text, why
        cases.append((why, accepted, text.replace(old, new, 1).encode()))
    for why, accepted, found in _content(json.loads(text)):
        cases.append((why, accepted, json.dumps(found, ensure_ascii=False).encode()))
        if "control" not in why:
            cases.append((f"{why}, in ASCII", accepted, json.dumps(found).encode()))
    return [{"why": w, "accepted": a, "body": b64encode(data).decode()} for w, a, data in cases]


def edited(rng: random.Random, text: str) -> bytes:
    """Return a document with one to three small edits at random places."""
    edits: list[Callable[[random.Random, str], str]] = [_spell, _spell, _cut, _insert, _repeat]
    for _ in range(rng.randrange(1, 4)):
        text = rng.choice(edits)(rng, text)
    return text.encode("utf-8", "surrogatepass")


def _spell(rng: random.Random, text: str) -> str:
    """Write one number in another way."""
    place = rng.choice(list(_NUMBER.finditer(text)) or [None])
    if place is None:
        return text
    ways = ("{}.0", "{}e0", "{}E+0", "-{}", "0{}", "{}0", " {} ", "[{}]", '"{}"', "{}.")
    return text[: place.start()] + rng.choice(ways).format(place[0]) + text[place.end() :]


def _cut(rng: random.Random, text: str) -> str:
    start = rng.randrange(len(text))
    return text[:start] + text[start + rng.randrange(1, 4) :]


def _insert(rng: random.Random, text: str) -> str:
    start = rng.randrange(len(text))
    return text[:start] + rng.choice(' \n\t\r"\\:,{}[]01.eE-+\ufeff\x00\u2028é') + text[start:]


def _repeat(rng: random.Random, text: str) -> str:
    """Write a line once more: a key twice, or a row of weights."""
    lines = text.split("\n")
    place = rng.randrange(len(lines))
    return "\n".join([*lines[:place], lines[place], *lines[place:]])
