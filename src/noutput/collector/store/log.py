"""Log of administrative actions in a database that speaks SQL: it grows, and never changes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, func, insert, select

from noutput.collector.store.interface import Action, LogEntry
from noutput.collector.store.schema import admin_log

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

__all__ = ["SqlLog"]

_COLUMNS = [admin_log.c[name] for name in ("number", *Action.__slots__)]


class SqlLog(ABC):
    """What a `Store` keeps of administrative actions, and what every part of it writes with.

    Notes
    -----
    An entry is written by the transaction of the action itself, as its last statement: whoever
    waits for the lock holds nothing that another writer of the log waits for. Numbers are those
    of the commits, without gaps, so that an entry that somebody took out is missed.
    """

    @abstractmethod
    def _read(self, **options: Any) -> AbstractContextManager[Connection]:
        """Begin a transaction that reads."""

    @abstractmethod
    def _write(self) -> AbstractContextManager[Connection]:
        """Begin a transaction that writes, and commit it at the end of the block."""

    @abstractmethod
    def _lock_log(self, connection: Connection) -> None:
        """Let one transaction at a time number its entry, until the commit."""

    def note(self, action: Action) -> None:
        """Keep an action that changes nothing in the database."""
        with self._write() as connection:
            self._note(connection, action)

    def log(self, *, before: int | None = None, limit: int = 100) -> list[LogEntry]:
        """Return the newest entries first, from those with a smaller number than `before`."""
        query = select(*_COLUMNS).order_by(admin_log.c.number.desc()).limit(limit)
        if before is not None:
            query = query.where(admin_log.c.number < before)
        with self._read() as connection:
            return [LogEntry(row[0], Action(*row[1:])) for row in connection.execute(query)]

    def _note(self, connection: Connection, action: Action | None) -> None:
        """Keep an action; the caller's transaction ends with it."""
        if action is None:
            return
        self._lock_log(connection)
        last = connection.execute(select(func.max(admin_log.c.number))).scalar() or 0
        connection.execute(insert(admin_log).values(number=last + 1, **asdict(action)))
