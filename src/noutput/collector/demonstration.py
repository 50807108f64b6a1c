"""A collector of its own for a demonstration: one public campaign, in a folder that may go."""

from __future__ import annotations

import json
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from noutput.campaign import Campaign, Number
from noutput.collector.cells import CellLayout
from noutput.collector.clock import system_clock
from noutput.collector.http.limits import Limits
from noutput.collector.server import Options, Running, running
from noutput.collector.simulation import Population, send_reports

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime
    from pathlib import Path

    from noutput.collector.simulation import Array
    from noutput.interval import Interval
    from noutput.mechanisms.table import TableMechanism
    from noutput.tally import Tally

__all__ = ["Demonstration", "LateClock", "demonstrate"]

_NAME = "minutes"
_OPEN_DAYS = 1
_LEAST, _GROWTH = 10, 0.1  # who arrives between two notes of the history


class LateClock:
    """A clock that stays behind the system's, and catches up while simulated people arrive."""

    def __init__(self, seconds: float) -> None:
        self.seconds_behind = seconds

    def __call__(self) -> datetime:
        """Return the instant that the demonstration is at."""
        return system_clock() - timedelta(seconds=self.seconds_behind)


@dataclass(frozen=True, slots=True)
class Demonstration:
    """A running collector with one campaign."""

    collector: Running
    campaign: Campaign
    clock: LateClock

    @property
    def url(self) -> str:
        """Where the collector listens."""
        return self.collector.url

    @property
    def page(self) -> str:
        """The address of the campaign, for devices and for browsers."""
        return f"{self.url}/campaigns/{self.campaign.id}"

    def send(self, values: Array) -> Iterator[int]:
        """Let people with these numbers report over HTTP; yield how many have."""
        counted = 0
        for receipt in send_reports(self.page, self.campaign, Population({_NAME: values})):
            counted += receipt.accepted
            yield counted

    def arrive(self, values: Array) -> Iterator[int]:
        """Let people report one after the other until now, as fast as can be; yield how many have.

        The collector's clock goes from where it is to the present meanwhile, and its history is
        noted as if somebody had watched all the time.
        """
        behind = self.clock.seconds_behind
        sent = 0
        while sent < len(values):
            last = min(sent + max(_LEAST, int(_GROWTH * sent)), len(values))
            self.clock.seconds_behind = behind * (1.0 - last / len(values))
            for counted in self.send(values[sent:last]):
                yield sent + counted
            self.collector.note()
            sent = last

    def tally(self) -> Tally:
        """Return the counts."""
        row = self.collector.store.campaign(self.campaign.id)
        counts = {} if row is None else self.collector.store.counts(row.key)
        return CellLayout(self.campaign).tallies(counts)[0]


@contextmanager
def demonstrate(
    folder: Path, mechanism: TableMechanism, bounds: Interval, port: int = 0, behind: float = 0.0
) -> Iterator[Demonstration]:
    """Run a collector on loopback that asks for a commute, until the block is left.

    Parameters
    ----------
    folder : Path
        Where its database is put.
    mechanism : TableMechanism
    bounds : Interval
        Of the answers, in minutes.
    port : int
        0 takes a free one.
    behind : float
        How many seconds ago the people of `Demonstration.arrive` begin to report.
    """
    unlimited = Limits(requests_per_second=0)  # all people share one address
    clock = LateClock(behind)
    options = Options(str(folder / "demo.db"), port=port, limits=unlimited, clock=clock)
    with running(options) as collector:
        now = system_clock().replace(microsecond=0)
        campaign = Campaign(
            id="commute",
            title="Commute",
            text="How many minutes was your way to work today?",
            questions=(Number(bounds.lower, bounds.upper, "minutes", name=_NAME),),
            tables=(mechanism.plain,),
            opens=now - timedelta(days=_OPEN_DAYS, seconds=int(behind)),
            closes=now + timedelta(days=_OPEN_DAYS),
            public=True,
        )
        _create(collector, campaign)
        yield Demonstration(collector, campaign, clock)


def _create(collector: Running, campaign: Campaign) -> None:
    """Create the campaign as an administrator would: through the API."""
    headers = {
        "Authorization": f"Bearer {collector.admin_token}",
        "Content-Type": "application/json",
    }
    address = f"{collector.url}/campaigns"
    request = urllib.request.Request(address, campaign.to_json().encode(), headers)  # noqa: S310 (http)
    with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310 (too)
        json.load(answer)
