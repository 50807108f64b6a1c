"""Lazy Polars frames: a streamed node of the plan, run in batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from noutput.frames.drawing import draw_reports
from noutput.frames.packages import pl
from noutput.frames.values import Place

if TYPE_CHECKING:
    from noutput.frames.recipe import Recipe

__all__ = ["privatize"]

_ROW = "__noutput_row"


def privatize(
    frame: pl.LazyFrame, recipe: Recipe, names: Sequence[str], keep: Sequence[str], seed: int | None
) -> pl.LazyFrame:
    """Privatize a polars.LazyFrame."""
    wanted = frame.select(*recipe.columns, *keep)
    if seed is not None:
        wanted = wanted.with_row_index(_ROW)
    schema = wanted.collect_schema()

    def draw(batch: pl.DataFrame) -> pl.DataFrame:
        first = None
        if seed is not None:
            first = int(batch[_ROW][0]) if len(batch) else 0
        arrays = [batch[column].to_arrow() for column in recipe.columns]
        reports = draw_reports(recipe, arrays, Place(first), seed)
        series = {name: pl.from_arrow(array) for name, array in zip(names, reports, strict=True)}
        return pl.DataFrame({**batch.select(*keep).to_dict(), **series})

    result = {name: schema[name] for name in keep} | dict.fromkeys(names, pl.Int32)
    return wanted.map_batches(draw, schema=result, streamable=True)
