"""Figures that the command line draws."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from noutput.errors import InvalidArgumentError, MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from noutput.mechanisms.table import TableMechanism

__all__ = ["draw_mechanism", "draw_variances"]

_EXAMPLE_INPUT = 0.7


def _new_figure(width: float, height: float) -> Figure:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("matplotlib", "plot") from None
    return Figure(figsize=(width, height), layout="constrained")


def _save(figure: Figure, path: Path) -> None:
    try:
        figure.savefig(path, dpi=160)
    except ValueError:
        rule = "end in .png, .svg or .pdf"
        raise InvalidArgumentError("plot", rule, path.name) from None


def draw_mechanism(mechanism: TableMechanism, path: Path) -> None:
    """Draw the probabilities of the reports over x, and those of one input (paper, Figure 1)."""
    figure = _new_figure(10.0, 4.0)
    left, right = figure.subplots(1, 2)
    _draw_probabilities(left, mechanism)
    _draw_example(right, mechanism)
    figure.suptitle(
        f"{mechanism.n_outputs} outputs, $\\epsilon$ = {mechanism.epsilon:g}, "
        f"worst-case variance {mechanism.worst_variance():.4g}"
    )
    _save(figure, path)


def _draw_probabilities(axes: Axes, mechanism: TableMechanism) -> None:
    import matplotlib as mpl

    rows = mechanism.weights / mechanism.scale
    shown = [i for i, value in enumerate(mechanism.outputs) if value > -1e-9]
    colors = mpl.colormaps["viridis"](np.linspace(0.0, 0.85, len(shown)))
    for color, i in zip(colors, shown, strict=True):
        axes.plot(mechanism.knots, rows[:, i], color=color, lw=1.8)
    axes.set(xlabel="input x", ylabel="probability", xlim=(-1, 1), ylim=(0, None))
    axes.set_title("Probability of each report (those below 0 mirror these)", fontsize=10)
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
    """Draw worst-case variances over epsilon, one curve a mechanism (paper, Figure 2)."""
    figure = _new_figure(7.0, 4.5)
    axes = figure.subplots()
    styles = ("-", "--", "-.", ":")
    for i, (label, values) in enumerate(curves.items()):
        axes.plot(epsilons, values, ls=styles[i % len(styles)], lw=1.6, label=label)
    axes.set(xlabel="$\\epsilon$", ylabel="worst-case variance", yscale="log")
    axes.set_title("Largest variance of one report over all inputs (lower is better)", fontsize=10)
    axes.legend(frameon=False, fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    _save(figure, path)
