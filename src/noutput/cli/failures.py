"""Failures of files and engines, told in one line."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import click

from noutput.errors import InvalidArgumentError

__all__ = ["plain_failures", "with_options"]

_RULES = {
    "clip=True": "--clip",
    "skip_missing=True": "--skip-missing",
    "other=...": "--other",
    "shares_within": "--shares-within",
    "published_epsilon": "--published-epsilon",
    "be None where": "be left out where",
}
_NAMES = {
    "n_outputs": "--outputs",
    "columns": "--column",
    "target": "--output",
    "shares_within": "--shares-within",
    "published_epsilon": "--published-epsilon",
    "people": "--people",
    "error": "--error",
}
_TOGETHER = _NAMES | {"epsilon": "--epsilon"}  # alone, it may be that of a file
_SEVERAL = re.compile(r"\w+(?:(?:, | and | or )\w+)+")  # names of arguments, not of columns


class _Plain:
    """Words that an error shows without quotes."""

    def __init__(self, words: str) -> None:
        self._words = words

    def __repr__(self) -> str:
        return self._words


def with_options(error: InvalidArgumentError) -> InvalidArgumentError:
    """Return an error that calls arguments as the command line does."""
    if type(error) is not InvalidArgumentError:  # others are about documents and tables
        return error
    rule = error.rule
    for name, option in _RULES.items():
        rule = rule.replace(name, option)
    if not _SEVERAL.fullmatch(error.name):
        found = _Plain("nothing") if error.found is None else error.found
        return InvalidArgumentError(_NAMES.get(error.name, error.name), rule, found)
    found = error.found
    if isinstance(found, list):  # the names of those that were given
        found = _Plain(", ".join(_TOGETHER.get(name, str(name)) for name in found) or "nothing")
    together = re.sub(r"\w+", lambda word: _TOGETHER.get(word[0], word[0]), error.name)
    return InvalidArgumentError(together, rule, found)


class _Failure(click.ClickException):
    exit_code = 2


@contextmanager
def plain_failures(source: str) -> Iterator[None]:
    """End with status 2 and a message, and call options as the command line does."""
    from noutput.frames.engines.errors import engine_errors

    # PySpark 4 works with pandas 3 and warns that it may not
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    try:
        yield
    except InvalidArgumentError as error:
        raise with_options(error) from None
    except Exception as error:
        if not isinstance(error, (OSError, *engine_errors())):
            raise
        raise _Failure(f"{source}: " + str(error).strip().partition("\n")[0]) from None
