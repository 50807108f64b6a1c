"""Campaign document, version 2: questions of all kinds, each with its table."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from noutput.campaign.admission import Admission
from noutput.campaign.canonical import canonical
from noutput.campaign.text import NEWER, format_instant, parse_instant
from noutput.errors import DocumentError, InvalidArgumentError, PrivacyError
from noutput.mechanisms import document
from noutput.mechanisms.answer_table import AnswerTable
from noutput.mechanisms.certified import CertifiedTable
from noutput.questions import Question, question_from_document

if TYPE_CHECKING:
    from noutput.campaign.campaign import Campaign

__all__ = ["fingerprint", "read", "write"]

_KEYS = (
    "format", "version", "id", "title", "text", "public", "opens", "closes", "ask", "questions",
    "waves", "tables", "segments", "schedule", "admission", "fingerprint",
)  # fmt: skip
_WAVE_KEYS = ("tables", "objectives")
_ROOM: dict[str, Any] = {"segments": {}, "schedule": None}
_TABLES: dict[int, type[CertifiedTable | AnswerTable]] = {1: CertifiedTable, 2: AnswerTable}


def fingerprint(campaign: Campaign) -> str:
    """Return the SHA-256 of the canonical form, as 64 hexadecimal digits.

    Notes
    -----
    The canonical form is the ASCII text ``noutput-campaign 2`` and a line feed, then what
    `canonical` makes of the document without its fingerprint, where every table is replaced by
    its own.
    """
    content = _content(campaign)
    content["tables"] = [table.fingerprint for table in content["tables"]]
    return hashlib.sha256(b"noutput-campaign 2\n" + canonical(content)).hexdigest()


def write(campaign: Campaign) -> str:
    """Return the document as JSON: one question per line, one row of a table per line."""
    parts = []
    for key, value in _content(campaign).items():
        if key == "questions":
            lines = (json.dumps(each, ensure_ascii=False) for each in value)
            text = "[\n  " + ",\n  ".join(lines) + "\n ]"
        elif key == "tables":
            tables = (table.to_json().rstrip("\n").replace("\n", "\n  ") for table in value)
            text = "[\n  " + ",\n  ".join(tables) + "\n ]"
        else:
            text = json.dumps(value, ensure_ascii=False)
        parts.append(f' "{key}": {text}')
    parts.append(f' "fingerprint": "{campaign.fingerprint}"')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def read(found: dict[str, Any], most: int) -> dict[str, Any]:
    """Return the arguments of `Campaign` for a parsed document with at most `most` questions."""
    _check_keys("", found, _KEYS)
    for key, only in _ROOM.items():
        if type(found[key]) is not type(only) or found[key] != only:
            raise DocumentError(key, f"be {json.dumps(only)}: {NEWER}", found[key])
    questions = _read_questions(found["questions"], most)
    places, objectives = _read_wave(found["waves"], len(questions))
    tables = _read_tables(found["tables"], most)
    _check_places(places, len(tables))
    return {
        "id": found["id"],
        "title": found["title"],
        "text": found["text"],
        "questions": questions,
        "tables": tuple(tables[place] for place in places),
        "opens": parse_instant("opens", found["opens"]),
        "closes": parse_instant("closes", found["closes"]),
        "public": found["public"],
        "ask": found["ask"],
        "objectives": tuple(objectives),
        "version": 2,
        "admission": Admission.from_document(found["admission"]),
    }


def _content(campaign: Campaign) -> dict[str, Any]:
    """Return all of the document but its fingerprint; tables as objects."""
    tables = list(dict.fromkeys(campaign.tables))  # different ones, in the order of their first use
    places = [tables.index(table) for table in campaign.tables]
    return {
        "format": "noutput-campaign",
        "version": 2,
        "id": campaign.id,
        "title": campaign.title,
        "text": campaign.text,
        "public": campaign.public,
        "opens": format_instant(campaign.opens),
        "closes": format_instant(campaign.closes),
        "ask": campaign.ask,
        "questions": [each.to_document() for each in campaign.questions],
        "waves": [{"tables": places, "objectives": list(campaign.objectives)}],
        "tables": tables,
        **_ROOM,
        "admission": campaign.admission.to_document(),
    }


def _check_keys(path: str, found: dict[str, Any], keys: tuple[str, ...]) -> None:
    for key in found:
        if key not in keys:
            name = f"key {(path + key)[:200]!r}"
            raise DocumentError(name, f"be absent: {NEWER}", found[key])
    for key in keys:
        if key not in found:
            raise DocumentError(f"{path}{key}", "be given", None)


def _read_questions(value: object, most: int) -> tuple[Question, ...]:
    if not isinstance(value, list) or not 1 <= len(value) <= most:
        raise DocumentError("questions", f"be a list of 1 to {most} entries", value)
    result = []
    for index, entry in enumerate(value):
        path = f"questions[{index}]"
        question = question_from_document(entry, path)
        empty = sorted(set(entry) - set(question.to_document()))
        if empty:  # a question has one form only, and the fingerprint is of it
            raise DocumentError(f"{path}.{empty[0]}", "be absent where empty", entry[empty[0]])
        result.append(question)
    return tuple(result)


def _read_wave(value: object, count: int) -> tuple[list[Any], list[Any]]:
    if not isinstance(value, list) or len(value) != 1:
        raise DocumentError("waves", f"be a list of one entry: with more, {NEWER}", value)
    (wave,) = value
    if not isinstance(wave, dict):
        raise DocumentError("waves[0]", "be a JSON object", wave)
    _check_keys("waves[0].", wave, _WAVE_KEYS)
    for key in _WAVE_KEYS:
        if not isinstance(wave[key], list) or len(wave[key]) != count:
            rule = f"be a list of {count} entries, one per question"
            raise DocumentError(f"waves[0].{key}", rule, wave[key])
    return wave["tables"], wave["objectives"]


def _read_tables(value: object, most: int) -> list[CertifiedTable | AnswerTable]:
    result: list[CertifiedTable | AnswerTable] = []
    for index, entry in enumerate(document.entries("tables", value, most)):
        path = f"tables[{index}]"
        if not isinstance(entry, dict):
            raise DocumentError(path, "be a JSON object", type(entry).__name__)
        version = entry.get("version")
        if type(version) is not int or version not in _TABLES:
            raise DocumentError(f"{path}.version", f"be 1 or 2: otherwise {NEWER}", version)
        try:
            result.append(_TABLES[version].from_document(entry))
        except PrivacyError:
            raise
        except InvalidArgumentError as error:
            raise DocumentError(f"{path}.{error.name}", error.rule, error.found) from None
    if len(set(result)) < len(result):
        raise DocumentError("tables", "differ from each other", len(result))
    return result


def _check_places(places: list[Any], count: int) -> None:
    """Refuse places that are none, and tables in another order than that of their first use."""
    used = 0
    for index, place in enumerate(places):
        if type(place) is not int or not 0 <= place < count:
            rule = f"be a place in the list of {count} tables"
            raise DocumentError(f"waves[0].tables[{index}]", rule, place)
        if place > used:
            rule = f"be at most {used}: tables are in the order of their first use"
            raise DocumentError(f"waves[0].tables[{index}]", rule, place)
        used = max(used, place + 1)
    if used < count:
        raise DocumentError("tables", "be used by a question each", f"{count - used} unused")
