"""Connections to a SQLite file: their settings, and which file they write to."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from sqlalchemy import Connection, Engine, create_engine, event

from noutput.collector.store.files import FileIdentity, identify
from noutput.collector.store.interface import UnavailableError

if TYPE_CHECKING:
    from sqlalchemy.engine import URL

__all__ = ["check_files", "driver", "empty_log", "file_of", "is_overwritten", "sqlite_engine"]

_BUSY_SECONDS = 30.0
_FILES = "noutput_files"
_LOG_BYTES = 1 << 22
_SETTINGS = (
    "journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "cell_size_check=ON",
    "secure_delete=ON", f"journal_size_limit={_LOG_BYTES}",
)  # fmt: skip


def sqlite_engine(url: URL) -> Engine:
    """Return an engine whose commits are durable, and which never makes a second file.

    Transactions of a connection with the option ``write`` wait for each other when they begin;
    so none fails in its middle because another one wrote.
    """
    engine = create_engine(url, connect_args={"timeout": _BUSY_SECONDS}, hide_parameters=True)
    first: list[FileIdentity] = []

    @event.listens_for(engine, "do_connect")
    def _look(*_: object) -> None:
        if first and not first[0].still_there():  # SQLite would make a new one
            raise sqlite3.OperationalError(_gone(first[0]))

    @event.listens_for(engine, "connect")
    def _prepare(connection: Any, record: Any) -> None:
        connection.isolation_level = None  # transactions begin below, not in the driver
        connection.text_factory = _decode
        for setting in _SETTINGS:
            connection.execute(f"PRAGMA {setting}")
        connection.execute("SELECT count(*) FROM sqlite_master")  # opens the write-ahead log
        path = connection.execute("PRAGMA database_list").fetchone()[2]
        found = [identify(f"{path}{end}") for end in ("", "-wal")] if path else []
        record.info[_FILES] = files = [each for each in found if each is not None]
        first[:] = first or files[:1]

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        writing = connection.get_execution_options().get("write", False)
        driver(connection).execute("BEGIN IMMEDIATE" if writing else "BEGIN")

    return engine


def driver(connection: Connection) -> sqlite3.Connection:
    """Return the driver's connection, on which a statement takes a tenth of the time."""
    return cast(sqlite3.Connection, connection.connection.driver_connection)


def check_files(connection: Connection) -> None:
    """Raise where the file that a connection writes to, or its log, is not at its path any more."""
    for each in connection.info[_FILES]:
        if not each.still_there():
            raise UnavailableError(_gone(each))


def is_overwritten(connection: Connection) -> bool:
    """Say whether the file itself, whatever is in its log, does not begin as a database any more.

    SQLite reads it, in 20 microseconds: where this process closed the file, it would lose its
    locks.
    """
    for file in connection.info[_FILES][:1]:
        address = f"{Path(file.path).as_uri()}?immutable=1&mode=ro"
        try:
            with closing(sqlite3.connect(address, uri=True)) as head:
                head.execute("PRAGMA schema_version")
        except sqlite3.DatabaseError as error:
            # Another process may be moving pages out of the log, which looks like damage.
            return error.sqlite_errorcode == sqlite3.SQLITE_NOTADB
    return False


def empty_log(connection: Connection, seconds: float) -> None:
    """Move everything out of the write-ahead log; wait so long for those who use it."""
    check_files(connection)
    raw = driver(connection)
    raw.execute(f"PRAGMA busy_timeout={int(1000 * seconds)}")
    raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def file_of(url: URL) -> Path | None:
    """Return where the file of a database is, or None where it is in memory."""
    name = url.database
    if not name or name == ":memory:" or name.startswith("file:"):
        return None
    return Path(name).absolute()


def _decode(text: bytes) -> str:
    """Return a text of the database; the driver's own error would quote all of it."""
    try:
        return text.decode()
    except UnicodeDecodeError:
        raise sqlite3.DatabaseError("a text is not UTF-8: the file is damaged") from None


def _gone(file: FileIdentity) -> str:
    return f"{Path(file.path).name} was deleted or replaced while it was in use"
