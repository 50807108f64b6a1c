"""Tokens in a database that speaks SQL."""

from __future__ import annotations

from abc import abstractmethod
from contextlib import suppress

from sqlalchemy import Connection, delete, func, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from noutput.collector.store.interface import Action, TokenRow
from noutput.collector.store.log import SqlLog
from noutput.collector.store.schema import tokens

__all__ = ["SqlTokens"]

_COLUMNS = [tokens.c[name] for name in TokenRow.__slots__]


class SqlTokens(SqlLog):
    """What a `Store` keeps of tokens."""

    @abstractmethod
    def _lock_schema(self, connection: Connection) -> None:
        """Let one process at a time do what depends on all rows of a table, until the commit."""

    def add_token(
        self, row: TokenRow, *, first: bool = False, action: Action | None = None
    ) -> bool:
        """Keep a token; say whether that was possible."""
        with suppress(IntegrityError), self._write() as connection:
            if first:
                self._lock_schema(connection)
                known = select(func.count()).select_from(tokens)
                full = known.where(tokens.c.kind == "admin", tokens.c.campaign.is_(None))
                if connection.execute(full).scalar_one():
                    return False
            values = {name: getattr(row, name) for name in TokenRow.__slots__}
            connection.execute(insert(tokens).values(values))
            self._note(connection, action)
            return True
        return False

    def tokens(self) -> list[TokenRow]:
        """Return all tokens."""
        query = select(*_COLUMNS).order_by(tokens.c.created, tokens.c.id)
        with self._read() as connection:
            return [TokenRow(*row) for row in connection.execute(query)]

    def token(self, token_id: str) -> TokenRow | None:
        """Return one token."""
        with self._read() as connection:
            row = connection.execute(select(*_COLUMNS).where(tokens.c.id == token_id)).first()
            return None if row is None else TokenRow(*row)

    def delete_token(self, token_id: str, action: Action | None = None) -> bool:
        """Forget a token, and those that have it as their parent."""
        with self._write() as connection:
            gone = connection.execute(delete(tokens).where(tokens.c.id == token_id)).rowcount > 0
            self._note(connection, action if gone else None)
            return gone

    def use_token(self, token_id: str, day: str) -> None:
        """Keep the day of a token's last use, where it is later than the one that is known."""
        later = or_(tokens.c.last_used.is_(None), tokens.c.last_used < day)
        with self._write() as connection:
            change = update(tokens).where(tokens.c.id == token_id, later)
            connection.execute(change.values(last_used=day))

    def drop_expired_tokens(self, now: str) -> None:
        """Forget the tokens that are not valid any more."""
        with self._write() as connection:
            connection.execute(delete(tokens).where(tokens.c.expires <= now))
