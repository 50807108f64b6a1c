"""Frames in memory: pandas, Polars and PyArrow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from noutput.frames.drawing import draw_columns
from noutput.frames.packages import nw, pa, pd, pl
from noutput.frames.values import wrong_kind

if TYPE_CHECKING:
    from noutput.frames.recipe import Recipe

__all__ = ["privatize"]

_Reports: TypeAlias = "dict[str, pa.ChunkedArray]"


def privatize(
    frame: Any, recipe: Recipe, names: Sequence[str], keep: Sequence[str], seed: int | None
) -> Any:
    """Privatize a frame that narwhals calls eager."""
    eager = nw.from_native(frame, eager_only=True)
    arrays = []
    for column in recipe.columns:
        try:
            arrays.append(eager.get_column(column).to_arrow())
        except pa.lib.ArrowException:
            raise wrong_kind(column, eager.schema[column], recipe.by_column[column]) from None
    reports = draw_columns(recipe, pa.table(arrays, list(recipe.columns)), seed)
    add = _ADDERS[eager.implementation.name]
    return add(
        eager.select(*keep).to_native(), frame, recipe, dict(zip(names, reports, strict=True))
    )


def _to_arrow(kept: pa.Table, _: Any, __: Recipe, reports: _Reports) -> pa.Table:
    return pa.table([*kept.columns, *reports.values()], [*kept.column_names, *reports])


def _to_polars(kept: pl.DataFrame, _: Any, __: Recipe, reports: _Reports) -> pl.DataFrame:
    series = {name: pl.from_arrow(array) for name, array in reports.items()}
    return pl.DataFrame({**kept.to_dict(), **series})


def _to_pandas(
    kept: pd.DataFrame, frame: pd.DataFrame, recipe: Recipe, reports: _Reports
) -> pd.DataFrame:
    result = frame[list(kept.columns)].reset_index(drop=True)
    result.attrs = {}
    for name, array in reports.items():
        values = array.combine_chunks()
        if recipe.has_gaps:
            dense = values.fill_null(0).to_numpy()
            gaps = values.is_null().to_numpy(zero_copy_only=False)
            result[name] = pd.arrays.IntegerArray(dense.copy(), gaps.copy())
        else:
            result[name] = values.to_numpy()
    return result


_ADDERS = {"PYARROW": _to_arrow, "POLARS": _to_polars, "PANDAS": _to_pandas}
