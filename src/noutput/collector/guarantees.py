"""What is promised to whom: the operator sees reports, everybody else steps of many reports."""

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

__all__ = [
    "Readers", "by_table", "campaign_readers", "operator_sentence", "planned", "readers_of",
    "selected", "together", "weakest_of", "whom", "worst_of",
]  # fmt: skip

_KEPT = 1024  # steps that are known; one takes milliseconds, and up to a second where it is small
_CHANCE = {DELTA: "10^-8 (1 in 100 million)"}


@dataclass(frozen=True, slots=True)
class Readers:
    """Guarantee against everybody who sees only what is published.

    Parameters
    ----------
    epsilon, delta : float
        Upper bounds, of all that one person sends.
    step : int
        The fewest reports that were published together.
    whom : str
        Whom it is about, and for how long.

    Examples
    --------
    >>> print(Readers(0.25, 1e-8, 500).sentence)
    From what is published, nobody learns more than epsilon 0.25 about one person, except with ...
    """

    epsilon: float
    delta: float
    step: int
    whom: str = "one person"

    @property
    def chance(self) -> str:
        """Delta as people read it."""
        return _CHANCE.get(self.delta, round_up(self.delta))

    @property
    def sentence(self) -> str:
        """What is promised, with all that it assumes."""
        return (
            f"From what is published, nobody learns more than epsilon {round_up(self.epsilon)} "
            f"about {self.whom}, except with probability {self.chance}, if at least "
            f"{self.step - 1:,} others whose reports were published in the same step answered "
            "honestly and tell nobody their reports. Neither ids nor times nor the order of "
            f"reports are published: results change in steps of {self.step:,} reports or more."
        )


def operator_sentence(epsilon: float, whom: str = "one person") -> str:
    """Return what is promised to a person against whoever runs the collector.

    Examples
    --------
    >>> print(operator_sentence(1.0))
    The operator of this collector sees reports, and learns at most epsilon 1 about one person, ...
    """
    return (
        f"The operator of this collector sees reports, and learns at most epsilon "
        f"{round_up(epsilon)} about {whom}, without exception and whatever others do."
    )


def readers_of(mechanisms: Sequence[Certified], steps: Sequence[int]) -> Readers | None:
    """Return the guarantee of a person who is in a step of each of these tables.

    There is none where nothing below the sum of the losses of their reports is proven.

    Parameters
    ----------
    mechanisms : sequence of tables
    steps : sequence of int
        How many reports were published together, one number per table.

    Examples
    --------
    >>> import noutput as no
    >>> m = no.design(1.0, 16, "worst").mechanism
    >>> found = readers_of([m], [500])
    >>> 0.2 < found.epsilon < 0.3, found.delta, found.step
    (True, 1e-08, 500)
    >>> readers_of([m], [2]) is None
    True
    """
    return _found(tuple(mechanisms), tuple(steps)) if steps else None


@lru_cache(maxsize=_KEPT)
def _found(mechanisms: tuple[Certified, ...], steps: tuple[int, ...]) -> Readers | None:
    local = math.fsum(each.privacy_loss() for each in mechanisms)
    if len(steps) > 1:
        epsilon = published_rounds(mechanisms, reports=steps, delta=DELTA).epsilon
    else:
        epsilon = published_privacy(mechanisms[0], reports=steps[0], delta=DELTA).epsilon
    return Readers(epsilon, DELTA, min(steps)) if epsilon < local else None


def whom(campaign: Campaign) -> str:
    """Return whom a guarantee is about: of rounds, what a person sends in one period."""
    return "one person" if campaign.schedule is None else "one person per period"


def campaign_readers(entry: KnownCampaign, releases: Sequence[Release]) -> Readers | None:
    """Return what holds for everybody whose reports of a campaign were published.

    With a schedule, it is about all reports of one period. They may be in one step, if they are
    published without their rounds. Changing one after the other, each of k changes costs
    epsilon and delta, and later ones multiply what the earlier ones cost: (k epsilon, delta times
    the sum of e^(i epsilon) over i < k). That holds for different steps, too.
    """
    campaign = entry.campaign
    found = worst_of(
        entry.mechanisms, by_table(entry.layout, releases),
        all_questions=campaign.ask == "all", questions=len(campaign.questions),
    )  # fmt: skip
    if found is None or campaign.schedule is None:
        return found
    times = campaign.schedule.answers
    factor = math.fsum(math.exp(place * found.epsilon) for place in range(times))
    delta = found.delta if times == 1 else found.delta * factor * (1.0 + 1e-12)
    return Readers(times * found.epsilon, delta, found.step, whom(campaign))


def by_table(layout: CellLayout, releases: Sequence[Release]) -> list[Release]:
    """Return the releases of all strata of a wave and question as those of one block.

    A report is in one step of one stratum, so the smallest step of all is the worst.
    """
    if layout.strata.size == 1:
        return list(releases)
    found: dict[int, list[Release]] = {}
    for each in releases:
        found.setdefault(layout.base(each.question), []).append(each)
    return [replace(together(some), question=place) for place, some in sorted(found.items())]


def selected(
    layout: CellLayout, releases: Sequence[Release], selection: Selection
) -> Sequence[Release]:
    """Return the releases of the strata that are selected."""
    if not selection:
        return releases
    blocks = [layout.block(each.question).stratum for each in releases]
    kept = selection.has(layout.strata, np.array(blocks, np.int64)).tolist()
    return [each for each, keep in zip(releases, kept, strict=True) if keep]


def together(releases: Sequence[Release]) -> Release:
    """Return the releases of several blocks as those of one."""
    newest = max(each.at for each in releases)
    return replace(
        releases[0],
        at=newest,
        reports=sum(each.reports for each in releases),
        number=sum(each.number for each in releases),
        smallest=min(each.smallest for each in releases),
        last=min(each.last for each in releases if each.at == newest),
    )


def worst_of(
    mechanisms: Sequence[Certified],
    releases: Sequence[Release],
    *,
    all_questions: bool,
    questions: int | None = None,
) -> Readers | None:
    """Return what holds for everybody whose reports were published, in whatever wave and step.

    Parameters
    ----------
    mechanisms : sequence of tables
        One per block: those of the first wave, then those of the next.
    releases : sequence of Release
    all_questions : bool
        Whether a person answers all questions, and not one.
    questions : int, optional
        How many questions a wave has; all blocks are of one wave if not given.
    """
    waves: dict[int, list[Release]] = {}
    for each in releases:
        waves.setdefault(each.question // (questions or len(mechanisms)), []).append(each)
    found = [
        _weakest(
            [mechanisms[each.question] for each in some], [each.smallest for each in some],
            all_questions=all_questions,
        )
        for some in waves.values()
    ]  # fmt: skip
    return weakest_of(found)


def weakest_of(found: Sequence[Readers | None]) -> Readers | None:
    """Return what holds for everybody, of guarantees that hold for some each."""
    proven = [each for each in found if each is not None]
    if len(proven) < len(found) or not proven:
        return None
    weakest = max(proven, key=lambda each: each.epsilon)
    return Readers(weakest.epsilon, weakest.delta, min(each.step for each in proven))


def planned(tables: Sequence[Certified], step: int, *, all_questions: bool) -> Readers | None:
    """Return what will hold where every question is published in steps of so many reports.

    Examples
    --------
    >>> import noutput as no
    >>> weak, strong = (no.design(epsilon, 16, "worst").mechanism for epsilon in (1.0, 2.0))
    >>> found = planned([weak, strong], 500, all_questions=False)
    >>> found == planned([strong], 500, all_questions=False)
    True
    >>> planned([weak, strong], 500, all_questions=True).epsilon > found.epsilon
    True
    """
    return _weakest(tables, [step] * len(tables), all_questions=all_questions)


def _weakest(
    tables: Sequence[Certified], steps: Sequence[int], *, all_questions: bool
) -> Readers | None:
    """Return what holds for everybody: of all questions together, or of the worst one."""
    if all_questions:
        return readers_of(tables, steps)
    found = [readers_of([table], [step]) for table, step in zip(tables, steps, strict=True)]
    return weakest_of(found)
