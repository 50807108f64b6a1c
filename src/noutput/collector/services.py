"""Services that all routes share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool

from noutput.collector.clock import Clock, system_clock
from noutput.collector.estimates import Estimates
from noutput.collector.http.limits import Limits
from noutput.collector.http.problems import ProblemError, refusal
from noutput.collector.ingest.history import Recorder
from noutput.collector.ingest.writer import Writer
from noutput.collector.metrics import Metrics
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
    """

    store: Store
    clock: Clock = system_clock
    limits: Limits = field(default_factory=Limits)
    metrics: Metrics = field(default_factory=Metrics)
    directory: Directory = field(init=False)
    writer: Writer = field(init=False)
    estimates: Estimates = field(init=False)
    recorder: Recorder = field(init=False)
    readiness: Readiness = field(init=False)

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "directory", Directory(self.store))
        put(self, "writer", Writer(self.store, self.metrics, self.limits.queued_reports))
        put(self, "estimates", Estimates(self.store, self.clock, self.metrics))
        recorder = Recorder(self.store, self.directory, self.clock, self.metrics)
        put(self, "recorder", recorder)
        put(self, "readiness", Readiness(self.store, self.writer))

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
                found = await run_in_threadpool(self.directory.find, campaign_id)
            except UnavailableError:
                raise self.unavailable() from None
        if found is None:
            raise ProblemError("unknown-campaign", f"there is no campaign {campaign_id[:100]!r}")
        return found

    def refuse(self, error: ProblemError, headers: Mapping[str, str] | None = None) -> Response:
        """Count a refusal, and return it as a problem document."""
        self.metrics.refused[error.problem.name] += 1
        return refusal(error, headers)

    def unavailable(self) -> ProblemError:
        """Return what a client is told while the database cannot be reached."""
        self.readiness.doubt()
        detail = "the database does not answer; try again"
        return ProblemError("unavailable", detail, {"Retry-After": "1"})
