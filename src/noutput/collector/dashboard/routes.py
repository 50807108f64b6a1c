"""The pages, what they export, and how people sign in."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from noutput.collector.dashboard import session
from noutput.collector.dashboard.asked import Asked
from noutput.collector.dashboard.assets import assets
from noutput.collector.dashboard.overview import headline
from noutput.collector.dashboard.pages import answer, page, render
from noutput.collector.dashboard.privacy import privacy
from noutput.collector.dashboard.strata import find_strata, strata_views
from noutput.collector.dashboard.table import estimates_csv
from noutput.collector.dashboard.view import draw, question_view
from noutput.collector.dashboard.waves import newest_reports, wave_views
from noutput.collector.estimates import page_bins
from noutput.collector.http.access import (
    Id,
    MaybeReader,
    Shared,
    check_reader,
    is_operator,
    may_read,
)
from noutput.collector.http.headers import OWN
from noutput.collector.http.problems import ProblemError
from noutput.collector.strata import Selection

if TYPE_CHECKING:
    from datetime import datetime

    from noutput.collector.alarms import Alarm
    from noutput.collector.rendered import Rendered
    from noutput.collector.services import Services
    from noutput.collector.store.directory import KnownCampaign
    from noutput.collector.store.interface import Milestone, TokenRow

__all__ = ["campaign_page", "router"]

router = APIRouter(include_in_schema=False)

_STATES = ("open", "upcoming", "closed")  # in the order of the overview
_STILL_SECONDS = 15  # how long a page may stay as it is where no report comes
_LAST_SECONDS = 60  # within which what came last is published after the end of a campaign


@router.get("/")
async def front_page(request: Request, services: Shared, token: MaybeReader) -> Response:
    """List the campaigns whose estimates the visitor may read: first those that are open."""
    now = services.clock()
    entries = await services.lanes.store.run(services.directory.all)
    totals = await services.lanes.store.run(services.store.published_totals)
    mine = [each for each in reversed(entries) if may_read(token, each)]
    mine.sort(key=lambda each: _STATES.index(each.state(now)))
    rows = [
        (
            each.campaign,
            each.state(now),
            each.closed or each.campaign.closes,
            totals.get(each.key, 0),
            bool(_alarms(services, each, token, now)),
        )
        for each in mine
    ]
    shown = tuple((campaign.fingerprint, *rest) for campaign, *rest in rows)

    async def whole() -> str:
        headlines = [await _headline(services, each, totals.get(each.key, 0)) for each in mine]
        values = {"rows": list(zip(rows, headlines, strict=True)), "path": "/"}
        return await services.lanes.pages.run(
            render, "index.html", {**values, "signed_in": token is not None}
        )

    found = await services.renderings.get(("index", token is not None), shown, whole)
    return answer(request, found)


async def _headline(services: Services, entry: KnownCampaign, total: int) -> str:
    """Return the figure of a campaign as HTML, made once per release and read from its history."""

    async def make() -> str:
        known = await services.lanes.store.run(services.store.history, entry.key)
        question = entry.campaign.questions[0]
        shown = headline(question, [each for each in known if each.question == 0])
        values = {"headline": shown, "reports": total, "least": services.steps.least}
        return await services.lanes.pages.run(render, "headline.html", values)

    found = await services.renderings.get(("headline", entry.key), total, make)
    return found.content.decode()


async def campaign_page(
    request: Request, services: Services, entry: KnownCampaign, token: TokenRow | None
) -> Response:
    """Return the page of a campaign: all of it, or what everybody may see."""
    campaign, asked = entry.campaign, Asked.read(entry.campaign, request.query_params)
    place = asked.place
    now = services.clock()
    values = {
        "entry": entry, "campaign": campaign, "state": entry.state(now),
        "path": request.url.path + asked.query(campaign), "signed_in": token is not None,
        "assume": asked.assume, "asked": asked, "nothing": Selection(),
    }  # fmt: skip
    # Everybody with the same rights gets the same page, which is made once per change.
    rights = (may_read(token, entry), is_operator(token, entry), token is not None)
    name = ("page", entry.key, rights, values["path"])
    if not may_read(token, entry):

        async def promise() -> str:
            more = {"privacy": await services.lanes.pages.run(privacy, entry, place)}
            return await services.lanes.pages.run(render, "private.html", {**values, **more})

        return answer(request, await services.renderings.get(name, values["state"], promise))
    bins = page_bins(campaign.questions[place])
    found = await services.estimates.get(entry, bins, place, asked.assume, asked.selection)
    strata = await find_strata(services, entry, asked, now)
    alarms = _alarms(services, entry, token, now)
    ending = _is_ending(entry, now)
    moment = int(now.timestamp()) // _STILL_SECONDS if entry.is_open(now) or ending else 0

    async def whole() -> str:
        known = await services.lanes.store.run(services.store.history, entry.key)
        return await services.lanes.pages.run(draw_page, known)

    def draw_page(known: list[Milestone]) -> str:
        shown = found.questions[place]
        mine = [each for each in known if each.question == place and each.reports <= shown.reports]
        step, least = _steps(services, entry, newest_reports(place, found.waves, shown.reports))
        mine = [] if asked.selection else mine
        view = question_view(entry, shown, mine, found.reports, step, asked.target, now)
        more = {
            "found": found, "view": view, "privacy": privacy(entry, place, found.readers),
            "shown": shown, "step": step, "least": least,
            "epsilon": campaign.tables[place].epsilon, "alarms": alarms,
            "ending": ending, "waves": wave_views(campaign, place, found.waves),
            **strata_views(entry, asked, strata, least, now),
        }  # fmt: skip
        return render("campaign.html", {**values, **more})

    version = (found, values["state"], moment, alarms, strata)
    return answer(request, await services.renderings.get(name, version, whole))


def _is_ending(entry: KnownCampaign, now: datetime) -> bool:
    """Say whether a campaign was closed a moment ago, so that its last step may be to come."""
    since = now - (entry.closed or entry.campaign.closes)
    return entry.state(now) == "closed" and since.total_seconds() < _LAST_SECONDS


def _alarms(
    services: Services, entry: KnownCampaign, token: TokenRow | None, now: datetime
) -> tuple[Alarm, ...]:
    """Return the alarms that a visitor may see.

    They tell when reports came in more precisely than the page does, so others see none.
    """
    return services.watcher.alarms(entry, now) if is_operator(token, entry) else ()


def _steps(services: Services, entry: KnownCampaign, reports: int) -> tuple[int, int]:
    """Return how many reports are published next, and how many at least.

    With labels or rounds, every combination and round has steps of its own.
    """
    steps = services.steps
    if entry.layout.strata.size == 1:
        return steps.size(reports), steps.least
    least = steps.at_least(entry.campaign.segments)
    return least, least


@router.get("/campaigns/{id}/estimates.csv")
async def export_csv(
    campaign_id: Id, request: Request, services: Shared, token: MaybeReader
) -> Response:
    """Return everything that is estimated as one table."""
    entry = await services.entry(campaign_id)
    check_reader(token, entry)
    asked = Asked.read(entry.campaign, request.query_params)
    bins, chosen = page_bins(entry.campaign.questions[0]), (asked.assume, asked.selection)
    found = await services.estimates.get(entry, bins, None, *chosen)
    make = partial(services.lanes.pages.run, estimates_csv, found)
    table = await services.renderings.get(("table", entry.key, *chosen), found, make)
    return _file(f"{entry.campaign.id}.csv", "text/csv", table)


@router.get("/campaigns/{id}/distribution.svg")
async def export_svg(
    campaign_id: Id, request: Request, services: Shared, token: MaybeReader
) -> Response:
    """Return the picture of the answers to a question."""
    entry = await services.entry(campaign_id)
    check_reader(token, entry)
    asked = Asked.read(entry.campaign, request.query_params)
    place, chosen = asked.place, (asked.assume, asked.selection)
    bins = page_bins(entry.campaign.questions[place])
    found = (await services.estimates.get(entry, bins, place, *chosen)).questions[place]
    if found.summary is None:
        raise ProblemError("not-found", f"there is no picture: {found.reason}")
    text = found.question.text or entry.campaign.text
    about = f", {asked.selection.text}" if asked.selection else ""
    heading = f"{text} ({found.reports:,} private reports{about})"
    make = partial(services.lanes.pages.run, draw, found.summary, heading=heading)
    picture = await services.renderings.get(("picture", entry.key, place, *chosen), found, make)
    return _file(f"{entry.campaign.id}-{found.question.name}.svg", "image/svg+xml", picture)


def _file(name: str, media: str, found: Rendered) -> Response:
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
    return Response(found.content, 200, {**OWN, **headers}, media)


@router.get("/sign-in")
async def sign_in_page(request: Request, services: Shared, token: MaybeReader) -> Response:
    """Ask for a token."""
    path = session.safe_path(request.query_params.get("next"))
    values = {"path": path, "error": False, "signed_in": token is not None}
    return await services.lanes.pages.run(page, "sign_in.html", values)


@router.post("/sign-in")
async def sign_in(request: Request, services: Shared) -> Response:
    """Keep a token in the visitor's browser."""
    fields = await session.read_form(request, services)
    path = session.safe_path(fields.get("next"))
    token = await session.token_to_keep(services, fields.get("token", ""))
    if token is None:
        values = {"path": path, "error": True, "signed_in": False}
        return await services.lanes.pages.run(page, "sign_in.html", values, 403)
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
