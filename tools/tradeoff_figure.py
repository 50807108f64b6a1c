"""The figure of the trade-off between mean and distribution."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tools.draw_tradeoff import Point

__all__ = ["LABELS", "draw"]

LABELS = {
    "pm": "PM",
    "pm-sub": "PM-sub",
    "pm-opt": "PM-opt",
    "hybrid": "Hybrid",
    "square-wave": "Square Wave",
    "duchi": "Duchi",
    "three-output": "Three-output",
    "n-output": "N-output,\nfor the mean",
    "n-output-distribution": "N-output,\nfor the distribution",
    "n-output-balanced": "N-output, balanced",
}
_OURS = {"n-output": "o", "n-output-distribution": "s", "n-output-balanced": "D"}
_DARK, _GRAY, _BLUE = "#1b1f24", "#5c6670", "#0b57a4"
_SETTINGS: dict[Any, Any] = {
    "font.size": 10.0, "axes.spines.top": False, "axes.spines.right": False,
    "svg.fonttype": "none", "svg.hashsalt": "noutput", "axes.axisbelow": True,
}  # fmt: skip
_DPI = 170
_TIMES = "\N{MULTIPLICATION SIGN}"
_TICKS = {0.001: "+0.1%", 0.01: "+1%", 0.1: "+10%", 1.0: "+100%", 10.0: "+1000%", 100.0: "+10000%"}
_LEFT, _RIGHT, _TOP, _BOTTOM = 0.0004, 150.0, 30.0, 0.78
_BELOW, _LEFT_OF = (0.0, -9.0, "center", "top"), (-9.0, 0.0, "right", "center")
# Where a label stands: offset in points and alignment. The others stand to the right.
_PLACES = {
    (1.0, "pm-opt"): (-2.0, 7.0, "right", "bottom"),
    (1.0, "pm-sub"): (7.0, 5.0, "left", "center"),
    (1.0, "square-wave"): _BELOW,
    (1.0, "n-output-balanced"): (-10.0, 5.0, "right", "center"),
    (3.0, "n-output-balanced"): _LEFT_OF,
    (1.0, "n-output-distribution"): (0.0, 9.0, "center", "bottom"),
    (3.0, "n-output-distribution"): (8.0, -10.0, "right", "top"),
    (3.0, "three-output"): _LEFT_OF,
}
_RIGHT_OF = (7.0, 0.0, "left", "center")


def draw(points: Sequence[Point], path: Path) -> None:
    """Write the figure as SVG and PNG, one panel per epsilon."""
    epsilons = sorted({point.epsilon for point in points})
    with rc_context(_SETTINGS):
        figure = Figure(figsize=(11.0, 5.2), layout="constrained")
        panels = figure.subplots(1, len(epsilons), sharey=True)
        for axes, epsilon in zip(panels, epsilons, strict=True):
            _panel(axes, [point for point in points if point.epsilon == epsilon])
        figure.suptitle(
            "What a report tells about the mean and about the distribution (lower left is better)",
            x=0.01,
            ha="left",
            fontsize=12,
        )
        panels[0].set_ylabel("squared error of the CDF\n(1 = the best that any mechanism can do)")
        figure.supxlabel(
            "worst-case variance of the mean above the proven lower bound", fontsize=10
        )
        figure.savefig(path.with_suffix(".png"), dpi=_DPI)
        figure.savefig(path.with_suffix(".svg"), metadata={"Date": None})


def _panel(axes: Axes, points: Sequence[Point]) -> None:
    (best,) = [point for point in points if point.name == "best"]
    limit = [point for point in points if point.name == "limit"]
    slacks = [_LEFT, *(point.slack for point in limit), limit[-1].slack, _RIGHT]
    heights = [limit[0].error, *(point.error for point in limit), best.error, best.error]
    heights = [max(height / best.error, 1.0) for height in heights]
    axes.set(xscale="log", yscale="log", xlim=(_LEFT, _RIGHT), ylim=(_BOTTOM, _TOP))
    axes.fill_between(slacks, _BOTTOM, heights, color="#dfe5ec", linewidth=0)
    axes.plot(slacks, heights, color=_DARK, linewidth=2.2)
    axes.text(0.0006, 0.86, "no unbiased mechanism can be here", color=_DARK, fontsize=9.5)
    axes.set_title(f"ε = {points[0].epsilon:g}", loc="left", fontweight="bold")
    axes.grid(color="#e8e8e8", linewidth=0.7)
    axes.xaxis.set_major_locator(FixedLocator(list(_TICKS)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _place: _TICKS.get(value, "")))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_locator(FixedLocator([1, 2, 3, 5, 10, 20, 50]))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _place: f"{value:g}{_TIMES}"))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.tick_params(labelleft=True)
    for point in points:
        if point.name in LABELS:
            _mark(axes, point, point.error / best.error)


def _mark(axes: Axes, point: Point, height: float) -> None:
    """Draw a point and its label; designs of noutput are filled, others hollow."""
    ours, balanced = point.name in _OURS, point.name == "n-output-balanced"
    outside = height > _TOP
    shown, text = min(height, 0.93 * _TOP), LABELS[point.name]
    axes.plot(
        point.slack,
        shown,
        marker="^" if outside else _OURS.get(point.name, "o"),
        markersize=11 if balanced else 8 if ours else 6,
        color=_BLUE if ours else "white",
        markeredgecolor=_BLUE if ours else _GRAY,
        markeredgewidth=1.4,
        zorder=4 if ours else 3,
    )
    right, up, horizontal, vertical = _PLACES.get((point.epsilon, point.name), _RIGHT_OF)
    axes.annotate(
        f"{text}: {height:.0f}{_TIMES}" if outside else text,
        (point.slack, shown),
        (right, up),
        textcoords="offset points",
        ha=horizontal,
        va=vertical,
        fontsize=10.5 if balanced else 9.5 if ours else 9,
        fontweight="bold" if balanced else "normal",
        color=_BLUE if ours else _GRAY,
    )
