"""Draws the figures from tidy rows, as PNG and SVG; the same rows give the same SVG."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from noutput._extras import need
from noutput.evaluation.datasets import LABELS
from noutput.evaluation.results import BINNED, BOUND, RAW, Results, Row
from noutput.evaluation.scenarios import CONTENDERS
from noutput.evaluation.style import BOUND_STYLE, style_of
from noutput.evaluation.tables import EXAMPLE_INPUT, example

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Drawing", "draw", "paper_rows"]

_SIZES = {
    "font.size": 9.0, "axes.titlesize": 10.0, "axes.labelsize": 9.5, "legend.fontsize": 8.5,
    "xtick.labelsize": 8.5, "ytick.labelsize": 8.5, "axes.spines.top": False,
    "axes.spines.right": False, "axes.grid": True, "axes.axisbelow": True,
    "grid.color": "#e4e4e4", "grid.linewidth": 0.6, "svg.hashsalt": "noutput",
}  # fmt: skip
_DPI = 170
_COLUMNS = 5  # of a legend


@dataclass(frozen=True, slots=True)
class Drawing:
    """A drawn figure.

    Parameters
    ----------
    name : str
        Of the files, without ending.
    figure : str
        The figure of the paper that it belongs to.
    caption : str
    """

    name: str
    figure: str
    caption: str


def draw(found: Results, folder: Path) -> list[Drawing]:
    """Draw every figure that there are rows for."""
    drawn = []
    with _context():
        for drawing, maker in _DRAWINGS:
            if drawing.figure in found.scenario.figures:
                _save(maker(found), folder / drawing.name)
                drawn.append(drawing)
    return drawn


def _context() -> AbstractContextManager[Any]:
    context: AbstractContextManager[Any] = need("matplotlib", "evaluation").rc_context(_SIZES)
    return context


def _save(figure: Figure, path: Path) -> None:
    figure.savefig(path.with_suffix(".png"), dpi=_DPI)
    figure.savefig(path.with_suffix(".svg"), metadata={"Date": None})


def _figure(width: float, height: float) -> Figure:
    figure: Figure = need("matplotlib.figure", "evaluation").Figure(
        figsize=(width, height), layout="constrained"
    )
    return figure


def _lines(rows: Iterable[Row]) -> dict[tuple[str, str], list[Row]]:
    """Group rows into lines, in the order of the rows."""
    lines: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        lines.setdefault((row.mechanism, row.estimator), []).append(row)
    return lines


def _label(mechanism: str, estimator: str) -> str:
    return CONTENDERS[mechanism].label + (" (EMS)" if estimator == "ems" else "")


def _plot(
    axes: Axes, rows: Iterable[Row], value: Callable[[Row], float] = lambda row: row.value
) -> None:
    for (mechanism, estimator), line in _lines(rows).items():
        axes.plot(
            [row.epsilon for row in line],
            [value(row) for row in line],
            label=_label(mechanism, estimator),
            **style_of(mechanism, estimator).options(),
        )


def _log_scale(axes: Axes) -> None:
    """Use a logarithmic scale with plain numbers at 1, 2 and 5."""
    ticker = need("matplotlib.ticker", "evaluation")
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(ticker.LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _place: f"{value:g}"))
    axes.yaxis.set_minor_formatter(ticker.NullFormatter())


def _legend(figure: Figure, axes: Axes) -> None:
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside upper center", ncols=min(_COLUMNS, len(labels)),
        frameon=False, handlelength=2.6, columnspacing=1.4,
    )  # fmt: skip


def _example(_found: Results) -> Figure:
    mechanism = example()
    figure = _figure(8.5, 3.4)
    left, right = figure.subplots(1, 2)
    rows = mechanism.weights / mechanism.scale
    colors = ("#0072B2", "#D55E00", "#009E73")
    shown = [i for i, output in enumerate(mechanism.outputs) if output > -1e-9]
    for color, i in zip(colors, shown, strict=True):
        left.plot(mechanism.knots, rows[:, i], color=color, linewidth=2.0)
        left.annotate(
            f"{mechanism.outputs[i]:.3f}", (1.0, rows[-1, i]), xytext=(5, 0), color=color,
            textcoords="offset points", va="center", annotation_clip=False,
        )  # fmt: skip
    left.set(xlabel="input x", ylabel="probability", xlim=(-1, 1), ylim=(0, None))
    left.set_title("Probability of the outputs 0, $a_1$ and $a_2$")
    heights = mechanism.probabilities(EXAMPLE_INPUT)
    right.bar(mechanism.outputs, heights, width=0.18, color="#0072B2")
    for output, height in zip(mechanism.outputs, heights, strict=True):
        right.annotate(
            f"{height:.3f}", (output, height), xytext=(0, 2), textcoords="offset points",
            ha="center", fontsize=8,
        )  # fmt: skip
    right.axvline(EXAMPLE_INPUT, color="#D55E00", linestyle="--", linewidth=1.2)
    right.annotate(
        f"x = {EXAMPLE_INPUT}", (EXAMPLE_INPUT, 0.96), xycoords=("data", "axes fraction"),
        xytext=(-4, 0), textcoords="offset points", color="#D55E00", va="top", ha="right",
    )  # fmt: skip
    right.set(xlabel="value of the output", ylabel="probability")
    right.set_title(f"Outputs for x = {EXAMPLE_INPUT}")
    return figure


def _worst_case_variance(found: Results) -> Figure:
    rows = found.of("worst-case-variance")
    bounds = {row.epsilon: row.value for row in rows if row.mechanism == BOUND}
    rows = [row for row in rows if row.mechanism != BOUND]
    figure = _figure(8.5, 4.6)
    left, right = figure.subplots(1, 2)
    _plot(left, rows)
    left.plot(
        list(bounds), list(bounds.values()), label="lower bound, any mechanism", **BOUND_STYLE
    )
    _log_scale(left)
    left.set(xlabel=r"$\epsilon$", ylabel="worst-case variance of a report")
    _plot(right, rows, lambda row: row.value / bounds[row.epsilon])
    right.axhline(1.0, **BOUND_STYLE)
    right.set(xlabel=r"$\epsilon$", ylabel="variance / lower bound", ylim=(0.95, 2.0))
    _legend(figure, left)
    return figure


def _worst_case_rmse(found: Results) -> Figure:
    rows = found.of("worst-case-rmse")
    figure = _figure(8.5, 4.6)
    left, right = figure.subplots(1, 2)
    _plot(left, rows)
    _log_scale(left)
    left.set(xlabel=r"$\epsilon$", ylabel="RMSE of the mean of 10,000 reports")
    for (mechanism, estimator), line in _lines(rows).items():
        options = {**style_of(mechanism, estimator).options(), "linestyle": "none"}
        right.plot([r.epsilon for r in line], [r.deviation for r in line], **options)
    for limit in (-3.0, 3.0):
        right.axhline(limit, color="black", linewidth=0.8, linestyle="--")
    right.set(xlabel=r"$\epsilon$", ylabel="(measured - theory) / standard error", ylim=(-5, 5))
    _legend(figure, left)
    return figure


def _panels(
    found: Results,
    rows: list[Row],
    ylabel: str,
    value: Callable[[Row], float] = lambda row: row.value,
    *,
    logarithmic: bool = True,
) -> Figure:
    """Draw one panel per dataset, under one legend."""
    names = found.scenario.datasets
    columns = min(2, len(names))
    lines = -(-len(names) // columns)
    figure = _figure(8.5, 0.9 + 3.0 * lines)
    panels = np.atleast_1d(np.asarray(figure.subplots(lines, columns, sharex=True))).reshape(-1)
    for axes, name in zip(panels, names, strict=False):
        _plot(axes, [row for row in rows if row.dataset == name], value)
        axes.set_title(LABELS.get(name, name))
        if logarithmic:
            _log_scale(axes)
    for axes in panels[len(names) :]:
        axes.set_visible(False)
    for axes in panels[-columns:]:
        axes.set_xlabel(r"$\epsilon$")
    for axes in panels[::columns]:
        axes.set_ylabel(ylabel)
    _legend(figure, panels[0])
    return figure


def _mean(found: Results) -> Figure:
    return _panels(found, found.of("mean"), "RMSE of the mean")


def _mean_ratio(found: Results) -> Figure:
    """Draw predicted errors relative to those of the paper's worst-case design."""
    rows = found.of("mean")
    reference = {
        (row.dataset, row.epsilon): row for row in rows if row.mechanism == "numerical-worst"
    }
    if not reference:
        return _mean(found)
    figure = _panels(
        found,
        rows,
        "predicted RMSE / N-output (worst)",
        lambda row: row.predicted / reference[row.dataset, row.epsilon].predicted,
        logarithmic=False,
    )
    for axes in figure.axes:
        axes.set_ylim(0.92, 1.4)
    return figure


def paper_rows(rows: Iterable[Row]) -> list[Row]:
    """Return the rows of the paper's panels: EM, and the oracles with their own estimator."""
    wanted = {"direct-encoding": ("shares",), "oue": ("shares",), "square-wave": ("em", "ems")}
    return [row for row in rows if row.estimator in wanted.get(row.mechanism, ("em",))]


def _distribution(found: Results) -> Figure:
    return _panels(found, paper_rows(found.of("distribution")), "Wasserstein distance")


def _distribution_gp(found: Results) -> Figure:
    return _panels(found, found.of("distribution", estimator="gp"), "Wasserstein distance")


def _variance(found: Results) -> Figure:
    rows = paper_rows(found.of("variance", truth=BINNED))
    return _panels(found, rows, "RMSE of the variance")


def _variance_values(found: Results) -> Figure:
    rows = paper_rows(found.of("variance", truth=RAW))
    return _panels(found, rows, "RMSE of the variance")


def _variance_gp(found: Results) -> Figure:
    rows = found.of("variance", estimator="gp", truth=BINNED)
    return _panels(found, rows, "RMSE of the variance")


_DRAWINGS: tuple[tuple[Drawing, Callable[[Results], Figure]], ...] = (
    (
        Drawing(
            "example",
            "example",
            "The numerical design with 5 outputs at epsilon = 1; the outputs below 0 mirror those "
            "above.",
        ),
        _example,
    ),
    (
        Drawing(
            "worst-case-variance",
            "worst-case-variance",
            "Left: the largest variance of one report over all inputs. Right: the same, divided by "
            "what no unbiased mechanism can beat.",
        ),
        _worst_case_variance,
    ),
    (
        Drawing(
            "worst-case-rmse",
            "worst-case-rmse",
            "Left: the measured error of the mean when everybody has the least favorable number. "
            "Right: how far it is from theory; dashed lines at 3 standard errors.",
        ),
        _worst_case_rmse,
    ),
    (
        Drawing("mean", "mean", "The measured error of the mean, over attributes and runs."),
        _mean,
    ),
    (
        Drawing(
            "mean-ratio",
            "mean",
            "The predicted error of the mean, relative to the paper's worst-case design: who is "
            "better on which data, without noise. Below 1 is better.",
        ),
        _mean_ratio,
    ),
    (
        Drawing(
            "distribution",
            "distribution",
            "The Wasserstein distance between the estimated and the true distribution with the "
            "paper's EM (direct encoding and OUE: their own estimates).",
        ),
        _distribution,
    ),
    (
        Drawing("distribution-gp", "distribution", "The same reports, estimated by gp."),
        _distribution_gp,
    ),
    (
        Drawing(
            "variance",
            "variance",
            "The error of the variance with the paper's EM (direct encoding and OUE: their own "
            "estimates), against the variance of the true histogram.",
        ),
        _variance,
    ),
    (
        Drawing(
            "variance-values",
            "variance",
            "The same estimates, against the variance of the numbers themselves.",
        ),
        _variance_values,
    ),
    (
        Drawing(
            "variance-gp",
            "variance",
            "The same reports, estimated by gp, against the variance of the true histogram.",
        ),
        _variance_gp,
    ),
)
