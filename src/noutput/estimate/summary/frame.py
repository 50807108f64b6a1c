"""Summaries as data frames."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from noutput import _checks
from noutput._extras import need

__all__ = ["data_frame"]

_PACKAGES = ("pandas", "polars")


def data_frame(records: list[dict[str, Any]], package: str | None) -> Any:
    """Return rows as a data frame of a package; of the first that is installed if None."""
    if package is None:
        package = next((name for name in _PACKAGES if find_spec(name)), _PACKAGES[0])
    _checks.choice("package", package, _PACKAGES)
    return need(package, package).DataFrame(records)
