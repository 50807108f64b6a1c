"""The count table of a campaign as JSON: rows that name wave, round, labels, question and output.

Of every label, a row has its text, an empty text for *not told*, or null for reports that are
published *without labels*. Its round is null where they are published without that as well.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from noutput.campaign.text import parse_instant
from noutput.collector.store.interface import Counted, Release
from noutput.errors import DocumentError, InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from noutput.collector.cells import CellLayout

__all__ = ["counts_document", "read_counts", "read_releases", "releases_document"]

_LARGEST = (1 << 63) - 1  # what databases hold


def counts_document(counts: Mapping[int, Counted], layout: CellLayout) -> dict[str, Any]:
    """Return what `read_counts` reads."""
    strata, campaign = layout.strata, layout.campaign
    places = layout.places(np.array(sorted(counts), np.int64))
    rounds, combinations = strata.rounds_of(places.strata), strata.combinations_of(places.strata)
    columns = (places.blocks, rounds, combinations, places.outputs)
    rows = []
    for cell, (block, number, combination, output) in zip(
        sorted(counts), zip(*(column.tolist() for column in columns), strict=True), strict=True
    ):
        wave, question = divmod(block, len(campaign.questions))
        of_round = number if number < strata.rounds else None
        labels = layout.labels_of(combination)
        name = campaign.questions[question].name
        rows.append([wave, of_round, *labels, name, output, *counts[cell]])
    return {"columns": _columns(layout), "rows": rows}


def _columns(layout: CellLayout) -> list[str]:
    segments = layout.campaign.segments
    names = [] if segments is None else [name for name, _ in segments.names]
    return ["wave", "round", *names, "question", "output", *Counted._fields]


def read_counts(found: object, layout: CellLayout) -> dict[int, Counted]:
    """Read the rows of a count table; raise DocumentError where it is none."""
    columns = _columns(layout)
    if not isinstance(found, dict) or set(found) != {"columns", "rows"}:
        raise DocumentError("counts", "have the keys ['columns', 'rows']", found)
    if found["columns"] != columns:
        raise DocumentError("counts", f"have the columns {columns}", found["columns"])
    if not isinstance(found["rows"], list):
        raise DocumentError("counts", "have a list of rows", found["rows"])
    counts: dict[int, Counted] = {}
    combinations = {layout.labels_of(each): each for each in range(layout.strata.each)}
    for row in found["rows"]:
        if not isinstance(row, list) or len(row) != len(columns):
            raise DocumentError("counts", f"have rows of {len(columns)} values", row)
        cell, numbers = _cell(row[:-3], layout, combinations), row[-3:]
        if cell is None:
            raise DocumentError("counts", "have rows of what the campaign asks", row)
        if cell in counts:
            raise DocumentError("counts", "have no row twice", row)
        if not all(type(number) is int and 0 <= number <= _LARGEST for number in numbers):
            raise DocumentError("counts", f"be whole numbers from 0 to {_LARGEST}", row)
        counts[cell] = Counted(*numbers)
    _check(counts, layout)
    return counts


def _cell(
    row: Sequence[Any], layout: CellLayout, combinations: Mapping[tuple[str | None, ...], int]
) -> int | None:
    """Return the cell of wave, round, labels, question and output; None where there is none."""
    wave, number, *labels, question, output = row
    strata = layout.strata
    number = strata.rounds if number is None else number
    if not all(type(each) is int and each >= 0 for each in (wave, number, output)):
        return None
    if not all(isinstance(each, str | None) for each in (*labels, question)):
        return None
    combination = combinations.get(tuple(labels))
    last = strata.each - 1  # the only one of reports without a round
    if wave >= len(layout.waves) or combination is None or number > strata.rounds:
        return None
    if number == strata.rounds and (row[1] is not None or strata.rounds == 1 or combination < last):
        return None
    found: int | None = layout.waves[wave].cell(
        question, output, strata.number(number, combination)
    )
    return found


def _check(counts: Mapping[int, Counted], layout: CellLayout) -> None:
    """Refuse counts of which more is published than was counted."""
    places = layout.places(np.fromiter(counts, np.int64, len(counts)))
    own = layout.strata.are_counted(places.strata).tolist()
    outputs = zip(places.blocks.tolist(), places.outputs.tolist(), strict=True)
    moved = Counter[tuple[int, int]]()
    for known, is_counted, output in zip(counts.values(), own, outputs, strict=True):
        if not is_counted and (known.reports or known.moved):
            rule = "have no report that was counted without labels or without a round"
            raise DocumentError("counts", rule, list(known))
        if is_counted and known.fresh < 0:
            raise DocumentError("counts", "have no more published than counted", list(known))
        moved[output] += known.moved if is_counted else -known.released
    if any(moved.values()):
        rule = "have as many reports in rows without labels as were moved there"
        raise DocumentError("counts", rule, sum(moved.values()))


def releases_document(releases: Sequence[Release]) -> list[dict[str, Any]]:
    """Return what `read_releases` reads."""
    return [asdict(each) for each in releases]


def read_releases(
    found: object, counts: Mapping[int, Counted], layout: CellLayout
) -> list[Release]:
    """Read the last release of every block; raise DocumentError where counts are others."""
    if not isinstance(found, list):
        raise DocumentError("releases", "be a list", found)
    releases = [_read_release(each) for each in found]
    wanted = layout.totals({cell: known.released for cell, known in counts.items()})
    if [(each.question, each.reports) for each in releases] != sorted(wanted.items()):
        raise DocumentError("releases", "add up to the published counts", found)
    return releases


def _read_release(found: object) -> Release:
    if not isinstance(found, dict) or set(found) != set(Release.__slots__):
        raise DocumentError("releases", f"have the keys {sorted(Release.__slots__)}", found)
    at = found["at"]
    try:
        parse_instant("at", at)
    except InvalidArgumentError as error:
        raise DocumentError("releases", f"have instants: {error.rule}", at) from None
    numbers = {name: value for name, value in found.items() if name != "at"}
    if not all(type(value) is int and 0 <= value <= _LARGEST for value in numbers.values()):
        raise DocumentError("releases", f"have whole numbers from 0 to {_LARGEST}", found)
    release = Release(at=at, **numbers)
    if not 1 <= release.smallest <= release.last <= release.reports or release.number < 1:
        raise DocumentError("releases", "have from 1 report to all", found)
    return release
