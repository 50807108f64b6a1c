"""The catalog of designs for answers: those that ship with the package.

One zip file has a design document for every number of answers from 2 to 11, privacy loss and
objective, with equally spaced scores where they matter.
"""

from __future__ import annotations

import zipfile
from dataclasses import replace
from functools import cache
from importlib.resources import files
from io import BytesIO
from typing import TYPE_CHECKING

from noutput.designs.answers import document
from noutput.designs.answers.objective import unit_scores
from noutput.designs.answers.result import AnswerDesign
from noutput.designs.catalog import TRAINED_EPSILONS
from noutput.questions import Scale

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from noutput.questions import Answers

__all__ = ["EPSILONS", "NAME", "SIZES", "shipped", "stand_in", "write"]

NAME = "answers.zip"
SIZES = tuple(range(2, 12))
"""The numbers of answers."""
EPSILONS = tuple(epsilon for epsilon in TRAINED_EPSILONS if epsilon <= 4.0)
_EPOCH = (1980, 1, 1, 0, 0, 0)


def stand_in(n_answers: int) -> Scale:
    """Return the question of the catalog's designs: all that matters is the number of answers."""
    return Scale(*range(n_answers))


def shipped(epsilon: float, question: Answers, objective: str) -> AnswerDesign | None:
    """Return a design of the catalog for a question; its table is certified on the way.

    Examples
    --------
    >>> shipped(1.0, Scale(1, 2, 3, 4, 5), "cdf").question.answers
    (1.0, 2.0, 3.0, 4.0, 5.0)
    >>> shipped(1.0, Scale(1, 2, 10), "mean") is None
    True
    """
    archive = _archive()
    wanted = _member(epsilon, question.n_answers, objective)
    if archive is None or wanted not in archive.namelist():
        return None
    if objective in ("mean", "balanced"):
        spaced = unit_scores(stand_in(question.n_answers))
        if unit_scores(question) != spaced:
            return None
    found = AnswerDesign(*document.read(archive.read(wanted), trusted=True))
    # names of files round, so they do not tell
    return replace(found, question=question) if found.epsilon == epsilon else None


def write(designs: Mapping[tuple[float, int, str], AnswerDesign], path: Path) -> None:
    """Write the catalog; the same designs give the same bytes."""
    members = {_member(*key): design.to_json() for key, design in designs.items()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in sorted(members.items()):
            info = zipfile.ZipInfo(name, _EPOCH)
            archive.writestr(info, text, zipfile.ZIP_DEFLATED, compresslevel=9)


@cache
def _archive() -> zipfile.ZipFile | None:
    resource = files("noutput.designs").joinpath(NAME)
    if not resource.is_file():
        return None
    return zipfile.ZipFile(BytesIO(resource.read_bytes()))


def _member(epsilon: float, n_answers: int, objective: str) -> str:
    return f"{n_answers}/{epsilon:g}/{objective}.json"
