"""Clock of the collector; tests put another in its place."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TypeAlias

__all__ = ["Clock", "system_clock"]

Clock: TypeAlias = Callable[[], datetime]


def system_clock() -> datetime:
    """Return the present instant in UTC."""
    return datetime.now(UTC)
