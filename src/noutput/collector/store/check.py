"""Check: whether a database still holds what was committed to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from noutput.collector.cells import CellLayout
from noutput.collector.store.interface import DamagedError, UnavailableError
from noutput.collector.store.seal import Seal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from noutput.collector.store.interface import Snapshot, Store

__all__ = ["Checked", "check_at_start", "check_database"]

_CHEAP_REPORTS = 1_000_000


@dataclass(frozen=True, slots=True)
class Checked:
    """What a check found.

    Parameters
    ----------
    campaign : str, optional
        None for the database as a whole.
    reports : int
        How many its counts add up to.
    problems : tuple of str
    """

    campaign: str | None
    reports: int
    problems: tuple[str, ...]


def check_at_start(store: Store) -> None:
    """Check what is cheap to check, and keep what is wrong among the problems of the store.

    Counts, documents and the number of reports are always compared. Ids are read, and the form
    of the file is checked, where there are at most a million reports in a SQLite file.
    """
    reports = sum(store.totals().values())
    ids = store.reads_quickly and reports <= _CHEAP_REPORTS
    for checked in check_database(store, ids=ids, cheap=True):
        where = "the database" if checked.campaign is None else f"campaign {checked.campaign!r}"
        for problem in checked.problems:
            if problem not in store.problems():
                store.add_problem(f"{where}: {problem}")


def check_database(store: Store, *, ids: bool = True, cheap: bool = False) -> Iterator[Checked]:
    """Check the database as a whole, then every campaign as it is at one moment.

    Parameters
    ----------
    store : Store
    ids : bool
        Read all ids.
    cheap : bool
        Let SQLite check its file only where it is small, and without its indexes.
    """
    known = store.problems()
    try:
        found = store.inspect(cheap=cheap)
        names = [row.id for row in store.campaigns()]
    except UnavailableError as error:
        yield Checked(None, 0, (*known, str(error)))
        return
    yield Checked(None, 0, (*known, *found))
    for name in names:
        try:
            with store.snapshot(name) as snapshot:
                if snapshot is not None:  # else it was deleted meanwhile
                    reports = sum(snapshot.reports.values())
                    yield Checked(name, reports, tuple(_problems(snapshot, ids=ids)))
        except UnavailableError as error:
            yield Checked(name, 0, (str(error),))


def _problems(snapshot: Snapshot, *, ids: bool) -> Iterator[str]:
    row = snapshot.row
    try:
        campaign = row.read()
    except DamagedError:
        yield "its document cannot be read"
    else:
        if (campaign.id, campaign.fingerprint) != (row.id, row.fingerprint):
            yield "its document is another one"
        size = CellLayout(campaign).size
        if not all(0 <= cell < size for cell in snapshot.counts):
            yield "it has counts of outputs that do not exist"
    seal = Seal.of_counts(snapshot.reports.items())
    for piece in snapshot.ids if ids else ():
        whole = len(piece) // 16 * 16
        if whole < len(piece):
            yield "it has an id that is cut off"
        seal += Seal.of_ids(piece[:whole])
    if snapshot.seal is None:
        yield "its seal is missing"
    else:
        yield from snapshot.seal.problems(seal, ids=ids)
