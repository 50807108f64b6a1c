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

    from noutput.estimate.distribution import DistributionEstimate

__all__ = ["draw_distributions"]

_BLUE, _ORANGE = "#3b528b", "#d95f02"


def draw_distributions(
    estimates: Mapping[str, DistributionEstimate],
    path: Path,
    truths: Mapping[str, NDArray[np.float64]] | None = None,
) -> None:
    """Draw a row for every column: its histogram, and its cumulative distribution.

    Parameters
    ----------
    estimates : mapping of str to DistributionEstimate
    path : Path
    truths : mapping of str to array, optional
        The values themselves, where they are known.
    """
    figure = new_figure(11.0, 3.9 * len(estimates) + 0.3)
    panels = figure.subplots(len(estimates), 2, squeeze=False)
    for (left, right), (name, estimate) in zip(panels, estimates.items(), strict=True):
        truth = None if truths is None else truths[name]
        _draw_histogram(left, name, estimate, truth)
        _draw_cumulative(right, name, estimate, truth)
    save_figure(figure, path)


def _draw_histogram(
    axes: Axes, name: str, estimate: DistributionEstimate, truth: NDArray[np.float64] | None
) -> None:
    edges, percent = estimate.edges, 100.0 * estimate.probabilities
    axes.stairs(percent, edges, fill=True, color=_BLUE, alpha=0.35, lw=0)
    axes.stairs(percent, edges, color=_BLUE, lw=1.6, label="estimate")
    if truth is not None:
        counts = np.histogram(truth, edges)[0]
        axes.stairs(100.0 * counts / counts.sum(), edges, color=_ORANGE, lw=1.4, label="truth")
    axes.set(xlabel=name, ylabel="share of a bin (%)", xlim=(edges[0], edges[-1]), ylim=(0, None))
    axes.set_title(f"Distribution, {estimate.n_reports:,} reports", fontsize=10)
    if truth is not None:
        axes.legend(frameon=False, fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)


def _draw_cumulative(
    axes: Axes, name: str, estimate: DistributionEstimate, truth: NDArray[np.float64] | None
) -> None:
    edges = estimate.edges
    below, above = (100.0 * np.asarray(end) for end in estimate.interval("cdf"))
    axes.fill_between(edges, below, above, color=_BLUE, alpha=0.25, lw=0, label="95% interval")
    axes.plot(edges, 100.0 * np.asarray(estimate.cdf(edges)), color=_BLUE, lw=1.8)
    if truth is not None:
        shares = np.searchsorted(np.sort(truth), edges, side="right") / truth.size
        axes.plot(edges, 100.0 * shares, color=_ORANGE, lw=1.4)
    _mark_quartiles(axes, estimate)
    axes.set(xlabel=name, ylabel="share at or below (%)", xlim=(edges[0], edges[-1]), ylim=(0, 100))
    axes.set_title("Share of people at or below a value", fontsize=10)
    axes.legend(frameon=False, fontsize=9, loc="lower right")
    axes.spines[["top", "right"]].set_visible(False)


def _mark_quartiles(axes: Axes, estimate: DistributionEstimate) -> None:
    """Mark the quartiles on the curve, with labels on the side that has room."""
    middle = (estimate.bounds.lower + estimate.bounds.upper) / 2.0
    for label, share in QUARTILES.items():
        value = estimate.quantile(share)
        left = value > middle
        axes.plot([value], [100.0 * share], "o", color=_BLUE, ms=5)
        axes.annotate(
            f"{label} {value:.3g}", (value, 100.0 * share), textcoords="offset points",
            xytext=(-12, 6) if left else (12, -12), ha="right" if left else "left",
            fontsize=9, color="0.25",
        )  # fmt: skip
