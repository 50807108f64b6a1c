"""Routes that change something: campaigns and tokens. All need an admin token."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import ValidationError

from noutput.campaign.campaign import Campaign
from noutput.campaign.text import format_instant
from noutput.collector.http.access import Admin, Id, Shared  # noqa: TC001 (FastAPI reads them)
from noutput.collector.http.auth import new_token, reading_id
from noutput.collector.http.body import read_body
from noutput.collector.http.models import (
    CampaignSummary,
    TokenCreated,
    TokenInfo,
    TokenList,
    TokenRequest,
)
from noutput.collector.http.openapi import CAMPAIGN_BODY, TOKEN_BODY, refusals
from noutput.collector.http.problems import ProblemError
from noutput.collector.http.public import campaign_summary
from noutput.collector.store.interface import ConflictError, TokenRow
from noutput.errors import InvalidArgumentError

if TYPE_CHECKING:
    from noutput.collector.services import Services

__all__ = ["router"]

router = APIRouter()
_ADMIN = ("token-required", "token-not-sufficient")
_BODY = ("body-too-large", "request-timeout", "unsupported-media-type")
_TOKEN_BYTES = 4096


@router.post(
    "/campaigns",
    status_code=201,
    responses={
        200: {"model": CampaignSummary, "description": "The same campaign was there."},
        **refusals("invalid-campaign", "campaign-exists", *_ADMIN, *_BODY),
    },
    openapi_extra={"requestBody": {"required": True, **CAMPAIGN_BODY}},
    tags=["administration"],
)
async def create_campaign(
    request: Request, response: Response, services: Shared, _: Admin
) -> CampaignSummary:
    """Keep a campaign; its table is certified first."""
    body = await _json_body(request, services, services.limits.campaign_bytes)
    try:
        campaign = await services.lanes.changes.run(Campaign.from_json, body)
    except (InvalidArgumentError, UnicodeDecodeError) as error:
        raise ProblemError("invalid-campaign", str(error)) from None
    now = format_instant(services.clock())
    values = (campaign.id, campaign.fingerprint, campaign.to_json(), now)
    try:
        row, new = await services.lanes.changes.run(services.store.create, *values)
    except ConflictError as error:
        raise ProblemError("campaign-exists", str(error)) from None
    entry = await services.lanes.changes.run(services.directory.take, row)
    response.status_code = 201 if new else 200
    response.headers["Location"] = f"/campaigns/{campaign.id}"
    return campaign_summary(services, entry, 0 if new else await _total(services, row.key))


@router.post(
    "/campaigns/{id}/close",
    responses=refusals("unknown-campaign", *_ADMIN),
    tags=["administration"],
)
async def close_campaign(campaign_id: Id, services: Shared, _: Admin) -> CampaignSummary:
    """Count no more reports, before the time that the campaign names."""
    await services.entry(campaign_id)
    now = format_instant(services.clock())
    row = await services.lanes.changes.run(services.store.close_campaign, campaign_id, now)
    if row is None:
        raise ProblemError("unknown-campaign", f"there is no campaign {campaign_id!r}")
    entry = await services.lanes.changes.run(services.directory.take, row)
    return campaign_summary(services, entry, await _total(services, row.key))


@router.delete(
    "/campaigns/{id}",
    status_code=204,
    response_class=Response,
    responses=refusals("unknown-campaign", *_ADMIN),
    tags=["administration"],
)
async def delete_campaign(campaign_id: Id, services: Shared, _: Admin) -> None:
    """Forget a campaign, its counts and the ids of its reports."""
    await services.entry(campaign_id)
    gone = await services.lanes.changes.run(services.store.delete, campaign_id)
    services.directory.forget(campaign_id)
    if not gone:
        raise ProblemError("unknown-campaign", f"there is no campaign {campaign_id!r}")


@router.get("/tokens", responses=refusals(*_ADMIN), tags=["administration"])
async def list_tokens(services: Shared, _: Admin) -> TokenList:
    """List all tokens without their secrets."""
    rows = await services.lanes.changes.run(services.store.tokens)
    return TokenList(tokens=[_info(row) for row in rows])


@router.post(
    "/tokens",
    status_code=201,
    responses=refusals("invalid-parameter", "malformed-body", *_ADMIN, *_BODY),
    openapi_extra={"requestBody": {"required": True, **TOKEN_BODY}},
    tags=["administration"],
)
async def create_token(request: Request, services: Shared, _: Admin) -> TokenCreated:
    """Make a token; the answer is the only place where it is ever shown."""
    body = await _json_body(request, services, _TOKEN_BYTES)
    try:
        wanted = TokenRequest.model_validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "body"
        raise ProblemError("invalid-parameter", f"{where}: {first['msg']}") from None
    if wanted.kind == "admin" and wanted.campaign is not None:
        raise ProblemError("invalid-parameter", "campaign must be null for an admin token")
    token, row = new_token(wanted.kind, wanted.campaign, services.clock())
    await services.lanes.changes.run(services.store.add_token, row)
    return TokenCreated(token=token, **_info(row).model_dump())


@router.delete(
    "/tokens/{id}",
    status_code=204,
    response_class=Response,
    responses=refusals("unknown-token", *_ADMIN),
    tags=["administration"],
)
async def delete_token(token_id: Id, services: Shared, _: Admin) -> None:
    """Make a token invalid, and the read token that browsers keep in an admin token's place."""
    delete = services.store.delete_token
    await services.lanes.changes.run(delete, reading_id(token_id))
    if "\0" in token_id or not await services.lanes.changes.run(delete, token_id):
        raise ProblemError("unknown-token", f"there is no token {token_id[:100]!r}")


async def _json_body(request: Request, services: Services, limit: int) -> bytes:
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media != "application/json":
        detail = f"the content type must be application/json; found {media[:100]!r}"
        raise ProblemError("unsupported-media-type", detail)
    headers = request.scope["headers"]
    return await read_body(request.receive, headers, limit, services.limits.body_seconds)


async def _total(services: Services, key: int) -> int:
    return sum((await services.lanes.changes.run(services.store.counts, key)).values())


def _info(row: TokenRow) -> TokenInfo:
    kind: Literal["admin", "read"] = "admin" if row.kind == "admin" else "read"
    return TokenInfo(id=row.id, kind=kind, campaign=row.campaign, created=row.created)
