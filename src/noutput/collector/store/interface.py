"""Store interface: what a collector asks of its database."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeAlias

from noutput.campaign.campaign import Campaign
from noutput.errors import NoutputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import AbstractContextManager

    from noutput.collector.cells import CellLayout
    from noutput.collector.publishing import NewRelease, Publishing
    from noutput.collector.store.seal import Seal

__all__ = [
    "COMMAND_LINE", "Action", "CampaignRow", "ConflictError", "Counted", "DamagedError", "Followed",
    "LogEntry", "Milestone", "Outcome", "Published", "Release", "ReportSink", "Snapshot", "Store",
    "Submission", "TokenRow", "UnavailableError",
]  # fmt: skip


class ConflictError(NoutputError):
    """There is already another campaign of this id; the message says which."""


class UnavailableError(NoutputError):
    """The database did not answer, or did not say whether it committed."""


class DamagedError(UnavailableError):
    """What the database holds is not what was committed; the message says what differs.

    It quotes nothing of what was read: that may be a part of anything.
    """


@dataclass(frozen=True, slots=True)
class CampaignRow:
    """A campaign as the database keeps it.

    Parameters
    ----------
    key : int
        Its number in this database, which no other campaign ever gets.
    id, fingerprint, document : str
        As in `Campaign`; the document is its JSON.
    created : str
        The instant at which it came to this database.
    closed : str, optional
        The instant at which it was closed: by hand, or the time it names once that has passed.
    """

    key: int
    id: str
    fingerprint: str
    document: str
    created: str
    closed: str | None

    def read(self) -> Campaign:
        """Return the campaign of the document; raise `DamagedError` where it has none."""
        try:
            return Campaign.from_json(self.document)
        except NoutputError:
            raise DamagedError(f"the document of campaign {self.id!r} cannot be read") from None


class Submission(NamedTuple):
    """Reports of one request.

    Parameters
    ----------
    key : int
        The campaign's number.
    ids : bytes
        16 bytes per report.
    cells : bytes
        One number per report, as `noutput.collector.cells` lays them out.
    """

    key: int
    ids: bytes
    cells: bytes

    @property
    def size(self) -> int:
        """How many reports there are."""
        return len(self.ids) // 16


class Outcome(NamedTuple):
    """How many reports of a submission were counted now, and how many had been before."""

    accepted: int
    repeated: int


@dataclass(frozen=True, slots=True)
class Milestone:
    """What the published reports on one question said at a moment of the past.

    Parameters
    ----------
    question : int
        Its place in the campaign.
    reports : int
        How many were published then.
    at : str
        The instant, to the second.
    mean, low, high : float
        What `noutput.collector.followed.follow` says: the mean of a number, in its own unit, with
        its 95% interval, and similar figures of other questions. The ends are infinite where the
        reports are probably forged.
    """

    question: int
    reports: int
    at: str
    mean: float
    low: float
    high: float


# What `Milestone` keeps, for the place of a question and all published counts; None for nothing.
Followed: TypeAlias = Callable[[int, dict[int, int]], tuple[float, float, float] | None]


class Counted(NamedTuple):
    """A row of the count table: the reports with one output, of one question, group and round.

    Parameters
    ----------
    reports : int
        How many were counted here.
    released : int
        How many everybody may see here. Rows without labels, or without a round, have nothing else.
    moved : int
        How many of those counted here everybody may see in a row without labels or round.
    """

    reports: int
    released: int = 0
    moved: int = 0

    @property
    def fresh(self) -> int:
        """How many were never published."""
        return self.reports - self.released - self.moved


@dataclass(frozen=True, slots=True)
class Release:
    """The last release of one block of counts.

    Parameters
    ----------
    question : int
        The number of the block in the layout of the cells: in the first wave, round and group, the
        index of the question.
    reports : int
        How many have been published.
    at : str
        The instant, to the second.
    number : int
        How many releases there have been.
    smallest, last : int
        How many new reports the smallest and the last release had.
    """

    question: int
    reports: int
    at: str
    number: int
    smallest: int
    last: int


@dataclass(frozen=True, slots=True)
class Published:
    """What everybody may see of a campaign: the sum of all releases.

    Parameters
    ----------
    counts : dict
        The published count of every cell that has one.
    releases : sequence of Release
        At most one per block, in their order.
    reports : dict
        How many reports were counted in every cell that has any. Nobody is to see them: they say
        which rounds are published as a whole, once they are over.
    """

    counts: dict[int, int]
    releases: Sequence[Release] = ()
    reports: dict[int, int] = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A campaign at one moment.

    Parameters
    ----------
    row : CampaignRow
    counts : dict of Counted
        Every cell with a report, counted or published.
    ids : iterator of bytes
        All counted ids in pieces of whole ids, in any order; to be used once.
    history : sequence of Milestone
        What was known before.
    seal : Seal, optional
        What counts and ids add up to, where that was kept.
    releases : sequence of Release
        The last one of every block.
    issued : sequence of bytes
        The hashes of the one-time tokens that were handed out.
    """

    row: CampaignRow
    counts: dict[int, Counted]
    ids: Iterator[bytes]
    history: Sequence[Milestone] = ()
    seal: Seal | None = None
    releases: Sequence[Release] = ()
    issued: Sequence[bytes] = ()

    @property
    def reports(self) -> dict[int, int]:
        """How many reports were counted in every cell that has any."""
        return {cell: known.reports for cell, known in self.counts.items() if known.reports}


@dataclass(frozen=True, slots=True)
class TokenRow:
    """A token as the database keeps it: enough to recognize it, not to use it.

    Parameters
    ----------
    id : str
        The part of the token that is no secret.
    kind : "admin", "read" or "metrics"
    campaign : int, optional
        The number of the only campaign that it is for, with which it ends.
    label : str
        What people call it.
    salt, digest : bytes
        SHA-256 of the salt and the secret.
    created : str
    expires : str, optional
        The instant from which it is not valid.
    last_used : str, optional
        A day.
    parent : str, optional
        The id of the admin token that signed in, with which it ends.
    """

    id: str
    kind: str
    campaign: int | None
    label: str
    salt: bytes = field(repr=False)
    digest: bytes = field(repr=False)
    created: str
    expires: str | None = None
    last_used: str | None = None
    parent: str | None = None


COMMAND_LINE: Final = "command line"


@dataclass(frozen=True, slots=True)
class Action:
    """An administrative action, as the log keeps it: no address, no label and no secret.

    Parameters
    ----------
    at : str
        The instant.
    by : str
        The id of the token that allowed it, or "command line" for whoever has the database.
    name : str
        What was done, such as "campaign.close".
    campaign : str, optional
        The id of the campaign that it is about.
    token : str, optional
        The id of the token that it is about.
    detail : str
        The kind of a token, or how many there are.
    """

    at: str
    by: str
    name: str
    campaign: str | None = None
    token: str | None = None
    detail: str = ""


class LogEntry(NamedTuple):
    """An action with its number: the first is 1, and there are no gaps."""

    number: int
    action: Action


class ReportSink(Protocol):
    """The part of a `Store` that counting needs."""

    def add(self, submissions: Sequence[Submission]) -> list[Outcome | None]:
        """Count reports; None where the campaign is gone or closed."""

    def probe(self, size: int = 0) -> None:
        """Write and commit bytes that mean nothing; raise `UnavailableError` where that fails."""

    def problems(self) -> tuple[str, ...]:
        """Return what was found to be damaged or lost since the store was opened."""


class Store(Protocol):
    """Campaigns, counts, the ids of counted reports, tokens, and a log of actions.

    Attributes
    ----------
    reads_quickly : bool
        Whether a million ids are read in less than a second.

    Every method is one transaction, may be called from any thread, and raises
    `UnavailableError` where the database cannot be reached. An `action` that a method takes is
    added to the log by the same transaction, where that changes something.

    Guarantees
    ----------
    Counts and ids are all that is kept of a report. `add` counts a report and remembers its id
    in one transaction and returns after the commit is durable, so an id is counted at most
    once, and exactly once where `add` returned. The order in which reports came is not kept,
    except between groups of 512 or more; see `noutput.collector.store.runs`.
    """

    reads_quickly: bool

    def add(self, submissions: Sequence[Submission]) -> list[Outcome | None]:
        """Count reports; None where the campaign is gone or closed."""

    def merge_ids(self) -> None:
        """Hide the order of the ids that came last, settle older ones; called every few seconds.

        Each transaction is a step of some ten thousand ids. Between two, reports are counted.
        """

    def create(
        self,
        campaign_id: str,
        fingerprint: str,
        document: str,
        now: str,
        action: Action | None = None,
    ) -> tuple[CampaignRow, bool]:
        """Keep a campaign; also say whether it is new. Raise `ConflictError` for another one."""

    def campaigns(self) -> list[CampaignRow]:
        """Return all campaigns in the order of their creation."""

    def campaign(self, campaign_id: str) -> CampaignRow | None:
        """Return one campaign."""

    def close_campaign(
        self, campaign_id: str, now: str, *, key: int | None = None, action: Action | None = None
    ) -> CampaignRow | None:
        """Count no more reports of a campaign; keep the first closing time.

        With `key`, another campaign that got the same id meanwhile stays open.
        """

    def succeed(self, key: int, predecessor: str, fingerprint: str, document: str) -> bool:
        """Replace the document of an open campaign by that of its next wave; say whether it was.

        Of several processes that try, one succeeds: the one whose `predecessor` is the fingerprint
        that the campaign has. Document and cells of the new wave come in one transaction.
        """

    def delete(self, campaign_id: str, action: Action | None = None) -> bool:
        """Forget a campaign with its counts and ids."""

    def counts(self, key: int) -> dict[int, int]:
        """Return the count of every cell with a report."""

    def totals(self) -> dict[int, int]:
        """Return the number of reports of every campaign with a report."""

    def release(
        self, key: int, publishing: Publishing, now: str, follow: Followed
    ) -> list[NewRelease]:
        """Publish what is due, and return it.

        Whatever other processes do meanwhile, every release has all reports of one moment, and no
        report is in two. Counts, release and milestone are kept together.

        Parameters
        ----------
        key : int
        publishing : Publishing
            Says what is due.
        now : str
        follow : callable
            What is followed over time.
        """

    def taken(self, key: int, layout: CellLayout) -> dict[int, int]:
        """Return how many reports of every group are published, with their labels or without."""

    def left_if_closed(self, key: int, publishing: Publishing) -> int:
        """Return how many reports would never be published if the campaign were closed now."""

    def published(self, key: int) -> Published:
        """Return what everybody may see of a campaign, of one moment."""

    def published_totals(self) -> dict[int, int]:
        """Return the number of published reports of every campaign that has any."""

    def history(self, key: int) -> list[Milestone]:
        """Return all milestones of a campaign, by question and number of reports."""

    def snapshot(self, campaign_id: str) -> AbstractContextManager[Snapshot | None]:
        """Return all that is known about a campaign at one moment."""

    def restore(self, snapshot: Snapshot, action: Action | None = None) -> CampaignRow:
        """Keep a campaign that comes from elsewhere; the number in its row is not used."""

    def restore_all(self, source: Store, action: Action | None = None) -> list[CampaignRow]:
        """Keep all that another database has: campaigns, tokens and log, in an empty one.

        Raises
        ------
        InvalidArgumentError
            If this database has a campaign, a token or a log.
        DamagedError
            If a campaign is not what was committed.
        """

    def issue(self, key: int, digests: Sequence[bytes], action: Action | None = None) -> bool:
        """Keep the hashes of one-time tokens; say whether the campaign was there."""

    def issued(self, key: int, digests: Sequence[bytes]) -> list[bool]:
        """Say which one-time tokens were issued for a campaign, by their hashes."""

    def count_issued(self, key: int) -> int:
        """Return how many one-time tokens were issued for a campaign."""

    def add_token(
        self, row: TokenRow, *, first: bool = False, action: Action | None = None
    ) -> bool:
        """Keep a token; say whether that was possible.

        It is not where another token has its id, or its campaign or parent is gone. With `first`,
        only the first admin token for all campaigns is kept.
        """

    def tokens(self) -> list[TokenRow]:
        """Return all tokens."""

    def token(self, token_id: str) -> TokenRow | None:
        """Return one token."""

    def delete_token(self, token_id: str, action: Action | None = None) -> bool:
        """Forget a token, and those that have it as their parent."""

    def use_token(self, token_id: str, day: str) -> None:
        """Keep the day of a token's last use, where it is later than the one that is known."""

    def drop_expired_tokens(self, now: str) -> None:
        """Forget the tokens that are not valid any more."""

    def note(self, action: Action) -> None:
        """Add an action to the log that changes nothing in the database."""

    def log(self, *, before: int | None = None, limit: int = 100) -> list[LogEntry]:
        """Return the newest entries first, from those with a smaller number than `before`."""

    def probe(self, size: int = 0) -> None:
        """Write and commit bytes that mean nothing; raise `UnavailableError` where that fails."""

    def problems(self) -> tuple[str, ...]:
        """Return what was found to be damaged or lost since the store was opened."""

    def add_problem(self, problem: str) -> None:
        """Log damage or a loss, and keep it among the problems."""

    def inspect(self, *, cheap: bool) -> list[str]:
        """Let the database look for damage of its own form; where it is cheap, or anyway."""

    def accept(self, action: Action | None = None) -> None:
        """Seal what there is now, and forget what was lost."""

    def close(self) -> None:
        """Make everything durable that is not yet in its place, and give back all connections."""
