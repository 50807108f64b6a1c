"""Published states in a database that speaks SQL: counts as of the last release, and the past."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, ClassVar

from sqlalchemy import Connection, bindparam, func, insert, or_, select, update

from noutput.collector.publishing import Counted
from noutput.collector.store import schema
from noutput.collector.store.interface import Milestone, Published, Release
from noutput.collector.store.log import SqlLog

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from noutput.collector.cells import CellLayout
    from noutput.collector.publishing import Publishing, Step
    from noutput.collector.store.interface import Followed

__all__ = ["SqlReleases"]

_RELEASES = [schema.releases.c[name] for name in Release.__slots__]
_MILESTONES = [schema.history.c[name] for name in Milestone.__slots__]
_SHOW = (
    update(schema.counts)
    .where(schema.counts.c.campaign == bindparam("of"), schema.counts.c.cell == bindparam("at"))
    .values(released=bindparam("number"))
)
_TAKE = (
    update(schema.counts)
    .where(schema.counts.c.campaign == bindparam("of"), schema.counts.c.cell == bindparam("at"))
    .values(rest=bindparam("number"))
)
_RELEASE_AGAIN = update(schema.releases).where(
    schema.releases.c.campaign == bindparam("of"), schema.releases.c.question == bindparam("block")
)


class SqlReleases(SqlLog):
    """What a `Store` keeps of published states."""

    _snapshot_options: ClassVar[dict[str, Any]] = {}

    @abstractmethod
    def _hold(self, connection: Connection, key: int) -> bool:
        """Keep others from writing to a campaign until the commit; say whether it is there."""

    def release(
        self, key: int, publishing: Publishing, now: str, follow: Followed
    ) -> list[Release]:
        """Publish what is due of a campaign; return what was published now.

        What is followed is computed before the transaction, which may take seconds: nobody waits
        for it. Where another process has published meanwhile, it is computed anew: the other may
        see later that a round is over, and does not publish its end.
        """
        while (found := self._release(key, publishing, now, follow)) is None:
            pass
        return found

    def _release(
        self, key: int, publishing: Publishing, now: str, follow: Followed
    ) -> list[Release] | None:
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
            self._publish(connection, key, due, before.releases)
            self._add_history(connection, key, noted)
        return [step.release for step in due]

    def left_if_closed(self, key: int, publishing: Publishing) -> int:
        """Return how many reports would never be published if the campaign were closed now."""
        with self._read(**self._snapshot_options) as connection:
            cells = self._cells(connection, key, publishing, closed=True)
            due = publishing.due(cells, self._releases(connection, key), "", closed=True)
        fresh = sum(counted.fresh for counted in cells.values() if counted.reports)
        return fresh - sum(step.release.last for step in due)

    def _due(
        self, connection: Connection, key: int, publishing: Publishing, now: str
    ) -> list[Step]:
        """Return what is due, with the counts of its cells.

        The counts are read by one statement, so they are of one moment; and after it was seen that
        the campaign is closed, so there are no more to come then.
        """
        row = select(schema.campaigns.c.closed).where(schema.campaigns.c.key == key)
        found = connection.execute(row).first()
        if found is None:  # it was deleted meanwhile
            return []
        closed = found.closed is not None
        cells = self._cells(connection, key, publishing, closed=closed)
        return publishing.due(cells, self._releases(connection, key), now, closed=closed)

    def _cells(
        self, connection: Connection, key: int, publishing: Publishing, *, closed: bool
    ) -> dict[int, Counted]:
        """Return the cells that `Publishing.due` wants."""
        table = schema.counts
        query = select(table.c.cell, table.c.reports, table.c.released, table.c.rest).where(
            table.c.campaign == key, or_(table.c.reports > 0, table.c.released > 0)
        )
        if publishing.first_cell:
            wanted = table.c.cell >= publishing.first_cell
            if publishing.looks_back(closed=closed):
                wanted |= table.c.reports > table.c.released + table.c.rest
            query = query.where(wanted)
        return {cell: Counted(*row) for cell, *row in connection.execute(query)}

    def _publish(
        self, connection: Connection, key: int, due: Sequence[Step], before: Sequence[Release]
    ) -> None:
        """Write all steps in few statements: reports of the campaign wait for them."""
        counts = {cell: number for step in due for cell, number in step.counts.items()}
        taken = {cell: number for step in due for cell, number in step.taken.items()}
        self._show_counts(connection, key, counts)
        self._take(connection, key, taken)
        known = {release.question for release in before}
        first = [step.release for step in due if step.release.question not in known]
        self._add_releases(connection, key, first)
        again = [
            {"of": key, "block": step.release.question, **asdict(step.release)}
            for step in due if step.release.question in known
        ]  # fmt: skip
        if again:
            connection.execute(_RELEASE_AGAIN, again)

    def _add_releases(self, connection: Connection, key: int, releases: Iterable[Release]) -> None:
        rows = [{"campaign": key, **asdict(release)} for release in releases]
        if rows:
            connection.execute(insert(schema.releases), rows)

    def _show_counts(self, connection: Connection, key: int, counts: dict[int, int]) -> None:
        """Publish these counts."""
        rows = [{"of": key, "at": cell, "number": counts[cell]} for cell in sorted(counts)]
        if rows and connection.execute(_SHOW, rows).rowcount < len(rows):
            self._show_new(connection, key, counts)

    def _show_new(self, connection: Connection, key: int, counts: dict[int, int]) -> None:
        """Publish counts of cells in which nobody's reports are counted: rests and the pool."""
        table = schema.counts
        query = select(table.c.cell).where(
            table.c.campaign == key, table.c.cell.between(min(counts), max(counts))
        )
        known = set(connection.execute(query).scalars())
        rows = [
            {"campaign": key, "cell": cell, "reports": 0, "released": number}
            for cell, number in sorted(counts.items())
            if cell not in known
        ]
        if rows:
            connection.execute(insert(table), rows)

    def _take(self, connection: Connection, key: int, taken: dict[int, int]) -> None:
        """Keep how many reports of each cell were published in a rest or in the pool."""
        rows = [{"of": key, "at": cell, "number": taken[cell]} for cell in sorted(taken)]
        if rows:
            connection.execute(_TAKE, rows)

    def _taken(self, connection: Connection, key: int) -> dict[int, int]:
        table = schema.counts
        query = select(table.c.cell, table.c.rest).where(table.c.campaign == key, table.c.rest > 0)
        return dict(connection.execute(query).all())

    def published(self, key: int) -> Published:
        """Return what everybody may see of a campaign."""
        with self._read(**self._snapshot_options) as connection:
            return self._published(connection, key)

    def _published(self, connection: Connection, key: int) -> Published:
        table = schema.counts
        query = select(table.c.cell, table.c.reports, table.c.released).where(
            table.c.campaign == key, or_(table.c.reports > 0, table.c.released > 0)
        )
        rows = connection.execute(query).all()
        counts = {cell: released for cell, _, released in rows if released}
        left = {cell: reports - shown for cell, reports, shown in rows if reports > shown}
        return Published(counts, self._releases(connection, key), left)

    def _releases(self, connection: Connection, key: int) -> list[Release]:
        table = schema.releases
        query = select(*_RELEASES).where(table.c.campaign == key).order_by(table.c.question)
        return [Release(*row) for row in connection.execute(query)]

    def _restore_published(
        self, connection: Connection, key: int, published: Published, history: Sequence[Milestone],
        rest: dict[int, int],
    ) -> None:  # fmt: skip
        self._show_counts(connection, key, published.counts)
        self._take(connection, key, rest)
        self._add_releases(connection, key, published.releases)
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


def _noted(
    before: Published,
    due: Iterable[Step],
    layout: CellLayout,
    now: str,
    follow: Followed,
) -> list[Milestone]:
    """Return what all published counts of the questions that are due say, over all waves."""
    shown = dict(before.counts)
    asked: set[int] = set()
    for step in due:
        shown |= step.counts
        asked.add(layout.block(step.release.question).question)
    tallies = layout.tallies(shown)
    result = []
    for place in sorted(asked):
        figure = follow(place, shown)
        if figure is not None:
            reports = sum(tally.total for tally in tallies[place :: len(layout.waves[0].blocks)])
            result.append(Milestone(place, reports, now, *figure))
    return result
