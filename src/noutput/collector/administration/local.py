"""Administration of a database, for whoever may read and write it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from noutput.campaign.campaign import Campaign
from noutput.campaign.text import format_instant, parse_instant
from noutput.collector.administration.summaries import (
    campaign_summary,
    closing,
    log_page,
    token_info,
)
from noutput.collector.clock import Clock, system_clock
from noutput.collector.estimable import check_estimable
from noutput.collector.http.auth import check_scope, creation, new_token
from noutput.collector.issuing import issue_tokens
from noutput.collector.publishing import ReleasePolicy
from noutput.collector.store.directory import Directory
from noutput.collector.store.interface import COMMAND_LINE, Action
from noutput.errors import InvalidArgumentError

if TYPE_CHECKING:
    from types import TracebackType

    from noutput.collector.administration.interface import Answer
    from noutput.collector.http.models import CampaignSummary
    from noutput.collector.store.directory import KnownCampaign
    from noutput.collector.store.interface import CampaignRow, Store

__all__ = ["DatabaseAdministration"]


class DatabaseAdministration:
    """Administration of a store; see `Administration`. The log names the command line.

    Parameters
    ----------
    store : Store
        It is closed at the end of a block.
    clock : Clock
    """

    def __init__(self, store: Store, clock: Clock = system_clock) -> None:
        self._store = store
        self._clock = clock
        self._directory = Directory(store)

    def __enter__(self) -> DatabaseAdministration:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        self._store.close()

    def campaigns(self) -> list[Answer]:
        """Return a `CampaignSummary` per campaign."""
        shown, totals = self._store.published_totals(), self._store.totals()
        found = [
            self._summary(entry, shown.get(entry.key, 0), totals.get(entry.key, 0))
            for entry in self._directory.all()
        ]
        return [each.model_dump() for each in found]

    def document(self, campaign_id: str) -> str:
        """Return the document of a campaign."""
        return self._entry(campaign_id).document.decode()

    def add_campaign(self, document: bytes) -> Answer:
        """Keep a campaign, whose tables are certified first; return the `CampaignSummary`."""
        campaign = Campaign.from_json(document)
        check_estimable(campaign)
        now = format_instant(self._clock())
        action = Action(now, COMMAND_LINE, "campaign.create", campaign.id)
        row, _ = self._store.create(
            campaign.id, campaign.fingerprint, campaign.to_json(), now, action
        )
        return self._counted(row)

    def closing(self, campaign_id: str) -> Answer:
        """Return the `ClosingModel`, for a collector with the default steps."""
        return closing(self._store, self._entry(campaign_id), ReleasePolicy()).model_dump()

    def close_campaign(self, campaign_id: str) -> Answer:
        """Count no more reports; return the `CampaignSummary`."""
        now = format_instant(self._clock())
        action = Action(now, COMMAND_LINE, "campaign.close", campaign_id)
        row = self._store.close_campaign(campaign_id, now, action=action)
        if row is None:
            raise _unknown(campaign_id)
        return self._counted(row)

    def delete_campaign(self, campaign_id: str) -> None:
        """Forget a campaign, its counts, the ids of its reports and its tokens."""
        now = format_instant(self._clock())
        action = Action(now, COMMAND_LINE, "campaign.delete", campaign_id)
        if not self._store.delete(campaign_id, action):
            raise _unknown(campaign_id)

    def tokens(self) -> list[Answer]:
        """Return a `TokenInfo` per token."""
        self._store.drop_expired_tokens(format_instant(self._clock()))
        names = self._names()
        rows = self._store.tokens()
        return [token_info(row, names.get(row.campaign)).model_dump() for row in rows]

    def create_token(
        self, kind: str, campaign: str | None, label: str, expires: str | None
    ) -> Answer:
        """Make a token; return the `TokenCreated`."""
        check_scope(kind, campaign)
        key = None if campaign is None else self._entry(campaign).key
        end = None if expires is None else parse_instant("expires", expires)
        token, row = new_token(kind, key, self._clock(), label=label, expires=end)
        if not self._store.add_token(row, action=creation(row, campaign=campaign)):
            raise _unknown(campaign)
        return {"token": token, **token_info(row, campaign).model_dump()}

    def revoke_token(self, token_id: str) -> None:
        """Make a token invalid, and those that browsers keep in an admin token's place."""
        row = self._store.token(token_id)
        if row is None:
            raise InvalidArgumentError("token", "be the id of a token", token_id)
        now, name = format_instant(self._clock()), self._names().get(row.campaign)
        action = Action(now, COMMAND_LINE, "token.revoke", name, row.id, row.kind)
        self._store.delete_token(row.id, action)

    def issue_tokens(self, campaign_id: str, count: int) -> list[str]:
        """Make one-time tokens for people."""
        entry, now = self._entry(campaign_id), format_instant(self._clock())
        action = Action(now, COMMAND_LINE, "token.issue", campaign_id, detail=str(count))
        return issue_tokens(self._store, entry.key, entry.campaign, count, action)

    def log(self, before: int | None, limit: int) -> Answer:
        """Return the `ActionLog`."""
        return log_page(self._store.log(before=before, limit=limit), limit).model_dump()

    def _counted(self, row: CampaignRow) -> Answer:
        reports = sum(self._store.published(row.key).counts.values())
        received = sum(self._store.counts(row.key).values())
        return self._summary(self._directory.take(row), reports, received).model_dump()

    def _summary(self, entry: KnownCampaign, reports: int, received: int) -> CampaignSummary:
        return campaign_summary(entry, self._clock(), reports, received)

    def _entry(self, campaign_id: str) -> KnownCampaign:
        found = self._directory.find(campaign_id)
        if found is None:
            raise _unknown(campaign_id)
        return found

    def _names(self) -> dict[int | None, str]:
        return {row.key: row.id for row in self._store.campaigns()}


def _unknown(campaign_id: str | None) -> InvalidArgumentError:
    return InvalidArgumentError("campaign", "be the id of a campaign", campaign_id)
