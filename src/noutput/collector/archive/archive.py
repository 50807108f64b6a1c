"""The archive of a collector: every counted report, for those who count on a cluster."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from noutput._extras import need
from noutput.campaign.archive import PENDING, SHARDS, campaign_folder
from noutput.campaign.campaign import Campaign
from noutput.collector.archive import files
from noutput.collector.archive.pending import Pending, Rows
from noutput.collector.cells import CELL, CellLayout
from noutput.collector.logs import event
from noutput.collector.store.interface import Outcome, Store, Submission, UnavailableError
from noutput.errors import InvalidArgumentError, NoutputError

if TYPE_CHECKING:
    from noutput.collector.store.interface import ReportSink

__all__ = ["Archive", "ArchivedStore", "open_archive"]

LEAST = 512 * SHARDS  # reports of a campaign that become files: 512 per file, on average
MANY = 1 << 20
_log = logging.getLogger("noutput.collector")


def open_archive(folder: Path) -> Archive:
    """Open the archive in a folder, which is made where there is none.

    Raises
    ------
    MissingExtraError
        If pyarrow is not installed.
    InvalidArgumentError
        If the folder cannot be written to.
    """
    need("pyarrow.parquet", "frames")
    try:
        folder.mkdir(0o700, parents=True, exist_ok=True)
        return Archive(folder)
    except (OSError, UnavailableError) as error:
        rule = f"be a folder to write to ({error})"
        raise InvalidArgumentError("archive", rule, str(folder)) from None


class Archive:
    """Reports as partitioned Parquet; see `noutput.campaign.archive` for the layout.

    Parameters
    ----------
    folder : Path
        On a local disk, as a SQLite file needs it.

    Notes
    -----
    A commit of a few reports makes no file: it is kept in `Pending`, durably, until there are
    enough for files that are worth reading, and that tell little about when each report came.

    Guarantees
    ----------
    What `add` returned for is in `Pending` or in a file at any time, or in both for a moment.
    Files are written whole; a reader never sees a part of one.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._known: set[str] = set()
        self._pending = Pending(folder / PENDING)

    def add(self, reports: Sequence[tuple[Campaign, bytes, bytes]]) -> None:
        """Keep reports of several campaigns in one commit."""
        for campaign, _, _ in reports:
            if campaign.fingerprint not in self._known:
                with _unavailable():
                    files.write_document(self.folder, campaign)
                self._known.add(campaign.fingerprint)
        self._pending.add([Rows(each.root, *columns) for each, *columns in reports])

    def sizes(self) -> dict[str, int]:
        """Return the number of pending reports of every campaign that has any."""
        return self._pending.sizes()

    def flush(self, least: int = 1, only: Collection[str] | None = None) -> None:
        """Write the pending reports of campaigns that have enough of them to files.

        Parameters
        ----------
        least : int
            Fewer reports of a campaign stay pending.
        only : collection of str, optional
            The roots of the campaigns; all if not given.

        Raises
        ------
        UnavailableError
            If that failed for some of them; the others are written.
        """
        failure: UnavailableError | None = None
        for root, size in self._pending.sizes().items():
            if size >= least and (only is None or root in only):
                try:
                    self._flush(root, size, least)
                except UnavailableError as error:
                    failure = error
        if failure is not None:
            raise failure

    def _flush(self, root: str, size: int, least: int) -> None:
        """Write the pending reports of one campaign to files."""
        while size >= least:
            taken = self._pending.take(root, MANY)
            try:  # after they were taken: the document has every wave that they are of
                with _unavailable():
                    document = files.read_document(self.folder, root)
                    layout = CellLayout(Campaign.from_json(document))
            except UnavailableError:
                self._known.clear()  # the next report writes what is missing
                raise
            found = len(taken.rows.ids) // 16
            if not found:  # another process was faster
                break
            with _unavailable():
                files.write_reports(self.folder, taken.rows, layout)
            self._pending.drop(taken)
            size -= found

    def compact(self, root: str) -> None:
        """Put the small files of a campaign together, unless one of them is damaged."""
        try:
            with _unavailable():
                files.compact(self.folder, root)
        except (ValueError, LookupError, NotImplementedError) as error:  # what pyarrow raises
            name = campaign_folder(root)
            _log.warning(
                "files of the archive in %s are not put together: %s",
                name,
                error,
                extra=event("archive-not-merged"),
            )

    def probe(self, size: int = 0) -> None:
        """Write and commit bytes that mean nothing; raise `UnavailableError` where that fails."""
        self._pending.probe(size)

    def close(self) -> None:
        """Close the file of pending reports; what it has stays there until the next start."""
        self._pending.close()


class ArchivedStore:
    """A store whose reports are archived before they are acknowledged.

    Parameters
    ----------
    store : Store
    archive : Archive

    Guarantees
    ----------
    `add` returns after the reports are counted and archived, both durably. It archives after the
    commit, and also what had been counted before: where the archive failed, or the process
    ended between the two, the client got no answer and sends again. So a report that was
    acknowledged is in the archive, some are there twice, and none that was refused.
    """

    def __init__(self, store: Store, archive: Archive) -> None:
        self._store = store
        self._archive = archive
        self._campaigns: dict[int, Campaign] = {}

    def add(self, submissions: Sequence[Submission]) -> list[Outcome | None]:
        """Count and archive reports; None where the campaign is gone or closed."""
        outcomes = self._store.add(submissions)
        counted: dict[int, list[Submission]] = {}
        for submission, outcome in zip(submissions, outcomes, strict=True):
            if outcome is not None:
                counted.setdefault(submission.key, []).append(submission)
        rows = []
        for key, some in counted.items():
            ids, cells = (b"".join(each) for each in zip(*(s[1:] for s in some), strict=True))
            campaign = self._campaign(key, cells)
            if campaign is not None:
                rows.append((campaign, ids, cells))
        if rows:
            self._archive.add(rows)
        return outcomes

    def _campaign(self, key: int, cells: bytes) -> Campaign | None:
        """Return a campaign that has these cells, those of its newest wave included.

        None where it was deleted after its reports were counted.
        """
        known = self._campaigns.get(key)
        grown = known is not None and known.next_wave is not None
        if grown and known is not None:
            grown = int(np.frombuffer(cells, CELL).max()) >= CellLayout(known).size
        if known is None or grown:
            for row in self._store.campaigns():
                if row.key == key:
                    self._campaigns[key] = row.read()
        return self._campaigns.get(key)

    def probe(self, size: int = 0) -> None:
        """Write to the database and to the archive."""
        self._store.probe(size)
        self._archive.probe(size)

    def problems(self) -> tuple[str, ...]:
        """Return what was found to be damaged or lost."""
        return self._store.problems()


@contextmanager
def _unavailable() -> Iterator[None]:
    try:
        yield
    except (OSError, NoutputError) as error:
        raise UnavailableError(f"the archive: {error}") from None


def sink(store: Store, archive: Archive | None) -> ReportSink:
    """Return what counts reports: the store, with an archive behind it where there is one."""
    return store if archive is None else ArchivedStore(store, archive)
