"""Parts that only `noutput[collector]` brings."""

from __future__ import annotations

from importlib.util import find_spec

from noutput.errors import MissingExtraError

__all__ = ["require"]


def require(*packages: str) -> None:
    """Raise `MissingExtraError` for the first package that is not installed.

    Examples
    --------
    >>> require("json")
    >>> require("no_such_package")
    Traceback (most recent call last):
    noutput.errors.MissingExtraError: no_such_package is not installed: pip install ...
    """
    for package in packages:
        if find_spec(package) is None:
            raise MissingExtraError(package, "collector")
