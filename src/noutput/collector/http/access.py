"""Access control: which token may do what."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Final

from fastapi import Depends, Path, Request, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from noutput.collector.http.auth import recognize
from noutput.collector.http.problems import ProblemError
from noutput.collector.services import Services
from noutput.collector.store.interface import TokenRow, UnavailableError

if TYPE_CHECKING:
    from noutput.collector.store.directory import KnownCampaign

__all__ = [
    "COOKIE", "Admin", "FullAdmin", "Id", "MaybeReader", "MaybeToken", "Scraper", "Shared",
    "accepts_gzip", "check_admin", "check_metrics", "check_reader", "is_operator",
    "may_administer", "may_read", "sees_alarms", "wants_page",
]  # fmt: skip

COOKIE: Final = "noutput_token"

_CHALLENGE: Final = {"WWW-Authenticate": 'Bearer realm="noutput"'}
_OURS = re.compile(r"\s*Bearer +noutput_", re.ASCII | re.IGNORECASE)
_bearer = HTTPBearer(auto_error=False, description="A token of this collector.")


Id = Annotated[str, Path(alias="id")]


def _services(request: Request) -> Services:
    services: Services = request.app.state.services
    return services


Shared = Annotated[Services, Depends(_services)]


async def _known(services: Services, header: str) -> TokenRow | None:
    return await services.lanes.store.run(recognize, services.store, header, services.clock())


def _refuse_unknown(header: str, token: TokenRow | None) -> None:
    """Raise where a token of a collector is given and not valid, also where none is needed.

    Other headers may be of a proxy in front of the collector.
    """
    if token is None and _OURS.match(header):
        detail = "the token is not valid: it is unknown, was revoked or has expired"
        raise ProblemError("token-required", detail, _CHALLENGE)


async def _maybe_token(
    request: Request,
    services: Shared,
    _: Annotated[HTTPAuthorizationCredentials | None, Security(_bearer)],
) -> TokenRow | None:
    header = request.headers.get("authorization")
    if header is None:
        return None
    token = await _known(services, header)
    _refuse_unknown(header, token)
    return token


MaybeToken = Annotated[TokenRow | None, Depends(_maybe_token)]


async def _maybe_reader(request: Request, services: Shared, token: MaybeToken) -> TokenRow | None:
    cookie = request.cookies.get(COOKIE)
    if token is not None or cookie is None or "authorization" in request.headers:
        return token
    return await _known(services, f"Bearer {cookie}")


# For routes that only read: the token may also be in the cookie of the dashboard, which a browser
# sends by itself. Routes that change something never look at it.
MaybeReader = Annotated[TokenRow | None, Depends(_maybe_reader)]


async def _scraper(
    request: Request,
    services: Shared,
    _: Annotated[HTTPAuthorizationCredentials | None, Security(_bearer)],
) -> TokenRow | None:
    header = request.headers.get("authorization")
    if header is None:
        return await _maybe_reader(request, services, None)
    try:
        token = await _known(services, header)
    except UnavailableError:
        token = services.scrapers.get(header, services.clock())
        if token is None:
            raise
    else:
        services.scrapers.note(header, token)
        _refuse_unknown(header, token)
    return token


# For the metrics, which are needed most while the database does not answer: then, a token that
# has read them within the last hour is enough.
Scraper = Annotated[TokenRow | None, Depends(_scraper)]


def wants_page(request: Request) -> bool:
    """Say whether a person with a browser asks, and not a device."""
    return request.method in ("GET", "HEAD") and "text/html" in request.headers.get("accept", "")


def accepts_gzip(request: Request) -> bool:
    """Say whether the client reads answers that are compressed with gzip."""
    for part in request.headers.get("accept-encoding", "").lower().split(","):
        name, _, weight = part.partition(";")
        if name.strip() == "gzip":
            return weight.replace(" ", "").rstrip("0.") != "q="  # q=0 refuses it
    return False


def _admin(token: MaybeToken) -> TokenRow:
    if token is None:
        raise _token_required()
    if token.kind != "admin":
        raise ProblemError("token-not-sufficient", "only an admin token allows this")
    return token


# Of all campaigns or of one: such a route calls `check_admin`.
Admin = Annotated[TokenRow, Depends(_admin)]


def _full_admin(token: Admin) -> TokenRow:
    if token.campaign is not None:
        detail = "only an admin token for all campaigns allows this"
        raise ProblemError("token-not-sufficient", detail)
    return token


FullAdmin = Annotated[TokenRow, Depends(_full_admin)]


def check_admin(token: TokenRow, entry: KnownCampaign) -> None:
    """Raise where an admin token is for another campaign."""
    if not may_administer(token, entry):
        raise _other_campaign()


def may_administer(token: TokenRow | None, entry: KnownCampaign) -> bool:
    """Say whether a token is an admin token for all campaigns, or for this one."""
    return token is not None and token.kind == "admin" and token.campaign in (None, entry.key)


def may_read(token: TokenRow | None, entry: KnownCampaign) -> bool:
    """Say whether the holder of a token may read the estimates of a campaign."""
    return entry.campaign.public or (
        token is not None
        and token.kind in ("admin", "read")
        and token.campaign in (None, entry.key)
    )


def is_operator(token: TokenRow | None, entry: KnownCampaign) -> bool:
    """Say whether somebody has an admin token for a campaign, or signed in with one.

    Holders of read tokens see what is published, as everybody else does.
    """
    if token is None or token.campaign not in (None, entry.key):
        return False
    return token.kind == "admin" or token.parent is not None


def check_reader(token: TokenRow | None, entry: KnownCampaign) -> None:
    """Raise where `may_read` is false."""
    if may_read(token, entry):
        return
    if token is None:
        raise _token_required()
    raise _other_campaign()


def check_metrics(token: TokenRow | None) -> None:
    """Raise where somebody may not know what all campaigns together count."""
    if token is None:
        raise _token_required()
    if token.campaign is not None:
        raise _other_campaign()


def sees_alarms(token: TokenRow | None) -> bool:
    """Say whether the metrics tell somebody who may read them of single campaigns, too.

    An alarm may depend on what unpublished reports say, and how many of a round are counted tells
    how many are hidden, so holders of read tokens learn neither.
    """
    return token is not None and (token.kind != "read" or token.parent is not None)


def _other_campaign() -> ProblemError:
    return ProblemError("token-not-sufficient", "the token is for something else")


def _token_required() -> ProblemError:
    detail = "send a valid token: Authorization: Bearer ..."
    return ProblemError("token-required", detail, _CHALLENGE)
