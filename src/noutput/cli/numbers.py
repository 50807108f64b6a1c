"""Numbers as people write them; see `noutput._numbers`."""

from __future__ import annotations

from noutput._numbers import bits, show

__all__ = ["bits", "show"]
