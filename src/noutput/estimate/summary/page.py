"""Summaries as HTML for notebooks: a picture as inline SVG, and a small table."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from noutput.estimate.summary.text import columns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from noutput.estimate.summary.figure import Bar
    from noutput.estimate.summary.shown import Shown

__all__ = ["picture", "summary_page"]

_ROW, _BAR = 24, 15
_PLOT, _LETTER, _MOST_LETTERS = 300, 7.2, 34
_COLOR = "#6f8fd6"  # with enough contrast on white and on black
_FONT = "font: 13px system-ui, sans-serif"


def summary_page(found: Shown) -> str:
    """Return a fragment of HTML that needs nothing else: no style sheet and no script."""
    sure = not found.warning
    rows = "".join(
        f"<tr><th scope='row' style='text-align: left; font-weight: normal'>{escape(name)}</th>"
        f"<td style='text-align: right'><b>{escape(value)}</b></td>"
        f"<td style='text-align: left; padding-left: 10px'>"
        f"{escape(f'{low} to {high}' if high else '')}</td></tr>"
        for name, (value, low, high) in found.lines.items()
    )
    table = f"<table style='{_FONT}; margin: 6px 0; color: inherit'>{rows}</table>" if rows else ""
    level = f"{100.0 * found.level:g}% intervals"
    notes = [f"Ranges and thin lines: {level}.", *found.notes] if sure else []
    warning = f"<div style='margin-bottom: 6px'><b>WARNING: {escape(found.warning)}</b></div>"
    return (
        f"<div style='{_FONT}'><div style='margin-bottom: 6px'><b>{escape(found.heading)}</b></div>"
        f"{'' if sure else warning}{picture(found.bars, found.full_scale, intervals=sure)}{table}"
        f"<div style='opacity: 0.75'>{''.join(f'<div>{escape(each)}</div>' for each in notes)}"
        "</div></div>"
    )


def picture(bars: Sequence[Bar], full_scale: float | None = None, *, intervals: bool = True) -> str:
    """Return bars, perhaps with their intervals, as SVG.

    Examples
    --------
    >>> from noutput.estimate.summary.figure import Bar
    >>> picture([Bar("<1 & more", 0.5, 0.4, 0.6)]).count("&lt;1 &amp; more")  # twice, once spoken
    2
    """
    if not bars:
        return ""
    longest = max(columns(bar.label) for bar in bars)
    left = int(_LETTER * min(longest, _MOST_LETTERS)) + 10
    largest = full_scale or max([1e-9, *(max(bar.share, bar.high) for bar in bars)])
    parts = [
        _row(bar, index * _ROW, left, _PLOT / largest, intervals=intervals)
        for index, bar in enumerate(bars)
    ]
    width, height = left + _PLOT + 190, _ROW * len(bars)
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' role='img' width='{width}' height='{height}' "
        f"viewBox='0 0 {width} {height}' style='max-width: 100%; {_FONT}' "
        f"aria-label='{escape(_spoken(bars))}'>{''.join(parts)}</svg>"
    )


def _row(bar: Bar, top: int, left: int, unit: float, *, intervals: bool) -> str:
    middle = top + _ROW // 2
    low, high = left + bar.low * unit, left + bar.high * unit
    label = bar.label
    if columns(label) > _MOST_LETTERS:
        label = label[: _MOST_LETTERS - 1] + "…"
    value, low_text, high_text = bar.texts
    whisker = f"M{low:.1f} {middle - 4}v8M{low:.1f} {middle}H{high:.1f}M{high:.1f} {middle - 4}v8"
    ends = f" <tspan opacity='0.7'>({low_text} to {high_text})</tspan>"
    if not intervals:
        whisker = ends = ""
    return (
        f"<text x='{left - 8}' y='{middle + 4}' text-anchor='end' fill='currentColor'>"
        f"{escape(label)}</text>"
        f"<rect x='{left}' y='{middle - _BAR // 2}' width='{max(bar.share, 0.0) * unit:.1f}' "
        f"height='{_BAR}' rx='2' fill='{_COLOR}'/>"
        f"<path d='{whisker}' stroke='currentColor' fill='none' opacity='0.8'/>"
        f"<text x='{left + _PLOT + 8}' y='{middle + 4}' fill='currentColor'>{value}{ends}"
        "</text>"
    )


def _spoken(bars: Sequence[Bar]) -> str:
    return "; ".join(f"{bar.label}: {bar.texts[0]}" for bar in bars)
