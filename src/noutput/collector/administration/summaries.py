"""What routes and commands say about campaigns, tokens and actions."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, cast

from noutput.campaign.text import format_instant
from noutput.collector.http.models import (
    ActionLog,
    ActionModel,
    CampaignSummary,
    ClosingModel,
    TokenInfo,
    TokenKind,
)
from noutput.collector.publishing import Publishing

if TYPE_CHECKING:
    from datetime import datetime

    from noutput.collector.publishing import ReleasePolicy
    from noutput.collector.store.directory import KnownCampaign
    from noutput.collector.store.interface import LogEntry, Store, TokenRow

__all__ = ["campaign_summary", "closing", "log_page", "token_info"]


def campaign_summary(
    entry: KnownCampaign, now: datetime, reports: int, received: int | None
) -> CampaignSummary:
    """Return what a list says about a campaign: to its administrators, also what was counted."""
    campaign = entry.campaign
    return CampaignSummary(
        id=campaign.id,
        title=campaign.title,
        text=campaign.text,
        fingerprint=campaign.fingerprint,
        epsilon=campaign.epsilon,
        objectives=list(campaign.objectives),
        public=campaign.public,
        opens=format_instant(campaign.opens),
        closes=format_instant(campaign.closes),
        closed=None if entry.closed is None else format_instant(entry.closed),
        state=entry.state(now),
        reports=reports,
        received=received,
    )


def closing(store: Store, entry: KnownCampaign, policy: ReleasePolicy) -> ClosingModel:
    """Return what would become of a campaign's reports if it were closed now."""
    received = sum(store.counts(entry.key).values())
    hidden = store.left_if_closed(entry.key, Publishing(entry.layout, policy))
    return ClosingModel(received=received, published=received - hidden, hidden=hidden)


def token_info(row: TokenRow, campaign: str | None) -> TokenInfo:
    """Return what a list says about a token of a campaign, or of all."""
    return TokenInfo(
        id=row.id, kind=cast(TokenKind, row.kind), campaign=campaign, label=row.label,
        created=row.created, expires=row.expires, last_used=row.last_used, parent=row.parent,
    )  # fmt: skip


def log_page(entries: list[LogEntry], limit: int) -> ActionLog:
    """Return entries of the log, and where to read on if there may be more.

    Examples
    --------
    >>> from noutput.collector.store.interface import Action, LogEntry
    >>> entry = LogEntry(7, Action("2026-05-01T00:00:00Z", "command line", "campaign.close", "x"))
    >>> log_page([entry], 1).next, log_page([entry], 2).next
    (7, None)
    """
    shown = [ActionModel(number=number, **asdict(action)) for number, action in entries]
    more = len(entries) == limit and entries[-1].number > 1
    return ActionLog(entries=shown, next=entries[-1].number if more else None)
