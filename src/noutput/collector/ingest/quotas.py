"""Quotas: how many reports of one client, and of one campaign, are counted per hour.

================  ==================================  ==========================================
quota             capacity, and refill per hour       whose
================  ==================================  ==========================================
client            `Limits.client_reports_per_hour`,   a `client_network` in one campaign;
                  and at most a tenth of the          `Limits.aggregators` have none
                  campaign's
campaign          its `admission.reports_per_hour`    everybody in the campaign together
================  ==================================  ==========================================

One client sends no more than a share of a release, either: `noutput.collector.ingest.shares`.

A quota is a bucket: full at the start, emptied by reports, refilled evenly. So in any hour twice
its capacity is counted at most, and its capacity per hour in the long run. Reports that were
counted before take from a client's quota, and nothing from a campaign's: one report that is sent
again and again keeps nobody else out.
"""

from __future__ import annotations

import ipaddress
import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from noutput.collector.http.limits import Limits, RateLimiter
from noutput.collector.http.problems import ProblemError
from noutput.collector.ingest.shares import ReleaseShares
from noutput.collector.publishing import ReleasePolicy

if TYPE_CHECKING:
    from collections.abc import Callable

    from noutput.collector.metrics import Metrics
    from noutput.collector.store.directory import KnownCampaign
    from noutput.collector.store.interface import Outcome

__all__ = ["LEAST_PER_CLIENT", "SHARE", "Quotas"]

SHARE: Final = 0.1  # of a campaign's quota that one client may have
LEAST_PER_CLIENT: Final = 64  # a device may answer so many questions at once
_HOUR = 3600.0
_ROUNDING = 1e-9


@dataclass(slots=True)
class _Bucket:
    """What is left of a campaign's quota.

    Only the event loop writes, but for what a look at the database leaves in `others`.
    """

    level: float
    since: float
    spilled: float = 0.0  # beyond its capacity, since others were charged
    own: int = 0
    refused: int = 0
    others: int | None = None
    charged: int | None = None  # of others


class Quotas:
    """Quotas of reports, in memory.

    Parameters
    ----------
    limits : Limits
    metrics : Metrics
    clock : callable
        Seconds that never go back.
    policy : ReleasePolicy, optional
        How many reports a release has.

    Notes
    -----
    Every process has its own quotas of clients. A campaign's quota is shared by all processes of
    a database: `look` notes what the others have counted, as the database says, which is charged
    before the next report. So all together exceed it by no more than what arrives between two
    looks, which is taken from what comes after. A process that starts has full quotas.
    """

    def __init__(
        self, limits: Limits, metrics: Metrics, clock: Callable[[], float] = time.monotonic,
        policy: ReleasePolicy | None = None,
    ) -> None:  # fmt: skip
        share = limits.client_share if limits.client_reports_per_hour and policy else 0.0
        self.shares = ReleaseShares(share, policy or ReleasePolicy())
        self._most = limits.client_reports_per_hour
        self._clients = RateLimiter(self._most / _HOUR, self._most, clock)
        self._aggregators = tuple(map(ipaddress.ip_network, limits.aggregators))
        self._metrics = metrics
        self._clock = clock
        self._campaigns: dict[int, _Bucket] = {}
        self._told: dict[int, int] = {}

    def take(
        self, name: bytes, entry: KnownCampaign, reports: int, client: str, cells: bytes = b""
    ) -> None:
        """Take reports from both quotas, and from the client's share of releases.

        Parameters
        ----------
        name : bytes
            The client's `RateLimiter.name`.
        entry : KnownCampaign
        reports : int
        client : str
            The client's address, which may be that of an aggregator.
        cells : bytes
            Those of the reports.

        Raises
        ------
        ProblemError
            "too-many-reports" or "campaign-limit" with the time to wait; "body-too-large" where
            no time would be long enough. Nothing is taken then.
        """
        self._take_share(name, entry, reports, client, cells)
        try:
            self._take(name, entry, reports, client)
        except ProblemError:
            self.shares.give_back(name, entry, cells)
            raise

    def _take_share(
        self, name: bytes, entry: KnownCampaign, reports: int, client: str, cells: bytes
    ) -> None:
        if not self.shares.applies_to(entry) or self._is_aggregator(client):
            return
        try:
            self.shares.take(name, entry, cells)
        except ProblemError:
            self._metrics.refused_reports["client"] += reports
            raise

    def _take(self, name: bytes, entry: KnownCampaign, reports: int, client: str) -> None:
        capacity = entry.hourly_reports
        if self._most:
            amount = self._amount(capacity, reports) if capacity else reports
            seconds = self._clients.wait(name, amount, entry.key)
            if seconds and not self._is_aggregator(client):
                raise self._too_many(reports, amount, seconds)
        if not capacity:
            return
        bucket = self._refilled(entry.key, capacity)
        if bucket.level >= reports:
            bucket.level -= reports
            return
        bucket.refused += reports
        if self._most:
            self._clients.charge(name, -self._amount(capacity, reports), entry.key)
        raise self._beyond(reports, bucket.level, capacity)

    def give_back(
        self, name: bytes, entry: KnownCampaign, reports: int, cells: bytes = b""
    ) -> None:
        """Undo `take` for reports that could not be counted."""
        self.shares.give_back(name, entry, cells)
        capacity = entry.hourly_reports
        if capacity:
            self._campaigns[entry.key].level += reports
        if self._most:
            self._clients.charge(name, -self._amount(capacity, reports), entry.key)

    def counted(self, entry: KnownCampaign, outcome: Outcome) -> None:
        """Note how many reports were added to the counts; give the campaign the others back."""
        if entry.hourly_reports:
            bucket = self._campaigns[entry.key]
            bucket.own += outcome.accepted
            bucket.level += outcome.repeated

    def look(self, entry: KnownCampaign, total: int) -> int:
        """Note what other processes counted; return how many reports the quota refused since.

        Called in a thread.

        Parameters
        ----------
        entry : KnownCampaign
        total : int
            How many reports the database has of the campaign.
        """
        capacity = entry.hourly_reports
        if not capacity:
            return 0
        bucket = self._campaigns.setdefault(entry.key, _Bucket(capacity, self._clock()))
        others = total - bucket.own
        if bucket.others is None:  # what they counted before this process began is no matter
            bucket.charged = others
        bucket.others = others
        before = self._told.get(entry.key, 0)
        self._told[entry.key] = bucket.refused
        return self._told[entry.key] - before

    def _too_many(self, reports: int, amount: float, seconds: int) -> ProblemError:
        self._metrics.refused_reports["client"] += reports
        most = self._most * reports / amount
        if amount > self._most * (1.0 + _ROUNDING):
            return _too_large(reports, most, "one client may send")
        detail = f"one client may send {most:,.0f} reports per hour; wait {seconds} s"
        return ProblemError("too-many-reports", detail, {"Retry-After": str(seconds)})

    def _beyond(self, reports: int, level: float, capacity: float) -> ProblemError:
        self._metrics.refused_reports["campaign"] += reports
        if reports > capacity:
            return _too_large(reports, capacity, "the campaign expects")
        seconds = max(1, math.ceil((reports - level) * _HOUR / capacity))
        detail = f"the campaign expects {capacity:,.0f} reports per hour; wait {seconds} s"
        return ProblemError("campaign-limit", detail, {"Retry-After": str(seconds)})

    def _amount(self, capacity: float, reports: int) -> float:
        """Return what reports take from a client's bucket, which has the same size everywhere."""
        if not capacity:
            return float(reports)
        share = max(SHARE * capacity, LEAST_PER_CLIENT)
        return reports * max(self._most / share, 1.0)

    def _is_aggregator(self, client: str) -> bool:
        if not self._aggregators:
            return False
        try:
            address = ipaddress.ip_address(client.partition("%")[0])
        except ValueError:
            return False
        if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
            address = address.ipv4_mapped
        return any(address in each for each in self._aggregators)

    def _refilled(self, key: int, capacity: float) -> _Bucket:
        """Return the bucket of a campaign as it is now."""
        now = self._clock()
        bucket = self._campaigns.get(key)
        if bucket is None:
            bucket = self._campaigns.setdefault(key, _Bucket(capacity, now))
        level = bucket.level + (now - bucket.since) * capacity / _HOUR
        bucket.since = now
        if level > capacity:
            bucket.spilled += level - capacity
            level = capacity
        if bucket.others != bucket.charged:
            level = _charged(bucket, level)
        bucket.level = level
        return bucket


def _charged(bucket: _Bucket, level: float) -> float:
    """Take what others have counted; what overflowed meanwhile was theirs."""
    others = bucket.others or 0
    more = others - (bucket.charged or 0)
    level -= more - min(bucket.spilled, max(more, 0))
    bucket.charged, bucket.spilled = others, 0.0
    return level


def _too_large(reports: int, most: float, who: str) -> ProblemError:
    detail = f"{who} at most {most:,.0f} reports at once; found {reports:,}: send smaller batches"
    return ProblemError("body-too-large", detail)
