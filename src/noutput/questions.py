"""Questions: what is asked, and which answers there are; in plain Python, as devices need it.

::

    Question: name, label, text, and perhaps an epsilon of its own
    ├── Number: anything between two bounds
    └── Answers: one of 2 to 64 answers
        ├── Scale: ordered, such as stars, 0 to 10, or age groups
        ├── Choice: without order
        └── YesNo: no or yes
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import InitVar, dataclass, field, fields
from decimal import Decimal
from functools import cached_property
from numbers import Real
from typing import Any, ClassVar, TypeAlias

from noutput import _checks
from noutput._text import check_name, check_text
from noutput.errors import DocumentError, InvalidArgumentError

__all__ = [
    "MAX_ANSWERS",
    "MAX_EDGES",
    "Answer",
    "Answers",
    "Choice",
    "Number",
    "Question",
    "Scale",
    "YesNo",
    "question_from_answers",
    "question_from_document",
]

MAX_ANSWERS = 64
MAX_EDGES = 31
Answer: TypeAlias = float | str | bool
_COMMON = ("name", "label", "text", "epsilon")


@dataclass(frozen=True, kw_only=True)
class Question:
    """What all questions have; `Number`, `Scale`, `Choice` and `YesNo` are asked.

    Parameters
    ----------
    name : str
        What programs call it: a letter a-z and at most 63 more of a-z, 0-9 and _. Needed in
        campaigns, and may be empty elsewhere.
    label : str
        A few words for headings, up to 200 bytes of UTF-8.
    text : str
        The question as people read it, up to 1,000 bytes of UTF-8.
    epsilon : float, optional
        The privacy loss of a report on this question, where a campaign asks several.

    Examples
    --------
    >>> late = YesNo(name="was_late")
    >>> late.title, late.encode("yes"), late.to_document()
    ('was late', 1, {'kind': 'yes/no', 'name': 'was_late'})
    """

    kind: ClassVar[str]

    name: str = ""
    label: str = ""
    text: str = ""
    epsilon: float | None = None

    def __post_init__(self) -> None:
        self._check_common()

    def _check_common(self) -> None:
        if type(self) in (Question, Answers):
            rule = "be a Number, a Scale, a Choice or a YesNo"
            raise InvalidArgumentError("question", rule, type(self).__name__)
        if self.name:
            check_name("name", self.name)
        check_text("label", self.label, 0, 200)
        check_text("text", self.text, 0, 1000)
        if self.epsilon is not None:
            object.__setattr__(self, "epsilon", _checks.positive("epsilon", self.epsilon))

    @property
    def title(self) -> str:
        """What to call the question in a heading: its label, or its name."""
        return self.label or self.name.replace("_", " ")

    def _common(self) -> dict[str, Any]:
        parts = {name: getattr(self, name) for name in _COMMON}
        return {name: value for name, value in parts.items() if value not in ("", None)}

    def encode(self, value: object) -> float:
        """Return what the question's table takes: a number, or the index of an answer.

        An error never repeats the value, because it is private.
        """
        raise NotImplementedError

    def to_document(self) -> dict[str, Any]:
        """Return the question as JSON writes it; `question_from_document` reads it."""
        raise NotImplementedError


@dataclass(frozen=True)
class Number(Question):
    """A question whose answer is a number between two bounds.

    Parameters
    ----------
    lower, upper : float
        The bounds. Values outside are moved to the nearer bound, on the device only.
    unit : str
        What the number counts, such as "minutes"; may be empty.
    edges : sequence of float, optional
        Where one cell of numbers ends and the next begins, strictly between the bounds and
        increasing, 31 at most: a table with a jump at an edge tells how many numbers lie below
        it. A number on an edge belongs to the cell above. None leaves the choice to the design;
        an empty sequence asks for no edge.
    cells : int, optional
        In place of `edges`: so many cells of equal width, from 2 to 32.
    name, label, text, epsilon
        As in `Question`.

    Examples
    --------
    >>> commute = Number(0, 180, unit="minutes", edges=(30, 60), name="commute")
    >>> commute.encode(45), commute.encode(1000)
    (45.0, 180.0)
    >>> Number(0, 180, cells=4).edges
    (45.0, 90.0, 135.0)
    >>> question_from_document(commute.to_document()) == commute
    True
    >>> Number(0, 180, edges=(30, 200))
    Traceback (most recent call last):
        ...
    noutput.errors.InvalidArgumentError: edges[1] must lie strictly between 0.0 and 180.0; ...
    """

    kind: ClassVar[str] = "number"

    lower: float
    upper: float
    unit: str = ""
    edges: Sequence[float] | None = field(default=None, kw_only=True)
    cells: InitVar[int | None] = field(default=None, kw_only=True)

    def __post_init__(self, cells: int | None) -> None:
        self._check_common()
        check_text("unit", self.unit, 0, 64)
        lower = _checks.finite("lower", self.lower) + 0.0
        upper = _checks.finite("upper", self.upper) + 0.0
        if not lower < upper:
            raise InvalidArgumentError("upper", f"be larger than lower ({lower})", upper)
        _checks.apart("bounds", lower, upper)
        edges: object = self.edges
        if cells is not None:
            if edges is not None:
                raise InvalidArgumentError("cells", "be absent where edges are given", cells)
            count = _checks.whole("cells", cells, 2, MAX_EDGES + 1)
            edges = [lower + (upper - lower) * k / count for k in range(1, count)]
        object.__setattr__(self, "lower", lower)
        object.__setattr__(self, "upper", upper)
        object.__setattr__(self, "edges", _edges(edges, lower, upper))

    def encode(self, value: object) -> float:
        """Return a number as a float; one outside the bounds is moved to the nearer bound.

        An error never repeats the value, because it is private.
        """
        try:
            number = _checks.finite("value", value)
        except InvalidArgumentError:
            number = math.nan  # raising here would keep the value as the error's context
        kind = type(value).__name__
        del value
        if math.isnan(number):
            raise InvalidArgumentError(_place(self.name), "be a finite number", kind)
        return min(max(number, self.lower), self.upper)

    def to_document(self) -> dict[str, Any]:
        """Return the question as JSON writes it."""
        own: dict[str, Any] = {"lower": self.lower, "upper": self.upper, "unit": self.unit}
        if self.edges is not None:
            own["edges"] = list(self.edges)
        return {"kind": self.kind, **self._common(), **own}


@dataclass(frozen=True, kw_only=True)
class Answers(Question):
    """A question with 2 to 64 answers: a `Scale`, a `Choice` or a `YesNo`.

    Attributes
    ----------
    answers : tuple
        The answers as data has them: numbers, texts or truth values.
    """

    ordered: ClassVar[bool] = False

    answers: tuple[Answer, ...]

    @property
    def n_answers(self) -> int:
        """How many answers there are."""
        return len(self.answers)

    @property
    def labels(self) -> tuple[str, ...]:
        """The answers as people read them."""
        return tuple(map(_label, self.answers))

    @property
    def scores(self) -> tuple[float, ...] | None:
        """The number that each answer stands for in a mean; None where there is no mean."""
        return None

    @cached_property
    def places(self) -> dict[Answer, int]:
        """The place of every answer (from 0), by the answer itself and by its label."""
        found: dict[Answer, int] = {label: place for place, label in enumerate(self.labels)}
        return found | {answer: place for place, answer in enumerate(self.answers)}

    def find(self, value: object) -> int | None:
        """Return the place of an answer that is given by itself or by its label, or None.

        Numbers are compared exactly, whatever their type; a truth value is no number.
        """
        if isinstance(value, str):
            return self.places.get(value)
        return None if isinstance(value, bool) else self.places.get(_number(value))

    def encode(self, value: object) -> int:
        """Return the place of an answer, from 0; an error never repeats the private value."""
        place, kind = self.find(value), type(value).__name__
        del value
        if place is None:
            rule = f"be one of {list(self.labels)}"
            raise InvalidArgumentError(_place(self.name), rule, f"another {kind}")
        return place

    def _check_answers(self) -> None:
        self._check_common()
        if not 2 <= len(self.answers) <= MAX_ANSWERS:
            rule = f"have from 2 to {MAX_ANSWERS} entries"
            raise InvalidArgumentError("answers", rule, len(self.answers))
        for index, label in enumerate(self.labels):
            check_text(f"answers[{index}]", label, 1, 200)
        if len(set(self.labels)) < len(self.labels):
            raise InvalidArgumentError("answers", "differ from each other", list(self.labels))


@dataclass(frozen=True, init=False)
class Scale(Answers):
    """A question with ordered answers.

    Parameters
    ----------
    *answers : numbers that increase, or texts in their order
        Such as ``Scale(1, 2, 3, 4, 5)``, ``Scale("under 30", "30 to 59", "60 and older")``, or
        one list, tuple or range of them: ``Scale(range(11))``. Numbers lie between -1e100 and
        1e100.
    scores : sequence of float, optional
        For texts: numbers that increase, one per answer, for a mean score. Without them there is
        none. Answers that are numbers are their own scores.
    name, label, text, epsilon
        As in `Question`.

    Examples
    --------
    >>> stars = Scale(1, 2, 3, 4, 5, name="stars")
    >>> stars.encode(4), stars.encode("4"), stars.labels[0], stars.scores[0]
    (3, 3, '1', 1.0)
    >>> ages = Scale("under 30", "30 and older", scores=(22, 50))
    >>> question_from_document(ages.to_document()) == ages
    True
    """

    kind: ClassVar[str] = "scale"
    ordered: ClassVar[bool] = True

    given_scores: tuple[float, ...] | None = None

    def __init__(
        self,
        *answers: float | str | Sequence[float | str],
        scores: Sequence[float] | None = None,
        **common: Any,
    ) -> None:
        _set_common(self, common)
        values = _listed(answers)
        texts = sum(isinstance(answer, str) for answer in values)
        if texts not in (0, len(values)):
            raise InvalidArgumentError("answers", "be all numbers or all texts", list(values))
        if not texts:
            values = _scores("answers", values)
            if scores is not None:
                rule = "be given for answers that are texts only"
                raise InvalidArgumentError("scores", rule, scores)
        object.__setattr__(self, "answers", values)
        found = None if scores is None else _scores("scores", scores)
        if found is not None and len(found) != len(values):
            rule = f"have {len(values)} entries, one per answer"
            raise InvalidArgumentError("scores", rule, len(found))
        object.__setattr__(self, "given_scores", found)
        self._check_answers()

    @property
    def scores(self) -> tuple[float, ...] | None:
        """The number that each answer stands for in a mean; None where there is no mean."""
        if isinstance(self.answers[0], str):
            return self.given_scores
        return tuple(map(float, self.answers))

    def to_document(self) -> dict[str, Any]:
        """Return the question as JSON writes it."""
        own: dict[str, Any] = {"answers": list(self.answers)}
        if self.given_scores is not None:
            own["scores"] = list(self.given_scores)
        return {"kind": self.kind, **self._common(), **own}


@dataclass(frozen=True, init=False)
class Choice(Answers):
    """A question with answers that have no order.

    Parameters
    ----------
    *answers : str
        Such as ``Choice("train", "car", "bicycle", "other")``, or one list or tuple of them.
    name, label, text, epsilon
        As in `Question`.

    Examples
    --------
    >>> Choice("train", "car", "other").encode("car")
    1
    >>> Choice("train", "car").to_document()
    {'kind': 'choice', 'answers': ['train', 'car']}
    """

    kind: ClassVar[str] = "choice"

    def __init__(self, *answers: str | Sequence[str], **common: Any) -> None:
        _set_common(self, common)
        values = _listed(answers)
        for index, answer in enumerate(values):
            if not isinstance(answer, str):
                raise InvalidArgumentError(f"answers[{index}]", "be a text", answer)
        object.__setattr__(self, "answers", values)
        self._check_answers()

    def to_document(self) -> dict[str, Any]:
        """Return the question as JSON writes it."""
        return {"kind": self.kind, **self._common(), "answers": list(self.answers)}


@dataclass(frozen=True, init=False)
class YesNo(Answers):
    """A question with the answers no and yes.

    Parameters
    ----------
    name, label, text, epsilon
        As in `Question`.

    Examples
    --------
    Truth values, the numbers 0 and 1, and the texts "no" and "yes" are answers:

    >>> crash = YesNo(text="Did it crash?")
    >>> crash.encode(True), crash.encode("no"), crash.encode(1)
    (1, 0, 1)
    >>> crash.labels, crash.scores, crash.find("maybe") is None
    (('no', 'yes'), (0.0, 1.0), True)
    >>> crash.to_document()
    {'kind': 'yes/no', 'text': 'Did it crash?'}
    """

    kind: ClassVar[str] = "yes/no"

    def __init__(self, **common: Any) -> None:
        _set_common(self, common)
        object.__setattr__(self, "answers", (False, True))
        self._check_answers()

    @property
    def labels(self) -> tuple[str, ...]:
        """The answers as people read them."""
        return ("no", "yes")

    @property
    def scores(self) -> tuple[float, ...]:
        """0 and 1: the mean is the share of yes."""
        return (0.0, 1.0)

    def find(self, value: object) -> int | None:
        """Return the place of an answer: 0 for no, 1 for yes, or None."""
        if type(value).__name__ == "bool":  # numpy's own, too
            return int(bool(value))
        return self.places.get(value if isinstance(value, str) else _number(value))

    def to_document(self) -> dict[str, Any]:
        """Return the question as JSON writes it."""
        return {"kind": self.kind, **self._common()}


_KINDS: dict[str, tuple[type[Question], tuple[str, ...], tuple[str, ...]]] = {
    "number": (Number, ("lower", "upper", "unit"), ("edges",)),
    "scale": (Scale, ("answers",), ("scores",)),
    "choice": (Choice, ("answers",), ()),
    "yes/no": (YesNo, (), ()),
}


def question_from_document(found: object, path: str = "question") -> Question:
    """Read a question from parsed JSON.

    Raises
    ------
    DocumentError
        If it is none, is of a kind that this version does not know, or breaks a rule.

    Examples
    --------
    >>> question_from_document({"kind": "color"})
    Traceback (most recent call last):
        ...
    noutput.errors.DocumentError: question.kind must be one of 'number', 'scale', 'choice', ...
    """
    if not isinstance(found, dict):
        raise DocumentError(path, "be a JSON object", type(found).__name__)
    kind = found.get("kind")
    if not isinstance(kind, str) or kind not in _KINDS:
        wanted = ", ".join(map(repr, _KINDS))
        rule = f"be one of {wanted}: a newer version of noutput may know others"
        raise DocumentError(f"{path}.kind", rule, kind)
    made, needed, optional = _KINDS[kind]
    known = {"kind", *_COMMON, *needed, *optional}
    missing = [key for key in needed if key not in found]
    unknown = sorted(set(found) - known)
    if missing or unknown:
        rule = f"have the keys {sorted(needed)} and no others than {sorted(known)}"
        raise DocumentError(path, rule, sorted(found))
    parts = {key: value for key, value in found.items() if key != "kind"}
    answers = [parts.pop("answers")] if "answers" in parts else []
    if not all(isinstance(each, list) for each in answers):
        raise DocumentError(f"{path}.answers", "be a list", type(answers[0]).__name__)
    try:
        return made(*answers, **parts)
    except InvalidArgumentError as error:
        raise DocumentError(f"{path}.{error.name}", error.rule, error.found) from None


def question_from_answers(answers: object) -> Answers:
    """Return the question that a list of answers stands for.

    Numbers make a `Scale`, texts a `Choice` (give a `Scale` where texts such as "low" and "high"
    have an order), and False and True a `YesNo`.

    Examples
    --------
    >>> question_from_answers([1, 2, 3, 4, 5]).kind, question_from_answers(["a", "b"]).kind
    ('scale', 'choice')
    """
    if hasattr(answers, "tolist"):  # an array
        answers = answers.tolist()
    if not isinstance(answers, Sequence) or isinstance(answers, str | bytes):
        raise InvalidArgumentError("answers", "be a list of numbers or of texts", answers)
    kinds = set(map(type, answers))
    if kinds == {bool}:
        if list(answers) == [False, True]:
            return YesNo()
        raise InvalidArgumentError("answers", "be [False, True] for a yes/no question", answers)
    return Choice(list(answers)) if kinds == {str} else Scale(list(answers))


def _edges(edges: object, lower: float, upper: float) -> tuple[float, ...] | None:
    if edges is None:
        return None
    if hasattr(edges, "tolist"):  # an array
        edges = edges.tolist()
    if isinstance(edges, Sequence) and len(edges) > MAX_EDGES:
        raise InvalidArgumentError("edges", f"have at most {MAX_EDGES} entries", len(edges))
    result = _checks.increasing("edges", edges)
    for index, edge in enumerate(result):
        if not lower < edge < upper:
            rule = f"lie strictly between {lower} and {upper}"
            raise InvalidArgumentError(f"edges[{index}]", rule, edge)
    return result


def _listed(answers: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return answers that are given one by one, or as one list of all."""
    one = answers[0] if len(answers) == 1 else None
    return tuple(one) if isinstance(one, list | tuple | range) else answers


def _set_common(question: Question, common: dict[str, Any]) -> None:
    for each in fields(Question):
        object.__setattr__(question, each.name, common.pop(each.name, each.default))
    if common:
        name = next(iter(common))
        raise TypeError(f"{type(question).__name__} has no argument {name!r}")


def _scores(name: str, values: object) -> tuple[float, ...]:
    """Return numbers that increase and whose squares are finite."""
    result = _checks.increasing(name, values)
    for index, value in enumerate(result):
        if abs(value) > _checks.LARGEST:
            raise InvalidArgumentError(f"{name}[{index}]", "lie between -1e100 and 1e100", value)
    return result


def _number(value: object) -> float:
    """Return a number that equals an answer if the value does; NaN for what is no number."""
    if isinstance(value, Decimal) and value.is_finite():
        if not -_checks.LARGEST <= value <= _checks.LARGEST:
            return math.nan  # no answer, and as a whole number it may not fit into memory
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, Real):
        return value  # type: ignore[return-value]  # numbers of all types are compared exactly
    return math.nan


def _label(answer: Answer) -> str:
    return answer if isinstance(answer, str) else repr(float(answer)).removesuffix(".0")


def _place(name: str) -> str:
    return f"values[{name!r}]" if name else "value"
