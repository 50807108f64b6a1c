"""The campaigns of a store, read and certified once, and looked up at every request."""

from __future__ import annotations

import gzip
import logging
import re
import threading
import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Literal, TypeAlias

from noutput.campaign.text import parse_instant
from noutput.collector.cells import CellLayout
from noutput.collector.logs import event
from noutput.collector.store.interface import DamagedError
from noutput.errors import InvalidArgumentError
from noutput.mechanisms.table import unit_mechanism

if TYPE_CHECKING:
    from collections.abc import Callable

    from noutput.campaign.campaign import Campaign
    from noutput.collector.store.interface import CampaignRow, Store
    from noutput.mechanisms.answers import AnswerMechanism
    from noutput.mechanisms.table import TableMechanism

__all__ = ["Directory", "KnownCampaign", "State"]

State: TypeAlias = Literal["upcoming", "open", "closed"]

_log = logging.getLogger("noutput.collector")
_FRESH_SECONDS = 1.0
_MOST_MISSING = 4096
_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,63}", re.ASCII)


@dataclass(frozen=True)
class KnownCampaign:
    """A campaign and what the database says about it."""

    key: int
    campaign: Campaign
    document: bytes
    created: datetime
    closed: datetime | None

    def is_open(self, now: datetime) -> bool:
        """Say whether reports are counted at this instant."""
        return self.closed is None and self.campaign.opens <= now < self.ends

    def is_over(self, now: datetime) -> bool:
        """Say whether the time of its last reports has passed, and the database does not say so."""
        return self.closed is None and now >= self.ends

    @cached_property
    def ends(self) -> datetime:
        """Until when reports are counted: late ones of the last round have a grace time."""
        campaign, schedule = self.campaign, self.campaign.schedule
        if schedule is None:
            return campaign.closes
        try:
            return campaign.closes + timedelta(seconds=schedule.grace)
        except OverflowError:
            return campaign.closes

    def rounds_begun(self, now: datetime) -> int:
        """Return how many rounds have begun; 1 without a schedule."""
        return self._rounds(now - self.campaign.opens, 1)

    def rounds_over(self, now: datetime) -> int:
        """Return how many rounds are over, and their grace time too; 0 without a schedule."""
        schedule = self.campaign.schedule
        grace = timedelta(seconds=0 if schedule is None else schedule.grace)
        return self._rounds(now - self.campaign.opens - grace, 0)

    def _rounds(self, passed: timedelta, more: int) -> int:
        schedule = self.campaign.schedule
        if schedule is None:
            return more
        found = passed // timedelta(seconds=schedule.seconds) + more
        return min(max(found, 0), self.campaign.n_rounds)

    def state(self, now: datetime) -> State:
        """Return "upcoming", "open" or "closed"."""
        if self.is_open(now):
            return "open"
        return "upcoming" if self.closed is None and now < self.campaign.opens else "closed"

    @cached_property
    def mechanisms(self) -> tuple[TableMechanism | AnswerMechanism, ...]:
        """The table of every block as the estimates want it; equal ones are one object."""
        tables = [table for wave in self.campaign.waves for table in wave.tables]
        found = {table: unit_mechanism(table) for table in dict.fromkeys(tables)}
        return tuple(found[table] for table in tables)

    @property
    def awaits_wave(self) -> bool:
        """Whether it is an adaptive campaign that has not got its second wave yet."""
        return self.campaign.next_wave is not None and len(self.campaign.waves) == 1

    def document_of(self, fingerprint: str) -> bytes | None:
        """Return the document of a wave as it was; None where there is no such wave."""
        found = self.campaign.wave(fingerprint)
        return None if found is None else found.to_json().encode()

    @cached_property
    def hourly_reports(self) -> float:
        """How many reports are counted per hour, 0 for no limit; one person's fit in any case."""
        campaign = self.campaign
        expected = campaign.admission.reports_per_hour
        if expected is None:
            return 0.0
        return float(max(expected, len(campaign.questions) if campaign.ask == "all" else 1))

    @cached_property
    def compressed(self) -> bytes:
        """The document compressed with gzip."""
        return gzip.compress(self.document, mtime=0)

    @cached_property
    def layout(self) -> CellLayout:
        """The cells in which the reports are counted."""
        return CellLayout(self.campaign)


class Directory:
    """Campaigns by id.

    Notes
    -----
    What another process of the same database created, continued, closed or deleted is seen within
    a second. Nothing is counted meanwhile for what is closed or gone: the transaction looks again.
    """

    def __init__(self, store: Store, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._clock = clock
        self._entries: dict[str, tuple[float, KnownCampaign]] = {}
        self._missing: dict[str, float] = {}
        self._lock = threading.Lock()

    def peek(self, campaign_id: str) -> KnownCampaign | None:
        """Return a campaign without the database, or None where it should be looked up.

        Of many that ask for what was looked up a second ago, one is told to look again.
        """
        found = self._entries.get(campaign_id)
        if found is None:
            return None
        now = self._clock()
        if now - found[0] < _FRESH_SECONDS:
            return found[1]
        self._entries[campaign_id] = now, found[1]
        return None

    def is_missing(self, campaign_id: str) -> bool:
        """Say whether there can be, or was a second ago, no campaign of this id."""
        if not _ID.fullmatch(campaign_id):
            return True
        since = self._missing.get(campaign_id)
        return since is not None and self._clock() - since < _FRESH_SECONDS

    def find(self, campaign_id: str) -> KnownCampaign | None:
        """Look a campaign up in the database."""
        if not _ID.fullmatch(campaign_id):
            return None
        row = self._store.campaign(campaign_id)
        if row is not None:
            return self.take(row)
        with self._lock:
            self._entries.pop(campaign_id, None)
            if len(self._missing) >= _MOST_MISSING:
                self._missing.clear()
            self._missing[campaign_id] = self._clock()
        return None

    def all(self) -> list[KnownCampaign]:
        """Return all campaigns; one whose document this version refuses is logged and left out."""
        result = []
        for row in self._store.campaigns():
            try:
                result.append(self.take(row))
            except DamagedError as error:
                _log.error("%s", error, extra=event("campaign-unreadable", campaign=row.id))
        return result

    def known(self) -> list[KnownCampaign]:
        """Return the campaigns that this process has looked up, without the database."""
        with self._lock:
            return [entry for _, entry in self._entries.values()]

    def take(self, row: CampaignRow) -> KnownCampaign:
        """Return the entry of a row; its document is read again only if it is another one."""
        try:
            created = parse_instant("created", row.created)
            closed = None if row.closed is None else parse_instant("closed", row.closed)
        except InvalidArgumentError:
            raise DamagedError(f"the dates of campaign {row.id!r} cannot be read") from None
        _, known = self._entries.get(row.id, (0.0, None))
        same = known is not None and known.campaign.fingerprint == row.fingerprint
        if known is None or not same or known.key != row.key or known.closed != closed:
            campaign = known.campaign if known is not None and same else row.read()
            known = KnownCampaign(row.key, campaign, row.document.encode(), created, closed)
        with self._lock:
            self._missing.pop(row.id, None)
            self._entries[row.id] = self._clock(), known
        return known

    def forget(self, campaign_id: str) -> None:
        """Drop a campaign that was deleted."""
        with self._lock:
            self._entries.pop(campaign_id, None)
