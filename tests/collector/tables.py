"""A database behind the back of any store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, create_engine


@contextmanager
def tables(database: str) -> Iterator[Connection]:
    """Begin a transaction behind the back of any store, and commit it."""
    server = "://" in database
    url = database.replace("postgresql://", "postgresql+psycopg://")
    engine = create_engine(url if server else f"sqlite:///{database}")
    try:
        with engine.begin() as connection:
            yield connection
    finally:
        engine.dispose()
