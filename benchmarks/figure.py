"""The growth curves as one figure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib import rc_context
from matplotlib.figure import Figure

from benchmarks.growth import Curve

__all__ = ["write_growth"]

_MARKERS = "os^D"


def write_growth(curves: Sequence[Curve], path: Path) -> None:
    """Draw one panel for each thing that grows, with logarithmic axes."""
    panels: dict[str, list[Curve]] = {}
    for curve in curves:
        panels.setdefault(curve.against, []).append(curve)
    figure = Figure(figsize=(11.0, 6.4), layout="constrained")
    axes = figure.subplots(2, 3).ravel()
    for axis, (against, group) in zip(axes, panels.items(), strict=False):
        for curve, marker in zip(group, _MARKERS, strict=False):
            label = f"{curve.name}: exponent {curve.exponent:.2f}"
            axis.loglog(curve.sizes, curve.seconds, marker=marker, label=label)
        axis.set_xlabel(against)
        axis.set_ylabel("seconds of processor time")
        low, high = axis.get_ylim()
        if high < 30.0 * low:  # a flat curve should look flat
            axis.set_ylim(low / 10.0, high * 10.0)
        axis.grid(alpha=0.3)
        axis.legend(fontsize="small")
    for axis in axes[len(panels) :]:
        axis.set_visible(False)
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "noutput"}):
        figure.savefig(path, metadata={"Date": None})
