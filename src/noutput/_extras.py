"""Lazy imports of optional packages, with an error that names the missing extra."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from noutput.errors import MissingExtraError

__all__ = ["need"]


def need(module: str, extra: str) -> Any:
    """Import a module of an optional package, or name the extra that brings it."""
    package = module.partition(".")[0]
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != package:
            raise
        raise MissingExtraError(package, extra) from None
