"""Lazy imports of optional packages, with an error that names the missing extra."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from noutput.errors import MissingExtraError

__all__ = ["LazyModule", "need"]


def need(module: str, extra: str) -> Any:
    """Import a module of an optional package, or name the extra that brings it."""
    package = module.partition(".")[0]
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != package:
            raise
        raise MissingExtraError(package, extra) from None


class LazyModule:
    """A module of an optional package, imported when something in it is first used.

    Parameters
    ----------
    module : str
    extra : str
        What a missing package is named by.
    """

    def __init__(self, module: str, extra: str) -> None:
        self._module = module
        self._extra = extra

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # tools that look at objects must not import
            raise AttributeError(name)
        return getattr(need(self._module, self._extra), name)

    def __reduce__(self) -> tuple[object, ...]:
        return LazyModule, (self._module, self._extra)
