"""Cell layout: which count belongs to which question and output of a campaign.

A cell is the unit of counting, and a whole number. This module alone knows how cells are numbered;
reports become cells, counts become tallies, and databases and exports get their size through it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from noutput.tally import Tally

if TYPE_CHECKING:
    from noutput.campaign.campaign import Campaign

__all__ = ["CELL", "Block", "CellLayout"]

CELL: Final = np.dtype("<i4")  # as requests hand cells to the store

Numbers: TypeAlias = np.ndarray[Any, np.dtype[np.int32]]


@dataclass(frozen=True, slots=True)
class Block:
    """Cells that are counted into one tally: one per output of a table, side by side.

    Parameters
    ----------
    question : int
        The question's place in the campaign.
    fingerprint : str
        The fingerprint of the table that draws the outputs.
    cells : range
        The cell of every output.
    """

    question: int
    fingerprint: str
    cells: range

    def tally(self, counts: Mapping[int, int]) -> Tally:
        """Return the counts of this block."""
        return Tally(self.fingerprint, tuple(counts.get(cell, 0) for cell in self.cells))


class CellLayout:
    """The cells of a campaign: one block per question, in their order.

    Attributes
    ----------
    campaign : Campaign
    blocks : tuple of Block
    size : int
        The number of cells; they are numbered from 0.

    Notes
    -----
    Nothing outside of this class computes with places and numbers of outputs. A further
    dimension (a second table, a segment, a round) is a further field of `Block` and a further
    loop here; blocks may have tables of different sizes. Cells that exist never get another
    number: databases keep them.

    Examples
    --------
    >>> from datetime import UTC, datetime
    >>> from noutput.campaign import Campaign, CertifiedTable, Number
    >>> rows = ((3 << 30, 1 << 30), (1 << 30, 3 << 30))
    >>> table = CertifiedTable(1.1, (-2.0, 2.0), (-1.0, 1.0), rows)
    >>> layout = CellLayout(Campaign(
    ...     "commute", "Commute", "How long, how far?",
    ...     (Number(0, 180, "min", name="time"), Number(0, 100, "km", name="way")), (table, table),
    ...     datetime(2026, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC),
    ... ))
    >>> layout.size, layout.cell("way", 1), layout.cell("way", 2), layout.cell("cost", 0)
    (4, 3, None, None)
    >>> [found.tolist() for found in layout.answers(np.array([0, 3, 2], np.int32))]
    [[0, 1, 1], [0, 1, 0]]
    >>> [tally.counts for tally in layout.tallies({0: 7, 3: 2})]
    [(7, 0), (0, 2)]
    """

    def __init__(self, campaign: Campaign) -> None:
        self.campaign = campaign
        blocks: list[Block] = []
        self.size = 0
        for place, table in enumerate(campaign.tables):
            cells = range(self.size, self.size + table.n_outputs)
            blocks.append(Block(place, table.fingerprint, cells))
            self.size = cells.stop
        self.blocks = tuple(blocks)
        self._named = {
            campaign.questions[block.question].name: block.cells for block in self.blocks
        }
        self._starts = np.array([block.cells.start for block in self.blocks], np.int32)
        self._stops = np.array([block.cells.stop for block in self.blocks], np.int32)

    def cell(self, question: str, output: int) -> int | None:
        """Return the cell of a report; None for a question or output that there is not."""
        cells = self._named.get(question)
        return None if cells is None or output >= len(cells) else cells[output]

    def cells(self, places: Numbers, outputs: Numbers) -> Numbers | None:
        """Return the cells of many reports by the questions' places; None if one has none."""
        if (places >= len(self._starts)).any():
            return None
        found = self._starts[places] + outputs
        return None if (found >= self._stops[places]).any() else found

    def answers(self, cells: Numbers) -> tuple[Numbers, Numbers]:
        """Return the questions' places and the outputs of many cells: the inverse of `cells`."""
        places = np.searchsorted(self._stops, cells, side="right").astype(np.int32)
        return places, cells - self._starts[places]

    def tallies(self, counts: Mapping[int, int]) -> list[Tally]:
        """Return the counts of every question."""
        return [block.tally(counts) for block in self.blocks]
