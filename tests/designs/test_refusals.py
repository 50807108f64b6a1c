"""Questions about lower bounds that have no answer are refused by name."""

from __future__ import annotations

from typing import Any

import pytest

from noutput.designs.bound import lower_bound
from noutput.errors import InvalidArgumentError


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"epsilon": 1000.0}, "epsilon"),
        ({"epsilon": 1.0, "objective": "best"}, "objective"),
        ({"epsilon": 1.0, "prior": [1.0, 2.0]}, "prior"),
    ],
)
def test_bounds_are_asked_for_in_range(arguments: dict[str, Any], name: str) -> None:
    with pytest.raises(InvalidArgumentError, match=rf"^{name} must"):
        lower_bound(**arguments)
