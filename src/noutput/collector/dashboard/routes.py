"""The pages, what they export, and how people sign in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from noutput.collector.cache import Answer
from noutput.collector.dashboard import session, words
from noutput.collector.dashboard.asked import Asked
from noutput.collector.dashboard.assets import assets
from noutput.collector.dashboard.overview import headline
from noutput.collector.dashboard.pages import answer, page, render
from noutput.collector.dashboard.privacy import privacy
from noutput.collector.dashboard.strata import find_strata, strata_views
from noutput.collector.dashboard.table import estimates_csv
from noutput.collector.dashboard.view import draw, question_view
from noutput.collector.dashboard.waves import newest_reports, wave_views
from noutput.collector.estimates import PAGE_LEVEL, CampaignEstimates, page_bins
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
    from collections.abc import Callable, Hashable
    from datetime import datetime

    from noutput.collector.alarms import Alarm
    from noutput.collector.services import Services
    from noutput.collector.store.directory import KnownCampaign
    from noutput.collector.store.interface import TokenRow

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
    hidden = await services.hidden_totals(mine, totals)
    ending = {each.key for each in mine if _is_ending(each, now)}
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
    version = (shown, tuple(hidden.items()), frozenset(ending))

    headlines = [
        await _headline(
            services, each, totals.get(each.key, 0), hidden.get(each.key), each.key in ending
        )
        for each in mine
    ]

    def draw_page() -> str:
        values = {"rows": list(zip(rows, headlines, strict=True)), "path": "/"}
        return render("index.html", {**values, "signed_in": token is not None})

    # An old page may be shown for a moment: its name has all that decides who may see it.
    rights = tuple((each.key, is_operator(token, each)) for each in mine)
    name = ("index", token is not None, rights)
    return answer(request, await _drawn(services, name, version, draw_page))


async def _drawn(
    services: Services, name: Hashable, version: Hashable, draw: Callable[[], str]
) -> Answer:
    """Return a page or a file that is drawn once for every change, however many look at it."""

    def make(_: Answer | None) -> Answer:
        return Answer(draw().encode(), version)

    return await services.cache.get(name, services.lanes.pages, make, version)


async def _headline(
    services: Services, entry: KnownCampaign, total: int, hidden: int | None, ending: bool
) -> str:
    """Return the figure of a campaign as HTML, made once per release and read from its history."""

    def draw_headline() -> str:
        known = services.store.history(entry.key)
        question = entry.campaign.questions[0]
        shown = headline(question, [each for each in known if each.question == 0])
        least = services.policy.minimum_of(entry.campaign.segments)
        values = {"headline": shown, "reports": total, "least": least, "hidden": hidden,
                  "ending": ending}  # fmt: skip
        return render("headline.html", values)

    name, version = ("headline", entry.key, entry.campaign.fingerprint), (total, hidden, ending)
    found = await _drawn(services, name, version, draw_headline)
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
        "asked": asked, "nothing": Selection(),
    }  # fmt: skip
    # Everybody with the same rights gets the same page, which is made once per change.
    rights = (may_read(token, entry), is_operator(token, entry), token is not None)
    name = ("page", entry.key, campaign.fingerprint, rights, values["path"])
    if not may_read(token, entry):

        def promise() -> str:
            return render("private.html", {**values, "privacy": privacy(entry, place)})

        return answer(request, await _drawn(services, name, values["state"], promise))
    bins = page_bins(campaign.questions[place])
    kept = await services.estimates.question(entry, bins, place, asked.selection)
    strata = await find_strata(services, entry, asked, now)
    alarms = _alarms(services, entry, token, now)
    ending = _is_ending(entry, now)
    moment = int(now.timestamp()) // _STILL_SECONDS if entry.is_open(now) or ending else 0

    def draw_page() -> str:
        known, found = services.store.history(entry.key), CampaignEstimates.of(kept)
        hidden = None
        if entry.closed and not asked.selection:
            tallies = entry.layout.tallies(services.store.counts(entry.key))
            received = sum(tally.total for tally in tallies[place :: len(campaign.questions)])
            hidden = received - found.questions[place].reports
        shown = found.questions[place]
        # Whoever can invent reports can fill a release: the operator alone judges that.
        told = campaign.admission.needs_token or is_operator(token, entry)
        readers = found.readers if told else None
        mine = [each for each in known if each.question == place and each.reports <= shown.reports]
        step, least = _sizes(services, entry, newest_reports(place, found.waves, shown.reports))
        mine = [] if asked.selection else mine
        view = question_view(entry, shown, mine, found.reports, step, asked.target, now)
        more = {
            "found": found, "view": view, "privacy": privacy(entry, place, readers),
            "shown": shown, "step": step, "least": least, "hidden": hidden,
            "epsilon": campaign.tables[place].epsilon, "alarms": alarms,
            "ending": ending, "waves": wave_views(campaign, place, found.waves),
            **strata_views(entry, asked, strata, least, now),
        }  # fmt: skip
        return render("campaign.html", {**values, **more})

    version = (kept.version, values["state"], entry.closed, moment, alarms, strata.tags)
    return answer(request, await _drawn(services, name, version, draw_page))


def _is_ending(entry: KnownCampaign, now: datetime) -> bool:
    """Say whether a campaign was closed a moment ago, so that its last release may be to come."""
    since = now - (entry.closed or entry.campaign.closes)
    return entry.state(now) == "closed" and since.total_seconds() < _LAST_SECONDS


def _alarms(
    services: Services, entry: KnownCampaign, token: TokenRow | None, now: datetime
) -> tuple[Alarm, ...]:
    """Return the alarms that a visitor may see.

    They tell when reports came in more precisely than the page does, so others see none.
    """
    return services.watcher.alarms(entry, now) if is_operator(token, entry) else ()


def _sizes(services: Services, entry: KnownCampaign, reports: int) -> tuple[int, int]:
    """Return how many reports are published next, and how many at least.

    With labels or rounds, every group and round has releases of its own.
    """
    policy = services.policy
    if entry.layout.strata.size == 1:
        return policy.size(reports), policy.minimum
    least = policy.minimum_of(entry.campaign.segments)
    return least, least


@router.get("/campaigns/{id}/estimates.csv")
async def export_csv(
    campaign_id: Id, request: Request, services: Shared, token: MaybeReader
) -> Response:
    """Return everything that is estimated as one table."""
    entry = await services.entry(campaign_id)
    check_reader(token, entry)
    asked = Asked.read(entry.campaign, request.query_params)
    bins = page_bins(entry.campaign.questions[0])
    selection = asked.selection
    table = await services.estimates.content(entry, bins, PAGE_LEVEL, selection, estimates_csv)
    return _file(f"{entry.campaign.id}.csv", "text/csv", table)


@router.get("/campaigns/{id}/distribution.svg")
async def export_svg(
    campaign_id: Id, request: Request, services: Shared, token: MaybeReader
) -> Response:
    """Return the picture of the answers to a question."""
    entry = await services.entry(campaign_id)
    check_reader(token, entry)
    campaign, asked = entry.campaign, Asked.read(entry.campaign, request.query_params)
    place = asked.place
    question = campaign.questions[place]
    bins = page_bins(question)
    kept = await services.estimates.question(entry, bins, place, asked.selection)

    def draw_picture() -> str:
        found = CampaignEstimates.of(kept).questions[place]
        if found.summary is None or found.summary.warning:
            reason = found.reason or f"{words.FORGED[0].lower()}{words.FORGED[1:]}"
            raise ProblemError("not-found", f"there is no picture: {reason}")
        about = f", {asked.selection.text}" if asked.selection else ""
        heading = f"{question.text or campaign.text} ({found.reports:,} private reports{about})"
        return draw(found.summary, heading=heading)

    name = ("picture", entry.key, campaign.fingerprint, place, asked.selection)
    picture = await _drawn(services, name, kept.version, draw_picture)
    return _file(f"{campaign.id}-{question.name}.svg", "image/svg+xml", picture)


def _file(name: str, media: str, found: Answer) -> Response:
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
