"""Histograms in the terminal: one bar a line, in plain block characters."""

from __future__ import annotations

import math
import shutil
import sys
from collections.abc import Sequence
from itertools import pairwise

import click

__all__ = ["MARK", "MOST_BARS", "draw_bars", "encodable", "round_edges"]

_PARTS = " ▏▎▍▌▋▊▉"
MARK = "┃"
_FULL = "█"
_PLAIN = str.maketrans("█┃▏▎▍▌▋▊▉", "#|   ####")
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
MOST_BARS = 20
_WIDEST = 100
_NARROWEST_BAR = 8


def round_edges(lower: float, upper: float) -> list[float]:
    """Return ends of at most 20 bins that are easy to say.

    Examples
    --------
    >>> round_edges(0, 180)[:4], len(round_edges(0, 180)) - 1
    ([0.0, 10.0, 20.0, 30.0], 18)
    >>> round_edges(-0.5, 4)[:3]
    [-0.5, -0.25, 0.0]
    """
    width = (upper - lower) / MOST_BARS
    power = 10.0 ** math.floor(math.log10(width))
    step = power * next(s for s in _STEPS if s * power >= width * (1.0 - 1e-9))
    first = math.floor(lower / step) + 1
    inner = [k * step for k in range(first, math.ceil(upper / step))]
    near = 1e-9 * step
    kept = [round(x, 12) for x in inner if lower + near < x < upper - near]
    return [float(lower), *kept, float(upper)]


def draw_bars(
    edges: Sequence[float],
    shares: Sequence[float],
    truth: Sequence[float] | None = None,
    *,
    width: int | None = None,
) -> str:
    """Return one line per bin: its lower end, a bar, the share, and the true share if given.

    Parameters
    ----------
    edges : sequence of n + 1 floats
    shares, truth : sequences of n floats
        The truth is marked on the bars.
    width : int, optional
        Columns to fill; those of the terminal, at most 100, if not given.

    Examples
    --------
    >>> print(draw_bars([0, 10, 20, 30], [0.25, 0.5, 0.25], width=26))
     0 to 10  ████▌      25.0%
    10 to 20  █████████  50.0%
    20 to 30  ████▌      25.0%
    """
    names = _names(edges)
    ends = [f"{share:6.1%}" for share in shares]
    if truth is not None:
        ends = [f"{end}  {share:6.1%}" for end, share in zip(ends, truth, strict=True)]
    room = width or min(shutil.get_terminal_size().columns, _WIDEST)
    size = max(room - len(names[0]) - len(ends[0]) - 3, _NARROWEST_BAR)
    largest = max([*shares, *(truth or ()), 1e-300])
    lines = []
    for i, (name, share, end) in enumerate(zip(names, shares, ends, strict=True)):
        mark = None if truth is None else round(truth[i] / largest * (size - 1))
        lines.append(f"{name}  {_bar(share / largest, size, mark)} {end}")
    if truth is not None:
        heads = f"{'estimate':>8}  {'truth':>6}"
        space = len(names[0]) + size + 3 + len(ends[0]) - len(heads)
        lines.insert(0, " " * space + heads)
    return encodable("\n".join(lines))


def _names(edges: Sequence[float]) -> list[str]:
    texts = [f"{edge:,.10g}" for edge in edges]
    wide = max(len(text) for text in texts)
    return [f"{low:>{wide}} to {high:>{wide}}" for low, high in pairwise(texts)]


def _bar(share: float, size: int, mark: int | None) -> str:
    eighths = round(share * size * 8)
    cells = list(_FULL * (eighths // 8) + (_PARTS[eighths % 8] if eighths % 8 else ""))
    cells += " " * (size - len(cells))
    if mark is None:
        return click.style("".join(cells), fg="cyan")
    left, right = "".join(cells[:mark]), "".join(cells[mark + 1 :])
    middle = click.style(MARK, fg="bright_yellow", bold=True)
    return click.style(left, fg="cyan") + middle + click.style(right, fg="cyan")


def encodable(text: str) -> str:
    """Fall back to plain characters where the output has no others, and to no color in files."""
    if not sys.stdout.isatty():
        text = click.unstyle(text)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        return text.translate(_PLAIN)
    return text
