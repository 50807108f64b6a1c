"""Routes that read: campaigns, estimates, health and metrics."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from noutput import __version__
from noutput.collector.administration.summaries import campaign_summary
from noutput.collector.dashboard.routes import campaign_page
from noutput.collector.estimates import PAGE_LEVEL, allowed_bins
from noutput.collector.http.access import (
    Id,
    MaybeReader,
    Scraper,
    Shared,
    accepts_gzip,
    check_metrics,
    check_reader,
    may_administer,
    may_read,
    sees_alarms,
    wants_page,
)
from noutput.collector.http.models import (
    CampaignList,
    EstimatesModel,
    Health,
    ReportOutcome,
)
from noutput.collector.http.openapi import CAMPAIGN_BODY, REPORTS_BODY, refusals
from noutput.collector.http.problems import ProblemError
from noutput.collector.http.strata import Labels, Level, Rounds, check_level, read_selection
from noutput.collector.metrics import METRICS_TYPE

__all__ = ["router"]

router = APIRouter()
_BINS = "Of histograms of numbers without edges: a power of two, or as many as the page has."
_COMPRESSED_BEYOND = 1 << 14  # bytes; a table with 128 outputs takes ten times as much


@router.get("/campaigns", responses=refusals("token-required"), tags=["campaigns"])
async def list_campaigns(services: Shared, token: MaybeReader) -> CampaignList:
    """List the campaigns whose estimates the caller may read."""
    entries = await services.lanes.store.run(services.directory.all)
    shown = await services.lanes.store.run(services.store.published_totals)
    hidden = await services.hidden_totals(entries, shown)
    totals: dict[int, int] = {}
    if token is not None and token.kind == "admin":
        totals = await services.lanes.store.run(services.store.totals)
    now = services.clock()
    return CampaignList(
        campaigns=[
            campaign_summary(
                entry,
                now,
                shown.get(entry.key, 0),
                totals.get(entry.key, 0) if may_administer(token, entry) else hidden.get(entry.key),
            )
            for entry in entries
            if may_read(token, entry)
        ]
    )


@router.get(
    "/campaigns/{id}",
    responses={
        200: {"description": "The campaign document, or its page for a browser.", **CAMPAIGN_BODY},
        304: {"description": "It is the one that If-None-Match names."},
        **refusals("unknown-campaign", "token-required"),
    },
    response_class=Response,
    tags=["campaigns"],
)
async def get_campaign(
    campaign_id: Id, request: Request, services: Shared, token: MaybeReader
) -> Response:
    """Return a campaign document, that of its newest wave; its fingerprint is the ETag.

    Where `text/html` is accepted, as a browser does, the answer is the campaign's page. A document
    beyond 16 KiB is compressed where the client accepts gzip; the tag is a weak one then.
    """
    entry = await services.entry(campaign_id)
    if wants_page(request):
        return await campaign_page(request, services, entry, token)
    tag = f'"{entry.campaign.fingerprint}"'
    headers = {"ETag": tag, "Cache-Control": "no-cache", "Vary": "Accept, Accept-Encoding"}
    body = entry.document
    if len(body) > _COMPRESSED_BEYOND and accepts_gzip(request):
        body = entry.compressed
        headers |= {"ETag": f"W/{tag}", "Content-Encoding": "gzip"}
    if tag in request.headers.get("if-none-match", ""):
        headers.pop("Content-Encoding", None)
        return Response(status_code=304, headers=headers)
    return Response(body, media_type="application/json", headers=headers)


@router.get(
    "/campaigns/{id}/waves/{fingerprint}",
    responses={
        200: {"description": "The campaign document up to this wave.", **CAMPAIGN_BODY},
        **refusals("unknown-campaign"),
    },
    response_class=Response,
    tags=["campaigns"],
)
async def get_wave(campaign_id: Id, services: Shared, fingerprint: str) -> Response:
    """Return the document of a campaign as it was in one of its waves; it never changes."""
    entry = await services.entry(campaign_id)
    found = entry.document_of(fingerprint)
    if found is None:
        detail = f"the campaign {campaign_id!r} has no wave {fingerprint[:64]!r}"
        raise ProblemError("unknown-campaign", detail)
    headers = {"ETag": f'"{fingerprint}"', "Cache-Control": "public, max-age=31536000, immutable"}
    return Response(found, media_type="application/json", headers=headers)


@router.get(
    "/campaigns/{id}/estimates",
    responses={
        200: {"model": EstimatesModel, "description": "The estimates."},
        **refusals(
            "unknown-campaign", "token-required", "token-not-sufficient", "invalid-parameter"
        ),
    },
    response_class=Response,
    tags=["campaigns"],
)
async def get_estimates(
    campaign_id: Id,
    services: Shared,
    token: MaybeReader,
    bins: Annotated[int, Query(ge=4, le=256, description=_BINS)] = 64,
    level: Level = PAGE_LEVEL,
    segment: Labels = [],  # noqa: B006
    rounds: Rounds = None,
) -> Response:
    """Return all that is estimated about every question, from the reports published so far.

    Of a number with edges: mean, shares below edges and of cells, standard deviation, quantiles as
    ranges. Of another number: mean, variance, quantiles and distribution. Of a scale or a choice:
    the share of every answer and, where they have order or scores, quantiles and mean. Of yes/no:
    one share.

    With labels, it is about the published reports that tell all of them; with rounds, about those
    of these rounds.
    """
    check_level(level)
    entry = await services.entry(campaign_id)
    check_reader(token, entry)
    allowed = allowed_bins(entry.campaign)
    if bins not in allowed:
        detail = f"bins must be one of {', '.join(map(str, allowed))}; found {bins}"
        raise ProblemError("invalid-parameter", detail)
    selection = read_selection(entry, segment, rounds)
    found = await services.estimates.content(entry, bins, level, selection)
    headers = {"Cache-Control": "no-store"}
    return Response(found.content, media_type="application/json", headers=headers)


@router.post(
    "/campaigns/{id}/reports",
    responses={
        200: {"description": "All reports are counted, durably."},
        **refusals(
            "malformed-body", "campaign-not-open", "invalid-token", "unknown-campaign",
            "request-timeout", "wrong-fingerprint", "body-too-large", "unsupported-media-type",
            "unknown-question", "unknown-output", "unknown-label",
            "unknown-round", "round-not-begun", "round-over", "repeated-id",
            "too-many-reports", "campaign-limit",
        ),
    },
    openapi_extra={"requestBody": {"required": True, **REPORTS_BODY}},
    tags=["campaigns"],
)  # fmt: skip
async def send_reports(campaign_id: Id) -> ReportOutcome:
    """Count one report or a batch: as a whole, or not at all."""
    raise NotImplementedError(campaign_id)  # pragma: no cover (`Guard` calls `ReportsRoute`)


@router.get("/health/live", responses=refusals(), tags=["operation"])
async def get_liveness() -> Health:
    """Say that the process answers; the database is not asked."""
    return Health(status="ok", version=__version__)


@router.get("/health", responses=refusals(), tags=["operation"])
@router.get("/health/ready", responses=refusals(), tags=["operation"])
async def get_readiness(services: Shared) -> Health:
    """Say whether reports can be counted now: 200, or 503 with the reason."""
    obstacle = await services.readiness.obstacle()
    if obstacle is not None:
        raise ProblemError("unavailable", obstacle, {"Retry-After": "1"})
    return Health(status="ok", version=__version__)


@router.get(
    "/metrics",
    responses={
        200: {
            "description": "Counters in the text format of Prometheus.",
            "content": {METRICS_TYPE: {"schema": {"type": "string"}}},
        },
        **refusals("token-required", "token-not-sufficient"),
    },
    response_class=Response,
    tags=["operation"],
)
async def get_metrics(services: Shared, token: Scraper) -> Response:
    """Return counters; none names a client.

    They count the reports of all campaigns, private ones too: a token for all campaigns is needed.
    While the database does not answer, one that has read them within the last hour is enough. With
    a read token, there are no counters of alarms and of single campaigns and their rounds.
    """
    check_metrics(token)
    text = services.metrics.render(campaigns=sees_alarms(token))
    return Response(text, headers={"Content-Type": METRICS_TYPE})
