"""Alarms for the operator: a sudden change of how many reports come in, or of what they say.

=============  ===================================================================================
kind           raised where
=============  ===================================================================================
``rate-rise``  ten minutes bring far more reports than the hour before them predicts
``rate-drop``  ten minutes bring far fewer
``shape``      the newest reports on a question are distributed otherwise than all before them
``limit``      reports were refused because the campaign expects no more per hour
=============  ===================================================================================

`noutput.estimate.change` has the tests. An interval of ten minutes raises a false alarm of its rate
with a probability of at most one in a million per direction, a whole campaign one of its shape with
at most one in a thousand. Alarms name a campaign and a question, and no client.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from noutput.errors import InvalidArgumentError
from noutput.estimate.change import RATE_SPREAD, rate_change, shape_change
from noutput.mechanisms.table import TableMechanism, unit_mechanism

if TYPE_CHECKING:
    from noutput.collector.store.directory import KnownCampaign
    from noutput.mechanisms.certified import Table
    from noutput.tally import Tally

__all__ = ["BLOCK", "INTERVAL_SECONDS", "Alarm", "RateWatch", "ShapeWatch", "Watch"]

INTERVAL_SECONDS: Final = 600.0
BLOCK: Final = 500  # reports on a question that are compared with those before, at least
_PAST = 6  # intervals that predict the next
_LEAST = 100  # reports in an interval that raise an alarm
_RATE_LEVEL = 1e-6
_SHAPE_LEVEL = 1e-3  # of a campaign, all its questions and blocks together
_GROWTH = 0.1  # of the reports before a block is that of the block
_LONGEST_GAP_SECONDS = 7200.0
_SAME = timedelta(hours=1)  # within which alarms of one kind are one
_SHOWN = timedelta(days=7)
_KEPT = 20


@dataclass(frozen=True, slots=True)
class Alarm:
    """A sudden change.

    Parameters
    ----------
    kind : str
    at : datetime
        When it was noticed first.
    reports : int
        The reports in ten minutes, in the newest block, or refused.
    expected : float
        How many were expected; of a shape, how many came before the block.
    question : str
        The question whose reports changed, where that is one.
    share : float
        Which share of the block differs at least.

    Examples
    --------
    >>> from datetime import UTC
    >>> alarm = Alarm("rate-rise", datetime(2026, 5, 1, 12, 4, tzinfo=UTC), 1016, 97.6)
    >>> print(alarm.text)
    1,016 reports came within ten minutes; after the hour before, about 98 were expected.
    """

    kind: str
    at: datetime
    reports: int
    expected: float
    question: str = ""
    share: float = 0.0

    @property
    def title(self) -> str:
        """What happened, in a few words."""
        return {
            "rate-rise": "Suddenly more reports",
            "rate-drop": "Suddenly fewer reports",
            "shape": "The reports suddenly look different",
            "limit": "More reports than the campaign expects",
        }[self.kind]

    @property
    def text(self) -> str:
        """What happened, with its size."""
        if self.kind == "shape":
            return (
                f"Of the newest {self.reports:,} reports on {self.question}, at least about "
                f"{self.share:.0%} differ from the {self.expected:,.0f} before."
            )
        if self.kind == "limit":
            return (
                f"{self.reports:,} reports were refused: the campaign expects "
                f"{self.expected:,.0f} per hour."
            )
        came = f"{self.reports:,} {'report' if self.reports == 1 else 'reports'} came"
        about = f"about {self.expected:,.0f} were expected"
        return f"{came} within ten minutes; after the hour before, {about}."


class Watch:
    """The alarms of one campaign, in memory.

    Parameters
    ----------
    entry : KnownCampaign

    Notes
    -----
    What came between two looks counts as spread evenly over that time. After a start, the rate is
    known after an hour; the shape is compared with all that the database has.
    """

    def __init__(self, entry: KnownCampaign) -> None:
        campaign = entry.campaign
        self._waves = self._next = 0
        self._names: list[str] = []
        self._scores: list[tuple[float, ...] | None] = []
        self.follow(entry)
        self._each = len(campaign.questions) if campaign.ask == "all" else 1
        self._rate = RateWatch(RATE_SPREAD * self._each)
        self._shapes: list[ShapeWatch] = []
        self._kept: tuple[Alarm, ...] = ()

    def follow(self, entry: KnownCampaign) -> None:
        """Know the blocks of all waves: each is compared with its own past."""
        waves = entry.campaign.waves
        for wave in waves[self._waves :]:
            self._next = 0
            self._names += [each.name for each in wave.questions]
            self._scores += [_scores(table) for table in wave.tables]
        self._waves = len(waves)

    def shown(self, now: datetime) -> tuple[Alarm, ...]:
        """Return the alarms of the last seven days, newest first."""
        return tuple(each for each in reversed(self._kept) if now - each.at < _SHOWN)

    def note_rate(self, now: datetime, total: int) -> list[Alarm]:
        """Look at how many reports there are; return new alarms."""
        found = self._rate.note(now, total)
        return self._keep([Alarm(kind, now, came, expected) for kind, came, expected in found])

    def note_refused(self, now: datetime, refused: int, expected: float) -> list[Alarm]:
        """Note reports that were refused; return new alarms."""
        return self._keep([Alarm("limit", now, refused, expected)] if refused else [])

    def wants_counts(self, total: int) -> bool:
        """Say whether so many reports may complete a block, so that `note_shape` has work."""
        return total >= self._next

    def note_shape(self, now: datetime, tallies: Sequence[Tally]) -> list[Alarm]:
        """Look at the counts of all questions; return new alarms."""
        parts = list(zip(tallies, self._scores, strict=True))[len(self._shapes) :]
        self._shapes += [ShapeWatch(tally.counts, scores) for tally, scores in parts]
        found: list[Alarm] = []
        for name, shape, tally in zip(self._names, self._shapes, tallies, strict=True):
            size = shape.note(tally.counts, len(self._names))
            if size is not None:
                reports, before, share = size
                found.append(Alarm("shape", now, reports, before, name, share))
        total = sum(tally.total for tally in tallies)
        self._next = total + min(
            shape.missing(tally.total) for shape, tally in zip(self._shapes, tallies, strict=True)
        )
        return self._keep(found)

    def _keep(self, alarms: list[Alarm]) -> list[Alarm]:
        """Keep alarms; return those that are not the going on of one that is known."""
        new: list[Alarm] = []
        kept = list(self._kept)
        for alarm in alarms:
            place = next((n for n, each in enumerate(kept) if _is_same(each, alarm)), None)
            if place is None:
                kept.append(alarm)
                new.append(alarm)
            else:
                kept[place] = _joined(kept[place], alarm)
        self._kept = tuple(kept[-_KEPT:])
        return new


def _scores(table: Table) -> tuple[float, ...] | None:
    """Return what the outputs of a number stand for; None where that is nothing to order by."""
    mechanism = unit_mechanism(table)
    try:
        return tuple(mechanism.outputs.tolist()) if isinstance(mechanism, TableMechanism) else None
    except InvalidArgumentError:  # the table tells other things than the mean
        return None


def _is_same(known: Alarm, new: Alarm) -> bool:
    same = (known.kind, known.question) == (new.kind, new.question)
    return same and new.at - known.at < _SAME


def _joined(known: Alarm, new: Alarm) -> Alarm:
    if known.kind == "limit":
        return replace(known, reports=known.reports + new.reports)
    return replace(max(known, new, key=_size), at=known.at)


def _size(alarm: Alarm) -> float:
    """Return how far an alarm is from what was expected, to compare it with others of its kind."""
    return alarm.share if alarm.kind == "shape" else abs(alarm.reports - alarm.expected)


class RateWatch:
    """Reports per interval of ten minutes."""

    def __init__(self, spread: float = RATE_SPREAD) -> None:
        self._spread = spread
        self._past: deque[float] = deque(maxlen=_PAST)
        self._last: tuple[float, int] | None = None
        self._whole = False  # whether the interval was seen from its beginning
        self._count = 0.0

    def note(self, now: datetime, total: int) -> list[tuple[str, int, float]]:
        """Return kind, reports and expected reports of what is suddenly different."""
        moment = now.timestamp()
        last, self._last = self._last, (moment, total)
        if last is None or not 0.0 <= moment - last[0] <= _LONGEST_GAP_SECONDS or total < last[1]:
            self._past.clear()
            self._whole, self._count = False, 0.0
            return []
        found: list[tuple[str, int, float]] = []
        start, left = last[0], float(total - last[1])
        while (end := _end(start)) <= moment:
            part = left * (end - start) / (moment - start)
            left -= part
            self._count += part
            found += self._compare(complete=True)
            if self._whole:
                self._past.append(self._count)
            start, self._whole, self._count = end, True, 0.0
        self._count += left
        return found + self._compare(complete=False)

    def _compare(self, *, complete: bool) -> list[tuple[str, int, float]]:
        if len(self._past) < _PAST or not self._whole:
            return []
        past = sum(self._past)
        more, fewer = rate_change(self._count, past, _PAST, spread=self._spread)
        size = round(self._count), past / _PAST
        if more < _RATE_LEVEL and self._count >= _LEAST:
            return [("rate-rise", *size)]
        return [("rate-drop", *size)] if complete and fewer < _RATE_LEVEL else []


def _end(moment: float) -> float:
    """Return when the interval of a moment ends."""
    return (math.floor(moment / INTERVAL_SECONDS) + 1.0) * INTERVAL_SECONDS


class ShapeWatch:
    """Reports on one question: all that were compared, and the block after them."""

    def __init__(self, counts: Sequence[int], scores: Sequence[float] | None) -> None:
        self._scores = scores
        self._before = tuple(counts)
        self._size = sum(counts)

    def missing(self, total: int) -> int:
        """Return how many reports the block still needs, at least one."""
        return max(self._size + self._block() - total, 1)

    def note(self, counts: Sequence[int], questions: int) -> tuple[int, int, float] | None:
        """Compare a block that is complete; return its size, what came before, and the share."""
        total = sum(counts)
        if total < self._size:  # an administrator put older counts in place
            self._before, self._size = tuple(counts), total
        if total - self._size < self._block():
            return None
        before, size = self._before, self._size
        self._before, self._size = tuple(counts), total
        if size < BLOCK:
            return None
        block = tuple(new - old for new, old in zip(counts, before, strict=True))
        if min(block) < 0:
            return None
        found = shape_change(before, block, self._scores)
        alarming = found.p_value < _level(size) / questions
        return (total - size, size, found.share) if alarming else None

    def _block(self) -> int:
        return max(BLOCK, math.ceil(_GROWTH * self._size))


def _level(before: int) -> float:
    """Return the level of the block after so many reports; all blocks' add up to `_SHAPE_LEVEL`.

    Each block makes the reports grow by a tenth or more, so each has a place k of its own in
    1, 2, 3, ..., whatever was restarted in between, and gets 6 / (pi k)^2 of the level.
    """
    place = 1 + math.floor(math.log(before / BLOCK) / math.log1p(_GROWTH))
    return _SHAPE_LEVEL * 6.0 / (math.pi * place) ** 2
