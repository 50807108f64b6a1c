"""Where campaigns, counts and the ids of counted reports are kept."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from noutput._extras import need
from noutput.errors import InvalidArgumentError

if TYPE_CHECKING:
    from noutput.collector.store.interface import Store

__all__ = ["open_store"]


def open_store(database: str) -> Store:
    """Open a database, and make its tables where it is empty.

    Parameters
    ----------
    database : str
        The path of a SQLite file, which is made where there is none, or an address such as
        ``postgresql://user@host/name``.

    Raises
    ------
    InvalidArgumentError
        If the database has another version, or the address is of another kind.
    UnavailableError
        If the database cannot be reached.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> store = open_store(f"{folder}/reports.db")
    >>> store.campaigns()
    []
    >>> store.close()
    """
    need("sqlalchemy", "collector")
    from sqlalchemy.engine import URL, make_url
    from sqlalchemy.exc import ArgumentError

    if "://" not in database:
        database_url = URL.create("sqlite", database=str(Path(database)))
    else:
        try:
            database_url = make_url(database)
        except (ArgumentError, ValueError):  # the address may have a password: it is not shown
            raise InvalidArgumentError("database", "be a path or an address", "?") from None
    kind = database_url.get_backend_name()
    if kind == "sqlite":
        from noutput.collector.store.sqlite import SqliteStore

        return SqliteStore(database_url)
    if kind in ("postgresql", "postgres"):
        need("psycopg", "collector")
        from noutput.collector.store.postgresql import PostgresqlStore

        return PostgresqlStore(database_url)
    raise InvalidArgumentError("database", "be SQLite or PostgreSQL", kind)
