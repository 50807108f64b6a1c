"""From one column an attribute (wide) to one row a report (long)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from noutput._extras import need
from noutput.frames.engines import duckdb
from noutput.frames.reports import ATTRIBUTE, REPORT, report_name

if TYPE_CHECKING:
    from noutput.frames.recipe import Recipe

__all__ = ["to_long", "unpivot"]


def to_long(opened: Any, recipe: Recipe, keep: Sequence[str]) -> Any:
    """Return the long form of wide reports whose columns have their original names."""
    value = report_name(REPORT, recipe.mechanism)
    return unpivot(opened, recipe.columns, keep, value)


def unpivot(opened: Any, on: Sequence[str], keep: Sequence[str], value: str) -> Any:
    """Turn columns of a narwhals frame into rows; rows without a value are left out."""
    nw = need("narwhals", "frames")
    if opened.implementation.is_duckdb():
        relation = duckdb.unpivot(opened.to_native(), on, keep, ATTRIBUTE, value)
        return nw.from_native(relation)
    long = opened.unpivot(on=list(on), index=list(keep), variable_name=ATTRIBUTE, value_name=value)
    return long.filter(~nw.col(value).is_null()).select(*keep, ATTRIBUTE, value)
