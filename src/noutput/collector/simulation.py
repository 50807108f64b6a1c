"""Many simulated people who answer a campaign, each with one report."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from noutput import _checks
from noutput.campaign import (
    Campaign,
    Receipt,
    Report,
    draw_reports,
    fetch_campaign,
    send_batch,
)
from noutput.campaign.wire import MAX_BATCH
from noutput.questions import Answers, Number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import datetime

    from noutput.campaign.segments import Segments

__all__ = ["DISTRIBUTIONS", "Arrival", "Population", "await_wave", "first_people", "open_rounds",
           "send_reports", "simulate_people"]  # fmt: skip

Array: TypeAlias = np.ndarray[tuple[int], np.dtype[np.float64]]

_SENDERS = 4
_SILENT = 0.1  # of the people do not tell a label
_LOOK_SECONDS = 0.5  # between two looks for the next wave
_LOOKS = 6  # before more people answer the first wave
_MORE = 0.05  # so many, as a part of those who answered it already

# Shares of the way from the lower to the upper bound, before they are clipped to [0, 1].
DISTRIBUTIONS: dict[str, Callable[[np.random.Generator, int], Array]] = {
    "uniform": lambda rng, size: rng.uniform(0.0, 1.0, size),
    "normal": lambda rng, size: rng.normal(0.5, 0.15, size),
    "lognormal": lambda rng, size: rng.lognormal(-1.9, 0.65, size),
    "exponential": lambda rng, size: rng.exponential(0.2, size),
    "bimodal": lambda rng, size: np.where(
        rng.random(size) < 0.6, rng.normal(0.25, 0.08, size), rng.normal(0.75, 0.08, size)
    ),
}


@dataclass(frozen=True)
class Population:
    """Simulated people and their true answers.

    Parameters
    ----------
    values : dict of arrays
        The true number of every person, by question; for a question with answers, the label.
    labels : sequence of mappings
        What every person's report tells, by segment; nothing, where there is none.
    rounds : sequence of int
        In which round every person reports; none, without a schedule.
    """

    values: Mapping[str, Array | list[str]]
    labels: Sequence[Mapping[str, str]] = ()
    rounds: Sequence[int] = ()

    def __len__(self) -> int:
        return len(next(iter(self.values.values())))

    def part(self, start: int, stop: int) -> Population:
        """Return some of the people."""
        values = {name: values[start:stop] for name, values in self.values.items()}
        return Population(values, self.labels[start:stop], self.rounds[start:stop])

    def person(self, index: int) -> dict[str, float | str]:
        """Return one person's answers."""
        return {
            name: numbers[index] if isinstance(numbers, list) else float(numbers[index])
            for name, numbers in self.values.items()
        }

    def reports(self, campaign: Campaign) -> Iterator[Report]:
        """Return everybody's reports, drawn with secure randomness as on a device."""
        return chain.from_iterable(self.drawn(campaign, index) for index in range(len(self)))

    def drawn(self, campaign: Campaign, index: int) -> list[Report]:
        """Return the reports of one person."""
        labels = self.labels[index] if self.labels else {}
        number = self.rounds[index] if self.rounds else None
        return draw_reports(campaign, self.person(index), labels=labels, round=number)


def simulate_people(
    campaign: Campaign,
    people: int,
    distribution: str,
    rng: np.random.Generator,
    rounds: Sequence[int] = (),
    *,
    change: float = 0.0,
    spread: float = 0.0,
) -> Population:
    """Make up people for a campaign.

    Parameters
    ----------
    campaign : Campaign
    people : int
    distribution : str
        One of `DISTRIBUTIONS`, stretched to the bounds of every number, and cut into as many
        equal parts as there are answers otherwise.
    rng : numpy Generator
        Of the people's answers; their reports are drawn with secure randomness.
    rounds : sequence of int
        In which people report, where the campaign has a schedule: as many in each.
    change : float
        How far answers move from the first to the last round of the campaign, as a part of the way
        from the lower to the upper bound.
    spread : float
        How far the answers of people with the first and the last label of the first segment are
        apart, in the same way. One in ten people does not tell a label.
    """
    count = _checks.whole("people", people, 1, 1 << 30)
    draw = DISTRIBUTIONS[_checks.choice("distribution", distribution, DISTRIBUTIONS)]
    values: dict[str, Array | list[str]] = {}
    (other,) = rng.spawn(1)
    chosen = tuple(rounds[index * len(rounds) // count] for index in range(count if rounds else 0))
    told, where = _labels(campaign.segments, count, other)
    moved = np.asarray(chosen or (0,)) / max(campaign.n_rounds - 1, 1) * change + where * spread
    for each in campaign.questions:
        share = np.clip(draw(rng, count) + moved, 0.0, 1.0)
        if isinstance(each, Number):
            values[each.name] = each.lower + share * (each.upper - each.lower)
        elif isinstance(each, Answers):
            places = np.minimum(share * each.n_answers, each.n_answers - 1).astype(int)
            values[each.name] = [each.labels[place] for place in places.tolist()]
    return Population(values, told, chosen)


def _labels(
    segments: Segments | None, people: int, rng: np.random.Generator
) -> tuple[list[dict[str, str]], Array]:
    """Draw labels, and where the first is in its list: from -1/2 to 1/2."""
    told: list[dict[str, str]] = [{} for _ in range(people)]
    where: Array = np.zeros(people)
    if segments is None:
        return [], where
    for index, (name, labels) in enumerate(segments.names):
        places = rng.integers(len(labels), size=people)
        if index == 0:
            where = places / (len(labels) - 1) - 0.5
        tells = rng.random(people) >= _SILENT
        for person, place in zip(told, np.where(tells, places, -1).tolist(), strict=True):
            if place >= 0:
                person[name] = labels[place]
    return told, where


def open_rounds(campaign: Campaign, now: datetime) -> range:
    """Return the rounds whose reports are counted now: the present one, and late ones.

    Examples
    --------
    >>> from datetime import UTC, datetime
    >>> from noutput.campaign import Schedule, Table, YesNo
    >>> campaign = Campaign(
    ...     id="commute", title="Commute", text="Late?", questions=(YesNo(name="late"),),
    ...     tables=(Table(1.1, (2,), ((3 << 30, 1 << 30), (1 << 30, 3 << 30))),),
    ...     opens=datetime(2026, 3, 1, tzinfo=UTC), closes=datetime(2026, 3, 15, tzinfo=UTC),
    ...     schedule=Schedule("day", rounds_per_period=7),
    ... )
    >>> open_rounds(campaign, datetime(2026, 3, 5, 6, tzinfo=UTC))
    range(3, 5)
    """
    schedule = campaign.schedule
    if schedule is None:
        return range(0)
    passed = (now - campaign.opens).total_seconds()
    begun = min(int(passed // schedule.seconds) + 1, campaign.n_rounds)
    return range(max(int((passed - schedule.grace) // schedule.seconds), 0), begun)


def send_reports(
    url: str, campaign: Campaign, people: Population, batch: int = 1000
) -> Iterator[Receipt]:
    """Send everybody's reports in packed batches, a few at a time; yield every receipt.

    A batch has the reports of up to `batch` people, and of fewer where each sends so many that a
    batch could not hold them. Where the campaign is adaptive, people look for its next wave.

    Raises
    ------
    DeliveryError
        If a batch was not acknowledged after all attempts.
    """
    each = _reports_each(campaign)
    size = min(_checks.whole("batch", batch, 1, MAX_BATCH), MAX_BATCH // each)

    newest = [campaign]

    def send(start: int) -> Receipt:
        if campaign.next_wave is not None and len(newest[-1].waves) == 1:
            newest.append(fetch_campaign(url, root=campaign.root))
        asked, last = newest[-1], min(start + size, len(people))
        drawn = (people.drawn(asked, i) for i in range(start, last))
        return send_batch(url, asked, chain.from_iterable(drawn))

    with ThreadPoolExecutor(_SENDERS) as pool:
        yield from pool.map(send, range(0, len(people), size))


def first_people(campaign: Campaign) -> int:
    """Return how many people the second wave of an adaptive campaign waits for; 0 if for nobody.

    Examples
    --------
    >>> from datetime import UTC, datetime
    >>> from noutput.campaign import NextWave, Table
    >>> rows = ((3 << 30, 1 << 30), (1 << 30, 3 << 30))
    >>> campaign = Campaign(
    ...     id="commute", title="Commute", text="How long?", questions=(Number(0, 600, name="it"),),
    ...     tables=(Table(1.1, ((0, 600),), rows),),
    ...     opens=datetime(2026, 3, 1, tzinfo=UTC), closes=datetime(2026, 4, 1, tzinfo=UTC),
    ...     next_wave=NextWave(2_000, 10_000),
    ... )
    >>> first_people(campaign)
    2000
    """
    following = campaign.next_wave
    if following is None or len(campaign.waves) > 1:
        return 0
    return -(-following.reports // _reports_each(campaign))


@dataclass(frozen=True, slots=True)
class Arrival:
    """What happened while people waited for the next wave.

    Parameters
    ----------
    newest : Campaign
        The campaign with its second wave, or without where the time was over first.
    people : int
        How many have answered the first wave by then.
    accepted : int
        How many reports of those who came while others waited were counted.
    """

    newest: Campaign
    people: int
    accepted: int


def await_wave(
    url: str,
    campaign: Campaign,
    people: Population,
    sent: int,
    seconds: float,
    progress: Callable[[float], None],
) -> Arrival:
    """Wait until the second wave of a campaign is there, while few more people answer the first.

    Reports are published in steps, so that more may be needed than the document says: one in
    twenty more people answer the first wave every few seconds.

    Parameters
    ----------
    url : str
    campaign : Campaign
        Its first wave.
    people : Population
        All people, of whom the first `sent` have answered.
    sent : int
    seconds : float
        How long to wait at most.
    progress : callable
        Gets the share of the time that has passed.
    """
    start, looks, accepted = time.monotonic(), 0, 0
    more = max(int(_MORE * sent), 1)
    while True:
        newest = fetch_campaign(url, root=campaign.root)
        passed = time.monotonic() - start
        if len(newest.waves) > 1 or passed >= seconds:
            return Arrival(newest, sent, accepted)
        progress(passed / seconds)
        looks += 1
        if looks % _LOOKS == 0 and sent < len(people):
            last = min(sent + more, len(people))
            part = people.part(sent, last)
            accepted += sum(each.accepted for each in send_reports(url, campaign, part))
            sent = last
        time.sleep(_LOOK_SECONDS)


def _reports_each(campaign: Campaign) -> int:
    """Return how many reports a person sends."""
    return 1 if campaign.ask == "one" else len(campaign.questions)
