"""Summaries as pictures by matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING

from noutput._extras import need

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from noutput.estimate.summary.shown import Shown

__all__ = ["draw"]

_BLUE, _DARK = "#3b528b", "#222222"
_LONGEST_LABEL = 40


def draw(found: Shown, axes: Axes | None) -> Axes:
    """Draw one horizontal bar per answer or bin, with its interval."""
    bars = found.bars
    if axes is None:
        pyplot = need("matplotlib.pyplot", "plot")
        _, axes = pyplot.subplots(figsize=(7.0, 1.3 + 0.32 * len(bars)), layout="constrained")
    places = range(len(bars))
    shares = [100.0 * bar.share for bar in bars]
    axes.barh(places, shares, height=0.7, color=_BLUE, alpha=0.55)
    about = "share of people (%)"
    if not found.warning:
        ends = [100.0 * bar.low for bar in bars], [100.0 * bar.high for bar in bars]
        axes.hlines(places, *ends, color=_DARK, lw=1.4)
        about += f", with {100.0 * found.level:g}% intervals"
    labels = [_short(bar.label) for bar in bars]
    axes.set_yticks(places, labels)
    axes.invert_yaxis()
    axes.set_xlabel(about if not found.warning else f"{about}: NOT RELIABLE, probably forged")
    axes.set_xlim(0.0, None if found.full_scale is None else 100.0 * found.full_scale)
    axes.set_title(found.heading, fontsize=11, loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    return axes


def _short(label: str) -> str:
    label = label.replace("$", r"\$")  # no formula
    return label if len(label) <= _LONGEST_LABEL else label[: _LONGEST_LABEL - 1] + "…"
