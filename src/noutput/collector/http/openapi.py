"""Parts of the OpenAPI 3.1 document that FastAPI cannot find by itself."""

from __future__ import annotations

from typing import Any

from noutput.campaign import document
from noutput.campaign.admission import KINDS, MAX_PER_HOUR
from noutput.campaign.campaign import MAX_QUESTIONS
from noutput.campaign.schedule import EVERY, MAX_GRACE, MAX_PER_PERIOD, MAX_ROUNDS
from noutput.campaign.segments import LEAST, MAX_COMBINATIONS, MAX_MINIMUM, MAX_NAMES
from noutput.campaign.tokens import TOKEN
from noutput.campaign.waves import MAX_WAVES
from noutput.campaign.wire import (
    BATCH_TYPE,
    MAX_BATCH,
    PACKED_TYPE,
    PROBLEM_TYPE,
    REPORT_TYPE,
    VERSION,
)
from noutput.collector.http.models import AdmissionRequest, ProblemModel, TokenRequest
from noutput.collector.http.problems import PROBLEMS

__all__ = ["ADMISSION_BODY", "CAMPAIGN_BODY", "REPORTS_BODY", "TOKEN_BODY", "refusals"]

# Any route may answer with these.
_EVERYWHERE = (
    "bad-request",
    "too-many-requests",
    "head-too-large",
    "internal-error",
    "unavailable",
)


def _object(properties: dict[str, Any], optional: tuple[str, ...] = ()) -> dict[str, Any]:
    required = [name for name in properties if name not in optional]
    return {
        "type": "object", "properties": properties, "required": required,
        "additionalProperties": False,
    }  # fmt: skip


def _text(most: int) -> dict[str, Any]:
    return {"type": "string", "minLength": 1, "maxLength": most}


def _whole(low: int, high: int) -> dict[str, Any]:
    return {"type": "integer", "minimum": low, "maximum": high}


_ID = {"type": "string", "pattern": "^[0-9a-f]{32}$"}
_FINGERPRINT = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
_NAME = {"type": "string", "pattern": "^[a-z][a-z0-9_]{0,63}$"}
_MANY = {"type": "array", "minItems": 1, "maxItems": MAX_QUESTIONS}
_ADMISSION = {
    "oneOf": [
        {"const": "open"},
        {
            "type": "object",
            "required": ["kind"],
            "additionalProperties": False,
            "properties": {
                "kind": {"enum": list(KINDS)},
                "reports_per_hour": _whole(1, MAX_PER_HOUR),
                "issuer": {"type": "string", "maxLength": 266},
                "key": {"type": "string", "minLength": 456, "maxLength": 456},
            },
        },
    ]
}
_SEGMENTS = {
    "oneOf": [
        {"const": {}},
        _object(
            {
                "names": {
                    "type": "array", "minItems": 1, "maxItems": MAX_NAMES,
                    "items": _object(
                        {
                            "name": _NAME,
                            "labels": {
                                "type": "array", "minItems": 2, "maxItems": MAX_COMBINATIONS,
                                "uniqueItems": True, "items": _text(64),
                            },
                        }
                    ),
                },
                "minimum": _whole(LEAST, MAX_MINIMUM),
            }
        ),
    ]
}  # fmt: skip
_SCHEDULE = {
    "oneOf": [
        {"type": "null"},
        _object(
            {
                "every": {"enum": list(EVERY)},
                "rounds_per_period": _whole(1, MAX_PER_PERIOD),
                "answers": _whole(1, MAX_PER_PERIOD),
                "grace": _whole(0, MAX_GRACE),
            }
        ),
    ]
}
_CAMPAIGN = {
    "format": {"const": document.FORMAT},
    "version": {"const": document.VERSION},
    "id": {"type": "string", "pattern": "^[a-z0-9][a-z0-9-]{0,63}$"},
    "title": _text(200),
    "text": _text(1000),
    "public": {"type": "boolean"},
    "opens": {"type": "string"},
    "closes": {"type": "string"},
    "ask": {"enum": ["one", "all"]},
    "questions": _MANY,
    "waves": {**_MANY, "maxItems": MAX_WAVES},
    "tables": {**_MANY, "maxItems": MAX_QUESTIONS * MAX_WAVES},
    "segments": _SEGMENTS,
    "schedule": _SCHEDULE,
    "admission": _ADMISSION,
    "fingerprint": _FINGERPRINT,
}
CAMPAIGN_BODY: dict[str, Any] = {
    "content": {
        "application/json": {
            "schema": {
                "description": "A campaign document; docs/wire.md describes it.",
                **_object(_CAMPAIGN),
            }
        }
    }
}
ADMISSION_BODY: dict[str, Any] = {
    "content": {"application/json": {"schema": AdmissionRequest.model_json_schema()}}
}
TOKEN_BODY: dict[str, Any] = {
    "content": {"application/json": {"schema": TokenRequest.model_json_schema()}}
}


_STRATUM = ("labels", "round")  # of campaigns with segments or a schedule


def _bodies(**more: Any) -> dict[str, dict[str, Any]]:
    """Return a report and a batch with further keys."""
    answer = {
        "question": _NAME,
        "output": _whole(0, 255),
        "id": _ID,
        **more,
    }
    head = {"version": {"const": VERSION}, "campaign": _FINGERPRINT}
    items = _object(answer, _STRATUM)
    many = {"type": "array", "minItems": 1, "maxItems": MAX_BATCH, "items": items}
    one = _object(head | answer, _STRATUM)
    return {REPORT_TYPE: one, BATCH_TYPE: _object(head | {"reports": many})}


_TOKEN = {"type": "string", "pattern": f"^({TOKEN.pattern})$"}
_LABELS = {
    "type": "object", "minProperties": 1, "maxProperties": MAX_NAMES,
    "additionalProperties": _text(64),
}  # fmt: skip
_FORMS = [
    _bodies(labels=_LABELS, round=_whole(0, MAX_ROUNDS - 1)),
    # where the campaign is not open to everybody
    _bodies(token=_TOKEN, labels=_LABELS),
]
_BODIES: dict[str, dict[str, Any]] = {
    REPORT_TYPE: {"oneOf": [form[REPORT_TYPE] for form in _FORMS]},
    BATCH_TYPE: {"oneOf": [form[BATCH_TYPE] for form in _FORMS]},
    PACKED_TYPE: {"type": "string", "format": "binary"},
}
REPORTS_BODY: dict[str, Any] = {
    "content": {media: {"schema": schema} for media, schema in _BODIES.items()}
}


def refusals(*names: str) -> dict[int | str, dict[str, Any]]:
    """Return the problem documents of a route, by status.

    Examples
    --------
    >>> refusals("unknown-campaign")[404]["description"]
    'unknown-campaign'
    """
    result: dict[int | str, dict[str, Any]] = {}
    for name in (*names, *_EVERYWHERE):
        status = PROBLEMS[name].status
        known = result.get(status, {}).get("description")
        result[status] = {
            "description": f"{known}, {name}" if known else name,
            "content": {PROBLEM_TYPE: {"schema": ProblemModel.model_json_schema()}},
        }
    return dict(sorted(result.items(), key=lambda item: int(item[0])))
