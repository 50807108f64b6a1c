"""One-time tokens that were handed out, in a database that speaks SQL: a hash of each."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from sqlalchemy import Connection, func, insert, select
from sqlalchemy.exc import IntegrityError

from noutput.collector.store.log import SqlLog
from noutput.collector.store.schema import issued_tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from noutput.collector.store.interface import Action

__all__ = ["SqlIssued"]

_AT_ONCE = 500


class SqlIssued(SqlLog):
    """What a `Store` keeps of the tokens that admit reports.

    Notes
    -----
    That a token is spent is not kept here: the id of the report that it admits is a hash of it,
    and is remembered with all others. See `noutput.campaign.tokens`.
    """

    def issue(self, key: int, digests: Sequence[bytes], action: Action | None = None) -> bool:
        """Keep the hashes of tokens; say whether the campaign was there."""
        with suppress(IntegrityError), self._write() as connection:
            self._issue(connection, key, digests)
            self._note(connection, action)
            return True
        return False

    def issued(self, key: int, digests: Sequence[bytes]) -> list[bool]:
        """Say which tokens were issued for a campaign, by their hashes."""
        table = issued_tokens
        found: set[bytes] = set()
        with self._read() as connection:
            for start in range(0, len(digests), _AT_ONCE):
                some = digests[start : start + _AT_ONCE]
                wanted = select(table.c.digest).where(
                    table.c.campaign == key, table.c.digest.in_(some)
                )
                found.update(map(bytes, connection.execute(wanted).scalars()))
        return [digest in found for digest in digests]

    def count_issued(self, key: int) -> int:
        """Return how many tokens were issued for a campaign."""
        table = issued_tokens
        query = select(func.count()).select_from(table).where(table.c.campaign == key)
        with self._read() as connection:
            return int(connection.execute(query).scalar_one())

    def _issue(self, connection: Connection, key: int, digests: Sequence[bytes]) -> None:
        rows = [{"campaign": key, "digest": digest} for digest in sorted(digests)]
        if rows:
            connection.execute(insert(issued_tokens), rows)

    def _issued(self, connection: Connection, key: int) -> list[bytes]:
        table = issued_tokens
        query = select(table.c.digest).where(table.c.campaign == key).order_by(table.c.digest)
        return list(map(bytes, connection.execute(query).scalars()))
