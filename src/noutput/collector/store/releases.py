"""Published states in a database that speaks SQL: counts as of the last release, and the past."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, ClassVar

from sqlalchemy import Connection, func, insert, or_, select, text

from noutput.collector.store import schema
from noutput.collector.store.interface import Counted, Milestone, Published, Release
from noutput.collector.store.log import SqlLog

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from noutput.collector.cells import CellLayout
    from noutput.collector.publishing import NewRelease, Publishing
    from noutput.collector.store.interface import Followed

__all__ = ["SqlReleases"]

_RELEASES = [schema.releases.c[name] for name in Release.__slots__]
_MILESTONES = [schema.history.c[name] for name in Milestone.__slots__]
# Rows without labels, or without a round, are not there before something is published in them.
_SHOW = text(
    "INSERT INTO counts (campaign, cell, reports, released, moved)"
    " VALUES (:campaign, :cell, 0, :released, :moved)"
    " ON CONFLICT (campaign, cell) DO UPDATE SET"
    " released = counts.released + excluded.released, moved = counts.moved + excluded.moved"
)
_PUT_RELEASE = text(
    "INSERT INTO releases (campaign, question, reports, at, number, smallest, last)"
    " VALUES (:campaign, :question, :reports, :at, :number, :smallest, :last)"
    " ON CONFLICT (campaign, question) DO UPDATE SET reports = excluded.reports,"
    " at = excluded.at, number = excluded.number, smallest = excluded.smallest,"
    " last = excluded.last"
)


class SqlReleases(SqlLog):
    """What a `Store` keeps of published states."""

    _snapshot_options: ClassVar[dict[str, Any]] = {}

    @abstractmethod
    def _hold(self, connection: Connection, key: int) -> bool:
        """Keep others from writing to a campaign until the commit; say whether it is there."""

    def release(
        self, key: int, publishing: Publishing, now: str, follow: Followed
    ) -> list[NewRelease]:
        """Publish what is due of a campaign, and return it.

        What is followed is computed before the transaction, which may take seconds: nobody waits
        for it. Where another process has published meanwhile, it is computed anew: the other may
        see later that a round is over, and does not publish its end.
        """
        while (due := self._release(key, publishing, now, follow)) is None:
            pass
        return due

    def _release(
        self, key: int, publishing: Publishing, now: str, follow: Followed
    ) -> list[NewRelease] | None:
        """Publish what is due; None where another process has published meanwhile."""
        with self._read(**self._snapshot_options) as connection:
            due = self._due(connection, key, publishing, now)
            if not due:
                return []
            before = self._published(connection, key)
        noted = _noted(before, due, publishing.layout, now, follow)
        with self._write() as connection:
            if not self._hold(connection, key):  # it was deleted meanwhile
                return []
            if self._releases(connection, key) != before.releases:
                return None
            self._publish(connection, key, due, publishing.layout)
            self._add_history(connection, key, noted)
        return due

    def taken(self, key: int, layout: CellLayout) -> dict[int, int]:
        """Return how many reports of every group are published, with their labels or without."""
        with self._read(**self._snapshot_options) as connection:
            cells = self._cells(connection, key)
        own = {cell: each.released + each.moved for cell, each in cells.items() if each.reports}
        return layout.totals(own)

    def left_if_closed(self, key: int, publishing: Publishing) -> int:
        """Return how many reports would never be published if the campaign were closed now."""
        with self._read(**self._snapshot_options) as connection:
            cells = self._cells(connection, key)
            due = publishing.due(cells, self._releases(connection, key), "", closed=True)
        fresh = sum(counted.fresh for counted in cells.values() if counted.reports)
        return fresh - sum(new.release.last for new in due)

    def _due(
        self, connection: Connection, key: int, publishing: Publishing, now: str
    ) -> list[NewRelease]:
        """Return what is due.

        The counts are read by one statement, so they are of one moment; and after it was seen that
        the campaign is closed, so there are no more to come then.
        """
        row = select(schema.campaigns.c.closed).where(schema.campaigns.c.key == key)
        found = connection.execute(row).first()
        if found is None:  # it was deleted meanwhile
            return []
        cells = self._cells(connection, key, publishing.first_cell)
        before = self._releases(connection, key)
        return publishing.due(cells, before, now, closed=found.closed is not None)

    def _cells(self, connection: Connection, key: int, first: int = 0) -> dict[int, Counted]:
        """Return all cells with a report, from one on."""
        table = schema.counts
        query = select(table.c.cell, table.c.reports, table.c.released, table.c.moved).where(
            table.c.campaign == key, or_(table.c.reports > 0, table.c.released > 0)
        )
        if first:
            query = query.where(table.c.cell >= first)
        return {cell: Counted(*row) for cell, *row in connection.execute(query)}

    def _publish(
        self, connection: Connection, key: int, due: Sequence[NewRelease], layout: CellLayout
    ) -> None:
        """Write all releases in few statements: reports of the campaign wait for them."""
        released, moved = _changes(due, layout)
        cells = sorted({*released, *moved})
        rows = [
            {"campaign": key, "cell": cell, "released": released[cell], "moved": moved[cell]}
            for cell in cells
        ]
        connection.execute(_SHOW, rows)
        self._put_releases(connection, key, [new.release for new in due])

    def _put_releases(self, connection: Connection, key: int, releases: Iterable[Release]) -> None:
        rows = [{"campaign": key, **asdict(release)} for release in releases]
        if rows:
            connection.execute(_PUT_RELEASE, rows)

    def published(self, key: int) -> Published:
        """Return what everybody may see of a campaign."""
        with self._read(**self._snapshot_options) as connection:
            return self._published(connection, key)

    def _published(self, connection: Connection, key: int) -> Published:
        cells = self._cells(connection, key)
        counts = {cell: each.released for cell, each in cells.items() if each.released}
        reports = {cell: each.reports for cell, each in cells.items() if each.reports}
        return Published(counts, self._releases(connection, key), reports)

    def _releases(self, connection: Connection, key: int) -> list[Release]:
        table = schema.releases
        query = select(*_RELEASES).where(table.c.campaign == key).order_by(table.c.question)
        return [Release(*row) for row in connection.execute(query)]

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


def _changes(due: Iterable[NewRelease], layout: CellLayout) -> tuple[Counter[int], Counter[int]]:
    """Return how many reports are published in every cell, and how many of it in others."""
    released, moved = Counter[int](), Counter[int]()
    for new in due:
        into = layout.cells_in(new.release.question, new.reports)
        for (cell, number), shown in zip(new.reports.items(), into, strict=True):
            released[shown] += number
            if cell != shown:
                moved[cell] += number
    return released, moved


def _noted(
    before: Published, due: Sequence[NewRelease], layout: CellLayout, now: str, follow: Followed
) -> list[Milestone]:
    """Return what all published counts of the questions that are due say, over all waves."""
    released, _ = _changes(due, layout)
    shown = dict(released + Counter(before.counts))
    tallies = layout.tallies(shown)
    result = []
    for index in sorted({layout.block(new.release.question).question for new in due}):
        figure = follow(index, shown)
        if figure is not None:
            reports = sum(tally.total for tally in tallies[index :: len(layout.waves[0].blocks)])
            result.append(Milestone(index, reports, now, *figure))
    return result
