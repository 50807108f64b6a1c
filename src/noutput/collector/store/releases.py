"""Published states in a database that speaks SQL: counts as of the last release, and the past."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, ClassVar

from sqlalchemy import Connection, bindparam, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from noutput.collector.store import schema
from noutput.collector.store.interface import Milestone, Published, Release

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from noutput.collector.steps import Steps
    from noutput.collector.store.interface import Followed

__all__ = ["SqlReleases"]

_RELEASES = [schema.releases.c[name] for name in Release.__slots__]
_MILESTONES = [schema.history.c[name] for name in Milestone.__slots__]
_SHOW = (
    update(schema.counts)
    .where(schema.counts.c.campaign == bindparam("of"), schema.counts.c.cell == bindparam("at"))
    .values(released=bindparam("number"))
)


class SqlReleases(ABC):
    """What a `Store` keeps of published states."""

    _snapshot_options: ClassVar[dict[str, Any]] = {}

    @abstractmethod
    def _read(self, **options: Any) -> AbstractContextManager[Connection]:
        """Begin a transaction that reads."""

    @abstractmethod
    def _write(self) -> AbstractContextManager[Connection]:
        """Begin a transaction that writes, and commit it at the end of the block."""

    @abstractmethod
    def _lock_schema(self, connection: Connection) -> None:
        """Let one process at a time do what depends on all rows of a table, until the commit."""

    def release(
        self, key: int, parts: Sequence[range], steps: Steps, now: str, follow: Followed
    ) -> list[Release]:
        """Publish what is due of a campaign; return what was published now."""
        with self._read(**self._snapshot_options) as connection:
            if not self._due(connection, key, parts, steps, now):
                return []
        done: list[Release] = []
        with suppress(IntegrityError), self._write() as connection:  # the campaign may be gone
            self._lock_schema(connection)  # nobody else publishes meanwhile
            due = self._due(connection, key, parts, steps, now)
            for release, counts in due:
                self._publish(connection, key, counts, release)
                figure = follow(release.question, counts)
                if figure is not None:
                    place, reports = release.question, release.reports
                    self._add_history(connection, key, [Milestone(place, reports, now, *figure)])
            done = [release for release, _ in due]
        return done

    def _due(
        self, connection: Connection, key: int, parts: Sequence[range], steps: Steps, now: str
    ) -> list[tuple[Release, dict[int, int]]]:
        """Return what is due, with the counts of its cells.

        The counts are read by one statement, so they are of one moment; and after it was seen that
        the campaign is closed, so there are no more to come then.
        """
        row = select(schema.campaigns.c.closed).where(schema.campaigns.c.key == key)
        found = connection.execute(row).first()
        if found is None:  # it was deleted meanwhile
            return []
        table = schema.counts
        query = select(table.c.cell, table.c.reports).where(table.c.campaign == key)
        counts = {row.cell: row.reports for row in connection.execute(query) if row.reports}
        before = {each.question: each for each in self._releases(connection, key)}
        due = []
        for place, cells in enumerate(parts):
            mine = {cell: counts[cell] for cell in cells if cell in counts}
            counted, last = sum(mine.values()), before.get(place)
            published = 0 if last is None else last.reports
            if steps.is_due(published, counted, closed=found.closed is not None):
                new = counted - published
                number = 1 if last is None else last.number + 1
                smallest = new if last is None else min(new, last.smallest)
                due.append((Release(place, counted, now, number, smallest, new), mine))
        return due

    def _publish(
        self, connection: Connection, key: int, counts: dict[int, int], release: Release
    ) -> None:
        self._show_counts(connection, key, counts)
        table, values = schema.releases, asdict(release)
        known = (table.c.campaign == key, table.c.question == release.question)
        if not connection.execute(update(table).where(*known).values(values)).rowcount:
            connection.execute(insert(table).values(campaign=key, **values))

    def _show_counts(self, connection: Connection, key: int, counts: dict[int, int]) -> None:
        """Publish these counts; cells are locked in their order, as where reports are counted."""
        rows = [{"of": key, "at": cell, "number": counts[cell]} for cell in sorted(counts)]
        if rows:
            connection.execute(_SHOW, rows)

    def published(self, key: int) -> Published:
        """Return what everybody may see of a campaign."""
        with self._read(**self._snapshot_options) as connection:
            return self._published(connection, key)

    def _published(self, connection: Connection, key: int) -> Published:
        table = schema.counts
        query = select(table.c.cell, table.c.released).where(
            table.c.campaign == key, table.c.released > 0
        )
        counts = {row.cell: row.released for row in connection.execute(query)}
        return Published(counts, self._releases(connection, key))

    def _releases(self, connection: Connection, key: int) -> list[Release]:
        table = schema.releases
        query = select(*_RELEASES).where(table.c.campaign == key).order_by(table.c.question)
        return [Release(*row) for row in connection.execute(query)]

    def _restore_published(
        self, connection: Connection, key: int, published: Published, history: Sequence[Milestone]
    ) -> None:
        self._show_counts(connection, key, published.counts)
        rows = [{"campaign": key, **asdict(each)} for each in published.releases]
        if rows:
            connection.execute(insert(schema.releases), rows)
        self._add_history(connection, key, history)

    def published_totals(self) -> dict[int, int]:
        """Return the number of published reports of every campaign that has any."""
        table = schema.releases
        query = select(table.c.campaign, func.sum(table.c.reports)).group_by(table.c.campaign)
        with self._read() as connection:
            return {key: int(total) for key, total in connection.execute(query)}

    def _add_history(
        self, connection: Connection, key: int, milestones: Sequence[Milestone]
    ) -> None:
        rows = [{"campaign": key, **asdict(milestone)} for milestone in milestones]
        if rows:
            connection.execute(insert(schema.history), rows)

    def history(self, key: int) -> list[Milestone]:
        """Return all milestones of a campaign, by question and number of reports."""
        with self._read() as connection:
            return self._history(connection, key)

    def _history(self, connection: Connection, key: int) -> list[Milestone]:
        table = schema.history
        query = select(*_MILESTONES).where(table.c.campaign == key)
        ordered = query.order_by(table.c.question, table.c.reports)
        return [Milestone(*row) for row in connection.execute(ordered)]
