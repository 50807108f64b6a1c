"""Questions in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from noutput.questions import Question

__all__ = ["asked"]

_LONGEST = 60  # characters of all labels together


def asked(question: Question) -> str:
    """Return what a question asks for: its bounds, or its answers."""
    from noutput.questions import Answers, Number, YesNo

    if isinstance(question, Number):
        bounds = f"from {question.lower:g} to {question.upper:g}"
        return f"{question.name} {bounds} {question.unit}".rstrip()
    if isinstance(question, YesNo) or not isinstance(question, Answers):
        return f"{question.name}, yes or no"
    labels = question.labels
    if question.ordered:
        listed = f" from {labels[0]} to {labels[-1]}"
    else:
        text = ", ".join(labels)
        listed = f": {text}" if len(text) <= _LONGEST else ""
    return f"{question.name} of {len(labels)} answers{listed}"
