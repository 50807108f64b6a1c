"""Log lines of a collector: time, level, logger and message, of all libraries alike."""

from __future__ import annotations

import json
import logging
import re
import sys
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, TextIO

from noutput import _checks
from noutput.collector.repeats import Repeats
from noutput.errors import NoutputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from logging import LogRecord

__all__ = ["LOG_FORMATS", "LogFormatter", "event", "json_failures", "start_logging"]

LOG_FORMATS: Final = ("text", "json")
_SECRET = re.compile(r"(noutput_[0-9a-f]{12}_)[A-Za-z0-9_-]+", re.ASCII | re.IGNORECASE)
# Line feeds aside: a terminal obeys them, and some programs take them for the end of a line.
_CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029]")


def event(name: str, **fields: str) -> dict[str, object]:
    """Return the `extra` of a call that logs: what happened, for programs that read the log.

    Fields name campaigns, files and kinds; never a client, a report or a token.

    Examples
    --------
    >>> event("alarm", kind="shape", campaign="commute")
    {'event': 'alarm', 'fields': {'kind': 'shape', 'campaign': 'commute'}}
    """
    return {"event": name, "fields": fields}


class LogFormatter(logging.Formatter):
    """Writes a record as text or as one line of JSON.

    Parameters
    ----------
    form : "text" or "json"

    Guarantees
    ----------
    Every record begins with its time in UTC, and no other line begins so: what follows a line
    feed inside of a message is indented. The secret part of a token is left out, wherever it
    comes from.

    Examples
    --------
    >>> record = logging.LogRecord("noutput.collector", 30, "", 1, "no answer", (), None)
    >>> record.created = 0.5
    >>> LogFormatter("text").format(record)
    '1970-01-01T00:00:00.500Z WARNING noutput.collector: no answer'
    >>> LogFormatter("json").format(record)
    '{"time": "1970-01-01T00:00:00.500Z", "level": "WARNING", "event": "noutput.collector", ...
    """

    def __init__(self, form: str = "text") -> None:
        super().__init__()
        _checks.choice("log_format", form, LOG_FORMATS)
        self._form = form

    def format(self, record: LogRecord) -> str:
        """Return the line of a record, and those of its traceback."""
        moment = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        time = moment.replace("+00:00", "Z")
        message = _clean(record.getMessage())
        trace = _clean(self.formatException(record.exc_info)) if record.exc_info else None
        if self._form == "json":
            fields: dict[str, str] = getattr(record, "fields", {})
            content = {
                "time": time,
                "level": record.levelname,
                "event": getattr(record, "event", record.name),  # libraries name none
                "fields": {name: _clean(str(value)) for name, value in fields.items()},
                "logger": record.name,
                "message": message,
            }
            return json.dumps({**content, "traceback": trace} if trace else content)
        text = message if trace is None else f"{message}\n{trace}"
        return f"{time} {record.levelname} {record.name}: {text}".replace("\n", "\n    ")


def start_logging(form: str = "text", stream: TextIO | None = None) -> None:
    """Let every logger of this process write to the standard error, and nothing else.

    A line that repeats is written once per minute, with the number of those that were not.

    Parameters
    ----------
    form : "text" or "json"
    stream : file, optional
        In place of the standard error.
    """
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(LogFormatter(form))
    handler.addFilter(Repeats())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("noutput").setLevel(logging.INFO)


@contextmanager
def json_failures() -> Iterator[None]:
    """Log what keeps a collector from starting as JSON, in place of text for people.

    The process ends with status 2 for what the caller can change, else with status 1.
    """
    try:
        yield
    except Exception as error:
        start_logging("json")  # it may have failed before
        known = isinstance(error, NoutputError)
        message = str(error) if known else f"{type(error).__name__}: {error}"
        logging.getLogger("noutput.collector").error(
            "%s", message, exc_info=not known, extra=event("start-failed")
        )
        sys.exit(2 if known else 1)


def _clean(text: str) -> str:
    hidden = _SECRET.sub(r"\1...", text)
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), hidden)
