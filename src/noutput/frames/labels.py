"""The recipe as metadata of the engines that have any: Arrow schemas and Spark columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from noutput.frames.recipe import Recipe

__all__ = ["KEY", "label"]

KEY = "noutput"


def label(opened: Any, recipe: Recipe) -> Any:
    """Return the native frame, with the recipe in its metadata where there is a place for it."""
    frame = opened.to_native()
    if opened.implementation.is_pyarrow():
        return frame.replace_schema_metadata({KEY: recipe.to_json()})
    if opened.implementation.is_spark_like():
        for name in recipe.report_names:
            frame = frame.withMetadata(name, {KEY: recipe.to_json()})
    return frame
