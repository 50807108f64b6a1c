"""The figure of a balanced design or one for distributions: which inputs a report points at."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from noutput.cli.figures import new_figure, save_figure
from noutput.cli.quality import worst_case

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from noutput.designs.result import Design

__all__ = ["draw_windows"]

_BINS = 64
_SHOWN = 7
_COLOR = "#3b528b"


def draw_windows(design: Design, path: Path) -> None:
    """Draw the columns of a table as windows over the input.

    On the left all of them, each relative to its least probability; on the right a few, against
    the largest ratio that epsilon allows.
    """
    mechanism = design.mechanism
    rows = mechanism.transition(_BINS)
    ratios = _ordered(rows / rows.min(axis=0))
    figure = new_figure(11.0, 4.6)
    left, right = figure.subplots(1, 2, width_ratios=[1.1, 1.0])
    _draw_map(left, ratios)
    _draw_columns(right, ratios, mechanism.epsilon)
    balanced = design.objective.name == "balanced"
    use = "means and distributions" if balanced else "distributions"
    facts = f"worst-case variance {worst_case(mechanism)}\n" if balanced else ""
    figure.suptitle(
        f"{mechanism.n_outputs} outputs for {use}, $\\epsilon$ = {mechanism.epsilon:g}, "
        f"{facts}Wasserstein error {design.wasserstein_error:.3g} with 5,000 people"
    )
    save_figure(figure, path)


def _ordered(ratios: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sort the columns by the middles of their windows."""
    excess = ratios - 1.0
    middles = np.arange(len(ratios)) @ excess / np.maximum(excess.sum(axis=0), 1e-12)
    return np.asarray(ratios[:, np.argsort(middles)])


def _draw_map(axes: Axes, ratios: NDArray[np.float64]) -> None:
    size = ratios.shape[1]
    image = axes.imshow(
        ratios.T, origin="lower", aspect="auto", extent=(-1.0, 1.0, -0.5, size - 0.5),
        cmap="viridis", interpolation="nearest", vmin=1.0,
    )  # fmt: skip
    axes.figure.colorbar(image, ax=axes, label="how much likelier than at its least likely input")
    axes.set(xlabel="input x", ylabel="reports, by the middle of their windows")
    axes.set_title("Every report points at some inputs", fontsize=10)


def _draw_columns(axes: Axes, ratios: NDArray[np.float64], epsilon: float) -> None:
    """Draw some columns above each other, each from its least probability to the limit."""
    size = ratios.shape[1]
    edges = np.linspace(-1.0, 1.0, len(ratios) + 1)
    shown = np.unique(np.linspace(0, size - 1, _SHOWN).round().astype(int))
    heights = 0.8 * (ratios - 1.0) / np.expm1(epsilon)
    for place, column in enumerate(shown):
        axes.axhline(place + 0.8, color="0.8", lw=0.6, zorder=0)
        axes.stairs(place + heights[:, column], edges, baseline=place, fill=True, color=_COLOR)
    axes.set(xlabel="input x", xlim=(-1, 1), ylim=(-0.1, len(shown)))
    axes.set_yticks(np.arange(len(shown)), [f"no. {column}" for column in shown])
    axes.set_title("Some of them, between 1 and $e^\\epsilon$ times the least", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
