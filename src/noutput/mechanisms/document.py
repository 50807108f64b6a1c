"""JSON documents, read with suspicion: one may come from a stranger."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, NoReturn

from noutput.errors import DocumentError

__all__ = ["MAX_LENGTH", "entries", "number", "numbers", "parse", "read"]

MAX_LENGTH = 1 << 24  # characters; the largest table takes less


def _refuse_constant(name: str) -> NoReturn:
    raise DocumentError("document", "have finite numbers only", name)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        raise DocumentError("document", "have no key twice", sorted(key for key, _ in pairs))
    return result


def parse(text: object) -> dict[str, Any]:
    """Parse a JSON object strictly: bounded size, UTF-8, no NaN, no repeated keys."""
    if not isinstance(text, str | bytes):
        raise DocumentError("document", "be JSON text", text)
    if len(text) > MAX_LENGTH:
        raise DocumentError("document", f"have at most {MAX_LENGTH} characters", len(text))
    try:
        if isinstance(text, bytes):  # left to itself, json also reads UTF-16 and UTF-32
            text = text.decode("utf-8")
        value = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_unique)
    except DocumentError:
        raise
    except UnicodeDecodeError as error:
        rule = f"be JSON in UTF-8 (byte {error.start} is not)"
        raise DocumentError("document", rule, text[:12]) from None
    except json.JSONDecodeError as error:
        rule = f"be JSON ({error.msg} at line {error.lineno}, column {error.colno})"
        raise DocumentError("document", rule, text[:12]) from None
    except (ValueError, RecursionError) as error:
        raise DocumentError("document", f"be JSON ({error})", text[:12]) from None
    if not isinstance(value, dict):
        raise DocumentError("document", "be a JSON object", type(value).__name__)
    return value


def read(source: object, name: str, version: int, keys: Iterable[str]) -> dict[str, Any]:
    """Read a document and check its header: the format, the version and the set of keys.

    Parameters
    ----------
    source : str, bytes or dict
        The text of the document, or what `parse` made of it.
    name : str
        The format, such as "noutput-table".
    version : int
    keys : iterable of str
        All keys but "format" and "version".

    Examples
    --------
    >>> read('{"format": "noutput-tally", "version": 2}', "noutput-tally", 1, ["counts"])
    Traceback (most recent call last):
        ...
    noutput.errors.DocumentError: version must be 1; found 2
    """
    found: dict[str, Any] = source if isinstance(source, dict) else parse(source)
    if found.get("format") != name:
        raise DocumentError("format", f"be {name!r}", found.get("format"))
    if type(found.get("version")) is not int or found["version"] != version:
        raise DocumentError("version", f"be {version}", found.get("version"))
    known = {"format", "version", *keys}
    if set(found) != known:
        raise DocumentError("document", f"have the keys {sorted(known)}", sorted(found))
    return found


def entries(name: str, value: object, most: int) -> list[Any]:
    """Return a list of at most `most` entries of a document."""
    if not isinstance(value, list):
        raise DocumentError(name, "be a list", value)
    if len(value) > most:
        raise DocumentError(name, f"have at most {most} entries", len(value))
    return value


def number(name: str, value: object) -> float:
    """Return a number of the document as a float."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            pass
    raise DocumentError(name, "be a number", value)


def numbers(name: str, value: object, most: int) -> list[float]:
    """Return a list of at most `most` numbers of the document."""
    found = enumerate(entries(name, value, most))
    return [number(f"{name}[{index}]", entry) for index, entry in found]
