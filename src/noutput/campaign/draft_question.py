"""Question of a campaign draft: the kind may be left out where the keys tell it."""

from __future__ import annotations

import re
from typing import Any

from noutput import _checks
from noutput.campaign.keys import check_keys
from noutput.errors import DocumentError, InvalidArgumentError
from noutput.questions import MAX_ANSWERS, Number, Question, question_from_document

__all__ = ["bare", "read_question"]

_COMMON = ("name", "kind", "label", "text", "epsilon", "objective", "outputs")
_OWN = {
    "number": ("lower", "upper", "unit", "edges", "cells"),
    "scale": ("values", "labels", "scores"),
    "choice": ("labels",),
    "yes/no": (),
}
_NEEDED = {"number": ("lower", "upper"), "scale": (), "choice": ("labels",), "yes/no": ()}
_RANGE = re.compile(r"\s*(-?[0-9]{1,9})\s*\.\.\s*(-?[0-9]{1,9})\s*", re.ASCII)


def read_question(path: str, entry: dict[str, Any]) -> tuple[Question, str | None, int | None]:
    """Return a question, and the objective and the number of outputs of its table where given.

    Examples
    --------
    >>> read_question("questions[0]", {"name": "stars", "values": "1..5"})[0].labels
    ('1', '2', '3', '4', '5')
    >>> read_question("questions[0]", {"name": "late", "kind": "yes/no", "outputs": 2})[1:]
    (None, 2)
    """
    written = _written(entry)
    _name_answers(path, entry)
    try:
        return _read(path, entry, written["answers"])
    except DocumentError as error:  # about a key that the author may have called otherwise
        place, dot, key = error.name.rpartition(f"{path}.")
        name, bracket, rest = key.partition("[")
        name = f"{place}{dot}{written.get(name, name)}{bracket}{rest}"
        raise DocumentError(name, error.rule, error.found) from None


def _read(path: str, entry: dict[str, Any], called: str) -> tuple[Question, str | None, int | None]:
    if "kind" not in entry:
        entry["kind"] = _kind(path, entry, called)
    kind = entry["kind"]
    if not isinstance(kind, str) or kind not in _OWN:
        raise DocumentError(f"{path}.kind", f"be one of {list(_OWN)}", kind)
    check_keys(f"{path}.", entry, ("name", *_NEEDED[kind]), (*_COMMON[1:], *_OWN[kind]))
    objective, outputs = entry.pop("objective", None), entry.pop("outputs", None)
    if outputs is not None:
        outputs = _checks.whole(f"{path}.outputs", outputs, 2, 256)
    if kind == "number":
        entry.setdefault("unit", "")
        if "cells" in entry:
            entry["edges"] = _cells(path, entry)
    elif kind != "yes/no":
        entry["answers"] = _answers(path, entry)
    return question_from_document(entry, path), objective, outputs


def _cells(path: str, entry: dict[str, Any]) -> list[float]:
    """Return the edges of so many equal cells, which a document writes out."""
    cells = entry.pop("cells")
    parts = {key: entry[key] for key in ("lower", "upper", "edges") if key in entry}
    try:
        return list(Number(**parts, cells=cells).edges or ())
    except InvalidArgumentError as error:
        raise DocumentError(f"{path}.{error.name}", error.rule, error.found) from None


def bare(question: Question) -> Question:
    """Return a question without what its table does not depend on: name, texts and epsilon."""
    common = ("name", "label", "text", "epsilon")
    parts = {key: value for key, value in question.to_document().items() if key not in common}
    return question_from_document(parts)


def _written(entry: dict[str, Any]) -> dict[str, str]:
    """Return how the author called the keys that are read by other names."""
    listed = [key for key in ("labels", "answers", "values") if key in entry] or ["values"]
    names: dict[str, str] = {"answers": listed[0]}
    if "answers" in entry:
        names.update((key, "answers") for key in ("labels", "values") if key not in entry)
    if "scores" not in entry and len(listed) > 1:
        names["scores"] = listed[-1]  # values beside labels are their scores
    return names


def _name_answers(path: str, entry: dict[str, Any]) -> None:
    """Let `answers` stand for `labels` where they are texts, and for `values` otherwise."""
    if "answers" not in entry or entry.get("kind") in ("number", "yes/no"):
        return
    answers = entry.pop("answers")
    texts = entry.get("kind") == "choice"
    if isinstance(answers, list):
        texts = texts or all(isinstance(each, str) for each in answers)
    key = "labels" if texts else "values"
    if key in entry:
        raise DocumentError(f"{path}.answers", f"be absent beside {key}", answers)
    entry[key] = answers


def _kind(path: str, entry: dict[str, Any], called: str) -> str:
    if "lower" in entry or "upper" in entry:
        return "number"
    if "values" in entry or "scores" in entry:
        return "scale"
    rule = f"be one of {list(_OWN)}"
    if "labels" in entry:
        rule = f"be 'scale' ({called} in their order) or 'choice' (without order)"
    raise DocumentError(f"{path}.kind", rule, None)


def _answers(path: str, entry: dict[str, Any]) -> list[Any]:
    """Return the answers of a document: labels, with the values as their scores, or values."""
    values, labels = entry.pop("values", None), entry.pop("labels", None)
    if isinstance(values, str):
        values = _range(f"{path}.values", values)
    if labels is None:
        return _listed(f"{path}.values", values)
    if values is not None:
        if "scores" in entry:
            raise DocumentError(f"{path}.scores", "be absent beside values", entry["scores"])
        entry["scores"] = _listed(f"{path}.values", values)
    labels = _listed(f"{path}.labels", labels)
    for index, label in enumerate(labels):
        if not isinstance(label, str):
            raise DocumentError(f"{path}.labels[{index}]", "be a text", label)
    return labels


def _listed(name: str, value: object) -> list[Any]:
    if not isinstance(value, list):
        raise DocumentError(name, "be a list, or a range such as '0..10'", value)
    return value


def _range(name: str, text: str) -> list[int]:
    found = _RANGE.fullmatch(text)
    if found is None:
        raise DocumentError(name, "be a list, or a range such as '0..10'", text)
    low, high = int(found[1]), int(found[2])
    if not 1 <= high - low < MAX_ANSWERS:
        raise DocumentError(name, f"be a range of 2 to {MAX_ANSWERS} whole numbers", text)
    return list(range(low, high + 1))
