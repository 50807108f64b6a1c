r"""Publishing: which counts of a campaign are published next, and which stay hidden.

A campaign without labels and rounds publishes the counts of a question whenever enough reports
came since it did so last (`noutput.collector.steps`). With them, these rules are added. *Enough*
are at least `Segments.minimum` reports, and at least as many as every step has.

1. Every combination of labels, of every round, is published in steps of its own, if they are
   enough.
2. Combinations of a round that have fewer reports are published together, without their labels:
   this is the *rest* of the round. A combination that reaches the minimum leaves the rest: of the
   reports that come from then on, the first minimum are its first step. When a round is over, or
   the campaign is closed, what is left of all combinations is one more step of the rest.
3. In two of five rounds (`Strata.keeps_labels`) there is no rest. What is left of a combination
   when such a round is over waits for what is left of it in others, and is published with its
   labels and without its round: this is the *pool* of the combination. What rule 2 leaves of the
   other rounds goes there as well, and so does what is left of rounds without labels.
4. When the campaign is closed, what is left of all pools is published without labels and rounds.
5. A step without labels has enough reports, and at least half of the minimum are of others than
   its largest combination. Otherwise it is not published.
6. When the campaign is closed and nothing of a question was published, all reports on it are one
   step without labels and rounds, if they are at least `Segments.minimum`: what a campaign without
   labels would publish. Rule 5 does not hold for it: nothing else is published that would tell
   which combination it is, or be subtracted from it.

Notes
-----
**Why two kinds of rounds.** A report is published once, with its round or with its labels where it
cannot be with both. If all reports of small combinations kept their round, no comparison of
labels would have them, however long the campaign is; if all kept their labels, no trend would. A
part of every round's would change who stands for everybody from round to round. So rounds take
turns, and a round that is published with its labels has no estimate of everybody
(`noutput.collector.whole`).

**Nothing hidden is found by subtraction.** Every report is published at most once, in one step;
reports that were in a step stay there. What anybody can see, at any times, are sums of steps. Steps
are disjoint sets of reports, so a linear combination of what is published is a function of the
counts of whole steps. If it is not zero, it depends on all reports of at least one step, and those
are enough reports of one combination, or of several without their labels. In a step of several,
at least half of the minimum are of others than any one combination, so it is not one combination
under another name, unless nothing else is published of the question.
`tests/collector/test_hiding.py` shows so over random arrivals.

Because steps are disjoint, what is promised to a person is what the counts of one step reveal, as
it is without labels (``docs/privacy.md``). Whether a step is due depends on how many reports there
are, never on what they say.

A combination is shown at the latest when it has twice the minimum and its round is not over: fewer
than the minimum of its reports can be in the rest.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from noutput.collector.store.interface import Release

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from noutput.collector.cells import CellLayout
    from noutput.collector.steps import Steps

__all__ = ["Counted", "Publishing", "Step"]


class Counted(NamedTuple):
    """What is known of a cell.

    Parameters
    ----------
    reports : int
        How many were counted.
    released : int
        How many of them were published in their own stratum.
    rest : int
        How many of them were published without their labels, or without their round.
    """

    reports: int
    released: int = 0
    rest: int = 0

    @property
    def fresh(self) -> int:
        """How many were not published yet."""
        return self.reports - self.released - self.rest


@dataclass(frozen=True, slots=True)
class Step:
    """The next step of a block.

    Parameters
    ----------
    release : Release
        The state of the block after the step.
    counts : dict
        What is published of its cells from then on.
    taken : dict
        Of a step of a rest or of the pool: how many reports of each cell have been published in
        another stratum than their own.
    """

    release: Release
    counts: dict[int, int]
    taken: dict[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Publishing:
    """When counts of a campaign are published.

    Parameters
    ----------
    layout : CellLayout
    steps : Steps
        How many new reports a step has, at least.
    final : int
        How many rounds are over, so that no more reports of them will come.
    first : int
        How many of them were published to their end before. What is left of them is looked at
        again when another round is over, or the campaign is closed.
    """

    layout: CellLayout
    steps: Steps
    final: int = 0
    first: int = 0

    @property
    def first_cell(self) -> int:
        """The first cell of the rounds that are not published to their end."""
        return self.layout.first_cell(self.first)

    def looks_back(self, *, closed: bool) -> bool:
        """Say whether cells before the first are wanted, those of them that have fresh reports."""
        return self.layout.strata.is_pooled and (closed or self.final > self.first)

    @property
    def least(self) -> int:
        """How many reports a step has at least."""
        return self.steps.at_least(self.layout.strata.segments)

    def due(
        self, cells: Mapping[int, Counted], before: Sequence[Release], now: str, *, closed: bool
    ) -> list[Step]:
        """Return the steps that are complete.

        Parameters
        ----------
        cells : mapping
            All cells with a report, from `first_cell`; where one `looks_back`, those before with a
            fresh report.
        before : sequence of Release
            The last release of every block.
        now : str
        closed : bool
            Whether the campaign was closed before the cells were read.
        """
        known = {each.question: each for each in before}
        if self.layout.strata.size == 1:
            return list(self._plain(cells, known, now, closed=closed))
        due = list(self._stratified(cells, known, now, closed=closed))
        if closed:
            due += self._whole(cells, {*known, *(step.release.question for step in due)}, now)
        return due

    def _plain(
        self, cells: Mapping[int, Counted], known: dict[int, Release], now: str, *, closed: bool
    ) -> Iterator[Step]:
        """Return the steps of a campaign without labels and rounds: one block per wave."""
        blocks = self.layout.blocks
        asked = Counter[int]()  # what is published of every question, over all of its waves
        for place, release in known.items():
            asked[blocks[place].question] += release.reports
        for place, block in enumerate(blocks):
            mine = {cell: cells[cell].reports for cell in block.cells if cell in cells}
            last = known.get(place)
            published = 0 if last is None else last.reports
            beside, counted = asked[block.question] - published, sum(mine.values())
            if self.steps.is_due(published, counted, closed=closed, beside=beside):
                yield Step(_next(place, last, counted - published, now), mine)

    def _stratified(
        self, cells: Mapping[int, Counted], known: dict[int, Release], now: str, *, closed: bool
    ) -> Iterator[Step]:
        strata, steps = self.layout.strata, replace(self.steps, least=self.least)
        found = self._blocks(cells)
        over: dict[int, list[int]] = {}  # what is left of rounds that are over, by its block
        rests: dict[int, list[int]] = {}  # blocks whose reports may go to a rest, by its block
        for number, mine in found.items():
            last = known.get(number)
            fresh = sum(cells[cell].fresh for cell in mine)
            of_round = self.layout.block(number).stratum // strata.each
            final = closed or of_round < self.final
            if of_round >= self.first and fresh >= _wanted(steps, last, final=final):
                counts = {cell: cells[cell].released + cells[cell].fresh for cell in mine}
                yield Step(_next(number, last, fresh, now), counts)
                continue
            if final:
                over[number] = mine
            small = sum(cells[cell].reports for cell in mine) < steps.least
            if self._has_rest(of_round) and (final or small):
                rests.setdefault(self._rest(number), []).append(number)
        for number, blocks in rests.items():
            last = known.get(number)
            final = closed or self.layout.block(number).stratum // strata.each < self.final
            mine = [cell for block in blocks for cell in found[block]]
            if self._is_mixed(mine, cells, _wanted(steps, last, final=final)):
                yield self._moved(number, mine, cells, last, now)
                for block in blocks:
                    over.pop(block, None)
        if strata.is_pooled:
            yield from self._pooled(over, cells, known, now, steps, closed=closed)

    def _pooled(
        self, over: Mapping[int, list[int]], cells: Mapping[int, Counted],
        known: Mapping[int, Release], now: str, steps: Steps, *, closed: bool,
    ) -> Iterator[Step]:  # fmt: skip
        """Return the steps without rounds, of what is left of rounds that are over."""
        pools: dict[int, list[int]] = {}
        for number, mine in over.items():
            pools.setdefault(self._pool(number), []).extend(mine)
        rests: dict[int, list[int]] = {}
        for number, mine in pools.items():
            last = known.get(number)
            if sum(cells[cell].fresh for cell in mine) >= _wanted(steps, last, final=closed):
                yield self._moved(number, mine, cells, last, now)
            elif closed and self.layout.strata.segments is not None:
                rests.setdefault(self._rest(number), []).extend(mine)
        for number, mine in rests.items():
            if self._is_mixed(mine, cells, steps.least):
                yield self._moved(number, mine, cells, known.get(number), now)

    def _whole(
        self, cells: Mapping[int, Counted], known: Iterable[int], now: str
    ) -> Iterator[Step]:
        """Return steps of all reports on the questions of which no block is known."""
        strata = self.layout.strata
        if strata.segments is None:
            return
        shown = {self.layout.block(number).question for number in known}
        wholes: dict[int, list[int]] = {}
        for number, mine in self._blocks(cells).items():
            if self.layout.block(number).question not in shown:
                own = self._pool(number) if strata.is_pooled else number
                wholes.setdefault(self._rest(own), []).extend(mine)
        for number, mine in wholes.items():
            if sum(cells[cell].fresh for cell in mine) >= strata.segments.minimum:
                yield self._moved(number, mine, cells, None, now)

    def _has_rest(self, of_round: int) -> bool:
        """Say whether small combinations of a round are published together."""
        strata = self.layout.strata
        if strata.segments is None or of_round < self.first:
            return False
        return not strata.keeps_labels(of_round)

    def _is_mixed(self, mine: list[int], cells: Mapping[int, Counted], wanted: int) -> bool:
        """Say whether cells have enough reports, and enough outside of any one combination."""
        strata = self.layout.places(np.array(mine, np.int64)).strata
        sizes = Counter[int]()
        combinations = self.layout.strata.combinations_of(strata).tolist()
        for cell, combination in zip(mine, combinations, strict=True):
            sizes[combination] += cells[cell].fresh
        total = sizes.total()
        return total >= wanted and 2 * (total - max(sizes.values())) >= self.least

    def _moved(
        self, number: int, mine: list[int], cells: Mapping[int, Counted], last: Release | None,
        now: str,
    ) -> Step:  # fmt: skip
        """Return a step of a rest or a pool: what it has from then on, and of which cells."""
        block = self.layout.block(number)
        counts = {cell: cells[cell].released for cell in block.cells if cell in cells}
        outputs = self.layout.places(np.array(mine, np.int64)).outputs.tolist()
        for cell, output in zip(mine, outputs, strict=True):
            own = block.cells[output]
            counts[own] = counts.get(own, 0) + cells[cell].fresh
        taken = {cell: cells[cell].rest + cells[cell].fresh for cell in mine if cells[cell].fresh}
        release = _next(number, last, sum(cells[cell].fresh for cell in mine), now)
        return Step(release, {cell: n for cell, n in counts.items() if n}, taken)

    def _blocks(self, cells: Mapping[int, Counted]) -> dict[int, list[int]]:
        """Return the cells with reports, by the numbers of their blocks."""
        counted = [cell for cell, known in cells.items() if known.reports]
        array = np.array(counted, np.int64)
        found: dict[int, list[int]] = {}
        numbers = self.layout.numbers(self.layout.places(array)).tolist()
        for cell, number in zip(counted, numbers, strict=True):
            found.setdefault(number, []).append(cell)
        return found

    def _rest(self, number: int) -> int:
        """Return the number of the rest that a block's reports may go to."""
        strata, each = self.layout.strata, len(self.layout.campaign.questions)
        stratum, question = divmod(number, each)
        return (stratum - stratum % strata.each + strata.combinations) * each + question

    def _pool(self, number: int) -> int:
        """Return the number of the block of a block's combination without its round."""
        strata, each = self.layout.strata, len(self.layout.campaign.questions)
        stratum, question = divmod(number, each)
        return strata.number(strata.pool, stratum % strata.each) * each + question


def _wanted(steps: Steps, last: Release | None, *, final: bool) -> int:
    """Return how many new reports the next step has at least."""
    return steps.least if final else steps.size(0 if last is None else last.reports)


def _next(number: int, last: Release | None, new: int, now: str) -> Release:
    """Return the state of a block after a step of so many new reports."""
    if last is None:
        return Release(number, new, now, 1, new, new)
    smallest = min(new, last.smallest)
    return Release(number, last.reports + new, now, last.number + 1, smallest, new)
