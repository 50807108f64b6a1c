"""Shares of releases: one client sends a quarter of a release at most.

Whoever sends all reports of a release but one sees that one. So a client may have at most a share
of the minimum among the reports on a question that wait for their release, in a period. It is a
limit and no guarantee: clients are addresses, it takes four of them, and every process counts for
itself, from its start on. Reports with tokens have no such limit, for nobody can invent them.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from noutput.collector.cells import CELL
from noutput.collector.http.problems import ProblemError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from noutput.collector.cells import CellLayout
    from noutput.collector.publishing import ReleasePolicy
    from noutput.collector.store.directory import KnownCampaign

__all__ = ["ReleaseShares"]

_REMEMBERED = 65_536  # clients with their questions
_RETRY_SECONDS = 60


class ReleaseShares:
    """How many reports of every client wait for their release, in memory.

    Parameters
    ----------
    share : float
        Of the minimum; 0 for no limit.
    policy : ReleasePolicy

    Notes
    -----
    A release takes all reports of a group that wait. The collector looks for releases every second,
    also for those of other processes, and calls `look`. Reports that came since the look before may
    have come after the release, so they are taken to wait.

    Guarantees
    ----------
    No address is kept: a client is a hash under a key that this process drew at its start.
    """

    def __init__(self, share: float, policy: ReleasePolicy) -> None:
        self._share = share
        self._policy = policy
        # Per client, question and period: how many reports of every group, by the look before.
        self._sent: OrderedDict[tuple[Any, ...], dict[int, Counter[int]]] = OrderedDict()
        self._looks: Counter[int] = Counter()
        self._taken: dict[int, Mapping[int, int]] = {}
        self._released: dict[int, dict[int, int]] = {}  # the look that found it, per group

    def applies_to(self, entry: KnownCampaign) -> bool:
        """Say whether clients of a campaign are limited."""
        return bool(self._share) and not entry.campaign.admission.needs_token

    def take(self, client: bytes, entry: KnownCampaign, cells: bytes) -> None:
        """Count reports of a client, each in its cell, as waiting.

        Raises
        ------
        ProblemError
            "too-many-reports" where too many would wait; nothing is counted then.
        """
        if not self.applies_to(entry):
            return
        most = int(self._share * self._policy.minimum_of(entry.campaign.segments))
        if not most:  # releases of so few reports promise nothing
            return
        look, new = self._looks[entry.key], _by_question(entry, cells)
        for question, groups in new.items():
            waiting = self._waiting((client, entry.key, question), entry.key)
            if waiting + groups.total() > most:
                detail = (
                    f"one client may send {most:,} reports on a question before they are "
                    "published; the operator can name clients that send for many people"
                )
                raise ProblemError("too-many-reports", detail, {"Retry-After": str(_RETRY_SECONDS)})
        for question, groups in new.items():
            sent = self._sent.setdefault((client, entry.key, question), {})
            self._sent.move_to_end((client, entry.key, question))
            for group, number in groups.items():
                sent.setdefault(group, Counter())[look] += number
        while len(self._sent) > _REMEMBERED:
            self._sent.popitem(last=False)

    def give_back(self, client: bytes, entry: KnownCampaign, cells: bytes) -> None:
        """Undo `take` for reports that could not be counted."""
        if not self.applies_to(entry):
            return
        for question, groups in _by_question(entry, cells).items():
            sent = self._sent.get((client, entry.key, question), {})
            for group, number in groups.items():
                if sent.get(group):
                    sent[group][max(sent[group])] -= number

    def look(self, entry: KnownCampaign, taken: Mapping[int, int]) -> None:
        """Note how many reports of every group are published, with their labels or without."""
        before = self._taken.get(entry.key, {})
        self._looks[entry.key] += 1
        known = self._released.setdefault(entry.key, {})
        for group, number in taken.items():
            if number > before.get(group, 0):
                known[group] = self._looks[entry.key]
        self._taken[entry.key] = taken

    def _waiting(self, name: tuple[Any, ...], key: int) -> int:
        """Return how many reports wait; forget those that were published."""
        sent, released = self._sent.get(name, {}), self._released.get(key, {})
        for group, looks in list(sent.items()):
            for look in [look for look in looks if look < released.get(group, 0) - 1]:
                del looks[look]
            if not looks:
                del sent[group]
        return sum(looks.total() for looks in sent.values())


def _by_question(entry: KnownCampaign, cells: bytes) -> dict[tuple[int, int], Counter[int]]:
    """Return how many reports every group has, per table and period."""
    found: dict[tuple[int, int], Counter[int]] = {}
    for cell, number in Counter(np.frombuffer(cells, CELL).tolist()).items():
        question, group = _place(entry.layout, cell)
        found.setdefault(question, Counter())[group] += number
    return found


@lru_cache(maxsize=1 << 16)
def _place(layout: CellLayout, cell: int) -> tuple[tuple[int, int], int]:
    """Return the table and period of a cell, which are released together at most, and its group."""
    places = layout.places(np.array([cell], np.int64))
    schedule = layout.campaign.schedule
    number = int(layout.strata.rounds_of(places.strata)[0])
    period = number if schedule is None else schedule.period(number)
    return (int(places.blocks[0]), period), int(layout.numbers(places)[0])
