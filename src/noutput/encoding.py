"""Columns of answers as a table takes them: numbers of [-1, 1], or places of answers."""

from __future__ import annotations

import re
from decimal import Decimal
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from noutput.errors import InvalidArgumentError
from noutput.interval import Interval
from noutput.questions import Answers, Number, Question, Scale, YesNo

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MISSING", "NO_ANSWER", "encode", "find_places", "place_of", "place_of_other"]

NO_ANSWER, MISSING = -1, -2
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,4})?", re.ASCII)
_DIGITS = 400
_TRUTH = {"false": 0, "true": 1, "0": 0, "1": 1, "no": 0, "yes": 1}
_MISSING_TYPES = ("NAType", "NaTType")  # of pandas, which is not loaded here


def encode(
    question: Question,
    values: Any,
    *,
    clip: bool = False,
    other: str | None = None,
) -> NDArray[Any]:
    """Return what a table for the question takes, one entry per value.

    Parameters
    ----------
    question : Number, Scale, Choice or YesNo
    values : array, list or column
        Numbers; or answers, each by itself or by its label. Of scales of numbers, texts such as
        "4.0" are answers as well; of yes/no questions, "true" and "false", "0" and "1".
    clip : bool
        Of numbers: move those outside the bounds to the nearer bound instead of refusing them.
    other : str, optional
        Of answers: the label of the answer that stands for all values that are none. They are
        refused where it is not given; missing values are refused always.

    Returns
    -------
    array of the same shape
        Floats in [-1, 1] where the question is a number, otherwise places from 0 (int64).

    Raises
    ------
    InvalidArgumentError
        If a value is no answer; the message names its place and the value.

    Examples
    --------
    >>> from noutput.questions import Choice, Number, Scale
    >>> encode(Number(0, 180), [0, 45, 180]).tolist()
    [-1.0, -0.5, 1.0]
    >>> encode(Scale(1, 2, 3, 4, 5), [5, 1, "2"]).tolist()
    [4, 0, 1]
    >>> encode(Choice("train", "car", "other"), ["car", "boat"], other="other").tolist()
    [1, 2]
    """
    if isinstance(question, Number):
        if other is not None:
            raise InvalidArgumentError("other", "be given for answers only", other)
        return Interval(question.lower, question.upper).to_unit(values, clip=clip)
    if not isinstance(question, Answers):
        raise InvalidArgumentError("question", "be a Number, Scale, Choice or YesNo", question)
    if clip:
        raise InvalidArgumentError("clip", "be False where the question has answers", clip)
    rest = place_of_other(question, other)
    places = find_places(question, values)
    flat = places.reshape(-1)
    bad = flat < 0 if rest is None else flat == MISSING
    if bad.any():
        index = int(bad.argmax())
        found = _as_array(values).reshape(-1)[index]
        raise _refused(question, index, found, missing=flat[index] == MISSING)
    if rest is not None:
        places[places == NO_ANSWER] = rest
    return places


def _refused(
    question: Answers, index: int, found: object, *, missing: bool
) -> InvalidArgumentError:
    if missing:
        return InvalidArgumentError(f"values[{index}]", "not be missing", None)
    if isinstance(found, np.generic):
        found = found.item()
    return InvalidArgumentError(f"values[{index}]", f"be one of {list(question.labels)}", found)


def place_of_other(question: Answers, other: str | None) -> int | None:
    """Return the place of the answer that stands for all values that are none."""
    if other is None:
        return None
    place = question.find(other)
    if place is None:
        raise InvalidArgumentError("other", f"be one of {list(question.labels)}", other)
    return place


def place_of(question: Answers, value: object) -> int | None:
    """Return the place of an answer as data has it, or None.

    `Answers.find` knows answers and their labels. Files of text know nothing else than texts: a
    number in other digits is read as a number, and the words of other programs for truth values
    are truth values.

    Examples
    --------
    >>> place_of(Scale(1, 2, 3), "2.0"), place_of(YesNo(), "TRUE"), place_of(Scale(1, 2), True)
    (1, 1, None)
    """
    place = question.find(value)
    if place is not None or not isinstance(value, str):
        return place
    text = value.strip(" \t")
    if isinstance(question, YesNo):
        return _TRUTH.get(text.lower())
    if isinstance(question, Scale) and not isinstance(question.answers[0], str):
        return question.find(_read_number(text)) if _NUMBER.fullmatch(text) else None
    return None


def _read_number(text: str) -> float:
    """Return a number; a whole one exactly, of which no float that is an answer has more digits."""
    return int(text) if text.lstrip("+-").isdigit() and len(text) <= _DIGITS else float(text)


def find_places(question: Answers, values: Any) -> NDArray[np.int64]:
    """Return the place of every value, `NO_ANSWER` or `MISSING`."""
    categories = _categories_of(values)
    if categories is not None:
        codes, names = categories
        found = [*_of_objects(question, np.asarray(names, object)), MISSING]
        places: NDArray[np.int64] = np.asarray(found, np.int64)[codes]  # -1 where one is missing
        return places
    array = _as_array(values)
    kind = array.dtype.kind
    if kind == "b":
        return _of_truth(question, array)
    if kind in "iuf":
        return _of_numbers(question, array)
    return _of_objects(question, array.reshape(-1)).reshape(array.shape)


def _as_array(values: Any) -> NDArray[Any]:
    """Return an array that has kept the kinds of values: numpy makes texts of mixed lists."""
    if not isinstance(values, list | tuple):
        return np.asarray(values)
    kinds = set(map(type, values))
    if kinds <= {float} or kinds <= {bool}:
        return np.asarray(values)
    if kinds == {int}:
        array = np.asarray(values)  # floats, which are not exact, or objects where one is too large
        return _objects(values) if array.dtype.kind == "f" else array
    if kinds <= {list, tuple, np.ndarray}:  # rows
        return np.array(values, object)
    return _objects(values)


def _objects(values: list[Any] | tuple[Any, ...]) -> NDArray[Any]:
    array = np.empty(len(values), object)
    array[:] = values
    return array


def _categories_of(values: object) -> tuple[NDArray[Any], Any] | None:
    """Return codes and categories of a categorical column of pandas, or None."""
    array = getattr(values, "array", values)
    if hasattr(array, "codes") and hasattr(array, "categories"):
        return np.asarray(array.codes), array.categories
    return None


def _of_truth(question: Answers, array: NDArray[Any]) -> NDArray[np.int64]:
    if isinstance(question, YesNo):
        return array.astype(np.int64)
    return np.full(array.shape, NO_ANSWER, np.int64)


def _of_numbers(question: Answers, array: NDArray[Any]) -> NDArray[np.int64]:
    """Look numbers up among those answers that the type of the array can hold."""
    if isinstance(question.answers[0], str):
        places = np.full(array.shape, NO_ANSWER, np.int64)
    else:
        pairs = [
            (held, place)
            for place, answer in enumerate(map(float, question.answers))
            if (held := _held(answer, array.dtype)) is not None
        ]
        known = np.array([held for held, _ in pairs] or [0], array.dtype)
        found = np.array([place for _, place in pairs] or [NO_ANSWER], np.int64)
        at = np.minimum(np.searchsorted(known, array), known.size - 1)
        places = np.where(known[at] == array, found[at], NO_ANSWER)
    if array.dtype.kind == "f":
        places[np.isnan(array)] = MISSING
    return places


def _held(answer: float, dtype: np.dtype[Any]) -> float | int | None:
    """Return a number as an array of this type has it; None where it cannot."""
    if dtype.kind == "f":
        with np.errstate(over="ignore"):
            return answer if float(dtype.type(answer)) == answer else None
    limits = np.iinfo(dtype)
    return int(answer) if answer.is_integer() and limits.min <= answer <= limits.max else None


class _Known(dict[Any, int]):
    """Places of the values that were met."""

    def __init__(self, question: Answers) -> None:
        super().__init__()
        self._question = question

    def __missing__(self, value: object) -> int:
        place = self[value] = _place_or_mark(self._question, value)
        return place


def _place_or_mark(question: Answers, value: object) -> int:
    if _is_missing(value):
        return MISSING
    place = place_of(question, value)
    return NO_ANSWER if place is None else place


def _of_objects(question: Answers, flat: NDArray[Any]) -> NDArray[np.int64]:
    """Look every different value up once.

    1, 1.0 and True are one key of a dictionary, but a truth value is no number.
    """
    values = flat.tolist()
    known = _Known(question)
    truths = {bool, np.bool_}
    if truths.isdisjoint(map(type, values)):
        try:
            return np.fromiter(map(known.__getitem__, values), np.int64, len(values))
        except (TypeError, ValueError):  # a value that cannot be a key, so no answer
            pass
    places = (
        known[value] if isinstance(value, str) else _place_or_mark(question, value)
        for value in values
    )
    return np.fromiter(places, np.int64, len(values))


def _is_missing(value: object) -> bool:
    if value is None or type(value).__name__ in _MISSING_TYPES:
        return True
    if isinstance(value, Decimal):
        return value.is_nan()
    if isinstance(value, np.datetime64 | np.timedelta64):
        return bool(np.isnat(value))
    return isinstance(value, Real) and value != value  # math.isnan fails for large numbers
