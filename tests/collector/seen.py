"""All that anybody ever saw of a campaign, and the fewest people that something of it is about."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from fractions import Fraction
from itertools import product
from typing import NamedTuple

import numpy as np

from noutput.campaign import Campaign
from noutput.campaign.text import format_instant
from noutput.collector.cells import CellLayout
from noutput.collector.publishing import Publishing, ReleasePolicy
from noutput.collector.store.interface import Store, Submission
from tests.collector.labeled import OPENS
from tests.tables import window_table

MINIMUM = 4
OUTPUTS = 64
TABLE = window_table(2.0, OUTPUTS, 7, 0.4).plain


class Sent(NamedTuple):
    """A report that was counted; its output is its index, so that rows tell which they hold."""

    person: Hashable
    round: int = 0
    combination: int = 0
    wave: int = 0


class Row(NamedTuple):
    """Wave, round and labels of published counts; None for those without."""

    wave: int
    round: int | None
    combination: int | None


class Watched:
    """A database that publishes, of which only published rows are looked at."""

    def __init__(self, store: Store, campaign: Campaign, minimum: int = MINIMUM) -> None:
        self.store = store
        self.campaign = campaign
        self.layout = CellLayout(campaign)
        if self.layout.strata.segments is not None:  # documents have at least 100
            segments = replace(self.layout.strata.segments)
            object.__setattr__(segments, "minimum", minimum)
            self.layout.strata = replace(self.layout.strata, segments=segments)
        self.policy = ReleasePolicy(minimum, 0.1)
        values = (campaign.id, campaign.fingerprint, campaign.to_json())
        row, _ = store.create(*values, format_instant(OPENS))
        self.key = row.key
        self.sent: list[Sent] = []
        self.seen: list[dict[Row, tuple[int, ...]]] = []  # counts per report, at every time

    def send(self, *reports: Sent) -> None:
        outputs = range(len(self.sent), len(self.sent) + len(reports))
        assert outputs.stop <= OUTPUTS
        cells = [
            self.layout.waves[each.wave].cell(
                "minutes", output, self.layout.strata.number(each.round, each.combination)
            )
            for each, output in zip(reports, outputs, strict=True)
        ]
        ids = b"".join(output.to_bytes(16) for output in outputs)
        self.store.add([Submission(self.key, ids, np.array(cells, "<i4").tobytes())])
        self.sent += reports

    def look(self, *, over: int = 0, closed: bool = False) -> None:
        if closed:
            self.store.close_campaign(self.campaign.id, format_instant(OPENS + timedelta(days=99)))
        publishing = Publishing(self.layout, self.policy, over)
        self.store.release(self.key, publishing, "", lambda *_: None)
        self.see()

    def see(self) -> None:
        """Keep what anybody sees now."""
        found: dict[Row, list[int]] = {}
        strata = self.layout.strata
        for cell, count in self.store.published(self.key).counts.items():
            places = self.layout.places(np.array([cell]))
            (of,), (combination,) = (
                part(places.strata).tolist() for part in (strata.rounds_of, strata.combinations_of)
            )
            row = Row(
                int(places.blocks[0]),
                of if of < strata.rounds else None,
                combination if combination < strata.combinations else None,
            )
            found.setdefault(row, [0] * OUTPUTS)[int(places.outputs[0])] = count
        self.seen.append({row: tuple(counts) for row, counts in found.items()})

    def releases(self) -> Iterator[list[Sent]]:
        """Return what was added to each row from one time to the next."""
        before: dict[Row, tuple[int, ...]] = {}
        for shown in self.seen:
            for row, counts in shown.items():
                new = np.flatnonzero(np.subtract(counts, before.get(row, (0,) * OUTPUTS)))
                if new.size:
                    yield [self.sent[index] for index in new]
            before = shown

    def check(self) -> None:
        """Whatever is computed of all that was seen is about enough people, and is what it says."""
        functionals = [counts for shown in self.seen for counts in shown.values()]
        if functionals:
            owners = [each.person for each in self.sent]
            assert fewest_owners(functionals, owners) >= MINIMUM
        before: dict[Row, tuple[int, ...]] = {}
        for shown in self.seen:
            assert max(map(sum, zip(*shown.values(), strict=True)), default=0) <= 1, (
                "a report is in two rows"
            )
            is_end = shown is self.seen[-1] and self.layout.strata.rounds == 1
            for row, counts in shown.items():
                new = np.subtract(counts, before.get(row, (0,) * OUTPUTS))
                sent = [self.sent[index] for index in np.flatnonzero(new)]
                self._check_row(row, sent, is_end=is_end)
            before = shown

    def _check_row(self, row: Row, sent: list[Sent], *, is_end: bool) -> None:
        assert {each.wave for each in sent} <= {row.wave}
        if row.round is not None:
            assert {each.round for each in sent} <= {row.round}
        if row.combination is not None:
            assert {each.combination for each in sent} <= {row.combination}
        elif row.round is not None and sent:
            combinations = [each.combination for each in sent]
            most = max(map(combinations.count, combinations))
            assert 2 * (len(sent) - most) >= MINIMUM or is_end


def fewest_owners(rows: Sequence[Sequence[int]], owners: Sequence[Hashable]) -> int:
    """Return the fewest people that a linear combination of rows depends on, if it is not zero.

    Reports with the same coefficients in all rows are one unknown. Every subset of unknowns is
    tried: there is a combination that vanishes on all others if those have a lower rank.
    """
    groups: dict[tuple[int, ...], set[Hashable]] = {}
    for column, owner in zip(zip(*rows, strict=True), owners, strict=False):
        if any(column):
            groups.setdefault(column, set()).add(owner)
    columns, people = list(groups), list(groups.values())
    whole, best = rank(columns), len(set[Hashable]().union(*people))
    for kept in product((False, True), repeat=len(columns)):
        mine = set[Hashable]().union(
            *(some for some, keep in zip(people, kept, strict=True) if keep)
        )
        others = [column for column, keep in zip(columns, kept, strict=True) if not keep]
        if 0 < len(mine) < best and rank(others) < whole:
            best = len(mine)
    return best


def rank(columns: Sequence[Sequence[int]]) -> int:
    rows = [[Fraction(value) for value in column] for column in columns]
    found = 0
    for index in range(len(rows[0]) if rows else 0):
        pivot = next((n for n in range(found, len(rows)) if rows[n][index]), None)
        if pivot is None:
            continue
        rows[found], rows[pivot] = rows[pivot], rows[found]
        for n in range(found + 1, len(rows)):
            factor = rows[n][index] / rows[found][index]
            rows[n] = [a - factor * b for a, b in zip(rows[n], rows[found], strict=True)]
        found += 1
    return found
