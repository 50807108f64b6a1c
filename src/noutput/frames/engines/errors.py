"""Errors of workers, unpacked: engines wrap what a batch raised into errors of their own."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from noutput.errors import InvalidArgumentError

__all__ = ["engine_errors", "plain_errors"]

_OURS = re.compile(r"InvalidArgumentError: (.+?) must (.+); found (.+)$", re.MULTILINE)


class _Found(str):
    """A value that is known by its text only."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


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
    """Raise the InvalidArgumentError of a batch as such, whatever the engine made of it."""
    try:
        yield
    except engine_errors() as error:
        match = _OURS.search(str(error))
        if match is None:
            raise
        raise InvalidArgumentError(match[1], match[2], _Found(match[3])) from None
