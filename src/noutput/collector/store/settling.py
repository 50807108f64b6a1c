"""Settling: runs become segments, and segments larger ones, in steps of some ten thousand ids."""

from __future__ import annotations

import os
from contextlib import nullcontext
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from sqlalchemy import Connection, and_, delete, func, insert, select, update

from noutput.collector.store.filters import build_filter
from noutput.collector.store.runs import ID
from noutput.collector.store.segments import (
    BUILDING,
    CHUNK_BITS,
    DEAD,
    LIVE,
    SegmentRow,
    chunk_bits,
    encrypt,
    filter_third,
    first_key,
    pack_filter,
    piece_bits,
    read_pieces,
    read_segments,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from sqlalchemy import ColumnElement

    from noutput.collector.store.filters import Words
    from noutput.collector.store.schema import IdTables

    # A transaction that reads, and one that writes to a campaign, or None where that is gone.
    Read: TypeAlias = Callable[[], AbstractContextManager[Connection]]
    Write: TypeAlias = Callable[[int], AbstractContextManager[Connection | None]]

__all__ = ["SETTLED", "Settler", "delete_parts"]

SETTLED = 1 << 20  # ids in runs that become a segment
_FAN = 4  # segments of a level that become one of the next
_MOST = 4  # times as many as that become one segment at once
_CLEARED = 4096  # pieces that a step deletes


class _LostError(Exception):
    """Another process was faster with the same step."""


class _Part(NamedTuple):
    """What a step writes: the pieces and the filter of one chunk."""

    pieces: list[dict[str, object]]
    filter: dict[str, object]


class Settler:
    """Brings older ids of campaigns into segments.

    Parameters
    ----------
    tables : IdTables

    Notes
    -----
    A segment is built while its ids still count where they are. Each step writes one chunk of
    it, in the order of the ids' encryptions, and how far it got; the last one makes it live and
    deletes the runs that it has, or lets the segments die that it has, whose rows go in steps as
    well. So all that a step needs is in the database: after a kill the next process goes on, and
    of two that do the same step, one finds that it was done. Steps read and compute outside of
    the transaction that writes.

    Each level has four times as many ids per segment as the one before. So an id is written once
    per level, and a campaign of 10^9 reports has at most three segments on each of five levels,
    and one on the sixth.
    """

    def __init__(self, tables: IdTables) -> None:
        self._tables = tables
        self._sorted: tuple[SegmentRow, bytes, Words] | None = None

    def waiting(self, connection: Connection) -> list[int]:
        """Return the campaigns that have something to settle."""
        runs, segments = self._tables.runs, self._tables.segments
        full = func.sum(func.length(runs.c.ids)) >= ID * SETTLED
        large = select(runs.c.campaign).where(self._grouped()).group_by(runs.c.campaign)
        begun = select(segments.c.campaign).where(segments.c.state != LIVE)
        fan = (
            select(segments.c.campaign).where(segments.c.state == LIVE)
            .group_by(segments.c.campaign, segments.c.level)
            .having(func.count() >= _FAN)
        )  # fmt: skip
        found: set[int] = set()
        for query in (large.having(full), begun, fan):
            found.update(connection.execute(query).scalars())
        return sorted(found)

    def step(self, key: int, read: Read, write: Write) -> bool:
        """Do the next step of a campaign on every level; say whether there was any.

        So segments are merged as fast as runs become segments, however many reports come.
        """
        with read() as connection:
            rows = read_segments(connection, self._tables, key, BUILDING, LIVE, DEAD)
        building = {row.level: row for row in rows if row.state == BUILDING}
        live = [row for row in rows if row.state == LIVE]
        done = 0
        for level in range(2 + max((row.level for row in rows), default=0)):
            try:
                if level in building:
                    self._build(building[level], read, write, key)
                    done += 1
                elif level:
                    sources = [row for row in live if row.level == level - 1][:_FAN]
                    done += len(sources) == _FAN and self._start_merge(key, level, sources, write)
                else:
                    done += self._start_runs(key, read, write)
            except _LostError:
                done += 1
        dead = [row for row in rows if row.state == DEAD]
        if dead:
            self._clear(dead[0], write, key)
        return bool(done or dead)

    def settle(self, key: int, connection: Connection) -> None:
        """Do all steps that are due inside a transaction of the caller."""

        def same(_: int = 0) -> AbstractContextManager[Connection]:
            return nullcontext(connection)

        while self.step(key, same, same):
            pass

    def _grouped(self) -> ColumnElement[bool]:
        """Return which runs are groups for good."""
        runs = self._tables.runs
        return runs.c.recent == 0 if "recent" in runs.c else runs.c.sequence > 0

    def _start_runs(self, key: int, read: Read, write: Write) -> bool:
        runs = self._tables.runs
        sizes = select(runs.c.sequence, func.length(runs.c.ids))
        sizes = sizes.where(runs.c.campaign == key, self._grouped()).order_by(runs.c.sequence)
        newest = select(func.max(runs.c.sequence)).where(runs.c.campaign == key)
        with read() as connection:
            total = sum(size for _, size in connection.execute(sizes))
        if total < ID * SETTLED:
            return False
        with write(key) as held:
            if held is None:
                return False
            states = read_segments(held, self._tables, key, BUILDING)
            if any(row.level == 0 for row in states):
                raise _LostError
            total, upto = 0, 0
            for sequence, size in held.execute(sizes):
                if total + size > _MOST * ID * SETTLED and total:
                    break
                total, upto = total + size, sequence
            else:
                upto = held.execute(newest).scalar() or 0
            if total < ID * SETTLED:
                raise _LostError
            self._start(held, key, 0, total // ID, upto)
        return True

    def _start_merge(self, key: int, level: int, sources: list[SegmentRow], write: Write) -> bool:
        table = self._tables.segments
        with write(key) as held:
            if held is None:
                return False
            wanted = [row.number for row in sources]
            free = and_(table.c.number.in_(wanted), table.c.state == LIVE, table.c.goal.is_(None))
            upto = max(row.upto for row in sources)
            size = sum(row.size for row in sources)
            if held.execute(select(func.count()).where(free)).scalar() != _FAN:
                return False  # they are being merged
            number = self._start(held, key, level, size, upto)
            held.execute(update(table).where(free).values(goal=number))
        return True

    def _start(self, held: Connection, key: int, level: int, size: int, upto: int) -> int:
        table = self._tables.segments
        known = read_segments(held, self._tables, key, BUILDING, LIVE, DEAD)
        secret = known[0].secret if known else os.urandom(16)
        values = {
            "campaign": key, "level": level, "state": BUILDING, "size": size,
            "bits": piece_bits(size), "upto": upto, "secret": secret, "done": 0,
        }  # fmt: skip
        added = insert(table).values(values).returning(table.c.number)
        return int(held.execute(added).scalar_one())

    def _build(self, row: SegmentRow, read: Read, write: Write, key: int) -> None:
        table = self._tables.segments
        with read() as connection:
            mine = select(table.c.done).where(table.c.number == row.number)
            chunk = connection.execute(mine.where(table.c.state == BUILDING)).scalar()
            if chunk is None:
                raise _LostError
            ids = self._source(connection, row, key, chunk)
        part = _part(row, chunk, ids)
        with write(key) as held:
            if held is None:
                raise _LostError
            here = and_(
                table.c.number == row.number, table.c.done == chunk, table.c.state == BUILDING
            )
            if not held.execute(update(table).where(here).values(done=chunk + 1)).rowcount:
                raise _LostError
            if part.pieces:
                held.execute(insert(self._tables.pieces), part.pieces)
            held.execute(insert(self._tables.filters), [part.filter])
            if chunk + 1 == 1 << chunk_bits(row.bits):
                self._finish(held, row, key)

    def _finish(self, held: Connection, row: SegmentRow, key: int) -> None:
        table, runs = self._tables.segments, self._tables.runs
        held.execute(update(table).where(table.c.number == row.number).values(state=LIVE))
        if row.level:
            dying = update(table).where(table.c.goal == row.number)
            held.execute(dying.values(state=DEAD, done=0))
            return
        mine = and_(runs.c.campaign == key, runs.c.sequence <= row.upto, self._grouped())
        held.execute(delete(runs).where(mine))
        self._sorted = None

    def _source(self, connection: Connection, row: SegmentRow, key: int, chunk: int) -> bytes:
        """Return the ids of a chunk from where they still are."""
        if row.level:
            return self._merged(connection, row, key, chunk)
        found = self._sorted
        if found is None or found[0] != row:
            self._sorted = found = (row, *self._sort(connection, row, key))
        _, ids, high = found
        chunks = high >> np.uint64(64 - chunk_bits(row.bits))
        start, end = np.searchsorted(chunks, np.array([chunk, chunk + 1], np.uint64)).tolist()
        return ids[ID * start : ID * end]

    def _merged(self, connection: Connection, row: SegmentRow, key: int, chunk: int) -> bytes:
        """Return the ids of a chunk from the segments that are merged."""
        table, bits = self._tables.segments, chunk_bits(row.bits)
        goal = select(table.c.number).where(table.c.goal == row.number)
        wanted = set(connection.execute(goal).scalars())
        found = []
        for source in read_segments(connection, self._tables, key, LIVE):
            if source.number in wanted:
                # The pieces that have a share in the chunk.
                start = (chunk << source.bits) >> bits
                end = -(-((chunk + 1) << source.bits) >> bits)
                found += [
                    ids for _, ids in read_pieces(connection, self._tables, source, start, end)
                ]
        ids = b"".join(found)
        mine = encrypt(ids, row.secret)[0] >> np.uint64(64 - bits) == chunk
        return ids if mine.all() else np.frombuffer(ids, "V16")[mine].tobytes()

    def _sort(self, connection: Connection, row: SegmentRow, key: int) -> tuple[bytes, Words]:
        """Return the ids of all runs of a segment in the order of their encryptions."""
        runs = self._tables.runs
        query = select(runs.c.ids).where(runs.c.campaign == key, runs.c.sequence <= row.upto)
        ids = b"".join(map(bytes, connection.execute(query.where(self._grouped())).scalars()))
        high, _ = encrypt(ids, row.secret)
        order = np.argsort(high)
        return np.frombuffer(ids, "V16").take(order).tobytes(), high.take(order)

    def _clear(self, row: SegmentRow, write: Write, key: int) -> None:
        """Delete some of the rows of a dead segment, and at last its own."""
        table = self._tables.segments
        with write(key) as held:
            if held is None:
                return
            mine = select(table.c.done).where(table.c.number == row.number)
            done = held.execute(mine.where(table.c.state == DEAD)).scalar()
            if done is None:
                return  # another process was faster
            delete_parts(held, self._tables, row.number, done, done + _CLEARED)
            if done + _CLEARED < 1 << row.bits:
                values = {"done": done + _CLEARED}
                held.execute(update(table).where(table.c.number == row.number).values(values))
            else:
                held.execute(delete(table).where(table.c.number == row.number))


def delete_parts(
    connection: Connection, tables: IdTables, number: int, start: int, end: int
) -> None:
    """Delete the pieces of a segment from one to another, and their filters."""
    first = first_key(number)
    pieces, filters = tables.pieces.c.key, tables.filters.c.key
    connection.execute(delete(tables.pieces).where(pieces >= first + start, pieces < first + end))
    start, end = start >> CHUNK_BITS, -(-end >> CHUNK_BITS)
    connection.execute(
        delete(tables.filters).where(filters >= first + start, filters < first + end)
    )


def _part(row: SegmentRow, chunk: int, ids: bytes) -> _Part:
    """Lay out a chunk: its ids in the order of their encryptions, in pieces, and a filter."""
    high, low = encrypt(ids, row.secret)
    order = np.argsort(high)
    high, low = high.take(order), low.take(order)
    ids = np.frombuffer(ids, "V16").take(order).tobytes()
    piece = (high >> np.uint64(64 - row.bits)).astype(np.intp)
    starts = np.flatnonzero(np.diff(piece, prepend=-1))
    ends = [*starts[1:].tolist(), len(piece)]
    first = first_key(row.number)
    pieces: list[dict[str, object]] = [
        {"key": first + number, "ids": ids[ID * start : ID * end]}
        for number, start, end in zip(piece[starts].tolist(), starts.tolist(), ends, strict=True)
    ]
    packed = pack_filter(*build_filter(high, low, filter_third(row)))
    return _Part(pieces, {"key": first + chunk, "filter": packed})
