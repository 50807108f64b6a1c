"""Figures that the command line draws."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from noutput.errors import InvalidArgumentError, MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from noutput.designs.result import Design
    from noutput.mechanisms.table import TableMechanism

__all__ = ["draw_design", "draw_variances", "new_figure", "save_figure"]

_EXAMPLE_INPUT = 0.7


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure, in inches."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("matplotlib", "plot") from None
    return Figure(figsize=(width, height), layout="constrained")


def save_figure(figure: Figure, path: Path) -> None:
    """Save a figure in the format that its name ends in."""
    try:
        figure.savefig(path, dpi=160)
    except ValueError:
        rule = "end in .png, .svg or .pdf"
        raise InvalidArgumentError("plot", rule, path.name) from None


def draw_design(design: Design, path: Path) -> None:
    """Draw a design in three panels.

    The probabilities of the reports over x and those of one input are the paper's Figure 1; the
    third panel shows the design between other privacy losses and the lower bound. A balanced
    design and one for distributions have a figure of their own.
    """
    if design.objective.name in ("balanced", "distribution"):
        from noutput.cli.windows_figure import draw_windows

        draw_windows(design, path)
        return
    mechanism = design.mechanism
    limited = design.lower_bound is not None
    figure = new_figure(15.0 if limited else 10.0, 4.2)
    panels = figure.subplots(1, 3 if limited else 2)
    _draw_probabilities(panels[0], mechanism)
    _draw_example(panels[1], mechanism)
    if limited:
        _draw_limit(panels[2], design)
    figure.suptitle(
        f"{mechanism.n_outputs} outputs, $\\epsilon$ = {mechanism.epsilon:g}, "
        f"{_kind(design)} variance {design.value:.4g}"
    )
    save_figure(figure, path)


def _kind(design: Design) -> str:
    return "worst-case" if design.objective.name == "worst" else design.objective.name


def _draw_limit(axes: Axes, design: Design) -> None:
    """Draw the variance over epsilon for this number of outputs against the lower bound."""
    from noutput.designs import catalog

    size = max(n for n in catalog.SIZES if n <= max(design.mechanism.n_outputs, 2))
    norm = replace(design.objective, prior=None)
    near = [catalog.shipped(e, size, norm) for e in catalog.EPSILONS]
    known = [other for other in near if other is not None]
    epsilons = [other.mechanism.epsilon for other in known]
    axes.plot(epsilons, [other.value for other in known], color="#3b528b", lw=1.8)
    axes.plot(
        epsilons, [other.lower_bound or np.nan for other in known], color="#d95f02", ls="--", lw=1.5
    )
    axes.plot([design.mechanism.epsilon], [design.value], "o", color="#3b528b", ms=7)
    axes.set(yscale="log", xlabel="$\\epsilon$", ylabel=f"{_kind(design)} variance")
    labels = [f"{size} outputs", "lower bound, any number", f"this design (gap {design.gap:.2%})"]
    axes.legend(axes.lines, labels, frameon=False, fontsize=9)
    axes.set_title("How close to what is possible at all", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)


def _draw_probabilities(axes: Axes, mechanism: TableMechanism) -> None:
    import matplotlib as mpl

    rows = mechanism.weights / mechanism.scale
    symmetric = np.array_equal(mechanism.outputs, -mechanism.outputs[::-1])
    lowest = -1e-9 if symmetric else -np.inf
    shown = [i for i, value in enumerate(mechanism.outputs) if value > lowest]
    colors = mpl.colormaps["viridis"](np.linspace(0.0, 0.85, len(shown)))
    for color, i in zip(colors, shown, strict=True):
        axes.plot(mechanism.knots, rows[:, i], color=color, lw=1.8)
    axes.set(xlabel="input x", ylabel="probability", xlim=(-1, 1), ylim=(0, None))
    note = " (those below 0 mirror these)" if symmetric else ""
    axes.set_title(f"Probability of each report{note}", fontsize=10)
    if len(shown) <= 8:
        labels = [f"{mechanism.outputs[i]:.2f}" for i in shown]
        axes.legend(axes.lines, labels, title="stands for", frameon=False, fontsize=8)
    else:
        norm = mpl.colors.Normalize(mechanism.outputs[shown[0]], mechanism.outputs[shown[-1]])
        cmap = mpl.colors.ListedColormap(colors)
        mappable = mpl.cm.ScalarMappable(norm, cmap)
        axes.figure.colorbar(mappable, ax=axes, label="stands for")
    axes.spines[["top", "right"]].set_visible(False)


def _draw_example(axes: Axes, mechanism: TableMechanism) -> None:
    heights = mechanism.probabilities(_EXAMPLE_INPUT)
    axes.vlines(mechanism.outputs, 0.0, heights, color="#3b528b", lw=3)
    axes.plot(mechanism.outputs, heights, "o", color="#3b528b", ms=5)
    axes.axvline(_EXAMPLE_INPUT, color="#d95f02", ls="--", lw=1.2)
    axes.annotate(
        f"x = {_EXAMPLE_INPUT:g}", (_EXAMPLE_INPUT, 0.98), xycoords=("data", "axes fraction"),
        textcoords="offset points", xytext=(4, -8), color="#d95f02", fontsize=9,
    )  # fmt: skip
    axes.set(xlabel="value the report stands for", ylabel="probability", ylim=(0, None))
    axes.set_title(f"Reports of a person with x = {_EXAMPLE_INPUT:g}", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)


def draw_variances(
    epsilons: NDArray[np.float64], curves: Mapping[str, Sequence[float]], path: Path
) -> None:
    """Draw worst-case variances over epsilon, one curve per mechanism (paper, Figure 2)."""
    figure = new_figure(7.0, 4.5)
    axes = figure.subplots()
    styles = ("-", "--", "-.", ":")
    for i, (label, values) in enumerate(curves.items()):
        axes.plot(epsilons, values, ls=styles[i % len(styles)], lw=1.6, label=label)
    axes.set(xlabel="$\\epsilon$", ylabel="worst-case variance", yscale="log")
    axes.set_title("Largest variance of one report over all inputs (lower is better)", fontsize=10)
    axes.legend(frameon=False, fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    save_figure(figure, path)
