"""Pending reports: durable before they are acknowledged, until they are in files of the archive."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from noutput.collector.store.files import create_private, identify, keep_private
from noutput.collector.store.interface import UnavailableError

__all__ = ["Pending", "Rows", "Taken"]

_BUSY_SECONDS = 5.0
_SETTINGS = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON"
# A number is never used again: what another process deletes is what it has read.
_TABLES = (
    "CREATE TABLE IF NOT EXISTS pending (number INTEGER PRIMARY KEY AUTOINCREMENT,"
    " campaign TEXT NOT NULL, ids BLOB NOT NULL, cells BLOB NOT NULL);"
    "CREATE TABLE IF NOT EXISTS probe (bytes BLOB)"
)
_SIZES = "SELECT campaign, sum(length(ids)) / 16 FROM pending GROUP BY campaign"
_READ = "SELECT number, ids, cells FROM pending WHERE campaign = ? ORDER BY number"
_ADD = "INSERT INTO pending (campaign, ids, cells) VALUES (?, ?, ?)"
_DELETE = "DELETE FROM pending WHERE campaign = ? AND number <= ?"


class Rows(NamedTuple):
    """Reports of one campaign.

    Parameters
    ----------
    campaign : str
        Its root.
    ids : bytes
        16 bytes per report.
    cells : bytes
        One number per report, as `noutput.collector.cells` lays them out.
    """

    campaign: str
    ids: bytes
    cells: bytes


class Taken(NamedTuple):
    """Some of the pending reports of a campaign, up to a number."""

    rows: Rows
    number: int


class Pending:
    """Reports that are in no file of the archive yet, in a SQLite file.

    Parameters
    ----------
    path : Path

    Notes
    -----
    Several processes of one machine may share the file. What two of them take at the same time
    is in two files of the archive, where it counts once.

    Guarantees
    ----------
    `add` returns after the commit is durable, and raises `UnavailableError` where it may not be.
    Only its owner can open the file. What is deleted is overwritten.

    Examples
    --------
    >>> import tempfile
    >>> pending = Pending(Path(tempfile.mkdtemp()) / "_pending.db")
    >>> pending.add([Rows("93d1", bytes(32), bytes(8))])
    >>> pending.sizes()
    {'93d1': 2}
    >>> taken = pending.take("93d1", most=1000)
    >>> len(taken.rows.ids), pending.drop(taken), pending.sizes()
    (32, None, {})
    >>> pending.close()
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._reading = threading.Lock()
        create_private(path)
        with self._translated():
            self._writer, self._reader = self._connect(), self._connect()
            self._writer.executescript(_TABLES)
        keep_private(path)  # not before it is known to be a database
        self._identity = identify(str(path))

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        connection.executescript(_SETTINGS)
        return connection

    def add(self, rows: Sequence[Rows]) -> None:
        """Keep reports, durably."""
        with self._lock, self._transaction(self._writer):
            self._writer.executemany(_ADD, rows)

    def probe(self, size: int) -> None:
        """Write and commit bytes that mean nothing; raise `UnavailableError` where that fails."""
        with self._lock, self._transaction(self._writer):
            self._writer.execute("DELETE FROM probe")
            self._writer.execute("INSERT INTO probe VALUES (zeroblob(?))", (size,))

    def sizes(self) -> dict[str, int]:
        """Return the number of pending reports of every campaign that has any."""
        with self._reading, self._translated():
            return dict(self._reader.execute(_SIZES).fetchall())

    def take(self, campaign: str, most: int) -> Taken:
        """Return reports of a campaign, those that came first, until there are `most` or more."""
        ids: list[bytes] = []
        cells: list[bytes] = []
        last = size = 0
        with (
            self._reading,
            self._translated(),
            closing(self._reader.execute(_READ, (campaign,))) as found,
        ):
            for number, some, their in found:
                ids.append(some)
                cells.append(their)
                last, size = number, size + len(some) // 16
                if size >= most:
                    break
        return Taken(Rows(campaign, b"".join(ids), b"".join(cells)), last)

    def drop(self, taken: Taken) -> None:
        """Forget reports that are in files now."""
        with self._lock, self._transaction(self._writer):
            self._writer.execute(_DELETE, (taken.rows.campaign, taken.number))

    def close(self) -> None:
        """Close the file, without a log beside it unless another process has it open."""
        with self._lock, self._reading:
            self._reader.close()
            with suppress(sqlite3.Error):
                self._writer.execute("PRAGMA journal_mode = DELETE")
            self._writer.close()

    @contextmanager
    def _transaction(self, connection: sqlite3.Connection) -> Iterator[None]:
        with self._translated():
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
        if identify(str(self._path)) != self._identity:
            # SQLite goes on writing to a file that nobody would find
            raise UnavailableError("the archive: its pending reports were deleted or replaced")

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise UnavailableError(f"the archive: {error}") from None
