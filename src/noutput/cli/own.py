"""Mechanisms of one's own on the command line: MODULE:OBJECT."""

from __future__ import annotations

import re
import sys
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from noutput.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from noutput.mechanisms.base import Mechanism

__all__ = ["check_form", "is_own", "label", "make"]

_FORM = re.compile(r"([^\W\d]\w*(?:\.[^\W\d]\w*)*):([^\W\d]\w*(?:\.[^\W\d]\w*)*)")
_RULE = "be MODULE:OBJECT, a module of this folder or of the Python path and a name in it"


def is_own(name: str) -> bool:
    """Tell MODULE:OBJECT from the names of the registry."""
    return ":" in name


def check_form(name: str) -> tuple[str, str]:
    """Return the module and the object of MODULE:OBJECT."""
    form = _FORM.fullmatch(name)
    if form is None:
        raise InvalidArgumentError("mechanism", _RULE, name)
    return form[1], form[2]


def label(name: str) -> str:
    """Return what tables and figures call it: the object."""
    return name.partition(":")[2]


def make(name: str, epsilon: float) -> Mechanism:
    """Return the mechanism that MODULE:OBJECT is, or that it makes for an epsilon.

    Parameters
    ----------
    name : str
    epsilon : float
        What a factory (a class, a function) is called with, and what the mechanism must have.

    Raises
    ------
    InvalidArgumentError
        If there is no such object, or it is no mechanism; the error names what is missing. What
        the module itself raises is not caught.
    """
    from noutput.mechanisms.base import check_mechanism, missing_parts

    found = _load(name)
    if isinstance(found, type) or (callable(found) and missing_parts(found)):
        found = found(epsilon)
    mechanism = check_mechanism(name, found)
    if mechanism.epsilon != epsilon:
        rule = f"have the epsilon of the command, {epsilon:g}, or be made for any epsilon"
        raise InvalidArgumentError(name, rule, mechanism.epsilon)
    return mechanism


def _load(name: str) -> object:
    module, path = check_form(name)
    with _this_folder():
        try:
            found: object = import_module(module)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{module}.".startswith(f"{error.name}."):
                raise  # the module is there, and needs another one
            raise InvalidArgumentError("mechanism", _RULE, name) from None
    for part in path.split("."):
        if not hasattr(found, part):
            has = f"be in the module, which has no {part!r}"
            raise InvalidArgumentError(name, has, _offered(found))
        found = getattr(found, part)
    return found


def _offered(place: object) -> list[str]:
    """Return the names that somebody may have meant."""
    return [name for name in vars(place) if not name.startswith("_")]


@contextmanager
def _this_folder() -> Iterator[None]:
    """Find modules in the folder that the command was started in, as `python -m` does."""
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        yield
    finally:
        sys.path.remove(here)
