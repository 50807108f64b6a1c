"""One-time tokens for people whom the operator knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from noutput import _checks
from noutput.campaign.tokens import issued_digest, new_token, read_token
from noutput.errors import InvalidArgumentError

if TYPE_CHECKING:
    from noutput.campaign.campaign import Campaign
    from noutput.collector.store.interface import Action, Store

__all__ = ["MAX_TOKENS", "issue_tokens"]

MAX_TOKENS = 10_000_000
_AT_ONCE = 10_000


def issue_tokens(
    store: Store, key: int, campaign: Campaign, count: int, action: Action | None = None
) -> list[str]:
    """Make one-time tokens of a campaign, keep their hashes, and return them.

    Parameters
    ----------
    store : Store
    key : int
        The campaign's number in the store.
    campaign : Campaign
        One that asks for tokens.
    count : int
    action : Action, optional
        What is added to the log, with the first of them.

    Guarantees
    ----------
    A token has 144 random bits, and only 16 bytes of its SHA-256 are kept.
    """
    _checks.whole("count", count, 1, MAX_TOKENS)
    if campaign.admission.kind != "token":
        rule = "be one whose admission is 'token'"
        raise InvalidArgumentError("campaign", rule, campaign.admission.kind)
    tokens = [new_token() for _ in range(count)]
    digests = [issued_digest(campaign, read_token(campaign, token)) for token in tokens]
    for start in range(0, count, _AT_ONCE):
        some = digests[start : start + _AT_ONCE]
        if not store.issue(key, some, action if start == 0 else None):
            raise InvalidArgumentError("campaign", "be there", campaign.id)
    return tokens
