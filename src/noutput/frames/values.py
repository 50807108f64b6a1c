"""Values of an Arrow column as a mechanism takes them, by rules that all engines share.

Numbers become numbers between the knots of their table, and answers their places.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from noutput.encoding import MISSING, NO_ANSWER, find_places, place_of_other
from noutput.errors import InvalidArgumentError
from noutput.frames.packages import pa
from noutput.interval import Interval, scale_to_unit
from noutput.questions import Answers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noutput.frames.recipe import Recipe
    from noutput.mechanisms.table import TableMechanism
    from noutput.questions import Question

__all__ = ["Place", "count_refused", "encode_column", "wrong_kind"]


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


def encode_column(
    recipe: Recipe, column: str, array: pa.Array, place: Place
) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """Return what the mechanism takes, and which values are missing (None if none is).

    A missing value (null or NaN) stands as some number or some answer.
    """
    question = recipe.by_column[column]
    if isinstance(question, Answers):
        return _answer_places(recipe, column, array, question, place)
    return _unit_numbers(recipe, column, array, place)


def _answer_places(
    recipe: Recipe, column: str, array: pa.Array, question: Answers, place: Place
) -> tuple[NDArray[np.int64], NDArray[np.bool_] | None]:
    places = _places(column, array, question)
    missing = places == MISSING
    if missing.any() and not recipe.skip_missing:
        raise _is_missing("an answer", place.name(column, int(missing.argmax()), places.size))
    unknown = places == NO_ANSWER
    if unknown.any():
        rest = place_of_other(question, recipe.other)
        if rest is None:
            row = int(unknown.argmax())
            rule = f"be one of {list(question.labels)} (other=... counts all else as one of them)"
            found = array[row].as_py()
            raise InvalidArgumentError(place.name(column, row, places.size), rule, found)
        places[unknown] = rest
    if not missing.any():
        return places, None
    places[missing] = 0
    return places, missing


def _places(column: str, array: pa.Array, question: Answers) -> NDArray[np.int64]:
    """Look every different value of a batch up once; a dictionary is what it holds."""
    try:
        if not pa.types.is_dictionary(array.type):
            array = array.dictionary_encode()
    except pa.ArrowNotImplementedError:
        raise wrong_kind(column, array.type, question) from None
    known = np.append(find_places(question, array.dictionary.to_pylist()), MISSING)
    codes = array.indices.fill_null(known.size - 1).to_numpy(zero_copy_only=False)
    result: NDArray[np.int64] = known[codes]
    return result


def _is_missing(what: str, name: str) -> InvalidArgumentError:
    rule = f"be {what} (skip_missing=True leaves missing values out)"
    return InvalidArgumentError(name, rule, None)


def _unit_numbers(
    recipe: Recipe, column: str, array: pa.Array, place: Place
) -> tuple[NDArray[np.float64], NDArray[np.bool_] | None]:
    interval = recipe.bounds[column]
    numbers = _floats(column, array)
    missing = np.isnan(numbers)
    any_missing = bool(missing.any())
    if any_missing and not recipe.skip_missing:
        raise _is_missing("a number", place.name(column, int(missing.argmax()), numbers.size))
    if any_missing:
        numbers = np.where(missing, interval.lower, numbers)
    if recipe.clip:
        numbers = np.clip(numbers, interval.lower, interval.upper)
    elif numbers.size:
        _check_range(column, numbers, interval, place)
    table = cast("TableMechanism", recipe.mechanism)
    if table.bounds != (interval.lower, interval.upper):  # else it is in the column's own unit
        numbers = scale_to_unit(numbers, interval)
    return numbers, missing if any_missing else None


def count_refused(recipe: Recipe, arrays: list[pa.Array]) -> int:
    """Return how many rows of a batch have a value that `encode_column` refuses."""
    refused: NDArray[np.bool_] = np.zeros(len(arrays[0]), np.bool_)
    for column, array in zip(recipe.columns, arrays, strict=True):
        question = recipe.by_column[column]
        if isinstance(question, Answers):
            places = _places(column, array, question)
            missing, wrong = places == MISSING, places == NO_ANSWER
            allowed = recipe.other is not None
        else:
            numbers = _floats(column, array)
            missing, wrong = np.isnan(numbers), _outside(numbers, recipe.bounds[column])
            allowed = recipe.clip
        if not recipe.skip_missing:
            refused |= missing
        if not allowed:
            refused |= wrong
    return int(np.count_nonzero(refused))


def wrong_kind(column: str, kind: object, question: Question | None = None) -> InvalidArgumentError:
    """Return the error about a column of another type."""
    if isinstance(question, Answers):
        rule = "hold answers: truth values, numbers, categories or texts, of one type"
        return InvalidArgumentError(f"column {column!r}", rule, str(kind))
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
        raise wrong_kind(column, kind)
    floats = array if types.is_float64(kind) else array.cast("float64", safe=False)
    result: NDArray[np.float64] = floats.to_numpy(zero_copy_only=False)
    return result
