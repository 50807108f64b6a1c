"""Route that hands out one-time tokens. It needs an admin token."""

from __future__ import annotations

from fastapi import APIRouter, Request
from pydantic import ValidationError

from noutput.campaign.text import format_instant
from noutput.collector.http.access import Admin, Id, Shared, check_admin
from noutput.collector.http.admin import json_body
from noutput.collector.http.models import AdmissionRequest, AdmissionTokens
from noutput.collector.http.openapi import ADMISSION_BODY, refusals
from noutput.collector.http.problems import ProblemError
from noutput.collector.issuing import issue_tokens
from noutput.collector.store.interface import Action
from noutput.errors import InvalidArgumentError

__all__ = ["router"]

router = APIRouter(tags=["administration"])
_LONGEST = 4096


@router.post(
    "/campaigns/{id}/tokens",
    status_code=201,
    responses=refusals(
        "invalid-parameter", "malformed-body", "unknown-campaign", "token-required",
        "token-not-sufficient", "body-too-large", "request-timeout", "unsupported-media-type",
    ),
    openapi_extra={"requestBody": {"required": True, **ADMISSION_BODY}},
)  # fmt: skip
async def create_tokens(
    campaign_id: Id, request: Request, services: Shared, admin: Admin
) -> AdmissionTokens:
    """Make one-time tokens for people; the answer is the only place where they are ever shown."""
    body = await json_body(request, services, _LONGEST)
    entry = await services.entry(campaign_id)
    check_admin(admin, entry)
    try:
        wanted = AdmissionRequest.model_validate_json(body)
        now = format_instant(services.clock())
        action = Action(now, admin.id, "token.issue", campaign_id, detail=str(wanted.count))
        work = (services.store, entry.key, entry.campaign, wanted.count, action)
        tokens = await services.lanes.changes.run(issue_tokens, *work)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "body"
        raise ProblemError("invalid-parameter", f"{where}: {first['msg']}") from None
    except InvalidArgumentError as error:
        raise ProblemError("invalid-parameter", str(error)) from None
    return AdmissionTokens(tokens=tokens)
