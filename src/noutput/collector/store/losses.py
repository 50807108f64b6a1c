"""Losses: commits of an embedded database that were durable once, and are gone."""

from __future__ import annotations

import logging
import shutil
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from noutput.collector.logs import event
from noutput.collector.store.files import create_private
from noutput.collector.store.mark import HighWater, MarkFile

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Losses"]

_log = logging.getLogger("noutput.collector")


class Losses:
    """Compares how far a database got with the mark next to it.

    Parameters
    ----------
    database : Path, optional
        None for one in memory, which has no mark.
    tell : callable
        Gets what was lost, as a sentence.

    Notes
    -----
    The mark is read when this object is made, before anybody opens the database: a database only
    ever gets ahead of it.
    """

    def __init__(self, database: Path | None, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._reached: HighWater | None = None
        self._mark = None
        self._marked: HighWater | None = None
        if database is not None:
            self._mark = MarkFile(database.with_name(f"{database.name}-mark"))
            self._marked = self._mark.read()

    def compare(self, reached: HighWater) -> None:
        """Find out whether the database is behind its mark, and remember if so."""
        self._reached, marked, mark = reached, self._marked, self._mark
        if mark is None:
            return
        lost = mark.read_lost()
        if lost is None or lost.database != reached.database:
            lost = HighWater(reached.database, 0, 0)
        if marked is None or marked.database != reached.database:
            if reached.commits > 1:  # the first made the tables that count them
                _log.info(
                    "%s was missing: losses before now cannot be noticed",
                    mark.path.name,
                    extra=event("mark-missing"),
                )
            mark.write(reached)
            mark.write_lost(lost)
        elif marked.commits > reached.commits:
            _keep_log(mark.path)
            commits = lost.commits + marked.commits - reached.commits
            reports = lost.reports + marked.reports - reached.reports
            lost = HighWater(reached.database, commits, reports)
            mark.write_lost(lost)
            mark.write(reached)
        if lost.commits:
            self._tell(
                f"{lost.commits:,} commits with {lost.reports:,} acknowledged reports are missing "
                "from the database"
            )

    def advance(self, reached: HighWater) -> None:
        """Note a commit in the mark, and that it is newer than all before."""
        if self._reached is not None and reached.commits <= self._reached.commits:
            lost = self._reached.commits - reached.commits + 1
            self._tell(f"the database went back in time: {lost:,} commits are missing")
        self._reached = reached
        if self._mark is not None:
            try:
                self._mark.write(reached)
            except OSError as error:
                _log.warning("no mark was written: %s", error, extra=event("mark-failed"))

    def accept(self, reached: HighWater) -> None:
        """Forget what was lost."""
        self._reached = reached
        if self._mark is not None:
            self._mark.write(reached)
            self._mark.write_lost(HighWater(reached.database, 0, 0))

    def close(self) -> None:
        """Make the mark durable, and close it for good."""
        if self._mark is not None:
            self._mark.sync()
            self._mark.close()


def _keep_log(mark: Path) -> None:
    """Copy a write-ahead log that could not be read to its end, before it is overwritten."""
    log = mark.with_name(mark.name.removesuffix("-mark") + "-wal")
    with suppress(OSError):
        if log.stat().st_size:
            create_private(Path(f"{log}-damaged"))
            shutil.copyfile(log, f"{log}-damaged")
