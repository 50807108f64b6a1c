"""JSON batches, read report by report.

A batch may come from a stranger. Reading one as a whole takes the parser a second in the worst
case (two million bytes of nested lists), during which the interpreter does nothing else; here no
step looks at more than one report.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from noutput.campaign.problems import WireError
from noutput.errors import DocumentError
from noutput.mechanisms import document

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["MAX_BATCH", "MAX_ENTRY", "Batch", "check_count", "parse", "split"]

MAX_BATCH = 10_000
MAX_ENTRY = 2048  # characters of a report, and of all that is not a report
_SPACE = " \t\n\r"
_FIRST = re.compile(r"\[[ \t\n\r]*+(\]?)")
# An object without lists inside, and with one object of texts at most (the labels of a report), and
# what comes after it.
_FLAT = rf"[^][{{}}]{{0,{MAX_ENTRY - 2}}}+"
_OBJECT = rf"\{{{_FLAT}(?:\{{{_FLAT}\}}{_FLAT})?+\}}"
_ENTRY = re.compile(rf"({_OBJECT})[ \t\n\r]*+(?:,[ \t\n\r]*+|(\]))")
_COMPACT = re.compile(
    r'\{"question":"([a-z][a-z0-9_]{0,63})",'
    r'"output":(0|[1-9][0-9]{0,2}),"id":"([0-9a-f]{32})"\}'
)


class Batch(NamedTuple):
    """A batch whose reports have been found, but not read.

    Parameters
    ----------
    head : dict
        All of the document, with an empty list in place of the reports.
    text : str
    spans : list of pairs of int
        Where in the text each report is.
    """

    head: dict[str, Any]
    text: str
    spans: list[tuple[int, int]]

    def entries(self) -> Iterator[dict[str, Any]]:
        """Read one report after the other."""
        for index, (start, end) in enumerate(self.spans):
            found = _COMPACT.fullmatch(self.text, start, end)
            if found is not None:  # the very form that clients write
                yield {"question": found[1], "output": int(found[2]), "id": found[3]}
            else:
                yield parse(self.text[start:end], f"reports[{index}]")


def split(data: bytes) -> Batch:
    """Find the reports of a batch.

    Raises
    ------
    WireError
        If it is no batch of 1 to 10,000 reports, of 2,048 characters each at most.

    Examples
    --------
    >>> found = split(b'{"version": 1, "reports": [{"id": "a"}, {"id": "b"}]}')
    >>> found.head, list(found.entries())
    ({'version': 1, 'reports': []}, [{'id': 'a'}, {'id': 'b'}])
    """
    try:
        text = data.decode().strip(_SPACE)
    except UnicodeDecodeError as error:
        rule = f"be JSON in UTF-8 (byte {error.start} is not)"
        raise WireError("malformed-body", "body", rule, data[:12]) from None
    first = _FIRST.search(text)
    if first is None:
        return Batch(_head(text), text, [])
    spans: list[tuple[int, int]] = []
    end = place = first.end()
    last = first[1]
    while not last:
        found = _ENTRY.match(text, place)
        if found is None or found.end(1) - place > MAX_ENTRY:
            name, most = f"reports[{len(spans)}]", f"at most {MAX_ENTRY} characters"
            rule = f"be an object of {most}, and the last be followed by a bracket"
            raise WireError("malformed-body", name, rule, text[place : place + 20])
        spans.append(found.span(1))
        if len(spans) > MAX_BATCH:
            check_count(len(spans))
        end = place = found.end()
        last = found[2]
    return Batch(_head(text[: first.start()] + "[]" + text[end:]), text, spans)


def check_count(count: int, most: int = MAX_BATCH) -> None:
    """Refuse a batch of no reports, or of more than 10,000."""
    if count < 1:
        raise WireError("malformed-body", "reports", "have at least one entry", count)
    if count > most:
        rule = f"have at most {most} entries"
        raise WireError("body-too-large", "reports", rule, count)


def parse(text: str | bytes, name: str = "body") -> dict[str, Any]:
    """Parse a JSON object; what is wrong with it is wrong with the body."""
    try:
        return document.parse(text)
    except DocumentError as error:
        raise WireError("malformed-body", name, error.rule, error.found) from None


def _head(text: str) -> dict[str, Any]:
    if len(text) > MAX_ENTRY:
        rule = f"have at most {MAX_ENTRY} characters apart from its reports"
        raise WireError("malformed-body", "body", rule, len(text))
    return parse(text)
