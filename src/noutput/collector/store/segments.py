"""Segments: millions of older ids each, found by one small read where a filter in memory asks.

Ids that came last are rows of the table of runs, and exactly in memory. Where those of a campaign
are about a million, they become a segment, and four segments of a level become one of the next
level; see `noutput.collector.store.settling`.
"""

from __future__ import annotations

import logging
import zlib
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import ECB
from sqlalchemy import Connection, select

from noutput.collector.logs import event
from noutput.collector.store.filters import ANY, Bytes, Filters, Mask, Places, Words, slots
from noutput.collector.store.runs import ID

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from noutput.collector.store.schema import IdTables

__all__ = [
    "BUILDING", "CHUNK_BITS", "DEAD", "LIVE", "SegmentRow", "Segments", "chunk_bits", "encrypt",
    "filter_third", "find_damage", "first_key", "pack_filter", "piece_bits", "read_pieces",
    "read_segments",
]  # fmt: skip

BUILDING, LIVE, DEAD = 0, 1, 2
_PIECE = 128  # ids per piece, at most, on average
CHUNK_BITS = 9  # binary logarithm of the pieces that share a filter; databases rely on it
_AT_ONCE = 500  # rows that one statement reads
_LOADS = 512  # filters of a segment that one call reads, 64 kB each
_log = logging.getLogger("noutput.collector")


class SegmentRow(NamedTuple):
    """A segment as the database keeps it.

    Parameters
    ----------
    number : int
        No other segment ever gets it.
    level : int
        How often its ids were merged.
    state : int
        One of `BUILDING`, `LIVE` and `DEAD`.
    size : int
        How many ids it has, or will have.
    bits : int
        The binary logarithm of the number of its pieces.
    upto : int
        The newest run that it has, and with it all runs before.
    secret : bytes
        The key of the encryption that says where an id is.
    """

    number: int
    level: int
    state: int
    size: int
    bits: int
    upto: int
    secret: bytes


def read_segments(
    connection: Connection, tables: IdTables, key: int, *states: int
) -> tuple[SegmentRow, ...]:
    """Return the segments of a campaign that are in one of these states, oldest first."""
    table = tables.segments
    columns = [table.c[name] for name in SegmentRow._fields]
    query = select(*columns).where(table.c.campaign == key, table.c.state.in_(states))
    return tuple(SegmentRow(*row) for row in connection.execute(query.order_by(table.c.number)))


def piece_bits(size: int) -> int:
    """Return the binary logarithm of the number of pieces for so many ids."""
    return max(0, (-(-size // _PIECE) - 1).bit_length())


def chunk_bits(bits: int) -> int:
    """Return the binary logarithm of the number of filters for 2^bits pieces."""
    return max(0, bits - CHUNK_BITS)


def filter_third(row: SegmentRow) -> int:
    """Return a third of the slots of each filter of a segment."""
    return slots(row.size / (1 << chunk_bits(row.bits)))


def first_key(number: int) -> int:
    """Return where the keys of a segment's pieces, or of its filters, begin."""
    return number << 32


def encrypt(ids: bytes, secret: bytes) -> tuple[Words, Words]:
    """Return both halves of the encryptions of ids."""
    # One block per id and no two alike: what ECB must not be used for does not arise.
    encryptor = Cipher(AES(secret), ECB()).encryptor()  # noqa: S305
    halves = np.frombuffer(encryptor.update(ids), np.uint64).reshape(-1, 2)
    return np.ascontiguousarray(halves[:, 0]), np.ascontiguousarray(halves[:, 1])


def pack_filter(seed: int, table: Bytes) -> bytes:
    """Return a filter as it is stored, after a checksum."""
    content = bytes([seed]) + table.tobytes()
    return _checksum(content) + content


def read_pieces(
    connection: Connection, tables: IdTables, row: SegmentRow, start: int, end: int
) -> Iterator[tuple[int, bytes]]:
    """Return the pieces of a segment from one to another, with their numbers."""
    table, first = tables.pieces, first_key(row.number)
    query = select(table.c.key, table.c.ids).order_by(table.c.key)
    query = query.where(table.c.key >= first + start, table.c.key < first + end)
    # Options of the statement, not of the connection, which may be writing next.
    streamed = query.execution_options(stream_results=True, yield_per=_AT_ONCE)
    for key, ids in connection.execute(streamed):
        yield key - first, bytes(ids)


def find_damage(connection: Connection, tables: IdTables, row: SegmentRow) -> Iterator[str]:
    """Say how many ids of a segment would not be found, though they are there."""
    bits, lost, size = chunk_bits(row.bits), 0, 0
    filters, first = tables.filters, first_key(row.number)
    for chunk in range(1 << bits):
        start, end = (each << (row.bits - bits) for each in (chunk, chunk + 1))
        pieces = dict(read_pieces(connection, tables, row, start, end))
        query = select(filters.c.filter).where(filters.c.key == first + chunk)
        packed = bytes(connection.execute(query).scalar() or b"")
        third = filter_third(row)
        if _checksum(packed[4:]) != packed[:4] or len(packed) != 5 + 3 * third:
            yield f"a filter of the segment with the number {row.number} is missing or damaged"
            packed = pack_filter(ANY, np.zeros(3 * third, np.uint8))
        numbers = np.repeat(list(pieces), [len(ids) // ID for ids in pieces.values()])
        ids = b"".join(each[: len(each) // ID * ID] for each in pieces.values())
        high, low = encrypt(ids, row.secret)
        found = Filters(1, third)
        found.put(0, packed[4], np.frombuffer(packed, np.uint8, offset=5))
        there = found.pass_(np.zeros(len(high), np.intp), high, low)
        there &= high >> np.uint64(64 - row.bits) == numbers.astype(np.uint64)
        lost += int(np.count_nonzero(~there))
        size += len(high)
    if lost or size != row.size:
        told = f"{lost:,} of {size:,} ids are not where they are looked for"
        wanted = "" if size == row.size else f", and there were {row.size:,}"
        yield f"segment with the number {row.number}: {told}{wanted}"


def _checksum(content: bytes) -> bytes:
    return zlib.crc32(content).to_bytes(4, "big")


class Segments:
    r"""The live segments of one campaign.

    Attributes
    ----------
    reads, loads : int
        Pieces and filters that were read from the database: all work that depends on the ids.

    Notes
    -----
    An id's place is its encryption by AES under a secret key that the database keeps and nobody
    is told: its first bits are the number of its piece, so that a piece has about 100 ids
    whoever chose them, and others choose its slots and its fingerprint in the filter; see
    `noutput.collector.store.filters`. Filters take about 10 bits per id. They are read when ids
    first ask for them, so that a restart reads few; a batch that asks for more than some hundred
    at once has the rest of its ids looked up without a filter.

    An id that does not pass a filter is not in the segment. For one that passes, its piece is
    read, and the answer is exact. That is so for an id that is there, and for one in 256 of those
    that are not: an id is at most in one segment, so that whoever sends known ids again makes
    the collector read one piece per id, and in vain as rarely as anybody else.

    A filter that is missing or damaged lets all ids pass, which takes longer and loses nothing.
    """

    def __init__(self, tables: IdTables) -> None:
        self._tables = tables
        self._rows: tuple[SegmentRow, ...] = ()
        self._filters: dict[int, Filters] = {}
        self.reads = self.loads = 0

    def __bool__(self) -> bool:
        return bool(self._rows)

    def follow(self, rows: Sequence[SegmentRow]) -> None:
        """Use these segments, which are live, and no others."""
        self._rows = tuple(sorted(rows, key=lambda row: -row.size))
        known = self._filters
        self._filters = {row.number: known.get(row.number) or _filters(row) for row in rows}

    def contain(self, connection: Connection, ids: bytes) -> Mask:
        """Say which ids are in one of the segments."""
        found = np.zeros(len(ids) // ID, np.bool_)
        halves: dict[bytes, tuple[Words, Words]] = {}
        for row in self._rows:
            if row.secret not in halves:
                halves[row.secret] = encrypt(ids, row.secret)
            high, low = halves[row.secret]
            left = np.flatnonzero(~found)
            passed = left[self._pass(connection, row, high[left], low[left])]
            if passed.size:
                found[passed] = self._look_up(connection, row, ids, passed, high[passed])
        return found

    def _pass(self, connection: Connection, row: SegmentRow, high: Words, low: Words) -> Mask:
        filters = self._filters[row.number]
        chunk = (high >> np.uint64(64 - chunk_bits(row.bits))).astype(np.intp)
        missing = np.unique(chunk[~filters.loaded[chunk]])[:_LOADS]
        table = self._tables.filters
        for number, content in self._read(connection, table.c.key, table.c.filter, row, missing):
            seed, slots_ = _unpack_filter(content, 3 * filter_third(row))
            filters.put(number, seed, slots_)
        self.loads += len(missing)
        for number in missing[~filters.loaded[missing]].tolist():
            filters.put(number, *_unpack_filter(b"", 3 * filter_third(row)))
        passed = filters.pass_(chunk, high, low)
        passed |= ~filters.loaded[chunk]
        return passed

    def _look_up(
        self, connection: Connection, row: SegmentRow, ids: bytes, who: Places, high: Words
    ) -> Mask:
        """Say which of some ids are in their pieces of a segment."""
        piece = (high >> np.uint64(64 - row.bits)).astype(np.intp)
        found = np.zeros(len(who), np.bool_)
        table = self._tables.pieces
        order = np.argsort(piece, kind="stable")
        starts = np.flatnonzero(np.diff(piece[order], prepend=-1))
        where = dict(zip(piece[order][starts].tolist(), starts.tolist(), strict=True))
        wanted = piece[order][starts]
        self.reads += len(wanted)
        for number, content in self._read(connection, table.c.key, table.c.ids, row, wanted):
            place = where[number]
            while place < len(order) and piece[order[place]] == number:
                each = order[place]
                start = ID * int(who[each])
                found[each] = _has(content, ids[start : start + ID])
                place += 1
        return found

    def _read(
        self, connection: Connection, key: object, value: object, row: SegmentRow, numbers: Places
    ) -> Iterator[tuple[int, bytes]]:
        """Read values of a segment by their numbers, some hundred at a time."""
        first = first_key(row.number)
        for start in range(0, len(numbers), _AT_ONCE):
            keys = (numbers[start : start + _AT_ONCE] + first).tolist()
            query = select(key, value).where(key.in_(keys))  # type: ignore[attr-defined, call-overload]  # columns
            for found, content in connection.execute(query):
                yield found - first, bytes(content)


def _filters(row: SegmentRow) -> Filters:
    return Filters(1 << chunk_bits(row.bits), filter_third(row))


def _unpack_filter(content: bytes, size: int) -> tuple[int, Bytes]:
    """Return a filter; one that every id passes where it is damaged."""
    body = content[4:]
    if len(body) != 1 + size or _checksum(body) != content[:4]:
        _log.warning(
            "a filter of ids is missing or damaged; ids are looked up without it",
            extra=event("filter-damaged"),
        )
        return ANY, np.zeros(size, np.uint8)
    return body[0], np.frombuffer(body, np.uint8, offset=1)


def _has(piece: bytes, wanted: bytes) -> bool:
    """Say whether a piece has an id, at a place where ids begin."""
    place = piece.find(wanted)
    while place % ID and place >= 0:
        place = piece.find(wanted, place + 1)
    return place >= 0
