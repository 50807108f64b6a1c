"""Summaries as text."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from noutput.estimate.summary.figure import Bar
    from noutput.estimate.summary.shown import Shown

__all__ = ["bar_lines", "summary_text"]

_WIDTH = 24  # of the longest bar
_PARTS = "▏▎▍▌▋▊▉"
_LONGEST_LABEL = 40


def summary_text(found: Shown) -> str:
    """Return the heading, the bars, the statistics and the notes."""
    sure = not found.warning
    parts = [found.heading, ""] if sure else [found.heading, "", f"WARNING: {found.warning}", ""]
    if found.bars:
        parts += [*bar_lines(found.bars, found.full_scale, intervals=sure), ""]
    if found.lines:
        width = max(map(columns, found.lines))
        values = _aligned([texts[0] for texts in found.lines.values()], right=True)
        rows = zip(found.lines.items(), values, strict=True)
        for (name, (_, low, high)), value in rows:
            ends = f"  ({low} to {high})" if high else ""
            parts.append(f"{_padded(name, width)}  {value}{ends}")
        parts.append("")
    if sure:
        parts += [f"In brackets: {100.0 * found.level:g}% intervals.", *found.notes]
    return "\n".join(parts).rstrip()


def bar_lines(
    bars: Sequence[Bar], full_scale: float | None = None, *, intervals: bool = True
) -> list[str]:
    """Return one line per bar: its label, the bar, its share and perhaps its interval.

    Examples
    --------
    >>> from noutput.estimate.summary.figure import Bar
    >>> for line in bar_lines([Bar("train", 0.5, 0.45, 0.55), Bar("car", 0.125, 0.1, 0.2)]):
    ...     print(line)
    train  ████████████████████████  50.0%  (45.0% to 55.0%)
    car    ██████                    12.5%  (10.0% to 20.0%)
    """
    largest = full_scale or max([1e-300, *(bar.share for bar in bars)])
    labels = _aligned([_short(bar.label) for bar in bars])
    texts = [bar.texts for bar in bars]
    values, lows, highs = (_aligned([row[i] for row in texts], right=True) for i in range(3))
    rows = zip(labels, bars, values, lows, highs, strict=True)
    return [
        f"{label}  {_bar(bar.share / largest)}  {value}"
        + (f"  ({low} to {high})" if intervals else "")
        for label, bar, value, low, high in rows
    ]


def _bar(share: float) -> str:
    eighths = round(min(max(share, 0.0), 1.0) * _WIDTH * 8)
    cells = "█" * (eighths // 8) + (_PARTS[eighths % 8 - 1] if eighths % 8 else "")
    return cells.ljust(_WIDTH)


def columns(text: str) -> int:
    """Return how many columns of a terminal a text takes.

    Examples
    --------
    >>> columns("café"), columns("電車")
    (4, 4)
    """
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    return len(text) + wide - sum(unicodedata.combining(letter) > 0 for letter in text)


def _short(label: str) -> str:
    while columns(label) > _LONGEST_LABEL:
        label = label.removesuffix("…")[:-1] + "…"
    return label


def _padded(text: str, width: int, *, right: bool = False) -> str:
    space = " " * (width - columns(text))
    return space + text if right else text + space


def _aligned(texts: Sequence[str], *, right: bool = False) -> list[str]:
    width = max(map(columns, texts))
    return [_padded(text, width, right=right) for text in texts]
