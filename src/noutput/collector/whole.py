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

__all__ = ["ENOUGH", "partial_rounds", "whole_counts"]

ENOUGH: Final = 0.9  # of a round's reports on a question


def partial_rounds(
    entry: KnownCampaign, shown: Published, question: int, now: datetime
) -> frozenset[int]:
    """Return the rounds that have no estimate of everybody on a question.

    Where a round has too few reports of small groups, what is published of it are the large groups,
    and those are not everybody. A round is whole if nine tenths of its reports are published with
    it. While it is open, nobody is to know that: it is taken to be as the last one that is over.
    """
    strata = entry.layout.strata
    if strata.segments is None or strata.rounds == 1:
        return frozenset()
    over = strata.rounds if entry.closed is not None else entry.rounds_over(now)
    published = _by_round(entry.layout, shown.counts, question)[:over]
    counted = _by_round(entry.layout, shown.reports, question)[:over]
    partial = published < ENOUGH * counted
    later = range(over, strata.rounds) if over and partial[-1] else ()
    return frozenset([*np.flatnonzero(partial).tolist(), *later])


def whole_counts(
    entry: KnownCampaign, shown: Published, selection: Selection, question: int, now: datetime
) -> dict[int, int]:
    """Return what is published, without partial rounds where it is about everybody in some."""
    if selection.rounds is None or selection.labels:
        return shown.counts
    partial = partial_rounds(entry, shown, question, now)
    rounds = entry.layout.by_round(shown.counts) if partial else {0: shown.counts}
    kept = [counts for number, counts in rounds.items() if not partial or number not in partial]
    return {cell: count for counts in kept for cell, count in counts.items()}


def _by_round(layout: CellLayout, counts: dict[int, int], question: int) -> Longs:
    """Return how many reports on a question every round has, and the last entry those without."""
    places = layout.places(np.fromiter(counts, np.int64, len(counts)))
    mine = places.blocks % len(layout.campaign.questions) == question
    sums = np.zeros(layout.strata.rounds + 1, np.int64)
    numbers = np.fromiter(counts.values(), np.int64, len(counts))
    np.add.at(sums, layout.strata.rounds_of(places.strata), numbers * mine)
    return sums
