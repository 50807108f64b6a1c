from __future__ import annotations

import pytest

from noutput.designs import catalog
from noutput.designs.bound import lower_bound
from noutput.designs.objective import Objective
from noutput.errors import DesignError


def test_the_limit_is_known_inside_and_outside_the_catalog(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert catalog.lower_bound(1.0) == pytest.approx(lower_bound(1.0).value, rel=1e-3)
    assert catalog.lower_bound(1.03) == lower_bound(1.03).value
    assert catalog.lower_bound(1e-6) is None

    def no_proof(_epsilon: float, _objective: Objective) -> None:
        raise DesignError("no proof")

    monkeypatch.setattr(catalog, "search_bound", no_proof)
    assert catalog.lower_bound(1.03) is None
