"""What is promised to whom: the operator sees reports, everybody else releases of many reports."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from noutput.amplification.composition import published_rounds
from noutput.amplification.published import DELTA, published_privacy
from noutput.amplification.result import round_up

if TYPE_CHECKING:
    from collections.abc import Sequence

    from noutput.amplification.published import Certified
    from noutput.campaign.campaign import Campaign
    from noutput.collector.cells import CellLayout
    from noutput.collector.store.directory import KnownCampaign
    from noutput.collector.store.interface import Release
    from noutput.collector.strata import Selection

__all__ = ["Readers", "campaign_readers", "operator_sentence", "planned", "releases_of", "together"]

_KEPT = 1024  # guarantees; one takes milliseconds, and up to a second where releases are small
_CHANCE = {DELTA: "10^-8 (1 in 100 million)"}


@dataclass(frozen=True, slots=True)
class Readers:
    """Guarantee against everybody who sees only what is published, if nobody invents reports.

    Parameters
    ----------
    epsilon, delta : float
        Upper bounds, of all that one person sends: with a schedule, in one period.
    release : int
        The fewest reports that were published together.
    periods : int
        How many periods the schedule has; 0 without one.

    Examples
    --------
    >>> print(Readers(0.25, 1e-8, 500).sentence)
    From what is published, nobody learns more than epsilon 0.25 about one person, except with ...
    >>> Readers(0.25, 1e-8, 500, periods=4).campaign_epsilon
    1.0
    """

    epsilon: float
    delta: float
    release: int
    periods: int = 0

    @property
    def campaign_epsilon(self) -> float:
        """That of all periods: their reports are in different releases, so they add up."""
        return self.epsilon * max(self.periods, 1)

    @property
    def chance(self) -> str:
        """Delta as people read it."""
        return _CHANCE.get(self.delta, round_up(self.delta))

    @property
    def sentence(self) -> str:
        """What is promised, with what it assumes."""
        return (
            f"From what is published, nobody learns more than epsilon {round_up(self.epsilon)} "
            f"about one person{_periods(self.periods, self.campaign_epsilon)}, except with "
            f"probability {self.chance}, as long as the {self.release - 1:,} others or more in the "
            "same release answer honestly and keep their reports to themselves."
        )


def _periods(periods: int, total: float) -> str:
    """Say that a guarantee is about one period, and what holds for all of them."""
    return f" per period, and {round_up(total)} in the whole campaign" if periods else ""


def operator_sentence(campaign: Campaign) -> str:
    """Return what is promised to a person against whoever runs the collector."""
    epsilon, periods = campaign.epsilon_per_period, _count_periods(campaign)
    return (
        f"The operator of this collector sees reports, and learns at most epsilon "
        f"{round_up(epsilon)} about one person{_periods(periods, epsilon * periods)}, without "
        "exception and whatever others do."
    )


def _count_periods(campaign: Campaign) -> int:
    schedule = campaign.schedule
    return 0 if schedule is None else -(-campaign.n_rounds // schedule.rounds_per_period)


def campaign_readers(entry: KnownCampaign, releases: Sequence[Release]) -> Readers | None:
    """Return what holds for everybody whose reports of a campaign were published.

    There is none where nothing below the epsilon of the reports is proven.

    Notes
    -----
    A report is in one release, so the smallest release of its table is the worst. A person answers
    one wave: the worst of them. With a schedule, the k answers of one period may be in one release,
    if that is without rounds. Changing one after the other, each change costs epsilon and delta,
    and later ones multiply what the earlier ones cost: (k epsilon, delta times the sum of
    e^(i epsilon) over i < k). That holds for different releases, too.
    """
    campaign, layout = entry.campaign, entry.layout
    smallest: dict[int, int] = {}
    for each in releases:
        table = layout.base(each.question)
        smallest[table] = min(each.smallest, smallest.get(table, each.smallest))
    waves: dict[int, list[int]] = {}
    for table in sorted(smallest):
        waves.setdefault(table // len(campaign.questions), []).append(table)
    found = _weakest([
        _of_tables(
            [entry.mechanisms[table] for table in tables], [smallest[table] for table in tables],
            all_questions=campaign.ask == "all",
        )
        for tables in waves.values()
    ])  # fmt: skip
    if found is None or campaign.schedule is None:
        return found
    times = campaign.schedule.answers
    factor = math.fsum(math.exp(index * found.epsilon) for index in range(times))
    delta = found.delta if times == 1 else found.delta * factor * (1.0 + 1e-12)
    return Readers(times * found.epsilon, delta, found.release, _count_periods(campaign))


def planned(tables: Sequence[Certified], release: int, *, all_questions: bool) -> Readers | None:
    """Return what will hold where every question is published in releases of so many reports.

    Examples
    --------
    >>> import noutput as no
    >>> weak, strong = (no.design(epsilon, 16, "worst").mechanism for epsilon in (1.0, 2.0))
    >>> found = planned([weak, strong], 500, all_questions=False)
    >>> found == planned([strong], 500, all_questions=False)
    True
    >>> planned([weak, strong], 500, all_questions=True).epsilon > found.epsilon
    True
    >>> planned([weak], 2, all_questions=False) is None
    True
    """
    return _of_tables(tables, [release] * len(tables), all_questions=all_questions)


def _of_tables(
    tables: Sequence[Certified], releases: Sequence[int], *, all_questions: bool
) -> Readers | None:
    """Return what holds for everybody: of all questions together, or of the worst one."""
    if all_questions:
        return _proven(tuple(tables), tuple(releases))
    pairs = zip(tables, releases, strict=True)
    return _weakest([_proven((table,), (size,)) for table, size in pairs])


def _weakest(found: Sequence[Readers | None]) -> Readers | None:
    """Return what holds for everybody, of guarantees that hold for some each."""
    proven = [each for each in found if each is not None]
    if len(proven) < len(found) or not proven:
        return None
    weakest = max(proven, key=lambda each: each.epsilon)
    return replace(weakest, release=min(each.release for each in proven))


@lru_cache(maxsize=_KEPT)
def _proven(tables: tuple[Certified, ...], releases: tuple[int, ...]) -> Readers | None:
    """Return the guarantee of a person who is in a release of each of these tables."""
    local = math.fsum(each.privacy_loss() for each in tables)
    if len(releases) > 1:
        epsilon = published_rounds(tables, reports=releases, delta=DELTA).epsilon
    else:
        epsilon = published_privacy(tables[0], reports=releases[0], delta=DELTA).epsilon
    return Readers(epsilon, DELTA, min(releases)) if epsilon < local else None


def releases_of(
    layout: CellLayout, releases: Sequence[Release], selection: Selection
) -> Sequence[Release]:
    """Return the releases of the rows that are selected."""
    if not selection:
        return releases
    strata = [layout.block(each.question).stratum for each in releases]
    kept = selection.has(layout.strata, np.array(strata, np.int64)).tolist()
    return [each for each, keep in zip(releases, kept, strict=True) if keep]


def together(releases: Sequence[Release]) -> Release:
    """Return the releases of several rows as those of one."""
    newest = max(each.at for each in releases)
    return replace(
        releases[0],
        at=newest,
        reports=sum(each.reports for each in releases),
        number=sum(each.number for each in releases),
        smallest=min(each.smallest for each in releases),
        last=min(each.last for each in releases if each.at == newest),
    )
