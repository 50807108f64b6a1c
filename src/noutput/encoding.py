"""Columns of answers as a table takes them: numbers of [-1, 1], or places of answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from noutput.errors import InvalidArgumentError
from noutput.interval import Interval
from noutput.questions import Answers, Number, Question

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["encode"]


def encode(
    question: Question,
    values: ArrayLike,
    *,
    clip: bool = False,
    other: str | None = None,
) -> NDArray[Any]:
    """Return what a table for the question takes, one entry per value.

    Parameters
    ----------
    question : Number, Scale, Choice or YesNo
    values : array, list or column
        Numbers; or answers, each by itself or by its label.
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
    return _places(question, values, other)


def _places(question: Answers, values: ArrayLike, other: str | None) -> NDArray[np.int64]:
    rest = None if other is None else question.find(other)
    if other is not None and rest is None:
        raise InvalidArgumentError("other", f"be one of {list(question.labels)}", other)
    array = np.asarray(values)
    if array.dtype.kind not in "biufOUST":  # mixed lists become texts, which would lose kinds
        array = np.asarray(values, object)
    if array.dtype.kind in "US" and not isinstance(values, np.ndarray):
        array = np.asarray(values, object)
    flat = array.reshape(-1)
    result = np.empty(flat.size, np.int64)
    known: dict[Any, int | None] = {}
    for index, value in enumerate(flat.tolist()):
        key = (type(value), value)
        try:
            place = known[key]
        except KeyError:
            place = known[key] = question.find(value)
        except TypeError:  # not hashable, so no answer
            place = None
        if place is None:
            missing = value is None or value != value
            if rest is None or missing:
                rule = f"be one of {list(question.labels)}"
                raise InvalidArgumentError(f"values[{index}]", rule, value)
            place = rest
        result[index] = place
    return result.reshape(array.shape)
