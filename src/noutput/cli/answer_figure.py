"""Shares of answers, or of the bins of a number, as a figure: one panel per question."""

from __future__ import annotations

from typing import TYPE_CHECKING

from noutput.cli.figures import new_figure, save_figure

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from noutput.estimate.summary import AnswerSummary, Summary

__all__ = ["draw_answers"]


def draw_answers(found: Mapping[str, AnswerSummary | Summary], path: Path) -> None:
    """Draw every answer's share and its interval, one panel per question."""
    heights = [1.3 + 0.32 * len(summary.bars) for summary in found.values()]
    figure = new_figure(7.0, sum(heights))
    panels = figure.subplots(len(found), 1, squeeze=False, height_ratios=heights)[:, 0]
    for panel, (name, summary) in zip(panels, found.items(), strict=True):
        summary.plot(panel)
        panel.set_title(f"{name}: {summary.reports:,} reports", loc="left")
    save_figure(figure, path)
