"""Campaign document: questions of all kinds, each with its table, in waves, as JSON."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from noutput.campaign.admission import Admission
from noutput.campaign.canonical import canonical
from noutput.campaign.schedule import Schedule
from noutput.campaign.segments import Segments
from noutput.campaign.text import NEWER, format_instant, parse_instant
from noutput.campaign.waves import MAX_WAVES, NextWave
from noutput.errors import DocumentError, InvalidArgumentError, PrivacyError
from noutput.mechanisms.certified import Table
from noutput.mechanisms.document import entries, parse
from noutput.questions import Question, question_from_document

if TYPE_CHECKING:
    from noutput.campaign.campaign import Campaign

__all__ = ["FORMAT", "VERSION", "check_predecessor", "fingerprint", "read", "write"]

FORMAT = "noutput-campaign"
VERSION = 1
_KEYS = (
    "format", "version", "id", "title", "text", "public", "opens", "closes", "ask", "questions",
    "waves", "tables", "segments", "schedule", "admission", "fingerprint",
)  # fmt: skip
_EACH = ("tables", "objectives")  # one entry per question
_EACH_LATER = (*_EACH, "bounds", "inputs", "reasons")


def fingerprint(campaign: Campaign) -> str:
    """Return the SHA-256 of the canonical form, as 64 hexadecimal digits.

    Notes
    -----
    The canonical form is the ASCII text ``noutput-campaign 1`` and a line feed, then what
    `canonical` makes of the document without its fingerprint, where every table is replaced by
    its own.
    """
    content = _content(campaign)
    content["tables"] = [table.fingerprint for table in content["tables"]]
    return hashlib.sha256(b"noutput-campaign 1\n" + canonical(content)).hexdigest()


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


def read(text: str | bytes, most: int) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Read a document with `most` questions at most.

    Returns
    -------
    found : dict
        The parsed document.
    waves : list of dict
        The arguments of `Campaign` for every wave.
    """
    found = parse(text)
    if found.get("format") != FORMAT:
        raise DocumentError("format", f"be {FORMAT!r}", found.get("format"))
    version = found.get("version")
    if type(version) is not int or version != VERSION:
        raise DocumentError("version", f"be {VERSION}: otherwise {NEWER}", version)
    _check_keys("", found, _KEYS)
    questions = _read_questions(found["questions"], most)
    waves = _read_waves(found["waves"], len(questions))
    tables = _read_tables(found["tables"], most * len(waves))
    _check_places([wave["tables"] for wave in waves], len(tables))
    common = {
        "id": found["id"],
        "title": found["title"],
        "text": found["text"],
        "questions": questions,
        "opens": parse_instant("opens", found["opens"]),
        "closes": parse_instant("closes", found["closes"]),
        "public": found["public"],
        "ask": found["ask"],
        "admission": Admission.from_document(found["admission"]),
        "segments": Segments.from_document(found["segments"]),
        "schedule": Schedule.from_document(found["schedule"]),
    }
    if "next" in waves[0]:
        common["next_wave"] = NextWave.from_document(waves[0]["next"])
    return found, [
        {
            **common,
            "tables": tuple(tables[place] for place in wave["tables"]),
            **{key: tuple(wave[key]) for key in _EACH_LATER if key in wave and key != "tables"},
        }
        for wave in waves
    ]


def check_predecessor(found: dict[str, Any], index: int, fingerprint: str) -> None:
    """Refuse a wave that does not follow the one with this fingerprint."""
    named = found["waves"][index]["predecessor"]
    if named != fingerprint:
        raise DocumentError(f"waves[{index}].predecessor", f"be {fingerprint}", named)


def _content(campaign: Campaign) -> dict[str, Any]:
    """Return all of the document but its fingerprint; tables as objects.

    Tables are different ones, in the order of their first use over all waves: so the document
    without its last wave, and without the tables that only this one uses, is the predecessor's.
    """
    tables = list(dict.fromkeys(table for wave in campaign.waves for table in wave.tables))
    places = {table: place for place, table in enumerate(tables)}
    segments, schedule = campaign.segments, campaign.schedule
    return {
        "format": FORMAT,
        "version": VERSION,
        "id": campaign.id,
        "title": campaign.title,
        "text": campaign.text,
        "public": campaign.public,
        "opens": format_instant(campaign.opens),
        "closes": format_instant(campaign.closes),
        "ask": campaign.ask,
        "questions": [each.to_document() for each in campaign.questions],
        "waves": [_wave(each, places) for each in campaign.waves],
        "tables": tables,
        "segments": {} if segments is None else segments.to_document(),
        "schedule": None if schedule is None else schedule.to_document(),
        "admission": campaign.admission.to_document(),
    }


def _wave(campaign: Campaign, places: dict[Table, int]) -> dict[str, Any]:
    own: dict[str, Any] = {
        "tables": [places[table] for table in campaign.tables],
        "objectives": list(campaign.objectives),
    }
    if campaign.predecessor is not None:
        return own | {
            "bounds": campaign.bounds,
            "predecessor": campaign.predecessor.fingerprint,
            "inputs": campaign.inputs,
            "reasons": campaign.reasons,
        }
    if campaign.next_wave is not None:
        own["next"] = campaign.next_wave.to_document()
    return own


def _check_keys(
    path: str, found: dict[str, Any], keys: tuple[str, ...], optional: tuple[str, ...] = ()
) -> None:
    for key in found:
        if key not in keys and key not in optional:
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


def _read_waves(value: object, count: int) -> list[dict[str, Any]]:
    if not isinstance(value, list) or not 1 <= len(value) <= MAX_WAVES:
        rule = f"be a list of 1 to {MAX_WAVES} entries: with more, {NEWER}"
        raise DocumentError("waves", rule, value)
    for index, wave in enumerate(value):
        path = f"waves[{index}]"
        if not isinstance(wave, dict):
            raise DocumentError(path, "be a JSON object", wave)
        each = _EACH_LATER if index else _EACH
        others = ("predecessor",) if index else ()
        _check_keys(f"{path}.", wave, (*each, *others), () if index else ("next",))
        for key in each:
            if not isinstance(wave[key], list) or len(wave[key]) != count:
                rule = f"be a list of {count} entries, one per question"
                raise DocumentError(f"{path}.{key}", rule, wave[key])
    if len(value) > 1 and "next" not in value[0]:
        rule = "be a list of one entry, where the campaign is not adaptive"
        raise DocumentError("waves", rule, len(value))
    return value


def _read_tables(value: object, most: int) -> list[Table]:
    result: list[Table] = []
    for index, entry in enumerate(entries("tables", value, most)):
        path = f"tables[{index}]"
        if not isinstance(entry, dict):
            raise DocumentError(path, "be a JSON object", type(entry).__name__)
        try:
            result.append(Table.from_document(entry))
        except PrivacyError:
            raise
        except InvalidArgumentError as error:
            raise DocumentError(f"{path}.{error.name}", error.rule, error.found) from None
    if len(set(result)) < len(result):
        raise DocumentError("tables", "differ from each other", len(result))
    return result


def _check_places(waves: list[list[Any]], count: int) -> None:
    """Refuse places that are none, and tables in another order than that of their first use."""
    used = 0
    for wave, places in enumerate(waves):
        for index, place in enumerate(places):
            name = f"waves[{wave}].tables[{index}]"
            if type(place) is not int or not 0 <= place < count:
                raise DocumentError(name, f"be a place in the list of {count} tables", place)
            if place > used:
                rule = f"be at most {used}: tables are in the order of their first use"
                raise DocumentError(name, rule, place)
            used = max(used, place + 1)
    if used < count:
        raise DocumentError("tables", "be used by a question each", f"{count - used} unused")
