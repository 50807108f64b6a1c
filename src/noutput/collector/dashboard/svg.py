"""Parts of SVG that all pictures share."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from noutput.collector.dashboard.labels import shorten

__all__ = ["ACCENT", "LINE", "MUTED", "TEXT", "document", "put_text", "rectangle"]

ACCENT, TEXT, MUTED, LINE = "#2a5bd7", "#1b1f24", "#59616b", "#e3e5e8"
_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif"
_MARGIN = 16


def document(
    width: int, height: int, parts: Iterable[str], *, heading: str = "", label: str = ""
) -> str:
    """Return a picture; one with a heading stands on its own, with a size and a background."""
    shape, paper = f'viewBox="0 0 {width} {height}"', ""
    if heading:
        shape += f' width="{width}" height="{height}"'
        paper = f'<rect width="{width}" height="{height}" fill="#ffffff"/>'
        paper += put_text(_MARGIN, 24, shorten(heading, width // 8), "start", "strong")
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" class="chart" role="img" '
        f'aria-label="{escape(label or heading)}" {shape} font-family="{_FONT}" font-size="13">'
        f"{paper}{''.join(parts)}</svg>"
    )


def put_text(x: float, y: float, words: str, anchor: str = "middle", kind: str = "muted") -> str:
    """Return a text; a strong one stands out."""
    color = TEXT if kind == "strong" else MUTED
    weight = ' font-weight="600"' if kind == "strong" else ""
    return (
        f'<text class="chart-{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" '
        f'fill="{color}"{weight}>{escape(words)}</text>'
    )


def rectangle(
    kind: str, x: float, y: float, width: float, height: float, opacity: float
) -> str:  # fmt: skip
    """Return a rectangle in the accent's color."""
    return (
        f'<rect class="chart-{kind}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" '
        f'height="{height:.1f}" fill="{ACCENT}" fill-opacity="{opacity}"/>'
    )
