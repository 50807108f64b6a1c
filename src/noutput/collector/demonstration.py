"""A collector of its own for a demonstration: two public campaigns.

One has all kinds of questions, the other asks people with two labels in rounds.
"""

from __future__ import annotations

import json
import urllib.request
from bisect import bisect_left
from collections import deque
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from noutput.campaign import Campaign, Choice, Number, Scale, YesNo
from noutput.campaign.campaign import fit_table
from noutput.collector.clock import system_clock
from noutput.collector.comparing import Compared, comparison, measure_groups
from noutput.collector.estimates import PAGE_LEVEL
from noutput.collector.guarantees import Readers, campaign_readers
from noutput.collector.http.limits import Limits
from noutput.collector.panel import PLAYED, app_users, panel_campaign
from noutput.collector.pooled import Part, pooled
from noutput.collector.publishing import ReleasePolicy
from noutput.collector.server import Options, Running, running
from noutput.collector.simulation import Population, send_reports
from noutput.collector.store.directory import Directory, KnownCampaign
from noutput.questions import Answers

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime
    from pathlib import Path

    from noutput.campaign import NextWave
    from noutput.collector.simulation import Array
    from noutput.mechanisms.certified import Table
    from noutput.questions import Question
    from noutput.tally import Tally

__all__ = [
    "DECLARED",
    "LONGEST",
    "QUESTIONS",
    "WIDE",
    "Demonstration",
    "LateClock",
    "commuters",
    "demonstrate",
]

LONGEST = 180.0
QUESTIONS: tuple[Question, ...] = (
    Number(
        0, LONGEST, "minutes", name="minutes", text="How many minutes was your way to work today?"
    ),
    Scale(1, 2, 3, 4, 5, name="stars", text="How many stars do you give it?"),
    Choice(
        "Train or bus", "Car", "Bicycle", "On foot", name="way", label="Means of transport",
        text="How did you get there?",
    ),
    YesNo(name="late", label="Late", text="Were you late?"),
)  # fmt: skip
DECLARED = 600.0  # minutes, by somebody who does not know
WIDE = replace(QUESTIONS[0], upper=DECLARED)  # type: ignore[call-arg]  # of a Number
_SHARES = {
    "stars": (0.08, 0.12, 0.24, 0.36, 0.20), "way": (0.45, 0.31, 0.16, 0.08), "late": (0.82, 0.18),
}  # fmt: skip
_OPEN_DAYS = 1
_HALF_ROUND = 1_800  # seconds
_LEAST, _GROWTH = 10, 0.1  # who arrives between two looks at what may be published
_POLICY = ReleasePolicy(250, 0.025)  # smaller than usual: somebody watches


class LateClock:
    """A clock that stays behind the system's, and catches up while simulated people arrive."""

    def __init__(self, seconds: float) -> None:
        self.seconds_behind = seconds

    def __call__(self) -> datetime:
        """Return the instant that the demonstration is at."""
        return system_clock() - timedelta(seconds=self.seconds_behind)


@dataclass(frozen=True, slots=True)
class Demonstration:
    """A running collector with two campaigns: the second asks in rounds."""

    collector: Running
    campaign: Campaign
    clock: LateClock
    panel: Campaign

    @property
    def url(self) -> str:
        """Where the collector listens."""
        return self.collector.url

    @property
    def page(self) -> str:
        """The address of the campaign, for devices and for browsers."""
        return f"{self.url}/campaigns/{self.campaign.id}"

    @property
    def panel_page(self) -> str:
        """The address of the campaign with rounds."""
        return f"{self.url}/campaigns/{self.panel.id}"

    def play(self, people: int, rng: np.random.Generator) -> Population:
        """Let people report in the rounds of the past, each in its time, and return them."""
        behind = self.clock.seconds_behind
        everybody = app_users([index * PLAYED // people for index in range(people)], rng)
        for number in range(PLAYED):
            start = self.panel.round(number).start
            middle = start + timedelta(seconds=_HALF_ROUND)
            self.clock.seconds_behind = (system_clock() - middle).total_seconds()
            first, last = (bisect_left(everybody.rounds, each) for each in (number, number + 1))
            if last > first:
                deque(self.send(everybody.part(first, last), self.panel), 0)
            self.collector.note()
        self.clock.seconds_behind = behind
        self.collector.note()
        return everybody

    def follow(self, people: int, rng: np.random.Generator) -> int:
        """Let people report in the present round, and return how many were counted."""
        number = int((self.clock() - self.panel.opens) // timedelta(hours=1))
        *_, counted = self.send(app_users([number] * people, rng), self.panel)
        return counted

    def compared(self) -> dict[str, Any]:
        """Return how the platforms of the campaign with rounds compare, from what is published."""
        entry = self._entry(self.panel)
        counts = self.collector.store.published(entry.key).counts
        asked = Compared(("platform",), 0, None, PAGE_LEVEL)
        groups = measure_groups(entry, counts, asked)
        return comparison(entry, groups, asked, _POLICY, differences=True)

    def send(self, people: Population, campaign: Campaign | None = None) -> Iterator[int]:
        """Let people report over HTTP; yield how many have."""
        counted, asked = 0, campaign or self.campaign
        for receipt in send_reports(f"{self.url}/campaigns/{asked.id}", asked, people):
            counted += receipt.accepted
            yield counted

    def arrive(self, people: Population) -> Iterator[int]:
        """Let people report one after the other until now, as fast as can be; yield how many have.

        The collector's clock goes from where it is to the present meanwhile, and what is due is
        published as if time had passed.
        """
        behind = self.clock.seconds_behind
        sent = 0
        while sent < len(people):
            last = min(sent + max(_LEAST, int(_GROWTH * sent)), len(people))
            self.clock.seconds_behind = behind * (1.0 - last / len(people))
            for counted in self.send(people.part(sent, last)):
                yield sent + counted
            self.collector.note()
            sent = last

    def newest(self) -> Campaign:
        """Return the campaign with all waves that it has by now."""
        return self._entry().campaign

    def parts(self, place: int) -> tuple[Part, ...]:
        """Return all reports on a question, those of every wave."""
        entry = self._entry()
        return pooled(entry, place, self.collector.store.counts(entry.key))

    def tallies(self) -> list[Tally]:
        """Return the counts of every question in the first wave."""
        entry = self._entry()
        found = entry.layout.tallies(self.collector.store.counts(entry.key))
        return found[: len(self.campaign.questions)]

    def readers(self) -> Readers | None:
        """Return what holds against those who see only the dashboard, if nobody invents reports."""
        entry = self._entry()
        found = self.collector.store.published(entry.key).releases
        return campaign_readers(entry, found)

    def _entry(self, campaign: Campaign | None = None) -> KnownCampaign:
        name = (campaign or self.campaign).id
        found = Directory(self.collector.store).find(name)
        if found is None:  # pragma: no cover (nobody deletes it)
            raise LookupError(name)
        return found


def commuters(people: int, rng: np.random.Generator) -> Population:
    """Make up people who went to work, with an answer to each of `QUESTIONS`."""
    values: dict[str, Array | list[str]] = {
        "minutes": np.clip(rng.lognormal(3.3, 0.65, people), 0.0, LONGEST)
    }
    for each in QUESTIONS:
        if isinstance(each, Answers):
            places = rng.choice(each.n_answers, people, p=_SHARES[each.name])
            values[each.name] = [each.labels[place] for place in places.tolist()]
    return Population(values)


@contextmanager
def demonstrate(
    folder: Path,
    tables: Sequence[Table],
    port: int = 0,
    behind: float = 0.0,
    adaptive: NextWave | None = None,
) -> Iterator[Demonstration]:
    """Run a collector on loopback that asks about a commute, until the block is left.

    Parameters
    ----------
    folder : Path
        Where its database is put.
    tables : sequence of tables
        One for each of `QUESTIONS`; those of numbers are moved to their bounds.
    port : int
        0 takes a free one.
    behind : float
        How many seconds ago the people of `Demonstration.arrive` begin to report.
    adaptive : NextWave, optional
        Declare far too wide a range for the number, and let the first people find a better one.
    """
    # All people share one address.
    unlimited = Limits(requests_per_second=0, client_reports_per_hour=0)
    clock = LateClock(behind)
    database = str(folder / "demo.db")
    options = Options(database, port=port, limits=unlimited, policy=_POLICY, clock=clock)
    with running(options) as collector:
        now = system_clock().replace(microsecond=0)
        questions = QUESTIONS if adaptive is None else (WIDE, *QUESTIONS[1:])
        campaign = Campaign(
            id="commute",
            title="Commute",
            text="How was your way to work today?",
            questions=questions,
            next_wave=adaptive,
            tables=tuple(map(fit_table, tables, questions)),
            opens=now - timedelta(days=_OPEN_DAYS, seconds=int(behind)),
            closes=now + timedelta(days=_OPEN_DAYS),
            public=True,
        )
        panel = panel_campaign(tables[0], now)
        for each in (campaign, panel):
            _create(collector, each)
        yield Demonstration(collector, campaign, clock, panel)


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
