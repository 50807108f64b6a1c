"""Pilots whose outcome does not depend on chance: Spark and commands take no seed."""

from __future__ import annotations

from typing import Any

import pytest

import noutput as no
from noutput.planner import adaptive

_MANY = 1_000  # reports, of which a pilot has enough to find a range nearly always


def find_ranges_always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take a quarter of the range where an unlucky pilot leaves no room, or looks forged."""
    real = adaptive.find_range

    def find(mechanism: Any, tally: Any, declared: no.Interval, *others: Any) -> Any:
        found = real(mechanism, tally, declared, *others)
        if found is None and tally.total > _MANY:
            narrow = no.Interval(declared.lower, declared.lower + declared.half_width / 2.0)
            return narrow, 0.5, 0.01
        return found

    monkeypatch.setattr(adaptive, "find_range", find)
    monkeypatch.setattr(adaptive, "_FORGED", 0.0)
