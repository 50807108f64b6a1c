from __future__ import annotations

import pytest

from noutput.collector.dashboard import privacy
from noutput.designs.bound import lower_bound
from noutput.errors import DesignError


def test_the_limit_is_known_inside_and_outside_the_catalog(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert privacy._limit(1.0) == pytest.approx(lower_bound(1.0).value, rel=1e-3)
    assert privacy._limit(1.03) == lower_bound(1.03).value
    assert privacy._limit(1e-6) is None

    def no_proof(_epsilon: float) -> None:
        raise DesignError("no proof")

    monkeypatch.setattr(privacy, "lower_bound", no_proof)
    assert privacy._limit(1.03) is None
