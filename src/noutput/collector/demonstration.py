"""A collector of its own for a demonstration: one public campaign, in a folder that may go."""

from __future__ import annotations

import json
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from noutput.campaign import Attribute, Campaign, CertifiedTable
from noutput.collector.clock import system_clock
from noutput.collector.limits import Limits
from noutput.collector.server import Options, Running, running
from noutput.collector.simulation import Population, send_reports
from noutput.tally import Tally

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from noutput.collector.simulation import Array
    from noutput.interval import Interval
    from noutput.mechanisms.table import TableMechanism

__all__ = ["Demonstration", "demonstrate"]

_NAME = "minutes"
_OPEN_DAYS = 1


@dataclass(frozen=True, slots=True)
class Demonstration:
    """A running collector with one campaign."""

    collector: Running
    campaign: Campaign

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

    def tally(self) -> Tally:
        """Return the counts."""
        row = self.collector.store.campaign(self.campaign.id)
        counts = {} if row is None else self.collector.store.counts(row.key)
        size = self.campaign.table.n_outputs
        outputs = tuple(counts.get(output, 0) for output in range(size))
        return Tally(self.campaign.table.fingerprint, outputs)


@contextmanager
def demonstrate(
    folder: Path, mechanism: TableMechanism, bounds: Interval, port: int = 0
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
    """
    unlimited = Limits(requests_per_second=0)  # all people share one address
    with running(Options(str(folder / "demo.db"), port=port, limits=unlimited)) as collector:
        now = system_clock().replace(microsecond=0)
        campaign = Campaign(
            id="commute",
            title="Commute",
            question="How many minutes was your way to work today?",
            attributes=(Attribute(_NAME, "minutes", bounds.lower, bounds.upper),),
            table=CertifiedTable.from_json(mechanism.to_json()),
            opens=now - timedelta(days=_OPEN_DAYS),
            closes=now + timedelta(days=_OPEN_DAYS),
            public=True,
        )
        _create(collector, campaign)
        yield Demonstration(collector, campaign)


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
