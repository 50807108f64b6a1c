"""Services that all routes share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from noutput.collector.archive.archive import Archive, sink
from noutput.collector.cache import Cache
from noutput.collector.clock import Clock, system_clock
from noutput.collector.estimates import Estimates
from noutput.collector.http.auth import RecentTokens
from noutput.collector.http.limits import Limits, RateLimiter
from noutput.collector.http.problems import ProblemError, refusal
from noutput.collector.ingest.adapting import Adapter
from noutput.collector.ingest.archiving import Archiver
from noutput.collector.ingest.closing import Closer
from noutput.collector.ingest.history import Recorder
from noutput.collector.ingest.merging import Merger
from noutput.collector.ingest.quotas import Quotas
from noutput.collector.ingest.watching import Watcher
from noutput.collector.ingest.writer import Writer
from noutput.collector.lanes import BusyError, Lanes
from noutput.collector.metrics import Metrics
from noutput.collector.publishing import ReleasePolicy
from noutput.collector.readiness import Readiness
from noutput.collector.store.directory import Directory, KnownCampaign
from noutput.collector.store.interface import Store, UnavailableError

if TYPE_CHECKING:
    from starlette.responses import Response

__all__ = ["Services"]


@dataclass(frozen=True)
class Services:
    """One collector process: its store, its clock, and what stands between them.

    Parameters
    ----------
    store : Store
    clock : Clock
    limits : Limits
    policy : ReleasePolicy
        When counts are published.
    archive : Archive, optional
        Where reports are kept as well.
    """

    store: Store
    clock: Clock = system_clock
    limits: Limits = field(default_factory=Limits)
    policy: ReleasePolicy = field(default_factory=ReleasePolicy)
    archive: Archive | None = None
    metrics: Metrics = field(default_factory=Metrics)
    lanes: Lanes = field(default_factory=Lanes)
    scrapers: RecentTokens = field(default_factory=RecentTokens)
    limiter: RateLimiter = field(init=False)
    quotas: Quotas = field(init=False)
    directory: Directory = field(init=False)
    writer: Writer = field(init=False)
    cache: Cache = field(init=False)
    estimates: Estimates = field(init=False)
    recorder: Recorder = field(init=False)
    closer: Closer = field(init=False)
    adapter: Adapter = field(init=False)
    merger: Merger = field(init=False)
    watcher: Watcher = field(init=False)
    archiver: Archiver | None = field(init=False)
    readiness: Readiness = field(init=False)

    def __post_init__(self) -> None:
        put = object.__setattr__
        limits = self.limits
        put(self, "limiter", RateLimiter(limits.requests_per_second, limits.burst))
        put(self, "quotas", Quotas(limits, self.metrics, policy=self.policy))
        put(self, "directory", Directory(self.store))
        counting = sink(self.store, self.archive)
        put(self, "writer", Writer(counting, self.metrics, limits.queued_reports))
        put(self, "cache", Cache(self.store, self.metrics))
        put(self, "estimates", Estimates(self.cache, self.clock, self.lanes, self.policy))
        known = (self.store, self.directory, self.clock, self.metrics, self.lanes.store)
        put(
            self,
            "recorder",
            Recorder(*known[:-1], self.lanes.publishing, self.policy, self.quotas.shares),
        )
        put(self, "adapter", Adapter(*known[:-1], self.lanes.waves))
        put(self, "closer", Closer(self.store, self.directory, self.clock, self.lanes.store))
        put(self, "merger", Merger(self.store, self.metrics, self.lanes.merging))
        watched = (self.store, self.directory, self.clock, self.metrics, self.quotas)
        put(self, "watcher", Watcher(*watched, self.lanes.store))
        put(self, "archiver", self._archiver())
        put(self, "readiness", Readiness(counting, self.writer))

    def _archiver(self) -> Archiver | None:
        if self.archive is None:
            return None
        return Archiver(self.archive, self.directory, self.metrics, self.lanes.archiving)

    def count_stored(self) -> None:
        """Let the counters of campaigns begin with what the database has; called in a thread.

        So they have a series for every campaign with reports, also after a restart.
        """
        totals = self.store.totals()
        for entry in self.directory.all():
            rounds: dict[int, int] = {}
            if entry.campaign.schedule is not None and entry.closed is None:
                over = entry.rounds_over(self.clock())
                known = entry.layout.by_round(self.store.counts(entry.key))
                rounds = {n: sum(counts.values()) for n, counts in known.items() if n >= over}
            if entry.key in totals:
                self.metrics.stored(entry.campaign.id, totals[entry.key], rounds)

    def note(self) -> None:
        """Publish what is due, and begin the waves that are due by it; called in a thread."""
        self.recorder.look()
        self.adapter.look()

    async def hidden_totals(
        self, entries: Iterable[KnownCampaign], published: Mapping[int, int]
    ) -> dict[int, int]:
        """Return how many reports closed campaigns have of which none is published, by their keys.

        Everybody may know: the number does not change any more, so it tells nobody's time.
        """
        hidden = {each.key for each in entries if each.closed and not published.get(each.key)}
        totals = await self.lanes.store.run(self.store.totals) if hidden else {}
        return {key: totals.get(key, 0) for key in hidden}

    async def entry(self, campaign_id: str) -> KnownCampaign:
        """Return a campaign.

        Raises
        ------
        ProblemError
            "unknown-campaign", or "unavailable" where the database does not answer.
        """
        found = self.directory.peek(campaign_id)
        if found is None and not self.directory.is_missing(campaign_id):
            try:
                found = await self.lanes.store.run(self.directory.find, campaign_id)
            except UnavailableError as error:
                raise self.unavailable(error) from None
        if found is None:
            raise ProblemError("unknown-campaign", f"there is no campaign {campaign_id[:100]!r}")
        return found

    def refuse(self, error: ProblemError, headers: Mapping[str, str] | None = None) -> Response:
        """Count a refusal, and return it as a problem document."""
        self.metrics.refused[error.problem.name] += 1
        return refusal(error, headers)

    def unavailable(self, error: UnavailableError) -> ProblemError:
        """Return what a client is told while the database or the collector has no time for it."""
        if isinstance(error, BusyError):
            return ProblemError("unavailable", f"{error}; try again", {"Retry-After": "5"})
        self.readiness.doubt()
        detail = "the database does not answer; try again"
        return ProblemError("unavailable", detail, {"Retry-After": "1"})
