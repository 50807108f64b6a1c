"""Remembered ids: what is known of each campaign, and undone where a transaction fails."""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
from sqlalchemy import Connection, select

from noutput.collector.store import settling
from noutput.collector.store.known import Known, joined
from noutput.collector.store.segments import (
    BUILDING,
    DEAD,
    LIVE,
    find_damage,
    read_pieces,
    read_segments,
)
from noutput.collector.store.settling import Settler, delete_parts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from noutput.collector.store.filters import Mask
    from noutput.collector.store.known import Rows
    from noutput.collector.store.schema import IdTables

__all__ = ["RememberedIds"]

_CROWDED = 4  # times as many ids as become a segment: whoever adds more helps to settle them


class RememberedIds(ABC):
    """A set of ids per campaign, in tables of its own; called inside of transactions.

    Parameters
    ----------
    tables : IdTables

    Notes
    -----
    Which ids are known is asked of a `Known` per campaign. Ids of a transaction that failed are
    taken out of it again.
    """

    def __init__(self, tables: IdTables) -> None:
        self.tables = tables
        self.settler = Settler(tables)
        self._known: dict[int, Known] = {}
        # By campaign: what was known before the transaction; None where it cannot be undone.
        self._before: dict[int, tuple[int, bytes] | None] = {}

    @abstractmethod
    def _rows(self, connection: Connection, key: int) -> Rows:
        """Return what a transaction sees of a campaign."""

    @abstractmethod
    def _size(self, connection: Connection, key: int) -> int:
        """Return how many ids there are in runs."""

    @abstractmethod
    def _write(self, connection: Connection, key: int, known: Known, fresh: bytes) -> None:
        """Write new ids to the database."""

    def begin(self) -> None:
        """Let the transactions before be as they are."""
        self._before.clear()

    def remember(self, connection: Connection, key: int, ids: bytes) -> Mask:
        """Keep ids of a campaign; say which are new."""
        known = self._known.pop(key, None)
        if known is None:
            known = Known(self.tables, self._size(connection, key))
        known.catch_up(self._rows(connection, key))
        self._known[key] = known
        again = key in self._before
        self._before[key] = None
        new = known.add(connection, ids)
        if not again:
            self._before[key] = known.newest, known.pool
        if new.any():
            fresh = np.frombuffer(ids, "V16")[new]
            self._write(connection, key, known, fresh.tobytes())
        return new

    def undo(self) -> None:
        """Take out the ids of a transaction that failed, or may have: it is looked up again."""
        for key, before in self._before.items():
            known = self._known.pop(key, None)
            if known is not None and before is not None:
                known.ids.undo()
                known.newest, known.pool = before
                self._known[key] = known
        self._before.clear()

    def forget(self, key: int) -> None:
        """Give back the memory of a campaign's ids."""
        self._known.pop(key, None)

    def crowded(self) -> list[int]:
        """Return the campaigns of which too many ids are in memory."""
        most = _CROWDED * settling.SETTLED
        return [key for key, known in list(self._known.items()) if known.recent > most]

    def read(self, connection: Connection, key: int) -> Iterator[bytes]:
        """Return all ids of a campaign in pieces of whole ids."""
        rows = self._rows(connection, key)
        segments = read_segments(connection, self.tables, key, LIVE)
        older = (
            ids for row in segments
            for _, ids in read_pieces(connection, self.tables, row, 0, 1 << row.bits)
        )  # fmt: skip
        return joined(chain([rows.pool()], (ids for _, ids in rows.runs(0)), older))

    def delete(self, connection: Connection, key: int) -> None:
        """Delete the pieces of a campaign; its other rows go with the campaign's own."""
        for row in read_segments(connection, self.tables, key, BUILDING, LIVE, DEAD):
            delete_parts(connection, self.tables, row.number, 0, 1 << row.bits)

    def problems(self, connection: Connection) -> Iterator[str]:
        """Say which segments would not find their ids."""
        table = self.tables.segments
        for key in connection.execute(select(table.c.campaign).distinct()).scalars().all():
            for row in read_segments(connection, self.tables, key, LIVE):
                yield from find_damage(connection, self.tables, row)
