"""Counts and published states in exports: JSON, checked when it is read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from noutput.campaign.text import parse_instant
from noutput.collector.store.interface import Published, Release
from noutput.errors import DocumentError, InvalidArgumentError

if TYPE_CHECKING:
    from noutput.collector.cells import CellLayout

__all__ = ["published_document", "read_counts", "read_published"]

_KEYS = {"counts", "releases"}
_CELL = re.compile("0|[1-9][0-9]{0,9}")
_LARGEST = (1 << 63) - 1  # what databases hold


def published_document(found: Published) -> dict[str, Any]:
    """Return what `read_published` reads."""
    return {
        "counts": {str(cell): number for cell, number in sorted(found.counts.items())},
        "releases": [asdict(each) for each in found.releases],
    }


def read_counts(name: str, found: object, layout: CellLayout) -> dict[int, int]:
    """Read the count of every cell; raise DocumentError where it is none."""
    if not isinstance(found, dict):
        raise DocumentError(name, "be a JSON object", found)
    counts: dict[int, int] = {}
    for cell, number in found.items():
        if not (_CELL.fullmatch(cell) and int(cell) < layout.size):
            raise DocumentError(name, f"have cells from 0 to {layout.size - 1}", cell)
        if type(number) is not int or number < 0:
            raise DocumentError(name, "be whole numbers, none negative", number)
        counts[int(cell)] = number
    return counts


def read_published(
    found: object, counts: Mapping[int, int], layout: CellLayout, rest: Mapping[int, int]
) -> Published:
    """Read what was published; raise DocumentError where it does not fit the counts.

    Parameters
    ----------
    found : object
    counts : mapping
        How many reports of each cell were counted.
    layout : CellLayout
    rest : mapping
        How many of them were published without their labels, or without their rounds.
    """
    if not isinstance(found, dict) or set(found) != _KEYS:
        raise DocumentError("published", f"have the keys {sorted(_KEYS)}", found)
    shown = read_counts("published", found["counts"], layout)
    own = dict(zip(shown, layout.are_counted(shown), strict=True))
    for cell in (*(cell for cell in shown if own[cell]), *rest):
        number = shown.get(cell, 0) + rest.get(cell, 0)
        if number > counts.get(cell, 0):
            raise DocumentError("published", "have no more reports than were counted", number)
    elsewhere = {cell: number for cell, number in shown.items() if number and not own[cell]}
    if layout.outputs(elsewhere) != layout.outputs(rest):
        raise DocumentError("rest", "add up to the published counts", sum(rest.values()))
    if not isinstance(found["releases"], list):
        raise DocumentError("releases", "be a list", found["releases"])
    releases = [_read_release(each) for each in found["releases"]]
    wanted = sorted(layout.totals(shown).items())
    if [(each.question, each.reports) for each in releases] != wanted:
        raise DocumentError("releases", "add up to the published counts", found["releases"])
    return Published({cell: number for cell, number in shown.items() if number}, releases)


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
        raise DocumentError("releases", "have steps from 1 report to all", found)
    return release
