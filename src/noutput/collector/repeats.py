"""Log lines that repeat: the first is written, the others are counted."""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from collections.abc import Callable

__all__ = ["Repeats"]

_SECONDS = 60.0
_REMEMBERED = 256


class Repeats(logging.Filter):
    """Lets a line pass once per minute, with the number of those that did not pass since.

    Parameters
    ----------
    clock : callable

    Examples
    --------
    >>> now = [0.0]
    >>> repeats = Repeats(lambda: now[0])
    >>> line = lambda: logging.LogRecord("x", logging.WARNING, "", 0, "Bad %s.", ("head",), None)
    >>> [repeats.filter(line()) for _ in range(4)]
    [True, False, False, False]
    >>> now[0], later = 61.0, line()
    >>> repeats.filter(later), later.getMessage()
    (True, 'Bad head. (3 more like this in the last 61 s)')
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._seen: OrderedDict[tuple[str, str, object], tuple[float, int]] = OrderedDict()

    def filter(self, record: logging.LogRecord) -> bool:
        """Say whether a line is written; add to it how many were not."""
        kind = record.exc_info[0] if record.exc_info else None
        name = (record.name, record.getMessage(), kind)
        now = self._clock()
        since, more = self._seen.pop(name, (None, 0))
        passes = since is None or now - since >= _SECONDS
        self._seen[name] = (now, 0) if since is None or passes else (since, more + 1)
        if len(self._seen) > _REMEMBERED:
            self._seen.popitem(last=False)
        if since is not None and passes and more:
            text = (
                f"{record.getMessage()} ({more:,} more like this in the last {now - since:.0f} s)"
            )
            record.msg, record.args = text, ()
        return passes
