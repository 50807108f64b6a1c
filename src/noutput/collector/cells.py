"""Cell layout: which count belongs to which wave, stratum, question and output of a campaign.

A cell is the unit of counting, and a whole number. This module alone knows how cells are numbered;
reports become cells, counts become tallies, and databases and exports get their size through it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import numpy as np

from noutput.collector.strata import NOT_TOLD, Strata
from noutput.errors import DocumentError
from noutput.tally import Tally

if TYPE_CHECKING:
    from noutput.campaign.campaign import Campaign
    from noutput.collector.strata import Selection

__all__ = ["CELL", "Block", "CellLayout", "Places", "WaveLayout"]

CELL: Final = np.dtype("<i4")  # as requests hand cells to the store
_CELLS = 1 << 31

Numbers: TypeAlias = np.ndarray[Any, np.dtype[np.int32]]
Longs: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True, slots=True)
class Block:
    """Cells that are counted into one tally: one per output of a table, side by side.

    A block is a row of published counts: late reports of an old wave, or of an earlier round, are
    released by themselves.

    Parameters
    ----------
    wave : int
        The wave whose reports it counts, from 0.
    question : int
        The question's place in the campaign.
    fingerprint : str
        The fingerprint of the table that draws the outputs.
    cells : range
        The cell of every output.
    stratum : int
        The stratum whose reports it counts, as `Strata` numbers them.
    """

    wave: int
    question: int
    fingerprint: str
    cells: range
    stratum: int = 0

    def tally(self, counts: Mapping[int, int]) -> Tally:
        """Return the counts of this block."""
        return Tally(self.fingerprint, tuple(counts.get(cell, 0) for cell in self.cells))


class Places(NamedTuple):
    """What many cells count: the place of the wave's and question's block, stratum and output."""

    blocks: Longs
    strata: Longs
    outputs: Longs


class WaveLayout:
    """The cells of one wave, whose fingerprint its reports name.

    Parameters
    ----------
    campaign : Campaign
        The campaign up to this wave.
    start : int
        Its first cell.
    strata : Strata
        Of the campaign.

    Attributes
    ----------
    is_plain : bool
        Whether reports have neither a token nor a round.
    """

    def __init__(self, campaign: Campaign, start: int, strata: Strata) -> None:
        self.campaign = campaign
        self.start = stop = start
        blocks: list[Block] = []
        for place, table in enumerate(campaign.tables):
            cells = range(stop, stop + table.n_outputs)
            blocks.append(Block(len(campaign.waves) - 1, place, table.fingerprint, cells))
            stop = cells.stop
        self.blocks = tuple(blocks)
        self.stride = stop - start
        self.strata = strata
        self.is_plain = not campaign.admission.needs_token and campaign.schedule is None
        self.stop = start + strata.size * self.stride
        self._named = {
            campaign.questions[block.question].name: block.cells for block in self.blocks
        }
        self._starts = np.array([block.cells.start for block in self.blocks], np.int32)
        self._stops = np.array([block.cells.stop for block in self.blocks], np.int32)

    def cell(self, question: str, output: int, stratum: int = 0) -> int | None:
        """Return the cell of a report; None for a question or output that there is not."""
        cells = self._named.get(question)
        if cells is None or output >= len(cells):
            return None
        return cells[output] + stratum * self.stride

    def cells(
        self, places: Numbers, outputs: Numbers, strata: Longs | None = None
    ) -> Numbers | None:
        """Return the cells of many reports by the questions' places; None if one has none."""
        if (places >= len(self._starts)).any():
            return None
        found = self._starts[places] + outputs
        if (found >= self._stops[places]).any():
            return None
        return found if strata is None else (found + strata * self.stride).astype(np.int32)

    def rounds(self, cells: Numbers) -> Numbers:
        """Return the round of every cell."""
        return (cells - self.start) // (self.stride * self.strata.each)


class CellLayout:
    """The cells of a campaign: one block per wave, stratum and question, in their order.

    Attributes
    ----------
    campaign : Campaign
        Its newest wave.
    strata : Strata
        The rounds and combinations of labels that are counted apart; one where there are neither.
    waves : tuple of WaveLayout
    blocks : tuple of Block
        Those of the first stratum: of the first wave, then of the second, and so on.
    size : int
        The number of cells; they are numbered from 0.

    Raises
    ------
    DocumentError
        If there are too many cells: waves, questions, outputs, rounds and labels multiply.

    Notes
    -----
    Nothing outside of this module computes with places and numbers of outputs. Blocks of further
    strata are numbers, not objects: the cell of stratum s is that of the first stratum plus s
    times the number of outputs of all questions of the wave. Cells that exist never get another
    number, because databases keep them: those of a new wave come after all others.

    Examples
    --------
    >>> from datetime import UTC, datetime
    >>> from noutput.campaign import Campaign, Number, Table
    >>> rows = ((3 << 30, 1 << 30), (1 << 30, 3 << 30))
    >>> tables = Table(1.1, ((0, 180),), rows), Table(1.1, ((0, 100),), rows)
    >>> layout = CellLayout(Campaign(
    ...     "commute", "Commute", "How long, how far?",
    ...     (Number(0, 180, "min", name="time"), Number(0, 100, "km", name="way")), tables,
    ...     datetime(2026, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC),
    ... ))
    >>> layout.size, layout.cell("way", 1), layout.cell("way", 2), layout.cell("cost", 0)
    (4, 3, None, None)
    >>> [found.tolist() for found in layout.places(np.array([0, 3, 2], np.int32))]
    [[0, 1, 1], [0, 0, 0], [0, 1, 0]]
    >>> [tally.counts for tally in layout.tallies({0: 7, 3: 2})]
    [(7, 0), (0, 2)]
    """

    def __init__(self, campaign: Campaign) -> None:
        self.campaign = campaign
        self.strata = Strata.of(campaign)
        waves: list[WaveLayout] = []
        self.size = 0
        for each in campaign.waves:
            waves.append(WaveLayout(each, self.size, self.strata))
            self.size = waves[-1].stop
        if self.size >= _CELLS:
            rule = f"need fewer than {_CELLS:,} counts: outputs times combinations times rounds"
            raise DocumentError("campaign", rule, self.size)
        self.waves = tuple(waves)
        self.blocks = tuple(block for wave in waves for block in wave.blocks)
        self._block_stops = np.array([block.cells.stop for block in self.blocks], np.int64)
        self._block_starts = np.array([block.cells.start for block in self.blocks], np.int64)
        self._starts = np.array([wave.start for wave in waves], np.int64)
        self._stops = np.array([wave.stop for wave in waves], np.int64)
        self._strides = np.array([wave.stride for wave in waves], np.int64)
        self._found = {wave.campaign.fingerprint: wave for wave in waves}

    def wave(self, fingerprint: object) -> WaveLayout | None:
        """Return the wave whose reports name this fingerprint; None where there is none."""
        return self._found.get(fingerprint) if isinstance(fingerprint, str) else None

    def cell(self, question: str, output: int, stratum: int = 0) -> int | None:
        """Return the cell of a report of the newest wave; None where there is none."""
        return self.waves[-1].cell(question, output, stratum)

    def cells(
        self, places: Numbers, outputs: Numbers, strata: Longs | None = None
    ) -> Numbers | None:
        """Return the cells of many reports of the newest wave; None if one has none."""
        return self.waves[-1].cells(places, outputs, strata)

    def places(self, cells: Numbers | Longs) -> Places:
        """Return what many cells count.

        The block of a question is that of the first wave plus the number of questions per wave.
        """
        waves = np.searchsorted(self._stops, cells, side="right")
        strata, within = np.divmod(cells - self._starts[waves], self._strides[waves])
        first = self._starts[waves] + within
        blocks = np.searchsorted(self._block_stops, first, side="right")
        return Places(blocks, strata, first - self._block_starts[blocks])

    def numbers(self, places: Places) -> Longs:
        """Return the number of every cell's block among those of all strata."""
        each = len(self.campaign.questions)
        waves, questions = np.divmod(places.blocks, each)
        return (waves * self.strata.size + places.strata) * each + questions

    def block(self, number: int) -> Block:
        """Return one of the blocks of all strata."""
        each = len(self.campaign.questions)
        stratum, question = divmod(number, each)
        wave, stratum = divmod(stratum, self.strata.size)
        known = self.blocks[wave * each + question]
        more = stratum * self.waves[wave].stride
        cells = range(known.cells.start + more, known.cells.stop + more)
        return Block(wave, question, known.fingerprint, cells, stratum)

    def base(self, number: int) -> int:
        """Return the place in `blocks` of a block of any stratum: what it shares its table with."""
        block = self.block(number)
        return block.wave * len(self.campaign.questions) + block.question

    def labels_of(self, combination: int) -> tuple[str | None, ...]:
        """Return the label of every segment: empty for not told, None for without labels."""
        segments = self.strata.segments
        if segments is None:
            return ()
        if combination == self.strata.combinations:
            return (None,) * len(segments.names)
        told = dict(segments.labels(combination))
        return tuple(told.get(name, NOT_TOLD) for name, _ in segments.names)

    def without_labels(self, number: int) -> int:
        """Return the number of the block of the same round for reports without their labels."""
        strata, each = self.strata, len(self.campaign.questions)
        if strata.segments is None:
            return number
        stratum, question = divmod(number, each)
        return (stratum - stratum % strata.each + strata.combinations) * each + question

    def without_round(self, number: int) -> int:
        """Return the number of the block for reports of another one without their round."""
        strata, each = self.strata, len(self.campaign.questions)
        stratum, question = divmod(number, each)
        wave, within = divmod(stratum, strata.size)
        last = strata.size - strata.each + within % strata.each
        return (wave * strata.size + last) * each + question

    def cells_in(self, number: int, cells: Iterable[int]) -> list[int]:
        """Return the cells of a block that reports of other cells are published in."""
        block = self.block(number).cells
        return [
            block[output] for output in self.places(np.fromiter(cells, np.int64)).outputs.tolist()
        ]

    def first_cell(self, round_number: int) -> int:
        """Return the first cell of a round; all cells before are of earlier ones."""
        return self.strata.number(round_number, 0) * self.waves[0].stride

    def by_round(self, counts: Mapping[int, int]) -> dict[int, dict[int, int]]:
        """Return the counts of every round that has any."""
        cells = np.fromiter(counts, np.int64, len(counts))
        rounds = self.strata.rounds_of(self.places(cells).strata).tolist()
        found: dict[int, dict[int, int]] = {}
        for number, (cell, reports) in zip(rounds, counts.items(), strict=True):
            found.setdefault(number, {})[cell] = reports
        return found

    def tallies(self, counts: Mapping[int, int], selection: Selection | None = None) -> list[Tally]:
        """Return the counts of every wave and question, over all strata or those selected."""
        if self.strata.size == 1 and selection is None:
            return [block.tally(counts) for block in self.blocks]
        cells = np.fromiter(counts, np.int64, len(counts))
        numbers = np.fromiter(counts.values(), np.int64, len(counts))
        places = self.places(cells)
        if selection is not None:
            kept = selection.has(self.strata, places.strata)
            numbers, places = numbers[kept], Places(*(each[kept] for each in places))
        result = []
        for place, block in enumerate(self.blocks):
            mine = places.blocks == place
            sums = np.zeros(len(block.cells), np.int64)
            np.add.at(sums, places.outputs[mine], numbers[mine])
            result.append(Tally(block.fingerprint, tuple(sums.tolist())))
        return result

    def stratum_totals(self, counts: Mapping[int, int], selection: Selection) -> dict[int, int]:
        """Return how many reports every selected stratum has that has any, over all blocks."""
        cells = np.fromiter(counts, np.int64, len(counts))
        reports = np.fromiter(counts.values(), np.int64, len(counts))
        strata = self.places(cells).strata
        kept = selection.has(self.strata, strata)
        numbers, places = np.unique(strata[kept], return_inverse=True)
        sums = np.zeros(len(numbers), np.int64)
        np.add.at(sums, places, reports[kept])
        return dict(zip(numbers.tolist(), sums.tolist(), strict=True))

    def totals(self, counts: Mapping[int, int]) -> dict[int, int]:
        """Return how many reports every block of all strata has that has any, by its number."""
        cells = np.fromiter(counts, np.int64, len(counts))
        reports = np.fromiter(counts.values(), np.int64, len(counts))
        numbers, places = np.unique(self.numbers(self.places(cells)), return_inverse=True)
        sums = np.zeros(len(numbers), np.int64)
        np.add.at(sums, places, reports)
        pairs = zip(numbers.tolist(), sums.tolist(), strict=True)
        return {number: total for number, total in pairs if total}
