"""Parts of the OpenAPI 3.1 document that FastAPI cannot find by itself."""

from __future__ import annotations

from typing import Any

from noutput.campaign.campaign import GOALS
from noutput.campaign.wire import BATCH_TYPE, MAX_BATCH, PACKED_TYPE, PROBLEM_TYPE, REPORT_TYPE
from noutput.collector.http.models import ProblemModel, TokenRequest
from noutput.collector.http.problems import PROBLEMS

__all__ = ["CAMPAIGN_BODY", "REPORTS_BODY", "TOKEN_BODY", "refusals"]

# Any route may answer with these.
_EVERYWHERE = (
    "bad-request",
    "too-many-requests",
    "head-too-large",
    "internal-error",
    "unavailable",
)

CAMPAIGN_BODY: dict[str, Any] = {
    "content": {
        "application/json": {
            "schema": {
                "type": "object",
                "description": "A campaign document; docs/wire.md describes it.",
                "properties": {
                    "format": {"const": "noutput-campaign"},
                    "version": {"const": 1},
                    "id": {"type": "string", "pattern": "^[a-z0-9][a-z0-9-]{0,63}$"},
                    "title": {"type": "string", "minLength": 1, "maxLength": 200},
                    "question": {"type": "string", "minLength": 1, "maxLength": 1000},
                    "goal": {"enum": list(GOALS)},
                    "public": {"type": "boolean"},
                    "opens": {"type": "string"},
                    "closes": {"type": "string"},
                    "attributes": {"type": "array", "minItems": 1, "maxItems": 64},
                    "table": {"type": "object"},
                    "fingerprint": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
                },
                "required": [
                    "format", "version", "id", "title", "question", "goal", "public", "opens",
                    "closes", "attributes", "table", "fingerprint",
                ],
                "additionalProperties": False,
            }
        }
    }
}  # fmt: skip
TOKEN_BODY: dict[str, Any] = {
    "content": {"application/json": {"schema": TokenRequest.model_json_schema()}}
}
_ID = {"type": "string", "pattern": "^[0-9a-f]{32}$"}
_FINGERPRINT = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
_ANSWER = {
    "attribute": {"type": "string", "pattern": "^[a-z][a-z0-9_]{0,63}$"},
    "output": {"type": "integer", "minimum": 0, "maximum": 255},
    "id": _ID,
}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    required = list(properties)
    return {
        "type": "object", "properties": properties, "required": required,
        "additionalProperties": False,
    }  # fmt: skip


_HEAD = {"version": {"const": 1}, "campaign": _FINGERPRINT}
_BODIES: dict[str, dict[str, Any]] = {
    REPORT_TYPE: _object({**_HEAD, **_ANSWER}),
    BATCH_TYPE: _object(
        {
            **_HEAD,
            "reports": {
                "type": "array", "minItems": 1, "maxItems": MAX_BATCH, "items": _object(_ANSWER),
            },
        }
    ),
    PACKED_TYPE: {"type": "string", "format": "binary"},
}  # fmt: skip
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
