"""Trend of a campaign with rounds: estimates of single rounds, smoothed, and alarms."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from noutput.campaign.text import format_instant
from noutput.collector.measured import check_statistic, measure_one
from noutput.collector.pooled import pooled
from noutput.collector.strata import Selection
from noutput.collector.whole import partial_rounds
from noutput.errors import InvalidArgumentError
from noutput.estimate.shifts import find_shifts
from noutput.estimate.trend import trend

if TYPE_CHECKING:
    from datetime import datetime

    from noutput.collector.measured import Measured
    from noutput.collector.store.directory import KnownCampaign
    from noutput.collector.store.interface import Published
    from noutput.estimate.trend import Trend

__all__ = ["FALSE_ALARMS", "MOST_ROUNDS", "Followed", "course"]

MOST_ROUNDS: Final = 200  # that are smoothed together, which takes two seconds
FALSE_ALARMS: Final = 1.0  # per year
_LEAST = 3  # rounds with an estimate
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


def course(
    entry: KnownCampaign, shown: Published, asked: Followed, now: datetime
) -> dict[str, Any]:
    """Return what `noutput.collector.http.strata_models.TrendModel` describes.

    Of more than 200 rounds, it is about the last 200 that have begun. Where no labels are selected,
    it is about everybody, and rounds that are not published as a whole have no estimate.
    """
    campaign = entry.campaign
    if campaign.schedule is None:  # pragma: no cover (refused before)
        raise InvalidArgumentError("campaign", "have a schedule", campaign.id)
    question = campaign.questions[asked.question]
    name = check_statistic(question, asked.statistic)
    first, last = asked.selection.rounds or (0, campaign.n_rounds - 1)
    last = min(last, max(entry.rounds_begun(now) - 1, first))
    first = max(first, last - MOST_ROUNDS + 1)
    over = entry.rounds_over(now)
    rounds = entry.layout.by_round(shown.counts)
    partial: frozenset[int] = frozenset()
    if not asked.selection.labels:
        partial = partial_rounds(entry, shown, asked.question, now)
    rows, figures = [], []
    for number in range(first, last + 1):
        selection = Selection(asked.selection.labels, (number, number))
        parts = pooled(entry, asked.question, rounds.get(number, {}), selection)
        whole = number not in partial
        figure = measure_one(question, parts, asked.level, name) if whole else None
        figures.append(figure)
        rows.append(
            _row(entry, number, sum(part.tally.total for part in parts), figure)
            | {"is_over": number < over, "is_whole": whole}
        )
    estimates = [None if each is None else each.estimate for each in figures]
    smoothed = None
    if asked.smooth and sum(each is not None for each in estimates) >= _LEAST:
        smoothed = trend(estimates, cycle=asked.cycle, level=asked.level)
    shifts = find_shifts(
        estimates, rounds_per_year=_YEAR_SECONDS / campaign.schedule.seconds,
        false_alarms_per_year=FALSE_ALARMS, cycle=asked.cycle,
    )  # fmt: skip
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
        "shifts": [
            {**asdict(each), "alarm": first + each.alarm, "since": first + each.since}
            for each in shifts
        ],
        "false_alarms_per_year": FALSE_ALARMS,
        "reason": None if smoothed else f"fewer than {_LEAST} rounds have an estimate",
    }


def _row(
    entry: KnownCampaign, number: int, reports: int, figure: Measured | None
) -> dict[str, Any]:
    moment = entry.campaign.round(number)
    found = None if figure is None else {
        "value": figure.estimate.value, "standard_error": figure.estimate.standard_error,
        "interval": [figure.low, figure.high],
    }  # fmt: skip
    return {
        "round": number, "start": format_instant(moment.start), "end": format_instant(moment.end),
        "reports": reports, "estimate": found,
    }  # fmt: skip


def _point(found: Trend, index: int) -> dict[str, Any]:
    return {
        "value": float(found.values[index]),
        "interval": [float(found.low[index]), float(found.high[index])],
        "jump": float(found.jumps[index]),
    }
