"""Label placement: where the names of the quartiles stand, clear of each other and of all lines."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import combinations, product
from typing import TYPE_CHECKING, Literal, TypeAlias

from noutput.estimate.summary.text import columns

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Label", "columns", "place_labels", "shorten"]

Anchor: TypeAlias = Literal["start", "middle", "end"]

_SHIFTS = {"start": 6.0, "middle": 0.0, "end": -6.0}  # from a line to the label beside it
_CLEAR = 3.0  # between a label and whatever it must not touch
_ROWS = (0, 1, 2)
_SIDES: tuple[tuple[Anchor, ...], ...] = (
    ("end", "start"), ("middle", "start", "end"), ("start", "end"),
)  # fmt: skip
_USUAL = (1, 0, 1)


@dataclass(frozen=True, slots=True)
class Label:
    """Where a label stands.

    Parameters
    ----------
    line : float
        The place of its vertical line, which begins at the label's row (below it where the
        label stands above the line) and goes down through all further rows.
    width : float
    row : int
        Counted from the top.
    anchor : str
        "start" for a label to the right of its line, "end" to the left, "middle" above.
    """

    line: float
    width: float
    row: int
    anchor: Anchor

    @property
    def x(self) -> float:
        """Where the anchor of the text is."""
        return self.line + _SHIFTS[self.anchor]

    @property
    def span(self) -> tuple[float, float]:
        """Between which ends the text stands."""
        start = self.x - self.width * {"start": 0.0, "middle": 0.5, "end": 1.0}[self.anchor]
        return start, start + self.width

    def is_within(self, room: tuple[float, float]) -> bool:
        """Say whether the text stands between two ends."""
        return room[0] <= self.span[0] and self.span[1] <= room[1]

    def touches(self, other: Label) -> bool:
        """Say whether this label stands on another, or on the line of another."""
        low, high = self.span[0] - _CLEAR, self.span[1] + _CLEAR
        beside = other.row == self.row and other.anchor != "middle"
        crossed = (other.row < self.row or beside) and low < other.line < high
        start, end = other.span
        return crossed or (other.row == self.row and start < high and low < end)


def place_labels(
    lines: Sequence[float], widths: Sequence[float], room: tuple[float, float]
) -> list[Label | None]:
    """Place the labels of three vertical lines in rows above a picture.

    Parameters
    ----------
    lines, widths : sequence of float
        Of the three labels, from left to right.
    room : tuple of float
        Between which ends labels may stand.

    Returns
    -------
    list of Label or None
        The first arrangement in which no label touches another, the line of another, or an end:
        in the usual rows and on the usual sides if possible. Where there is none, only the line
        in the middle has a label, and none if that has no room either.

    Examples
    --------
    >>> for each in place_labels([100, 200, 300], [60, 80, 60], (0, 400)):
    ...     print(each.row, each.anchor, each.span)
    1 end (34.0, 94.0)
    0 middle (160.0, 240.0)
    1 start (306.0, 366.0)
    """
    for anchors, rows in _arrangements():
        found = [Label(*each) for each in zip(lines, widths, rows, anchors, strict=True)]
        if all(each.is_within(room) for each in found) and not any(
            a.touches(b) or b.touches(a) for a, b in combinations(found, 2)
        ):
            return [*found]
    alone = (Label(lines[1], widths[1], 0, anchor) for anchor in _SIDES[1])
    return [None, next((each for each in alone if each.is_within(room)), None), None]


def shorten(text: str, letters: int) -> str:
    """Return a text that takes no more room than so many letters.

    Examples
    --------
    >>> shorten("How long was your way?", 9)
    'How long…'
    """
    if columns(text) <= letters:
        return text
    while columns(text) > letters - 1:
        text = text[:-1]
    return text.rstrip() + "…"


@cache
def _arrangements() -> list[tuple[tuple[Anchor, ...], tuple[int, ...]]]:
    """Return every way to choose sides and rows, the best first."""

    def cost(found: tuple[tuple[Anchor, ...], tuple[int, ...]]) -> tuple[int, ...]:
        anchors, rows = found
        moved = sum(anchor != side[0] for anchor, side in zip(anchors, _SIDES, strict=True))
        steps = (
            rows[0] == rows[1] or rows[1] == rows[2] or (rows[0] < rows[1]) != (rows[1] < rows[2])
        )
        return moved if rows == _USUAL else moved + 1, max(rows), steps, rows[1]

    return sorted(product(product(*_SIDES), product(_ROWS, repeat=3)), key=cost)
