"""Known ids of one campaign: those that came last in memory, older ones in segments."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Protocol

import numpy as np

from noutput.collector.store.ids import IdSet
from noutput.collector.store.segments import BUILDING, LIVE, SegmentRow, Segments

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sqlalchemy import Connection

    from noutput.collector.store.filters import Mask
    from noutput.collector.store.schema import IdTables

__all__ = ["Known", "Rows", "joined"]

_PIECE = 1 << 20


class Rows(Protocol):
    """What a transaction sees of the ids of one campaign."""

    @abstractmethod
    def look(self, after: int) -> tuple[tuple[SegmentRow, ...], Iterable[tuple[int, bytes]]]:
        """Return the segments that are being built or live, and the runs behind one."""

    @abstractmethod
    def runs(self, after: int, upto: int | None = None) -> Iterator[tuple[int, bytes]]:
        """Return the runs behind one, in their sequence."""

    @abstractmethod
    def pool(self) -> bytes:
        """Return the ids that are in no run."""

    @abstractmethod
    def staying(self, upto: int) -> bytes:
        """Return the ids of runs up to one that stay there when others become a segment."""


class Known:
    """The ids of one campaign, and how far the rows of the database were taken in.

    Parameters
    ----------
    tables : IdTables
    expected : int
        How many ids there are in runs.

    Notes
    -----
    Inside every transaction that adds ids it first takes in what it has not seen, so it is right
    after a crash and where another process wrote meanwhile.

    When runs begin to become a segment, the set of their ids is put aside, and a new one gets the
    ids that are not among them, and those that come later. Once the segment is live, the set
    that was put aside is dropped. Where a process missed the beginning, it reads the runs that
    are left once more.
    """

    def __init__(self, tables: IdTables, expected: int = 0) -> None:
        self.ids = IdSet(expected)
        self.newest = 0
        self.pool = b""
        self.floor = 0  # runs up to here are in a segment, or are becoming one
        self.segments = Segments(tables)
        self._aside: IdSet | None = None
        self._aside_upto = 0
        self._settled = 0  # runs up to here are in a live segment
        self._states: tuple[SegmentRow, ...] = ()

    @property
    def recent(self) -> int:
        """How many ids are in memory."""
        return len(self.ids) + (0 if self._aside is None else len(self._aside))

    def catch_up(self, rows: Rows) -> None:
        """Take in what this process or another has written; some of it may be known."""
        states, runs = rows.look(self.newest)
        if states != self._states:
            self._follow(states, rows)
            runs = rows.runs(self.newest)
        self._take(runs)
        pool = rows.pool()
        if pool != self.pool:
            self.ids.add(pool)
            self.pool = pool

    def add(self, connection: Connection, ids: bytes) -> Mask:
        """Add ids; say which were new (the first of equal ones)."""
        if self._aside is None and not self.segments:
            return self.ids.add(ids)
        old = self.segments.contain(connection, ids)
        if self._aside is not None:
            old |= self._aside.contain(ids)
        if not old.any():
            return self.ids.add(ids)
        new = ~old
        new[new] = self.ids.add(np.frombuffer(ids, "V16")[new].tobytes())
        return new

    def _take(self, runs: Iterable[tuple[int, bytes]]) -> None:
        for piece in joined(self._noted(runs)):
            self.ids.add(piece)

    def _noted(self, runs: Iterable[tuple[int, bytes]]) -> Iterator[bytes]:
        for self.newest, ids in runs:
            yield ids

    def _follow(self, states: tuple[SegmentRow, ...], rows: Rows) -> None:
        """Take in which segments are being built, and which are live."""
        settled = max((row.upto for row in states if row.state == LIVE), default=0)
        if settled > self._settled:
            missed = self._aside is None or self._aside_upto != settled
            if missed and self.newest:  # the set has ids of both sides
                self.ids, self.newest, self.pool = IdSet(), 0, b""
            self._aside, self._settled = None, settled
        upto = max(
            (row.upto for row in states if row.state == BUILDING and not row.level), default=0
        )
        if upto > self._settled and self._aside is None and self.newest <= upto:
            self._take(rows.runs(self.newest, upto))
            self._aside, self._aside_upto, self.ids = self.ids, upto, IdSet()
            self.pool = rows.pool()
            self.ids.add(self.pool + rows.staying(upto))  # they become part of later runs
        self.floor = max(upto, settled)
        self.segments.follow([row for row in states if row.state == LIVE])
        self._states = states


def joined(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Join pieces to some of a megabyte or more, and the rest."""
    waiting: list[bytes] = []
    size = 0
    for piece in pieces:
        waiting.append(piece)
        size += len(piece)
        if size >= _PIECE:
            yield b"".join(waiting)
            waiting, size = [], 0
    if size:
        yield b"".join(waiting)
