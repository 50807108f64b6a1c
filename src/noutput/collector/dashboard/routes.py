"""The pages, what they export, and how people sign in."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response
from starlette.concurrency import run_in_threadpool

from noutput._numbers import round_bins
from noutput.collector.dashboard import session
from noutput.collector.dashboard.assets import assets
from noutput.collector.dashboard.pages import page, tag_of, unchanged
from noutput.collector.dashboard.privacy import privacy
from noutput.collector.dashboard.table import estimates_csv
from noutput.collector.dashboard.view import attribute_view, draw
from noutput.collector.http.access import (
    Id,
    MaybeReader,
    Shared,
    check_reader,
    may_read,
)
from noutput.collector.http.headers import OWN
from noutput.collector.http.problems import ProblemError
from noutput.questions import Number

if TYPE_CHECKING:
    from noutput.collector.estimates import CampaignEstimates
    from noutput.collector.services import Services
    from noutput.collector.store.directory import KnownCampaign
    from noutput.collector.store.interface import TokenRow

__all__ = ["campaign_page", "router"]

router = APIRouter(include_in_schema=False)

_LEVEL = 0.95
_BINS = 64
_STILL_SECONDS = 15  # how long a page may stay as it is where no report comes


@router.get("/")
async def front_page(request: Request, services: Shared, token: MaybeReader) -> Response:
    """List the campaigns whose estimates the visitor may read."""
    now = services.clock()
    entries = await run_in_threadpool(services.directory.all)
    totals = await run_in_threadpool(services.store.totals)
    rows = [
        (each.campaign, each.state(now), totals.get(each.key, 0))
        for each in reversed(entries)
        if may_read(token, each)
    ]
    known = [(campaign.fingerprint, *rest) for campaign, *rest in rows]
    tag = tag_of(known, token and token.id)
    same = unchanged(request, tag)
    if same is not None:
        return same
    values = {"rows": rows, "signed_in": token is not None, "path": "/"}
    return await run_in_threadpool(page, "index.html", values, tag=tag)


async def campaign_page(
    request: Request, services: Services, entry: KnownCampaign, token: TokenRow | None
) -> Response:
    """Return the page of a campaign: all of it, or what everybody may see."""
    path = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    now = services.clock()
    values = {
        "entry": entry, "campaign": entry.campaign, "state": entry.state(now), "path": path,
        "signed_in": token is not None,
    }  # fmt: skip
    if not may_read(token, entry):
        promise = await run_in_threadpool(privacy, entry)
        return await run_in_threadpool(page, "private.html", {**values, "privacy": promise})
    place = _place(request, entry)
    found = await _estimates(services, entry, place)
    moment = int(now.timestamp()) // _STILL_SECONDS if entry.is_open(now) else 0
    tag = tag_of(found.content, path, token and token.id, moment)
    same = unchanged(request, tag)
    if same is not None:
        return same

    def render() -> Response:
        counts = services.store.counts(entry.key)
        counted = [tally.total for tally in entry.layout.tallies(counts)]
        known = [each for each in services.store.history(entry.key) if each.attribute == place]
        target = _positive(request.query_params.get("target"))
        mine = found.questions[place]
        view = attribute_view(entry, mine, known, counted[place], sum(counted), target, now)
        more = {"found": found, "view": view, "privacy": privacy(entry)}
        return page("campaign.html", {**values, **more}, tag=tag)

    return await run_in_threadpool(render)


async def _estimates(services: Services, entry: KnownCampaign, place: int = 0) -> CampaignEstimates:
    """Return the estimates in bins of which four together have a round width for a number."""
    question = entry.campaign.questions[place]
    bins = _BINS
    if isinstance(question, Number):
        bins = 4 * round_bins(question.lower, question.upper)
    return await run_in_threadpool(services.estimates.get, entry, bins, _LEVEL)


def _place(request: Request, entry: KnownCampaign) -> int:
    name = request.query_params.get("attribute")
    if name is None:
        return 0
    place = entry.campaign.question_indexes.get(name)
    if place is None:
        raise ProblemError("not-found", f"the campaign has no question {name[:100]!r}")
    return place


def _positive(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if 0.0 < number < math.inf else None


@router.get("/campaigns/{id}/estimates.csv")
async def export_csv(campaign_id: Id, services: Shared, token: MaybeReader) -> Response:
    """Return everything that is estimated as one table."""
    entry = await services.entry(campaign_id)
    check_reader(token, entry)
    found = await _estimates(services, entry)
    return _file(f"{entry.campaign.id}.csv", "text/csv", estimates_csv(found))


@router.get("/campaigns/{id}/distribution.svg")
async def export_svg(
    campaign_id: Id, request: Request, services: Shared, token: MaybeReader
) -> Response:
    """Return the picture of a number's distribution."""
    entry = await services.entry(campaign_id)
    check_reader(token, entry)
    place = _place(request, entry)
    found = (await _estimates(services, entry, place)).questions[place]
    if found.summary is None or not isinstance(found.question, Number):
        raise ProblemError("not-found", "there are too few reports for a picture")
    heading = f"{entry.campaign.text} ({found.reports:,} private reports)"
    picture = draw(found.question, found.summary, heading=heading)
    return _file(f"{entry.campaign.id}-{found.question.name}.svg", "image/svg+xml", picture)


def _file(name: str, media: str, content: str) -> Response:
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
    return Response(content, 200, {**OWN, **headers}, media)


@router.get("/sign-in")
async def sign_in_page(request: Request, token: MaybeReader) -> Response:
    """Ask for a token."""
    path = session.safe_path(request.query_params.get("next"))
    values = {"path": path, "error": False, "signed_in": token is not None}
    return await run_in_threadpool(page, "sign_in.html", values)


@router.post("/sign-in")
async def sign_in(request: Request, services: Shared) -> Response:
    """Keep a token in the visitor's browser."""
    fields = await session.read_form(request, services)
    path = session.safe_path(fields.get("next"))
    token = await session.token_to_keep(services, fields.get("token", ""))
    if token is None:
        values = {"path": path, "error": True, "signed_in": False}
        return await run_in_threadpool(page, "sign_in.html", values, 403)
    answer = RedirectResponse(path, 303, OWN)
    session.keep(request, answer, token)
    return answer


@router.post("/sign-out")
async def sign_out(request: Request, services: Shared, token: MaybeReader) -> Response:
    """Let the visitor's browser forget its token, which ends where it was made for the browser."""
    await session.read_form(request, services)
    await session.end(services, token)
    answer = RedirectResponse("/", 303, OWN)
    session.forget(request, answer)
    return answer


@router.get("/static/{name:path}")
async def static_file(name: str, request: Request) -> Response:
    """Return a style sheet or a script; the browser asks whether it is still the same."""
    found = assets().get(name)
    if found is None:
        raise ProblemError("not-found", f"there is no file {name[:100]!r}")
    headers = {**OWN, "ETag": found.tag, "Cache-Control": "no-cache"}
    if found.tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(found.content, 200, headers, found.media_type)
