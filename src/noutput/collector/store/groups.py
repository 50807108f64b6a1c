"""Submissions of many requests, brought together for one transaction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from noutput.collector.cells import CELL
from noutput.collector.store.interface import Outcome, Submission
from noutput.collector.store.seal import Seal

__all__ = ["Group", "groups"]

_FEW = 1 << 16  # cells that are counted in an array


@dataclass(frozen=True, slots=True)
class Group:
    """All reports of one campaign in a group of submissions.

    Parameters
    ----------
    key : int
        The campaign's number.
    places : list of int
        Which submissions they come from.
    ends : list of int
        Where in `ids` each of these submissions ends.
    ids : bytes
    cells : array of int32
    """

    key: int
    places: list[int]
    ends: list[int]
    ids: bytes
    cells: np.ndarray[tuple[int], np.dtype[np.int32]]

    def count(self, new: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> list[tuple[int, int, int]]:
        """Return how many reports are new, the campaign and the cell, in the order of cells."""
        mine = self.cells[new]
        if mine.size and mine.max() >= _FEW:
            cells, numbers = (each.tolist() for each in np.unique(mine, return_counts=True))
        else:
            found = np.bincount(mine)
            places = np.flatnonzero(found)
            cells, numbers = places.tolist(), found[places].tolist()
        return [(number, self.key, cell) for number, cell in zip(numbers, cells, strict=True)]

    def seal(
        self, new: np.ndarray[tuple[int], np.dtype[np.bool_]], counted: list[tuple[int, int, int]]
    ) -> Seal:
        """Return what the new reports add to the campaign's seal."""
        counts = Seal.of_counts((cell, number) for number, _, cell in counted)
        return counts + Seal.of_ids(self.ids, new)

    def outcomes(
        self, new: np.ndarray[tuple[int], np.dtype[np.bool_]]
    ) -> Iterator[tuple[int, Outcome]]:
        """Return what became of each submission."""
        if new.all():
            starts = [0, *self.ends[:-1]]
            for place, start, end in zip(self.places, starts, self.ends, strict=True):
                yield place, Outcome(end - start, 0)
            return
        sums = np.concatenate(([0], np.cumsum(new)))[self.ends].tolist()
        before = start = 0
        for place, end, total in zip(self.places, self.ends, sums, strict=True):
            accepted = total - before
            yield place, Outcome(accepted, end - start - accepted)
            before, start = total, end


def groups(submissions: Sequence[Submission]) -> list[Group]:
    """Bring the submissions of every campaign together, in the order of their numbers."""
    places: dict[int, list[int]] = {}
    for place, submission in enumerate(submissions):
        places.setdefault(submission.key, []).append(place)
    result = []
    for key in sorted(places):
        members = [submissions[place] for place in places[key]]
        ends = np.cumsum([member.size for member in members]).tolist()
        cells = np.frombuffer(b"".join(member.cells for member in members), CELL)
        ids = b"".join(member.ids for member in members)
        result.append(Group(key, places[key], ends, ids, cells))
    return result
