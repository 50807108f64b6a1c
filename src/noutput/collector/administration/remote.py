"""Administration of a collector at its address, with an admin token."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode, urlsplit

from pydantic import BaseModel, ValidationError

from noutput._text import check_text
from noutput.campaign.connection import is_here
from noutput.campaign.delivery import Route, check_address, exchange, read_object
from noutput.collector.http.models import (
    ActionLog,
    ActionModel,
    AdmissionTokens,
    CampaignSummary,
    ClosingModel,
    TokenCreated,
    TokenInfo,
)
from noutput.errors import DeliveryError, InvalidArgumentError

if TYPE_CHECKING:
    from types import TracebackType

    from noutput.collector.administration.interface import Answer

__all__ = ["RemoteAdministration"]

_ROUTE = Route(timeout=60.0, attempts=1)  # a change whose answer was lost is not made twice
_AT_ONCE = 10_000  # one-time tokens per request
_MOST = 1 << 26  # bytes of an answer
_TOKEN = re.compile(r"noutput_[0-9a-f]{12}_[A-Za-z0-9_-]{43}", re.ASCII)


class RemoteAdministration:
    """Administration of a running collector; see `Administration`. The log names the token's id.

    Parameters
    ----------
    url : str
        Such as https://collect.example. Of http, only this machine: whoever reads along would
        have the token.
    token : str
    """

    def __init__(self, url: str, token: str) -> None:
        rule = "be the https address of a collector, or an http one of this machine"
        self._url = check_address("collector", url, rule)
        parts = urlsplit(self._url)
        if parts.scheme.lower() != "https" and not is_here(parts.hostname or ""):
            raise InvalidArgumentError("collector", rule, url)
        if not _TOKEN.fullmatch(token.strip()):  # it may be a secret of something else
            raise InvalidArgumentError("token", "be noutput_ID_SECRET", "something else")
        self._token = token.strip()

    def __enter__(self) -> RemoteAdministration:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        """Nothing to give back: every request has a connection of its own."""

    def campaigns(self) -> list[Answer]:
        """Return a `CampaignSummary` per campaign."""
        return _each(CampaignSummary, self._ask("/campaigns").get("campaigns"))

    def document(self, campaign_id: str) -> str:
        """Return the document of a campaign."""
        return self._send(f"/campaigns/{quote(campaign_id, safe='')}").decode()

    def add_campaign(self, document: bytes) -> Answer:
        """Keep a campaign; return the `CampaignSummary`."""
        return _known(CampaignSummary, read_object(self._send("/campaigns", document)))

    def closing(self, campaign_id: str) -> Answer:
        """Return the `ClosingModel`."""
        return _known(ClosingModel, self._ask(f"/campaigns/{quote(campaign_id, safe='')}/closing"))

    def close_campaign(self, campaign_id: str) -> Answer:
        """Count no more reports; return the `CampaignSummary`."""
        closed = self._ask(f"/campaigns/{quote(campaign_id, safe='')}/close", {})
        return _known(CampaignSummary, closed)

    def delete_campaign(self, campaign_id: str) -> None:
        """Forget a campaign, its counts, the ids of its reports and its tokens."""
        self._send(f"/campaigns/{quote(campaign_id, safe='')}", method="DELETE")

    def tokens(self) -> list[Answer]:
        """Return a `TokenInfo` per token."""
        return _each(TokenInfo, self._ask("/tokens").get("tokens"))

    def create_token(
        self, kind: str, campaign: str | None, label: str, expires: str | None
    ) -> Answer:
        """Make a token; return the `TokenCreated`."""
        wanted = {"kind": kind, "campaign": campaign, "label": label, "expires": expires}
        return _known(TokenCreated, self._ask("/tokens", wanted))

    def revoke_token(self, token_id: str) -> None:
        """Make a token invalid, and those that browsers keep in an admin token's place."""
        self._send(f"/tokens/{quote(token_id, safe='')}", method="DELETE")

    def issue_tokens(self, campaign_id: str, count: int) -> list[str]:
        """Make one-time tokens for people, ten thousand per request."""
        made: list[str] = []
        while len(made) < count:
            wanted = {"count": min(_AT_ONCE, count - len(made))}
            found = self._ask(f"/campaigns/{quote(campaign_id, safe='')}/tokens", wanted)
            tokens = _known(AdmissionTokens, found)["tokens"]
            if len(tokens) != wanted["count"]:
                raise _foreign()
            made += tokens
        return made

    def log(self, before: int | None, limit: int) -> Answer:
        """Return the `ActionLog`."""
        query = {"limit": limit} if before is None else {"limit": limit, "before": before}
        found = self._ask(f"/log?{urlencode(query)}")
        return _known(ActionLog, {**found, "entries": _each(ActionModel, found.get("entries"))})

    def _ask(self, path: str, body: dict[str, Any] | None = None) -> Answer:
        return read_object(self._send(path, None if body is None else json.dumps(body).encode()))

    def _send(self, path: str, body: bytes | None = None, method: str | None = None) -> bytes:
        kind = None if body is None else "application/json"
        bearer = {"Authorization": f"Bearer {self._token}"}
        return exchange(self._url + path, kind, body, _MOST, _ROUTE, bearer, method)


def _each(model: type[BaseModel], found: object) -> list[Answer]:
    if not isinstance(found, list):
        raise _foreign()
    return [_known(model, each) for each in found]


def _known(model: type[BaseModel], found: object) -> Answer:
    """Return what this version knows of an answer, whose texts a terminal can be shown."""
    if not isinstance(found, dict):
        raise _foreign()
    known = {name: found[name] for name in model.model_fields if name in found}
    try:
        answer = model.model_validate(known, strict=True).model_dump()
        for text in _texts(answer):
            check_text("answer", text, 0, _MOST)
    except (ValidationError, InvalidArgumentError):
        raise _foreign() from None
    return answer


def _texts(found: object) -> Iterator[str]:
    if isinstance(found, str):
        yield found
    elif isinstance(found, dict | list):
        for each in found.values() if isinstance(found, dict) else found:
            yield from _texts(each)


def _foreign() -> DeliveryError:
    return DeliveryError("the server's answer is not one of a collector")
