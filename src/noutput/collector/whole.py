"""Whole rounds: those whose published reports stand for everybody who answered in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from datetime import datetime

    from noutput.collector.cells import CellLayout
    from noutput.collector.store.directory import KnownCampaign
    from noutput.collector.store.interface import Published
    from noutput.collector.strata import Longs, Selection

__all__ = ["ENOUGH", "left_out", "partial_rounds", "whole_counts"]

ENOUGH: Final = 0.9  # of a round's reports on a question


def partial_rounds(
    entry: KnownCampaign, shown: Published, question: int, now: datetime
) -> frozenset[int]:
    """Return the rounds that have no estimate of everybody on a question.

    Where a campaign has labels and rounds, reports of small combinations are published with their
    labels and without their round in two of five rounds (`noutput.collector.publishing`). What is
    published of such a round are the large combinations, which are not everybody. A round is
    whole if at least nine tenths of its reports are published with it. While it is open, nobody is
    to know that, and it is taken to be as the last round of its kind that is over.

    Notes
    -----
    How many reports a round has that is over does not change any more, so what is said here
    changes with releases, or when a round begins or is over.
    """
    strata = entry.layout.strata
    if strata.segments is None or not strata.is_pooled:
        return frozenset()
    over = strata.rounds if entry.closed is not None else entry.rounds_over(now)
    own, rests = _by_round(entry.layout, shown.counts, question)
    left, _ = _by_round(entry.layout, shown.left, question)
    missing = (left - rests)[:over]  # published elsewhere, or not at all
    lost = missing > (1.0 - ENOUGH) * (own + left)[:over]
    kept = [number for number in range(strata.rounds) if strata.keeps_labels(number)]
    last = [bool(lost[number]) for number in kept if number < over][-1:]
    waiting = [] if last == [False] else [number for number in kept if number >= over]
    return frozenset([*np.flatnonzero(lost).tolist(), *waiting])


def whole_counts(
    entry: KnownCampaign, shown: Published, selection: Selection, question: int, now: datetime
) -> dict[int, int]:
    """Return what is published, without partial rounds where it is about everybody in some."""
    if selection.rounds is None or selection.labels:
        return shown.counts
    partial = partial_rounds(entry, shown, question, now)
    if not partial:
        return shown.counts
    found: dict[int, int] = {}
    for number, counts in entry.layout.by_round(shown.counts).items():
        if number not in partial:
            found |= counts
    return found


def left_out(
    entry: KnownCampaign, shown: Published, selection: Selection, now: datetime
) -> list[int]:
    """Return the rounds of a selection that `whole_counts` leaves out, for any question.

    Of those that have not begun there is nothing to leave out.
    """
    if selection.rounds is None or selection.labels:
        return []
    begun = range(selection.rounds[0], min(selection.rounds[1] + 1, entry.rounds_begun(now)))
    questions = range(len(entry.campaign.questions))
    found = frozenset[int]().union(
        *(partial_rounds(entry, shown, question, now) for question in questions)
    )
    return sorted(found.intersection(begun))


def _by_round(layout: CellLayout, counts: dict[int, int], question: int) -> tuple[Longs, Longs]:
    """Return how many reports of each round are in combinations, and how many in its rest."""
    strata = layout.strata
    numbers = np.fromiter(counts.values(), np.int64, len(counts))
    places = layout.places(np.fromiter(counts, np.int64, len(counts)))
    numbers = numbers * (places.blocks % len(layout.campaign.questions) == question)
    in_rest = strata.combinations_of(places.strata) == strata.combinations
    found = np.zeros((2, strata.rounds + strata.is_pooled), np.int64)
    np.add.at(found, (in_rest.astype(np.int64), strata.rounds_of(places.strata)), numbers)
    return found[0], found[1]
