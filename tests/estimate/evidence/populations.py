"""Evidence that the tests share: two waves of people, the second with narrower bounds."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

import noutput as no

Array: TypeAlias = NDArray[np.float64]

HULL = no.Interval(0, 100)


def part(
    mechanism: no.TableMechanism,
    values: Array,
    bounds: no.Interval | tuple[float, float],
    rng: np.random.Generator,
) -> tuple[no.TableMechanism, no.Tally, no.Interval]:
    """Return a part of evidence: values clipped to bounds and drawn."""
    units = bounds if isinstance(bounds, no.Interval) else no.Interval(*bounds)
    reports = mechanism.privatize(units.to_unit(values, clip=True), rng)
    return mechanism, no.Tally.of(mechanism, reports), units


def two_waves(
    mechanism: no.TableMechanism,
    values: Array,
    upper: float,
    rng: np.random.Generator,
    share: float = 0.2,
) -> no.Evidence:
    """Return a first wave over 0 to 100, and the rest clipped to 0 to `upper`."""
    first = round(share * len(values))
    return no.Evidence(
        [
            part(mechanism, values[:first], HULL, rng),
            part(mechanism, values[first:], (0.0, upper), rng),
        ]
    )
