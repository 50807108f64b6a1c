"""Estimates of groups as a figure: dots with intervals, the largest first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from noutput.cli.figures import new_figure, save_figure

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from matplotlib.axes import Axes

    from noutput.cli.estimate_groups import FoundGroups

__all__ = ["draw_groups"]

_BLUE, _ORANGE, _GRAY = "#3b528b", "#d95f02", "#777777"
_LONGEST_LABEL = 40
_TALLEST = 40.0  # inches


def draw_groups(found: Sequence[FoundGroups], path: Path) -> None:
    """Draw every group's estimate and its interval, one panel per column."""
    heights = [1.4 + 0.3 * (len(each.means) + (each.rest is not None)) for each in found]
    figure = new_figure(7.5, min(sum(heights), _TALLEST))
    panels = figure.subplots(len(found), 1, squeeze=False, height_ratios=heights)[:, 0]
    for panel, each in zip(panels, found, strict=True):
        _draw(panel, each)
    save_figure(figure, path)


def _draw(axes: Axes, found: FoundGroups) -> None:
    rows = [(text, each, _BLUE) for text, each in found.means.items()]
    if found.rest is not None:
        rows.append((f"all {found.tally.hidden:,} small groups", found.rest, _GRAY))
    for place, (_, each, color) in enumerate(rows):
        low, high = found.interval(each)
        axes.hlines(place, low, high, color=color, lw=2.0)
        axes.plot([min(max(each.value, low), high)], [place], "o", color=color, ms=6)
    labels = [f"{_short(text)}  ({each.n_reports:,})" for text, each, _ in rows]
    axes.set_yticks(range(len(rows)), labels)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.grid(axis="y", color="#e5e5e5", lw=0.8)
    axes.set_axisbelow(True)
    if found.standardized is not None:
        low, high = found.standardized.interval(found.level)
        axes.axvspan(low, high, color=_ORANGE, alpha=0.15, lw=0)
        axes.axvline(found.standardized.value, color=_ORANGE, ls="--", lw=1.3, label="standardized")
        axes.legend(frameon=False, fontsize=9, loc="best")
    axes.set_xlabel(f"{found.statistic}, with {100.0 * found.level:g}% intervals")
    axes.set_title(f"{found.column} by {', '.join(found.tally.by)} (reports)", loc="left")
    axes.spines[["top", "right"]].set_visible(False)


def _short(label: str) -> str:
    label = label.replace("$", r"\$")  # no formula
    return label if len(label) <= _LONGEST_LABEL else label[: _LONGEST_LABEL - 1] + "…"
