"""Administration interface: what an operator asks of a database or of a collector."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["Administration", "Answer"]

Answer: TypeAlias = dict[str, Any]  # as /openapi.json describes it


class Administration(Protocol):
    """Campaigns and tokens, and the log of what was done to them.

    Answers are the JSON objects of the collector's routes. Every change is in the log.

    Raises
    ------
    InvalidArgumentError, DeliveryError
        If there is no campaign or token of an id, the token does not allow it, or a value breaks
        its rule.
    """

    def __enter__(self) -> Administration:
        """Use it in a block, at whose end it is closed."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Give back what was opened."""

    def campaigns(self) -> list[Answer]:
        """Return a `CampaignSummary` per campaign, in the order of their creation."""

    def document(self, campaign_id: str) -> str:
        """Return the document of a campaign."""

    def add_campaign(self, document: bytes) -> Answer:
        """Keep a campaign, whose tables are certified first; return the `CampaignSummary`."""

    def closing(self, campaign_id: str) -> Answer:
        """Return the `ClosingModel`: what would become of a campaign's reports."""

    def close_campaign(self, campaign_id: str) -> Answer:
        """Count no more reports; return the `CampaignSummary`."""

    def delete_campaign(self, campaign_id: str) -> None:
        """Forget a campaign, its counts, the ids of its reports and its tokens."""

    def tokens(self) -> list[Answer]:
        """Return a `TokenInfo` per token."""

    def create_token(
        self, kind: str, campaign: str | None, label: str, expires: str | None
    ) -> Answer:
        """Make a token; return the `TokenCreated`, which alone has the secret."""

    def revoke_token(self, token_id: str) -> None:
        """Make a token invalid, and those that browsers keep in an admin token's place."""

    def issue_tokens(self, campaign_id: str, count: int) -> list[str]:
        """Make one-time tokens for people."""

    def log(self, before: int | None, limit: int) -> Answer:
        """Return the `ActionLog` with the newest entries, or those before a number."""
