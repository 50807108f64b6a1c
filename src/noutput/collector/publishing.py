r"""Publishing: which counts of a campaign are published next, and which stay hidden.

A campaign without labels and rounds publishes the counts of a question whenever enough reports
came since it did so last (`noutput.collector.steps`). With them, three rules are added:

1. Every combination of labels, of every round, is published in steps of its own, of at least
   `Segments.minimum` reports.
2. Combinations of a round that have fewer reports are published together, without their labels:
   this is the *rest*, in steps of at least as many. A combination that reaches the minimum leaves
   the rest: of the reports that come from then on, the first minimum are its first step.
3. When a round is over, or the campaign is closed, what is left of all combinations is one more
   step of the rest, if it has at least as many reports. Otherwise it is never published.

Notes
-----
**Nothing hidden is found by subtraction.** Every report is published at most once: as part of one
step of its combination, or as part of one step of the rest; reports that were in the rest stay
there. What anybody can see, at any times, are sums of steps. Steps are disjoint sets of reports,
so a linear combination of what is published is a function of the counts of whole steps. If it is
not zero, it depends on all reports of at least one step, and those are at least as many as the
minimum, of one combination that is shown or of several without their labels.
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
    from collections.abc import Iterator, Mapping, Sequence

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
        How many of them were published in the rest of their round.
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
        Of a step of the rest: how many reports of each cell have been published there.
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
        How many of them were published to their end before, and are not looked at again.
    """

    layout: CellLayout
    steps: Steps
    final: int = 0
    first: int = 0

    @property
    def first_cell(self) -> int:
        """The first cell that is looked at."""
        return self.layout.first_cell(self.first)

    def due(
        self, cells: Mapping[int, Counted], before: Sequence[Release], now: str, *, closed: bool
    ) -> list[Step]:
        """Return the steps that are complete.

        Parameters
        ----------
        cells : mapping
            All cells with a report, from `first_cell`.
        before : sequence of Release
            The last release of every block.
        now : str
        closed : bool
            Whether the campaign was closed before the cells were read.
        """
        known = {each.question: each for each in before}
        if self.layout.strata.size == 1:
            return list(self._plain(cells, known, now, closed=closed))
        return list(self._stratified(cells, known, now, closed=closed))

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
        layout, strata = self.layout, self.layout.strata
        steps = self.steps
        if strata.segments is not None:
            steps = replace(steps, least=max(steps.least, strata.segments.minimum))
        left: dict[int, list[int]] = {}  # cells of the blocks that may go to a rest, by its block
        for number, mine in self._blocks(cells).items():
            last = known.get(number)
            fresh = sum(cells[cell].fresh for cell in mine)
            final = closed or layout.block(number).stratum // strata.each < self.final
            if fresh >= _wanted(steps, last, final=final):
                counts = {cell: cells[cell].released + cells[cell].fresh for cell in mine}
                yield Step(_next(number, last, fresh, now), counts)
            elif strata.segments is not None:
                counted = sum(cells[cell].reports for cell in mine)
                if final or counted < steps.least:
                    left.setdefault(self._rest(number), []).extend(mine)
        for number, mine in left.items():
            last = known.get(number)
            fresh = sum(cells[cell].fresh for cell in mine)
            block = layout.block(number)
            final = closed or block.stratum // strata.each < self.final
            if fresh >= _wanted(steps, last, final=final):
                yield self._step_of_rest(number, mine, cells, _next(number, last, fresh, now))

    def _step_of_rest(
        self, number: int, mine: list[int], cells: Mapping[int, Counted], release: Release
    ) -> Step:
        """Return a step of a rest: what it has from then on, and of which cells."""
        block = self.layout.block(number)
        counts = {cell: cells[cell].released for cell in block.cells if cell in cells}
        outputs = self.layout.places(np.array(mine, np.int64)).outputs.tolist()
        for cell, output in zip(mine, outputs, strict=True):
            own = block.cells[output]
            counts[own] = counts.get(own, 0) + cells[cell].fresh
        taken = {cell: cells[cell].rest + cells[cell].fresh for cell in mine if cells[cell].fresh}
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


def _wanted(steps: Steps, last: Release | None, *, final: bool) -> int:
    """Return how many new reports the next step has at least."""
    return steps.least if final else steps.size(0 if last is None else last.reports)


def _next(number: int, last: Release | None, new: int, now: str) -> Release:
    """Return the state of a block after a step of so many new reports."""
    if last is None:
        return Release(number, new, now, 1, new, new)
    smallest = min(new, last.smallest)
    return Release(number, last.reports + new, now, last.number + 1, smallest, new)
