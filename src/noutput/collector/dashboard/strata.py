"""Segments and rounds of a page: what is computed for it, soon or later, and what it says."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from noutput.collector.comparing import BETWEEN, MOST_GROUPS, Compared, compare, has_pairs
from noutput.collector.dashboard import words
from noutput.collector.dashboard.compared import comparison_view
from noutput.collector.dashboard.reading import reading
from noutput.collector.dashboard.rounds import present_round, rounds_view, small_multiples
from noutput.collector.estimates import PAGE_LEVEL
from noutput.collector.exports import as_json
from noutput.collector.lanes import BusyError
from noutput.collector.measured import followed, has_cells, share_names
from noutput.collector.strata import Selection
from noutput.collector.trending import Followed, trend_answer
from noutput.questions import Number

if TYPE_CHECKING:
    from datetime import datetime

    from noutput.campaign.campaign import Campaign
    from noutput.campaign.segments import Segments
    from noutput.collector.cache import Answer
    from noutput.collector.dashboard.asked import Asked
    from noutput.collector.services import Services
    from noutput.collector.store.directory import KnownCampaign

__all__ = ["FoundStrata", "choices", "find_strata", "strata_views"]

PATIENCE_SECONDS: Final = 0.02  # that a page waits for trends, which take seconds
MOST_SMALL: Final = 9  # pictures


@dataclass(frozen=True, slots=True)
class FoundStrata:
    """What was computed for a page, as JSON.

    Parameters
    ----------
    comparison : Answer, optional
        Of segments.
    course : Answer, optional
        Of rounds.
    small : tuple of (str, Answer)
        The rounds of each group.
    pending : bool
        Whether trends are still being computed.
    """

    comparison: Answer | None = None
    course: Answer | None = None
    small: tuple[tuple[str, Answer], ...] = ()
    pending: bool = False

    @property
    def tags(self) -> tuple[str | bool, ...]:
        """What differs wherever this does."""
        shown = [self.comparison, self.course, *(each for _, each in self.small)]
        return self.pending, *("" if each is None else each.tag for each in shown)


async def find_strata(
    services: Services, entry: KnownCampaign, asked: Asked, now: datetime
) -> FoundStrata:
    """Compute the comparison and the rounds of a page; of trends, what is known soon.

    Notes
    -----
    Estimates of groups and of single rounds take milliseconds. Smoothing takes a fifth of a second
    for 30 rounds, so that a page does not wait for it: it has the trend of the counts before these
    if there is one, or none, and asks again.
    """
    campaign = entry.campaign
    compared = None
    if campaign.segments is not None:
        compared = await _compare(services, entry, asked)
    if campaign.schedule is None or entry.rounds_begun(now) == 0:
        return FoundStrata(compared)
    wanted = [("", asked.selection)]
    if compared is not None:
        wanted += _groups(json.loads(compared.content), asked)
    found = await asyncio.gather(
        *(_rounds(services, entry, asked, selection, now) for _, selection in wanted)
    )
    (mine, late), *others = found
    return FoundStrata(
        comparison=compared,
        course=mine,
        small=tuple(
            (group, answer) for (group, _), (answer, _) in zip(wanted[1:], others, strict=True)
        ),
        pending=late or any(each for _, each in others),
    )


async def _compare(services: Services, entry: KnownCampaign, asked: Asked) -> Answer:
    labels = tuple(each for each in asked.selection.labels if each[0] not in asked.by)
    rounds, pairs = asked.selection.rounds, has_pairs(entry.campaign.segments, asked.by)
    wanted = Compared(asked.by, asked.place, rounds, PAGE_LEVEL, labels, asked.statistic)
    return await compare(services, entry, wanted, as_json, differences=pairs)


async def _rounds(
    services: Services, entry: KnownCampaign, asked: Asked, selection: Selection, now: datetime
) -> tuple[Answer, bool]:
    """Return the rounds of some people, and whether their trend is still to come."""
    smooth = Followed(asked.place, asked.statistic, selection, None, PAGE_LEVEL)
    try:
        return await trend_answer(services, entry, smooth, now, as_json, PATIENCE_SECONDS), False
    except BusyError:
        plain = replace(smooth, smooth=False)
        return await trend_answer(services, entry, plain, now, as_json), True


def _groups(found: dict[str, Any], asked: Asked) -> list[tuple[str, Selection]]:
    """Return the groups that small pictures show: those with the most reports, in their order."""
    shown = [row for row in found["groups"] if row["reports"]]
    if len(shown) < 2:
        return []
    kept = sorted(shown, key=lambda row: -row["reports"])[:MOST_SMALL]
    more = dict(asked.selection.labels)
    return [
        (
            row["group"],
            Selection(tuple(sorted({**more, **row["labels"]}.items())), asked.selection.rounds),
        )
        for row in shown
        if row in kept
    ]


def strata_views(
    entry: KnownCampaign, asked: Asked, found: FoundStrata, least: int, now: datetime
) -> dict[str, Any]:
    """Return what the templates of segments and rounds need."""
    campaign = entry.campaign
    question = campaign.questions[asked.place]
    compared = rounds = present = None
    if found.comparison is not None:
        compared = comparison_view(question, asked.statistic, json.loads(found.comparison.content))
    if found.course is not None:
        document = json.loads(found.course.content)
        rounds = rounds_view(question, document, pending=found.pending)
        present = present_round(entry, document["rounds"], least, now)
    small = small_multiples(
        question, [(name, json.loads(each.content)) for name, each in found.small]
    )
    return {
        "compared": compared, "rounds": rounds, "small": small, "present": present,
        "pending": found.pending, "choices": choices(campaign, asked),
    }  # fmt: skip


def choices(campaign: Campaign, asked: Asked) -> dict[str, list[tuple[str, str, bool]]]:
    """Return what can be chosen: address, text, and whether it is chosen now.

    The shares of a number with edges are many: a list in a form has them, by their names.
    """
    question = campaign.questions[asked.place]
    groups = [] if campaign.segments is None else _groupings(campaign.segments)
    names = followed(question)
    if isinstance(question, Number) and question.edges:
        names += tuple(share_names(question))
    if asked.statistic not in names:
        names += (asked.statistic,)
    shown = [
        (name, reading(question, name).noun if isinstance(question, Number) else name)
        for name in names
    ]
    is_list = has_cells(question)
    return {
        "by": [
            (asked.query(campaign, by=names) or "?", BETWEEN.join(names), names == asked.by)
            for names in groups
        ],
        "statistic": [
            (asked.query(campaign, statistic=name) or "?", text, name == asked.statistic)
            for name, text in shown
            if not is_list
        ],
        "shares": [
            (name, words.capital(text), name == asked.statistic) for name, text in shown if is_list
        ],
    }


def _groupings(segments: Segments) -> list[tuple[str, ...]]:
    """Return by what people can be grouped: one segment, or the first two together."""
    names: list[tuple[str, ...]] = [
        (name,) for name, labels in segments.names if len(labels) < MOST_GROUPS
    ]
    sizes = segments.sizes
    if len(sizes) > 1 and sizes[0] * sizes[1] <= MOST_GROUPS:
        names.append((segments.names[0][0], segments.names[1][0]))
    return names
