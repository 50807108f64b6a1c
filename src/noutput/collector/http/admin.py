"""Routes that change campaigns. All need an admin token."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from fastapi import APIRouter, Request
from fastapi.responses import Response

from noutput.campaign.campaign import Campaign
from noutput.campaign.text import format_instant
from noutput.collector.administration.summaries import campaign_summary, closing
from noutput.collector.estimable import check_estimable
from noutput.collector.http.access import Admin, FullAdmin, Id, Shared, check_admin
from noutput.collector.http.body import read_body
from noutput.collector.http.models import CampaignSummary, ClosingModel
from noutput.collector.http.openapi import CAMPAIGN_BODY, refusals
from noutput.collector.http.problems import ProblemError
from noutput.collector.store.interface import Action, ConflictError
from noutput.errors import InvalidArgumentError

if TYPE_CHECKING:
    from noutput.collector.services import Services
    from noutput.collector.store.directory import KnownCampaign

__all__ = ["json_body", "router"]

router = APIRouter()
_ADMIN = ("token-required", "token-not-sufficient")
_BODY = ("body-too-large", "request-timeout", "unsupported-media-type")


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
    request: Request, response: Response, services: Shared, token: FullAdmin
) -> CampaignSummary:
    """Keep a campaign; its tables are certified first, and must tell all answers apart."""
    body = await json_body(request, services, services.limits.campaign_bytes)
    try:
        campaign = await services.lanes.changes.run(_read_campaign, body)
    except (InvalidArgumentError, UnicodeDecodeError) as error:
        raise ProblemError("invalid-campaign", str(error)) from None
    now = format_instant(services.clock())
    action = Action(now, token.id, "campaign.create", campaign.id)
    values = (campaign.id, campaign.fingerprint, campaign.to_json(), now, action)
    try:
        row, new = await services.lanes.changes.run(services.store.create, *values)
    except ConflictError as error:
        raise ProblemError("campaign-exists", str(error)) from None
    entry = await services.lanes.changes.run(services.directory.take, row)
    response.status_code = 201 if new else 200
    response.headers["Location"] = f"/campaigns/{campaign.id}"
    return await _summary(services, entry)


def _read_campaign(body: bytes) -> Campaign:
    campaign = Campaign.from_json(body)
    check_estimable(campaign)
    return campaign


@router.get(
    "/campaigns/{id}/closing",
    responses=refusals("unknown-campaign", *_ADMIN),
    tags=["administration"],
)
async def preview_closing(campaign_id: Id, services: Shared, token: Admin) -> ClosingModel:
    """Tell how many reports would be published, and how many never, if it were closed now."""
    entry = await services.entry(campaign_id)
    check_admin(token, entry)
    return await services.lanes.changes.run(closing, services.store, entry, services.policy)


@router.post(
    "/campaigns/{id}/close",
    responses=refusals("unknown-campaign", *_ADMIN),
    tags=["administration"],
)
async def close_campaign(campaign_id: Id, services: Shared, token: Admin) -> CampaignSummary:
    """Count no more reports, before the time that the campaign names.

    It is for good. `/campaigns/{id}/closing` tells how many reports are never published then.
    """
    check_admin(token, await services.entry(campaign_id))
    now = format_instant(services.clock())
    action = Action(now, token.id, "campaign.close", campaign_id)
    close = partial(services.store.close_campaign, campaign_id, now, action=action)
    row = await services.lanes.changes.run(close)
    if row is None:
        raise ProblemError("unknown-campaign", f"there is no campaign {campaign_id!r}")
    entry = await services.lanes.changes.run(services.directory.take, row)
    return await _summary(services, entry)


@router.delete(
    "/campaigns/{id}",
    status_code=204,
    response_class=Response,
    responses=refusals("unknown-campaign", *_ADMIN),
    tags=["administration"],
)
async def delete_campaign(campaign_id: Id, services: Shared, token: Admin) -> None:
    """Forget a campaign, its counts, the ids of its reports and its tokens."""
    check_admin(token, await services.entry(campaign_id))
    action = Action(format_instant(services.clock()), token.id, "campaign.delete", campaign_id)
    gone = await services.lanes.changes.run(services.store.delete, campaign_id, action)
    services.directory.forget(campaign_id)
    if not gone:
        raise ProblemError("unknown-campaign", f"there is no campaign {campaign_id!r}")


async def json_body(request: Request, services: Services, limit: int) -> bytes:
    """Return the body of a request that must be JSON; raise where it is too large or late."""
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media != "application/json":
        detail = f"the content type must be application/json; found {media[:100]!r}"
        raise ProblemError("unsupported-media-type", detail)
    headers = request.scope["headers"]
    return await read_body(request.receive, headers, limit, services.limits.body_seconds)


async def _summary(services: Services, entry: KnownCampaign) -> CampaignSummary:
    counts = await services.lanes.changes.run(services.store.counts, entry.key)
    shown = await services.lanes.changes.run(services.store.published, entry.key)
    totals = (sum(shown.counts.values()), sum(counts.values()))
    return campaign_summary(entry, services.clock(), *totals)
