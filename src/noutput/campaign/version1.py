"""Campaign document, version 1: numbers only, all drawn from one table."""

from __future__ import annotations

import hashlib
import json
import struct
from typing import TYPE_CHECKING, Any

from noutput.campaign.admission import Admission
from noutput.campaign.text import format_instant, parse_instant
from noutput.errors import DocumentError, InvalidArgumentError
from noutput.mechanisms import document
from noutput.mechanisms.certified import CertifiedTable
from noutput.questions import Number

if TYPE_CHECKING:
    from noutput.campaign.campaign import Campaign

__all__ = ["check", "fingerprint", "read", "write"]

_FORMAT = "noutput-campaign"
_KEYS = (
    "id", "title", "question", "goal", "public", "opens", "closes", "attributes", "table",
    "fingerprint",
)  # fmt: skip
_ATTRIBUTE_KEYS = ("name", "unit", "lower", "upper")


def check(campaign: Campaign) -> None:
    """Refuse what a document of version 1 cannot say."""
    for index, each in enumerate(campaign.questions):
        if not isinstance(each, Number) or each.label or each.text or each.epsilon is not None:
            rule = "be a Number without label, text and epsilon, in version 1"
            raise InvalidArgumentError(f"questions[{index}]", rule, each.kind)
    for name in ("tables", "objectives"):
        if len(set(getattr(campaign, name))) > 1:
            raise InvalidArgumentError(name, "be the same for all questions, in version 1", "more")
    if campaign.ask != "one":
        raise InvalidArgumentError("ask", "be 'one', in version 1", campaign.ask)
    if campaign.admission != Admission():
        found = campaign.admission.to_document()
        raise InvalidArgumentError("admission", "be 'open' alone, in version 1", found)


def fingerprint(campaign: Campaign) -> str:
    """Return the SHA-256 of the canonical form, as 64 hexadecimal digits.

    Notes
    -----
    The canonical form is the ASCII text ``noutput-campaign 1`` and a line feed; id, title,
    question, goal, opens and closes as texts; one byte that is 1 where the campaign is
    public and 0 otherwise; the number of attributes (uint32) and for each its name and unit
    as texts, lower and upper (float64); the 32 bytes of the table's fingerprint. A text is
    its number of bytes (uint32) and its UTF-8. Numbers are little-endian.
    """
    opens, closes = format_instant(campaign.opens), format_instant(campaign.closes)
    texts = (campaign.id, campaign.title, campaign.text, campaign.objectives[0], opens, closes)
    parts = [b"noutput-campaign 1\n", *map(_canonical_text, texts)]
    parts.append(struct.pack("<BI", campaign.public, len(campaign.questions)))
    for each in _numbers(campaign):
        parts += [_canonical_text(each.name), _canonical_text(each.unit)]
        parts.append(struct.pack("<dd", each.lower, each.upper))
    parts.append(bytes.fromhex(campaign.tables[0].fingerprint))
    return hashlib.sha256(b"".join(parts)).hexdigest()


def write(campaign: Campaign) -> str:
    """Return the document as JSON."""
    content = {
        "format": _FORMAT,
        "version": 1,
        "id": campaign.id,
        "title": campaign.title,
        "question": campaign.text,
        "goal": campaign.objectives[0],
        "public": campaign.public,
        "opens": format_instant(campaign.opens),
        "closes": format_instant(campaign.closes),
    }
    head = json.dumps(content, indent=1, ensure_ascii=False).removesuffix("\n}")
    attributes = ",\n  ".join(
        json.dumps({key: getattr(each, key) for key in _ATTRIBUTE_KEYS}, ensure_ascii=False)
        for each in campaign.questions
    )
    table = campaign.tables[0].to_json().rstrip("\n").replace("\n", "\n ")
    return (
        f'{head},\n "attributes": [\n  {attributes}\n ],\n "table": {table},\n'
        f' "fingerprint": "{campaign.fingerprint}"\n}}\n'
    )


def read(found: dict[str, Any], most: int) -> dict[str, Any]:
    """Return the arguments of `Campaign` for a parsed document with at most `most` questions."""
    document.read(found, _FORMAT, 1, _KEYS)
    if not isinstance(found["table"], dict):
        raise DocumentError("table", "be a JSON object", type(found["table"]).__name__)
    questions = _read_attributes(found["attributes"], most)
    count = len(questions)
    return {
        "id": found["id"],
        "title": found["title"],
        "text": found["question"],
        "questions": questions,
        "tables": (CertifiedTable.from_document(found["table"]),) * count,
        "opens": parse_instant("opens", found["opens"]),
        "closes": parse_instant("closes", found["closes"]),
        "public": found["public"],
        "objectives": (found["goal"],) * count,
        "version": 1,
    }


def _numbers(campaign: Campaign) -> list[Number]:
    return [each for each in campaign.questions if isinstance(each, Number)]


def _canonical_text(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<I", len(data)) + data


def _read_attributes(value: object, most: int) -> tuple[Number, ...]:
    if not isinstance(value, list) or not 1 <= len(value) <= most:
        raise DocumentError("attributes", f"be a list of 1 to {most} entries", value)
    result = []
    for index, entry in enumerate(value):
        if not isinstance(entry, dict):
            raise DocumentError(f"attributes[{index}]", "be a JSON object", entry)
        if set(entry) != set(_ATTRIBUTE_KEYS):
            rule = f"have the keys {sorted(_ATTRIBUTE_KEYS)}"
            raise DocumentError(f"attributes[{index}]", rule, sorted(entry))
        try:
            result.append(Number(**entry))
        except InvalidArgumentError as error:
            name = f"attributes[{index}].{error.name}"
            raise DocumentError(name, error.rule, error.found) from None
    return tuple(result)
