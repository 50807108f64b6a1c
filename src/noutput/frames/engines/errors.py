"""Errors of workers: engines make errors of their own of what a batch raised, and keep its text.

An InvalidArgumentError of a worker therefore ends with its parts as a line of JSON, and they are
read back from there.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from noutput.errors import InvalidArgumentError

__all__ = ["carry_errors", "engine_errors", "plain_errors"]

_MARK = "\nnoutput-error: "  # the sentence before it is one line: names and values are quoted


class CarriedError(InvalidArgumentError):
    """An InvalidArgumentError of a worker, whose text ends with its parts."""

    def __str__(self) -> str:
        parts = json.dumps([self.name, self.rule, self.found], default=str)
        return f"{super().__str__()}{_MARK}{parts}"


@contextmanager
def carry_errors() -> Iterator[None]:
    """Let an InvalidArgumentError survive an engine that passes on texts alone."""
    try:
        yield
    except InvalidArgumentError as error:
        if type(error) is not InvalidArgumentError:  # others are about documents and tables
            raise
        raise CarriedError(error.name, error.rule, error.found) from None


def engine_errors() -> tuple[type[Exception], ...]:
    """Return the base errors of the engines that are loaded."""
    homes = (
        ("pyarrow", "ArrowException"),
        ("duckdb", "Error"),
        ("pyspark.errors", "PySparkException"),
        ("py4j.protocol", "Py4JError"),
    )
    return tuple(getattr(sys.modules[home], name) for home, name in homes if home in sys.modules)


@contextmanager
def plain_errors() -> Iterator[None]:
    """Raise the InvalidArgumentError of a worker as such, whatever the engine made of it."""
    try:
        yield
    except engine_errors() as error:
        _, mark, parts = str(error).partition(_MARK)
        if not mark:
            raise
        name, rule, found = json.JSONDecoder().raw_decode(parts)[0]
        raise InvalidArgumentError(name, rule, found) from None
