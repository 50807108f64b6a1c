r"""The rule for what is published: which reports are released together, and with which labels.

Time is divided into rounds; a campaign without a schedule is one round, which ends when it does.
*The minimum* is `ReleasePolicy.minimum`, or `Segments.minimum` if that is more.

1. In each round, a group of people with the same labels is released by itself, from the minimum of
   reports on.
2. All other groups of the round are released together, without their labels, if they have the
   minimum of reports and at least half of the minimum are of others than the largest of them.
3. What is left of the rounds of a period, when it is over or the campaign is closed, is released
   without labels and rounds, if it has the minimum of reports for each time that a device answers
   in a period: so it is of as many people. Otherwise it is never published.

Every release is a set of reports that were never published before, and what was released stays
where it is. A device answers a question once per round, so the reports of a release are people:
nobody's label is shown because the same few people answered in many rounds. ``docs/privacy.md`` has
the proof of what follows, and `tests/collector/test_hiding.py` shows it over random arrivals.

Notes
-----
What is due depends on how many reports there are, never on what they say.

A group that has reached the minimum takes no more part in releases without labels while its round
is open. So it is shown at the latest when it has twice the minimum.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from noutput import _checks
from noutput.collector.store.interface import Release
from noutput.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from noutput.campaign.segments import Segments
    from noutput.collector.cells import CellLayout
    from noutput.collector.store.interface import Counted

__all__ = ["NewRelease", "Publishing", "ReleasePolicy"]

_MAX_MINIMUM = 10**12


@dataclass(frozen=True, slots=True)
class ReleasePolicy:
    """How many new reports a release has.

    Parameters
    ----------
    minimum : int
        The fewest, 500 by default.
    growth : float
        The fewest as a share of what is published of the same row of counts, a tenth by default:
        so releases grow with a campaign, and a billion reports are published in about 140.

    Examples
    --------
    >>> policy = ReleasePolicy()
    >>> policy.size(0), policy.size(5_000), policy.size(1_000_000)
    (500, 500, 100000)
    >>> ReleasePolicy(1, 0.1).size(30)
    3
    """

    minimum: int = 500
    growth: float = 0.1

    def __post_init__(self) -> None:
        _checks.whole("minimum", self.minimum, 1, _MAX_MINIMUM)
        if not 0.0 <= _checks.finite("growth", self.growth) <= 1.0:
            raise InvalidArgumentError("growth", "lie between 0 and 1", self.growth)

    def minimum_of(self, segments: Segments | None) -> int:
        """Return the fewest reports of a release: with labels, no fewer than they want.

        Examples
        --------
        >>> from noutput.campaign.segments import Segments
        >>> platforms = {"platform": ("ios", "android")}
        >>> [ReleasePolicy().minimum_of(Segments(platforms, least)) for least in (100, 2_000)]
        [500, 2000]
        """
        return self.minimum if segments is None else max(self.minimum, segments.minimum)

    def size(self, published: int, segments: Segments | None = None) -> int:
        """Return how many new reports the next release has at least."""
        return max(self.minimum_of(segments), math.ceil(round(self.growth * published, 6)))


class NewRelease(NamedTuple):
    """Reports that are published together.

    Parameters
    ----------
    release : Release
        The state of the row of counts that they are added to.
    reports : dict
        How many there are of every cell that they were counted in.
    """

    release: Release
    reports: dict[int, int]


class _Group(NamedTuple):
    """People with the same labels in a round, and their reports on a question."""

    number: int
    round: int
    reports: int
    fresh: dict[int, int]  # that were never published, per cell

    @property
    def size(self) -> int:
        return sum(self.fresh.values())


@dataclass(frozen=True, slots=True)
class Publishing:
    """The rule for a campaign at one time.

    Parameters
    ----------
    layout : CellLayout
    policy : ReleasePolicy
    over : int
        How many rounds are over, so that no more reports of them will come.
    done : int
        How many of them were over when the rule was applied before.
    """

    layout: CellLayout
    policy: ReleasePolicy
    over: int = 0
    done: int = 0

    @property
    def first_cell(self) -> int:
        """The first cell of which something may be due: those of earlier periods are published."""
        rounds, _ = self._period
        return self.layout.first_cell(self.done - self.done % rounds)

    @property
    def _period(self) -> tuple[int, int]:
        """How many rounds a period has, and in how many of them a device answers."""
        schedule = self.layout.campaign.schedule
        return (1, 1) if schedule is None else (schedule.rounds_per_period, schedule.answers)

    def due(
        self, cells: Mapping[int, Counted], before: Sequence[Release], now: str, *, closed: bool
    ) -> list[NewRelease]:
        """Return the releases that are due.

        Parameters
        ----------
        cells : mapping
            All cells with a report, from `first_cell` on.
        before : sequence of Release
            The state of every row that has any.
        now : str
        closed : bool
            Whether the campaign was closed before the cells were read.
        """
        due = _Due({each.question: each for each in before}, now)
        segments = self.layout.strata.segments
        minimum = self.policy.minimum_of(segments)
        per_period, answers = self._period
        over = self.layout.strata.rounds if closed else self.over
        others: dict[int, list[_Group]] = {}
        for group in self._groups(cells):
            is_over = group.round < over
            if group.size >= (minimum if is_over else self._size(due, group.number)):
                due.add(group.number, [group])
            elif is_over or group.reports < minimum:
                others.setdefault(self.layout.without_labels(group.number), []).append(group)
        left: dict[tuple[int, int], list[_Group]] = {}
        for number, groups in others.items():
            is_over = groups[0].round < over
            sizes = [group.size for group in groups]
            wanted = minimum if is_over else self._size(due, number)
            if sum(sizes) >= wanted and 2 * (sum(sizes) - max(sizes)) >= minimum:
                due.add(number, groups)
            elif is_over:
                period = groups[0].round // per_period
                if closed or (period + 1) * per_period <= over:
                    row = self.layout.without_round(number)
                    left.setdefault((row, period), []).extend(groups)
        for (number, _), groups in left.items():
            if sum(group.size for group in groups) >= minimum * answers:
                due.add(number, groups)
        return due.releases

    def _size(self, due: _Due, number: int) -> int:
        """Return how many reports the next release of a row has, while its round is open."""
        last = due.last.get(number)
        segments = self.layout.strata.segments
        return self.policy.size(0 if last is None else last.reports, segments)

    def _groups(self, cells: Mapping[int, Counted]) -> Iterator[_Group]:
        counted = [cell for cell, known in cells.items() if known.reports]
        places = self.layout.places(np.array(counted, np.int64))
        numbers = self.layout.numbers(places).tolist()
        rounds = self.layout.strata.rounds_of(places.strata).tolist()
        members: dict[tuple[int, int], list[int]] = {}
        for cell, name in zip(counted, zip(numbers, rounds, strict=True), strict=True):
            members.setdefault(name, []).append(cell)
        for (number, of_round), mine in members.items():
            fresh = {cell: cells[cell].fresh for cell in mine if cells[cell].fresh}
            yield _Group(number, of_round, sum(cells[cell].reports for cell in mine), fresh)


class _Due:
    """Releases that are due, and what is published of every row with them."""

    def __init__(self, last: dict[int, Release], now: str) -> None:
        self.last = last
        self.releases: list[NewRelease] = []
        self._now = now

    def add(self, number: int, groups: Iterable[_Group]) -> None:
        """Release all that was never published of some groups, in a row of counts."""
        reports = {cell: new for group in groups for cell, new in group.fresh.items()}
        new, last = sum(reports.values()), self.last.get(number)
        if last is None:
            release = Release(number, new, self._now, 1, new, new)
        else:
            total, smallest = last.reports + new, min(new, last.smallest)
            release = Release(number, total, self._now, last.number + 1, smallest, new)
        self.last[number] = release
        self.releases.append(NewRelease(release, reports))
