"""Routes that list, create and delete tokens. All need an admin token."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import ValidationError

from noutput.campaign.text import format_instant, parse_instant
from noutput.collector.administration.summaries import token_info
from noutput.collector.http.access import Admin, Id, Shared, check_admin
from noutput.collector.http.admin import json_body
from noutput.collector.http.auth import check_scope, creation, new_token
from noutput.collector.http.models import (
    TokenCreated,
    TokenList,
    TokenRequest,
)
from noutput.collector.http.openapi import TOKEN_BODY, refusals
from noutput.collector.http.problems import ProblemError, checked_parameters
from noutput.collector.store.interface import Action
from noutput.errors import InvalidArgumentError

if TYPE_CHECKING:
    from noutput.collector.services import Services
    from noutput.collector.store.interface import TokenRow

__all__ = ["router"]

router = APIRouter(tags=["administration"])
_ADMIN = ("token-required", "token-not-sufficient")
_BODY = ("body-too-large", "request-timeout", "unsupported-media-type")
_LONGEST = 4096


@router.get("/tokens", responses=refusals(*_ADMIN))
async def list_tokens(services: Shared, admin: Admin) -> TokenList:
    """List the tokens without their secrets: all, or those of the admin token's campaign."""
    lane, now = services.lanes.changes, format_instant(services.clock())
    await lane.run(services.store.drop_expired_tokens, now)
    rows = await lane.run(services.store.tokens)
    entries = await lane.run(services.directory.all)
    names: dict[int | None, str] = {entry.key: entry.campaign.id for entry in entries}
    mine = [row for row in rows if admin.campaign in (None, row.campaign)]
    return TokenList(tokens=[token_info(row, names.get(row.campaign)) for row in mine])


@router.post(
    "/tokens",
    status_code=201,
    responses=refusals("invalid-parameter", "malformed-body", "unknown-campaign", *_ADMIN, *_BODY),
    openapi_extra={"requestBody": {"required": True, **TOKEN_BODY}},
)
async def create_token(request: Request, services: Shared, admin: Admin) -> TokenCreated:
    """Make a token; the answer is the only place where it is ever shown.

    It is valid for no longer than the admin token, and for no other campaign.
    """
    wanted = _parsed(await json_body(request, services, _LONGEST))
    key = await _key(services, admin, wanted.campaign)
    with checked_parameters():
        check_scope(wanted.kind, wanted.campaign)
        expires = None if wanted.expires is None else parse_instant("expires", wanted.expires)
        if admin.expires is not None and (
            expires is None or format_instant(expires) > admin.expires
        ):
            rule = f"not be later than that of the admin token ({admin.expires})"
            raise InvalidArgumentError("expires", rule, wanted.expires)
        token, row = new_token(
            wanted.kind, key, services.clock(), label=wanted.label, expires=expires
        )
    action = creation(row, admin.id, wanted.campaign)
    add = partial(services.store.add_token, row, action=action)
    if not await services.lanes.changes.run(add):
        raise ProblemError("unknown-campaign", f"there is no campaign {wanted.campaign!r}")
    return TokenCreated(token=token, **token_info(row, wanted.campaign).model_dump())


@router.delete(
    "/tokens/{id}",
    status_code=204,
    response_class=Response,
    responses=refusals("unknown-token", *_ADMIN),
)
async def delete_token(token_id: Id, services: Shared, admin: Admin) -> None:
    """Make a token invalid, and those that browsers keep in an admin token's place."""
    store = services.store
    row = None if "\0" in token_id else await services.lanes.changes.run(store.token, token_id)
    if row is None or admin.campaign not in (None, row.campaign):
        raise ProblemError("unknown-token", f"there is no token {token_id[:100]!r}")
    entries = await services.lanes.changes.run(services.directory.all)
    name = next((each.campaign.id for each in entries if each.key == row.campaign), None)
    now = format_instant(services.clock())
    action = Action(now, admin.id, "token.revoke", name, row.id, row.kind)
    await services.lanes.changes.run(store.delete_token, row.id, action)


def _parsed(body: bytes) -> TokenRequest:
    try:
        return TokenRequest.model_validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "body"
        raise ProblemError("invalid-parameter", f"{where}: {first['msg']}") from None


async def _key(services: Services, admin: TokenRow, name: str | None) -> int | None:
    """Return the number of the campaign for which an administrator may make a token."""
    if name is None:
        if admin.campaign is not None:
            detail = "the admin token is for one campaign; name it"
            raise ProblemError("token-not-sufficient", detail)
        return None
    entry = await services.entry(name)
    check_admin(admin, entry)
    return entry.key
