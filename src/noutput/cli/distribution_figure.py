"""The figure of `noutput estimate --plot` and `noutput demo --plot`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from noutput.cli.figures import new_figure, save_figure
from noutput.estimate.choices import QUARTILES

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from noutput.estimate.summary import Summary

__all__ = ["draw_distributions"]

_BLUE, _ORANGE = "#3b528b", "#d95f02"


def draw_distributions(
    summaries: Mapping[str, Summary],
    path: Path,
    truths: Mapping[str, NDArray[np.float64]] | None = None,
) -> None:
    """Draw a row for every column: its histogram, and its cumulative distribution.

    Parameters
    ----------
    summaries : mapping of str to Summary
    path : Path
    truths : mapping of str to array, optional
        The values themselves, where they are known.
    """
    figure = new_figure(11.0, 3.9 * len(summaries) + 0.3)
    panels = figure.subplots(len(summaries), 2, squeeze=False)
    for (left, right), (name, found) in zip(panels, summaries.items(), strict=True):
        truth = None if truths is None else truths[name]
        _draw_histogram(left, name, found, truth)
        _draw_cumulative(right, name, found, truth)
    notes = sorted({found.warning or found.assumption_text for found in summaries.values()})
    figure.supxlabel("\n".join(notes), fontsize=9, color="0.3")
    save_figure(figure, path)


def _draw_histogram(
    axes: Axes, name: str, found: Summary, truth: NDArray[np.float64] | None
) -> None:
    """Draw as many bars as can be told apart; none where the reports say nothing."""
    shown = found.coarse
    edges = np.array(shown.edges)
    if found.is_told:
        low, share, high = (
            100.0 * np.array(each) for each in (shown.lower, shown.probabilities, shown.upper)
        )
        axes.stairs(share, edges, fill=True, color=_BLUE, alpha=0.15, lw=0)
        if not found.warning:
            axes.stairs(high, edges, baseline=low, fill=True, color=_BLUE, alpha=0.25, lw=0,
                        label=_interval(found))  # fmt: skip
        axes.hlines(share, edges[:-1], edges[1:], color=_BLUE, lw=1.8, label="estimate")
    else:
        axes.text(0.5, 0.5, "The reports cannot tell.", transform=axes.transAxes, ha="center")
    if truth is not None:
        counts = np.histogram(truth, edges)[0]
        axes.stairs(100.0 * counts / counts.sum(), edges, color=_ORANGE, lw=1.4, label="truth")
    axes.set(xlabel=name, ylabel="share of a bar (%)", xlim=(edges[0], edges[-1]), ylim=(0, None))
    axes.set_title(f"Distribution, {found.reports:,} reports", fontsize=10)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(frameon=False, fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)


def _draw_cumulative(
    axes: Axes, name: str, found: Summary, truth: NDArray[np.float64] | None
) -> None:
    estimate = found.distribution
    edges = estimate.edges
    low, high = map(np.asarray, found.cdf_interval(edges))
    if not found.warning:
        axes.fill_between(
            edges, 100.0 * low, 100.0 * high, color=_BLUE, alpha=0.25, lw=0, label=_interval(found)
        )
    shares = np.clip(np.asarray(estimate.cdf(edges)), low, high)
    axes.plot(edges, 100.0 * shares, color=_BLUE, lw=1.8)
    if truth is not None:
        below = np.searchsorted(np.sort(truth), edges, side="right") / truth.size
        axes.plot(edges, 100.0 * below, color=_ORANGE, lw=1.4)
    _mark_quartiles(axes, found)
    axes.set(xlabel=name, ylabel="share at or below (%)", xlim=(edges[0], edges[-1]), ylim=(0, 100))
    axes.set_title("Share of people at or below a value", fontsize=10)
    if not found.warning:
        axes.legend(frameon=False, fontsize=9, loc="lower right")
    axes.spines[["top", "right"]].set_visible(False)


def _interval(found: Summary) -> str:
    return f"{100.0 * found.level:g}% interval"


def _mark_quartiles(axes: Axes, found: Summary) -> None:
    """Mark the quartiles on the curve, with labels on the side that has room."""
    bounds = found.distribution.bounds
    middle = (bounds.lower + bounds.upper) / 2.0
    for label, share in QUARTILES.items():
        value = found.quantiles[share].value
        left = value > middle
        axes.plot([value], [100.0 * share], "o", color=_BLUE, ms=5)
        axes.annotate(
            f"{label} {value:.3g}", (value, 100.0 * share), textcoords="offset points",
            xytext=(-12, 6) if left else (12, -12), ha="right" if left else "left",
            fontsize=9, color="0.25",
        )  # fmt: skip
