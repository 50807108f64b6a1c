"""Values of an Arrow column as numbers of [-1, 1]: the rules for rows, the same in every engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from noutput.errors import InvalidArgumentError
from noutput.frames.packages import pa
from noutput.interval import UNIT, Interval, scale_to_unit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noutput.frames.recipe import Recipe

__all__ = ["Place", "count_refused", "not_numbers", "unit_numbers"]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a batch of rows comes from, for error messages and seeded words.

    Parameters
    ----------
    start : int or None
        The number of the batch's first row, from 0; None where the engine does not know it.
    within : str
        What the rows are counted in, if not the whole frame.
    """

    start: int | None = 0
    within: str = ""

    def name(self, column: str, row: int, size: int) -> str:
        """Name one value of a batch of `size` rows."""
        if self.start is None:
            return f"column {column!r} (in a batch of {size} rows)"
        return f"column {column!r} at row {self.start + row}{self.within}"


def unit_numbers(
    column: str,
    array: pa.Array,
    interval: Interval,
    place: Place,
    *,
    clip: bool,
    skip_missing: bool,
) -> tuple[NDArray[np.float64], NDArray[np.bool_] | None]:
    """Return the values as numbers of [-1, 1], and which are missing (None if none is).

    A missing value (null or NaN) stands as some number of [-1, 1].
    """
    numbers = _floats(column, array)
    missing = np.isnan(numbers)
    any_missing = bool(missing.any())
    if any_missing and not skip_missing:
        row = int(missing.argmax())
        rule = "be a number (skip_missing=True leaves missing values out)"
        raise InvalidArgumentError(place.name(column, row, numbers.size), rule, None)
    if any_missing:
        numbers = np.where(missing, interval.lower, numbers)
    if clip:
        numbers = np.clip(numbers, interval.lower, interval.upper)
    elif numbers.size:
        _check_range(column, numbers, interval, place)
    if interval != UNIT:
        numbers = scale_to_unit(numbers, interval)
    return numbers, missing if any_missing else None


def count_refused(recipe: Recipe, arrays: list[pa.Array]) -> int:
    """Return how many rows of a batch have a value that `unit_numbers` refuses."""
    refused: NDArray[np.bool_] = np.zeros(len(arrays[0]), np.bool_)
    for column, array in zip(recipe.columns, arrays, strict=True):
        numbers, interval = _floats(column, array), recipe.bounds[column]
        if not recipe.skip_missing:
            refused |= np.isnan(numbers)
        if not recipe.clip:
            refused |= _outside(numbers, interval)
    return int(np.count_nonzero(refused))


def not_numbers(column: str, kind: object) -> InvalidArgumentError:
    """Return the error about a column of another type."""
    truth = str(kind).lower().startswith("bool")
    rule = "hold numbers, 0 and 1 for truth values" if truth else "hold numbers"
    return InvalidArgumentError(f"column {column!r}", rule, str(kind))


def _check_range(
    column: str, numbers: NDArray[np.float64], interval: Interval, place: Place
) -> None:
    if interval.lower <= numbers.min() and numbers.max() <= interval.upper:
        return
    row = int(np.argmax(_outside(numbers, interval)))
    rule = f"lie in [{interval.lower}, {interval.upper}] (clip=True moves values to the nearer end)"
    found = float(numbers[row])
    raise InvalidArgumentError(place.name(column, row, numbers.size), rule, found)


def _outside(numbers: NDArray[np.float64], interval: Interval) -> NDArray[np.bool_]:
    return (numbers < interval.lower) | (numbers > interval.upper)


def _floats(column: str, array: pa.Array) -> NDArray[np.float64]:
    """Return any numbers of Arrow as floats, null as NaN; a dictionary is what it holds."""
    types = pa.types
    if types.is_dictionary(array.type):
        array = array.dictionary_decode()
    kind = array.type
    if not (
        types.is_floating(kind)
        or types.is_integer(kind)
        or types.is_decimal(kind)
        or types.is_null(kind)
    ):
        raise not_numbers(column, kind)
    floats = array if types.is_float64(kind) else array.cast("float64", safe=False)
    result: NDArray[np.float64] = floats.to_numpy(zero_copy_only=False)
    return result
