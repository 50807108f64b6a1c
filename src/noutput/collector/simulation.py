"""Many simulated people who answer a campaign, each with one report."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from noutput import _checks
from noutput.campaign import Campaign, Receipt, Report, draw_reports, send_batch
from noutput.campaign.wire import MAX_BATCH
from noutput.questions import Answers, Number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

__all__ = ["DISTRIBUTIONS", "Population", "send_reports", "simulate_people"]

Array: TypeAlias = np.ndarray[tuple[int], np.dtype[np.float64]]

_SENDERS = 4

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
    """

    values: Mapping[str, Array | list[str]]

    def __len__(self) -> int:
        return len(next(iter(self.values.values())))

    def part(self, start: int, stop: int) -> Population:
        """Return some of the people."""
        return Population({name: values[start:stop] for name, values in self.values.items()})

    def person(self, index: int) -> dict[str, float | str]:
        """Return one person's answers."""
        return {
            name: numbers[index] if isinstance(numbers, list) else float(numbers[index])
            for name, numbers in self.values.items()
        }

    def reports(self, campaign: Campaign) -> Iterator[Report]:
        """Return everybody's reports, drawn with secure randomness as on a device."""
        people = map(self.person, range(len(self)))
        return chain.from_iterable(draw_reports(campaign, person) for person in people)


def simulate_people(
    campaign: Campaign, people: int, distribution: str, rng: np.random.Generator
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
    """
    count = _checks.whole("people", people, 1, 1 << 30)
    draw = DISTRIBUTIONS[_checks.choice("distribution", distribution, DISTRIBUTIONS)]
    values: dict[str, Array | list[str]] = {}
    for each in campaign.questions:
        share = np.clip(draw(rng, count), 0.0, 1.0)
        if isinstance(each, Number):
            values[each.name] = each.lower + share * (each.upper - each.lower)
        elif isinstance(each, Answers):
            places = np.minimum(share * each.n_answers, each.n_answers - 1).astype(int)
            values[each.name] = [each.labels[place] for place in places.tolist()]
    return Population(values)


def send_reports(
    url: str, campaign: Campaign, people: Population, batch: int = 1000
) -> Iterator[Receipt]:
    """Send everybody's reports in packed batches, a few at a time; yield every receipt.

    A batch has the reports of up to `batch` people, and of fewer where each sends so many that a
    batch could not hold them.

    Raises
    ------
    DeliveryError
        If a batch was not acknowledged after all attempts.
    """
    each = 1 if campaign.ask == "one" else len(campaign.questions)
    size = min(_checks.whole("batch", batch, 1, MAX_BATCH), MAX_BATCH // each)

    def send(start: int) -> Receipt:
        last = min(start + size, len(people))
        drawn = (draw_reports(campaign, people.person(i)) for i in range(start, last))
        return send_batch(url, campaign, chain.from_iterable(drawn))

    with ThreadPoolExecutor(_SENDERS) as pool:
        yield from pool.map(send, range(0, len(people), size))
