"""Trend of a campaign with rounds: estimates of single rounds, smoothed, and alarms."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from noutput.campaign.text import format_instant
from noutput.collector.measured import bracketed, check_statistic, measure
from noutput.collector.pooled import pooled
from noutput.collector.series import Series
from noutput.collector.strata import Selection
from noutput.collector.whole import partial_rounds
from noutput.errors import InvalidArgumentError
from noutput.estimate.shifts import find_shifts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from noutput.collector.cache import Answer
    from noutput.collector.measured import Measured
    from noutput.collector.pooled import Part
    from noutput.collector.services import Services
    from noutput.collector.store.directory import KnownCampaign
    from noutput.collector.store.interface import Published
    from noutput.estimate.shifts import Shift
    from noutput.estimate.trend import Trend
    from noutput.questions import Question

__all__ = ["FALSE_ALARMS", "MOST_ROUNDS", "Followed", "Moment", "course", "trend_answer"]

MOST_ROUNDS: Final = 200  # that are smoothed together, which takes two seconds
FALSE_ALARMS: Final = 1.0  # per year
_LEAST = 3  # rounds with an estimate
_NARROWER = 0.95  # than intervals of single rounds, or a band says nothing new
_PUBLISHED = timedelta(minutes=1)  # after which all reports of a round that is over are published
_YEAR_SECONDS = 365.25 * 86_400


@dataclass(frozen=True, slots=True)
class Followed:
    """What is followed over time.

    Parameters
    ----------
    question : int
        Its place in the campaign.
    statistic : str
        "mean", the label of an answer, or such as "below 45" and "quantile 0.5" of numbers; the
        first that there is, if empty.
    selection : Selection
        Of labels and rounds.
    cycle : int, optional
        The length of a cycle, in rounds.
    level : float
    smooth : bool
        Whether the rounds are smoothed, which takes most of the time.
    """

    question: int
    statistic: str
    selection: Selection
    cycle: int | None
    level: float
    smooth: bool = True


class Moment(NamedTuple):
    """What a trend depends on beside the counts: the rounds begun, over and final."""

    begun: int
    over: int
    final: int
    closed: datetime | None

    @classmethod
    def of(cls, entry: KnownCampaign, now: datetime) -> Moment:
        """Return that of a campaign."""
        final = entry.rounds_over(now - _PUBLISHED)
        return cls(entry.rounds_begun(now), entry.rounds_over(now), final, entry.closed)


async def trend_answer(
    services: Services, entry: KnownCampaign, asked: Followed, now: datetime,
    write: Callable[[Mapping[str, Any]], bytes], patience: float | None = None,
) -> Answer:  # fmt: skip
    """Return a course as a function writes it; `patience` as in `Cache.get`."""
    lane, question = services.lanes.estimates, entry.campaign.questions[asked.question]
    if asked.smooth or bracketed(question, asked.statistic) is not None:
        lane = services.lanes.slow
    return await services.cache.published(
        entry, (asked, write), lane, lambda shown: write(course(entry, shown, asked, now)),
        state=Moment.of(entry, now), patience=patience,
    )  # fmt: skip


def course(
    entry: KnownCampaign, shown: Published, asked: Followed, now: datetime
) -> dict[str, Any]:
    """Return what `noutput.collector.http.strata_models.TrendModel` describes.

    Of more than 200 rounds, it is about the last 200 that have begun. Where no labels are selected,
    it is about everybody, and rounds that are not published as a whole have no estimate. Alarms are
    raised by final rounds alone, from the first round of the campaign on, whichever rounds are
    asked for: so they are looked at once per round, and what was shown stays.
    """
    campaign = entry.campaign
    if campaign.schedule is None:  # pragma: no cover (refused before)
        raise InvalidArgumentError("campaign", "have a schedule", campaign.id)
    question = campaign.questions[asked.question]
    name = check_statistic(question, asked.statistic)
    first, last = asked.selection.rounds or (0, campaign.n_rounds - 1)
    begun, over, final, _ = Moment.of(entry, now)
    last = min(last, begun - 1)
    first = max(first, last - MOST_ROUNDS + 1)
    known = _Rounds(entry, asked, shown, now)
    parts = [known.parts(number) for number in range(first, last + 1)]
    figures = [
        measure(question, each, asked.level, name).get(name) if known.is_whole(number) else None
        for number, each in enumerate(parts, first)
    ]
    rows = [
        _row(entry, number, sum(part.tally.total for part in each), figure)
        | {"is_over": number < over, "is_whole": known.is_whole(number)}
        for number, each, figure in zip(range(first, last + 1), parts, figures, strict=True)
    ]
    reason: str | None = f"fewer than {_LEAST} rounds have an estimate"
    smoothed = None
    if first > last:
        reason = "the rounds have not begun"
    elif sum(each is not None for each in figures) >= _LEAST:
        smoothed, reason = _smoothed(known.series(question, name, first, last), asked, figures)
    shifts = _shifts(known.series(question, name, 0, final - 1), asked, campaign.schedule.seconds)
    for index, row in enumerate(rows):
        row["trend"] = None if smoothed is None else _point(smoothed, index)
    return {
        "campaign": campaign.id,
        "question": question.name,
        "statistic": name,
        "labels": dict(asked.selection.labels),
        "every": campaign.schedule.every,
        "level": asked.level,
        "cycle": asked.cycle,
        "rounds": rows,
        "shifts": [asdict(each) for each in shifts if first <= each.alarm <= last],
        "false_alarms_per_year": FALSE_ALARMS,
        "reason": reason,
    }


class _Rounds:
    """The reports of every round of some people."""

    def __init__(
        self, entry: KnownCampaign, asked: Followed, shown: Published, now: datetime
    ) -> None:
        self._entry = entry
        self._asked = asked
        self._counts = entry.layout.by_round(shown.counts)
        self._partial: frozenset[int] = frozenset()
        if not asked.selection.labels:
            self._partial = partial_rounds(entry, shown, asked.question, now)

    def is_whole(self, number: int) -> bool:
        """Say whether a round is published as a whole, where it is about everybody."""
        return number not in self._partial

    def parts(self, number: int) -> tuple[Part, ...]:
        selection = Selection(self._asked.selection.labels, (number, number))
        counts = self._counts.get(number, {})
        return pooled(self._entry, self._asked.question, counts, selection)

    def series(self, question: Question, name: str, first: int, last: int) -> Series | None:
        """Return the statistic of some rounds; None without rounds."""
        rounds = [self.parts(number) for number in range(first, last + 1)]
        if not rounds:
            return None
        parts = [part for (part,) in rounds]  # campaigns with rounds have one wave
        tallies = [
            part.tally if self.is_whole(number) else None
            for number, part in enumerate(parts, first)
        ]
        return Series(question, name, parts[0].mechanism, tallies)


def _smoothed(
    series: Series | None, asked: Followed, figures: Sequence[Measured | None]
) -> tuple[Trend | None, str | None]:
    """Return the trend, or why there is none."""
    if series is None or not asked.smooth:
        return None, None
    found = series.smoothed(asked.cycle, asked.level)
    if series.is_bounded:
        pairs = [
            (each.high - each.low, high - low)
            for each, low, high in zip(figures, found.low, found.high, strict=True)
            if each is not None
        ]
        single, band = np.mean(pairs, axis=0)
        if band > _NARROWER * single:
            return None, "its band would be no narrower than the intervals of single rounds"
    return found, None


def _shifts(series: Series | None, asked: Followed, seconds: int) -> list[Shift]:
    if series is None:
        return []
    return find_shifts(
        series.watched(), rounds_per_year=_YEAR_SECONDS / seconds,
        false_alarms_per_year=FALSE_ALARMS, cycle=asked.cycle,
    )  # fmt: skip


def _row(
    entry: KnownCampaign, number: int, reports: int, figure: Measured | None
) -> dict[str, Any]:
    when = entry.campaign.round(number)
    found = None if figure is None else {
        "value": figure.estimate.value, "standard_error": figure.estimate.standard_error,
        "interval": [figure.low, figure.high],
    }  # fmt: skip
    return {
        "round": number, "start": format_instant(when.start), "end": format_instant(when.end),
        "reports": reports, "estimate": found,
    }  # fmt: skip


def _point(found: Trend, index: int) -> dict[str, Any]:
    return {
        "value": float(found.values[index]),
        "interval": [float(found.low[index]), float(found.high[index])],
        "jump": float(found.jumps[index]),
    }
